"""
Escape from a minimum
=====================

Lloyd's algorithm (EM) ends in the minimum next to its start. Stochastic backward Euler leaves it. This is the
first experiment of the paper: four clusters in the plane, and a start from which EM ends with two centers in one
cluster.
"""

import matplotlib.pyplot as plt
import numpy as np

from eulermeans import EulerMeans, StochasticBackwardEuler
from eulermeans.datasets import GAUSSIAN_START, paper_gaussians

X = paper_gaussians(seed=0)

# %%
# ``effort=0`` with given centers takes exact steps of Lloyd's algorithm and nothing else. It gets stuck.

lloyd = EulerMeans(4, init=GAUSSIAN_START, effort=0).fit(X)
print(f"Lloyd: objective {lloyd.objective_:.3f} after {lloyd.n_iter_} steps")

# %%
# The paper's algorithm starts in that very minimum, and leaves it. So does the default estimator, which limits the
# steps, moves single centers as well, and ends with exact passes.

sbe = StochasticBackwardEuler(4, init=lloyd.cluster_centers_, batch_size=400, n_inner=10, random_state=0).fit(X)
default = EulerMeans(4, init=lloyd.cluster_centers_, random_state=0).fit(X)
print(f"StochasticBackwardEuler: objective {sbe.objective_:.3f} after {sbe.n_iter_} steps")
print(f"EulerMeans: objective {default.objective_:.3f}")

# %%
# The objective of SBE rises before it falls: on its way it passes states that are worse than the minimum it left.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.scatter(*X.T, s=2, color="0.75")
left.scatter(*lloyd.cluster_centers_.T, s=110, color="#d1495b", edgecolor="black", label="Lloyd")
left.scatter(*sbe.cluster_centers_.T, s=190, marker="*", color="#00798c", edgecolor="black", label="SBE")
left.set_title("Final centers")
left.legend()
right.plot(np.arange(sbe.n_iter_), [record.objective for record in sbe.history_], color="#00798c", label="SBE")
right.axhline(lloyd.objective_, color="#d1495b", label="Lloyd's minimum, where SBE starts")
right.set(title="Objective", xlabel="outer iteration", ylabel="φ, estimated on mini-batches")
right.legend()
plt.show()

"""
Certificates: how far from the optimum?
=======================================

k-means is hard, and no method can promise the best clusters. ``certify`` proves a lower bound on the inertia of
*any* K clusters. The inertia of a clustering can be compared with it, whoever found it.
"""

import matplotlib.pyplot as plt

from eulermeans import EulerMeans, certify
from eulermeans.datasets import GAUSSIAN_START, iris, paper_gaussians

# %%
# Fisher's irises in three clusters. The clusters found are optimal: the bound meets their inertia.

flowers = iris()
model = EulerMeans(3, random_state=0).fit(flowers)
certificate = certify(flowers, model, max_time=20, random_state=0)
print(certificate)

# %%
# A certificate is also a warning. Lloyd's algorithm is stuck here, and the bound shows that there may be much
# better clusters. For the clusters of ``EulerMeans`` the same bound leaves little room.

X = paper_gaussians(seed=0, per_cluster=100)
stuck = EulerMeans(4, init=GAUSSIAN_START, effort=0).fit(X)
found = EulerMeans(4, random_state=0).fit(X)
of_stuck = certify(X, stuck, max_time=3, random_state=0)
of_found = certify(X, found, max_time=3, random_state=0)
print(f"Lloyd's algorithm: at most {of_stuck.at_most} above the optimum")
print(f"EulerMeans: at most {of_found.at_most} above the optimum")

# %%
# The best inertia that any four clusters have lies in the band.

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.bar(
    ["Lloyd's algorithm", "EulerMeans"],
    [of_stuck.inertia, of_found.inertia],
    width=0.4,
    color=["#d1495b", "#00798c"],
)
ax.axhspan(of_found.lower_bound, of_found.inertia, color="#edae49", label="the optimum is in here")
ax.set(ylabel="inertia")
ax.legend()
plt.show()

"""
Choose the number of clusters
=============================

``sweep`` clusters the data with every K of a range. It recommends the largest K whose clusters are found again in
the other half of the data and are separated by regions of low density, and says so in words.
"""

import matplotlib.pyplot as plt

from eulermeans import plot, sweep
from eulermeans.datasets import paper_gaussians

X = paper_gaussians(seed=0)
found = sweep(X, "2:6", random_state=0)
print(found)

# %%
# The four criteria against K. The objective falls with every K, so it can't choose one.

found.plot()
plt.show()

# %%
# ``found.model`` is the fitted model with the recommended K, and ``found.models`` has all of them.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, k in zip(axes, (3, 4, 5), strict=True):
    plot.plane(found.models[k], X, ax=ax)
    row = found[k]
    ax.set_title(
        f"K = {k}: found again {row.strength:.0%}, density at a border {row.valley:.0%}", loc="left", fontsize=8
    )
plt.show()

# %%
# How sure is it? Two clusters of this set overlap, so the confidence is not high.

print(f"K = {found.recommended}, confidence: {found.confidence}")

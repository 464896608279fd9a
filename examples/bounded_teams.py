"""
Clusters of bounded size
========================

Delivery tours, teams and class rooms need clusters that are compact and of similar size. ``SizedMeans`` bounds the
number of points in every cluster, exactly. The addresses here are made up: two towns and the country around them.
"""

import matplotlib.pyplot as plt
import numpy as np

from eulermeans import EulerMeans, SizedMeans, plot

rng = np.random.default_rng(3)
towns = np.array([[-2.0, 0.5], [3.0, -1.0]])
addresses = np.concatenate([
    towns[0] + 0.5 * rng.standard_normal((500, 2)),
    towns[1] + 0.8 * rng.standard_normal((300, 2)),
    rng.uniform([-5, -3], [6, 3], size=(200, 2)),
])  # fmt: skip

# %%
# Ten tours with 90 to 110 addresses each, and ten clusters without bounds.

free = EulerMeans(10, random_state=0).fit(addresses)
tours = SizedMeans(10, size_min=90, size_max=110, random_state=0).fit(addresses)
print("sizes without bounds:", np.sort(np.bincount(free.labels_)))
print("sizes with bounds:   ", np.sort(np.bincount(tours.labels_)))
print(f"the bounds cost {tours.objective_ / tours.unbounded_objective_ - 1:.0%} of the objective")

# %%
# An address goes to the center with the least squared distance plus price. A price is positive where a cluster is
# full, so borders move towards full centers.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot.plane(free, addresses, ax=axes[0])
axes[0].set_title("without bounds", loc="left")
axes[1].scatter(*addresses.T, c=tours.labels_, cmap="tab10", s=6, linewidths=0)
axes[1].scatter(*tours.cluster_centers_.T, marker="x", color="black")
for center, price in zip(tours.cluster_centers_, tours.prices_, strict=True):
    axes[1].annotate(f"{price:+.1f}", center, xytext=(4, 4), textcoords="offset points", fontsize=8)
axes[1].set_title("90 to 110 addresses each, with prices", loc="left")
plt.show()

"""
A stream that drifts
====================

``partial_fit`` learns from batches and keeps none of them. ``forgetting`` is the share of what was seen that each
batch makes it forget: 0 suits a stream that does not change, more follows one that drifts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import MiniBatchKMeans

from eulermeans import EulerMeans

rng = np.random.default_rng(0)
starts = 5 * rng.standard_normal((5, 2))
velocities = 5 * rng.standard_normal((5, 2))


def batch(time: float, n_points: int = 100) -> np.ndarray:
    """Points of five clusters that move from time 0 to time 1, each in its own direction."""
    centers = starts + time * velocities
    return centers[rng.integers(5, size=n_points)] + 0.5 * rng.standard_normal((n_points, 2))


# %%
# Each model predicts the next batch before it learns from it, which is how a stream is judged.

models = {
    "EulerMeans(forgetting=0.2)": EulerMeans(5, forgetting=0.2, random_state=0),
    "EulerMeans(forgetting=0)": EulerMeans(5, random_state=0),
    "MiniBatchKMeans": MiniBatchKMeans(5, random_state=0),
}
times = np.linspace(0, 1, 50)
errors = {name: [] for name in models}
paths = {name: [] for name in models}
for i, time in enumerate(times):
    points = batch(time)
    for name, model in models.items():
        if i > 0:
            errors[name].append(-model.score(points) / len(points))
        model.partial_fit(points)
        paths[name].append(model.cluster_centers_.copy())
for name, of_model in errors.items():
    print(f"{name:27s} mean squared distance {np.mean(of_model):5.2f}, at the end {np.mean(of_model[-10:]):5.2f}")

# %%
# Left: the error on each batch before it was learned. Right: the paths of the centers that forget, from light to
# dark.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, of_model), style in zip(errors.items(), ("-", "-", "--"), strict=True):
    left.plot(times[1:], of_model, style, label=name)
left.axhline(2 * 0.5**2, color="0.6", linestyle="--", linewidth=0.8, label="true centers")
left.set(xlabel="time", ylabel="mean squared distance of the next batch", ylim=(0, None))
left.legend(fontsize=8)
path = np.array(paths["EulerMeans(forgetting=0.2)"])
for center in range(5):
    right.scatter(*path[:, center].T, c=times, cmap="Blues", vmin=-0.3, s=10)
right.set(aspect="equal", title="centers over time")
plt.show()

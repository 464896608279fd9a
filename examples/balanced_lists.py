"""
Vector search with balanced lists
=================================

Some lists of an inverted-file index are many times longer than others, and queries that meet them are slow.
``SizedMeans`` bounds the lengths. A query probes lists in the order of squared distance plus price, by which the
vectors were sorted.
"""

import matplotlib.pyplot as plt
import numpy as np

from eulermeans import EulerMeans, SizedMeans

N_VECTORS, N_LISTS, N_QUERIES, NEIGHBOURS, SCANS = 4_000, 60, 100, 10, (0.02, 0.05, 0.1)

rng = np.random.default_rng(0)
frequency = 1 / np.arange(1, 501) ** 0.8  # of topics
topics = rng.choice(500, size=N_VECTORS + N_QUERIES, p=frequency / frequency.sum())
vectors = rng.standard_normal((500, 64))[topics]
vectors += 0.7 * rng.standard_normal(vectors.shape)
vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
vectors, queries = vectors[:N_VECTORS], vectors[N_VECTORS:]
truth = np.argpartition(-queries @ vectors.T, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]

# %%
# One index with lists of any length, and one with lists within 20 % of the mean.

mean = N_VECTORS / N_LISTS
free = EulerMeans(N_LISTS, random_state=0).fit(vectors)
balanced = SizedMeans(
    N_LISTS, size_min=int(0.8 * mean), size_max=int(np.ceil(1.2 * mean)), random_state=0
).fit(vectors)  # fmt: skip

# %%
# Recall for queries that all read the same share of the vectors.


def recall(model: EulerMeans | SizedMeans, scan: float) -> float:
    """The share of the true neighbours found when each query reads this share of the vectors."""
    lists = [np.flatnonzero(model.labels_ == j) for j in range(N_LISTS)]
    order = np.argsort(model.transform(queries) ** 2 + getattr(model, "prices_", 0), axis=1)
    found = 0
    for query, probed, true in zip(queries, order, truth, strict=True):
        rows = np.concatenate([lists[j] for j in probed])[: int(scan * N_VECTORS)]
        best = rows[np.argsort(-vectors[rows] @ query)[:NEIGHBOURS]]
        found += len(np.intersect1d(best, true))
    return found / truth.size


lengths, recalls = {}, {}
for model in (free, balanced):
    name = type(model).__name__
    lengths[name] = np.bincount(model.labels_, minlength=N_LISTS)
    recalls[name] = [recall(model, scan) for scan in SCANS]
    cells = "  ".join(f"{found:.3f} of {scan:.0%}" for found, scan in zip(recalls[name], SCANS, strict=True))
    print(f"{name:10s} lists of {lengths[name].min()} to {lengths[name].max()} vectors, recall {cells}")

# %%
# The lengths of the lists, longest first.

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name, of_lists in lengths.items():
    ax.step(np.arange(N_LISTS), np.sort(of_lists)[::-1], where="mid", label=name)
ax.axhline(mean, color="0.6", linestyle="--", linewidth=0.8)
ax.set(xlabel="lists, longest first", ylabel="vectors in the list", ylim=(0, None))
ax.legend()
plt.show()

"""
Vector search: the lists of an index
====================================

An inverted-file index sorts vectors into lists, one for each center of a k-means. A query is compared with the
centers, and then only with the vectors in the lists of the nearest ones. Compact lists give more of the true
neighbours for the same number of vectors read. Vector databases do this with embeddings; these are made up.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

from eulermeans import EulerMeans

N_VECTORS, N_LISTS, N_QUERIES, NEIGHBOURS, PROBES = 6_000, 60, 200, 10, (1, 2, 4, 8)

rng = np.random.default_rng(0)
frequency = 1 / np.arange(1, 501) ** 0.8
topics = rng.choice(500, size=N_VECTORS + N_QUERIES, p=frequency / frequency.sum())
directions = rng.standard_normal((500, 6, 64))  # each topic is spread along six directions of its own
vectors = rng.standard_normal((500, 64))[topics]
vectors += 0.4 * np.einsum("ik,ikf->if", rng.standard_normal((len(topics), 6)), directions[topics])
vectors += 0.2 * rng.standard_normal(vectors.shape)
vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
vectors, queries = vectors[:N_VECTORS], vectors[N_VECTORS:]
truth = np.argpartition(-queries @ vectors.T, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]

# %%
# A query reads the lists of the nearest centers, and ranks what it finds there.


def ask(model: EulerMeans, n_probes: int) -> tuple[float, float]:
    """The share of the true neighbours found (recall), and the share of the vectors read."""
    lists = [np.flatnonzero(model.labels_ == j) for j in range(N_LISTS)]
    probed = np.argsort(model.transform(queries), axis=1)[:, :n_probes]
    found = read = 0
    for query, near, true in zip(queries, probed, truth, strict=True):
        rows = np.concatenate([lists[j] for j in near])
        best = rows[np.argsort(-vectors[rows] @ query)[:NEIGHBOURS]]
        found, read = found + len(np.intersect1d(best, true)), read + len(rows)
    return found / truth.size, read / (N_QUERIES * N_VECTORS)


models = [estimator(N_LISTS, random_state=0).fit(vectors) for estimator in (EulerMeans, KMeans, MiniBatchKMeans)]
answers = {type(model).__name__: [ask(model, n) for n in PROBES] for model in models}
errors = {type(model).__name__: -model.score(vectors) / N_VECTORS for model in models}
for name, pairs in answers.items():
    cells = "   ".join(f"{recall:.3f} of {share:5.1%}" for recall, share in pairs)
    print(f"{name:15s} error {errors[name]:.4f}   recall {cells}")

# %%
# Recall against the share of the vectors that a query reads.

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, pairs in answers.items():
    recalls, shares = np.array(pairs).T
    ax.plot(100 * shares, recalls, marker="o", label=name)
ax.set(xlabel="vectors read, %", ylabel=f"recall@{NEIGHBOURS}", title=f"{N_VECTORS} vectors in {N_LISTS} lists")
ax.legend()
plt.show()

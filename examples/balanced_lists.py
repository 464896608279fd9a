"""An inverted-file index with balanced lists: no query reads much more than another.

    python examples/balanced_lists.py [--small]

An index sorts vectors into lists, one for each center, and a query reads the lists of the nearest centers. Some
lists of plain k-means are many times longer than others, and queries that meet them are slow. `SizedMeans` bounds
the lengths. A query probes lists in the order of squared distance plus price, by which the vectors were sorted.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from eulermeans import EulerMeans, SizedMeans

NEIGHBOURS = 10
SCANS = (0.01, 0.03, 0.1)  # of all vectors that a query reads


def main() -> None:
    """Build an index with lists of any length and one with balanced lists, and query both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="use 4000 vectors instead of 50000, for a quick look")
    options = parser.parse_args()
    n_vectors, n_lists, n_queries = (4_000, 60, 100) if options.small else (50_000, 200, 500)

    vectors = embeddings(n_vectors + n_queries, np.random.default_rng(0))
    vectors, queries = vectors[:n_vectors], vectors[n_vectors:]
    truth = np.argpartition(-queries @ vectors.T, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    mean = n_vectors / n_lists
    print(f"{n_vectors} vectors in {n_lists} lists, {mean:.0f} in each on average; {n_queries} queries")
    print(f"recall@{NEIGHBOURS} for queries that read {', '.join(f'{scan:.0%}' for scan in SCANS)} of the vectors")
    bounds = {"size_min": int(0.8 * mean), "size_max": int(np.ceil(1.2 * mean))}
    for model in (EulerMeans(n_lists, random_state=0), SizedMeans(n_lists, **bounds, random_state=0)):
        start = time.perf_counter()
        model.fit(vectors)
        seconds = time.perf_counter() - start
        lengths = np.bincount(model.labels_, minlength=n_lists)
        cells = "  ".join(f"{recall(queries, vectors, model, scan, truth):.3f}" for scan in SCANS)
        print(
            f"{type(model).__name__:10s} {seconds:6.2f} s  lists {lengths.min()} to {lengths.max()}, "
            f"spread {lengths.std() / mean:.2f}  recall {cells}"
        )


def embeddings(n_vectors: int, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors around topics of very different frequency."""
    n_topics, n_features = 500, 64
    frequency = 1 / np.arange(1, n_topics + 1) ** 0.8
    topics = rng.choice(n_topics, size=n_vectors, p=frequency / frequency.sum())
    vectors = rng.standard_normal((n_topics, n_features))[topics]
    vectors += 0.7 * rng.standard_normal(vectors.shape)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def recall(
    queries: np.ndarray, vectors: np.ndarray, model: EulerMeans | SizedMeans, scan: float, truth: np.ndarray
) -> float:
    """The fraction of the true neighbours found when each query reads this part of the vectors."""
    lists = [np.flatnonzero(model.labels_ == j) for j in range(model.n_clusters)]
    order = np.argsort(model.transform(queries) ** 2 + getattr(model, "prices_", 0), axis=1)
    most, found = int(scan * len(vectors)), 0
    for query, probed, true in zip(queries, order, truth, strict=True):
        rows = np.empty(0, dtype=np.intp)
        for j in probed:
            rows = np.concatenate([rows, lists[j]])
            if len(rows) >= most:
                break
        rows = rows[:most]  # the same scan for every query, whatever the lists
        best = rows[np.argsort(-vectors[rows] @ query)[:NEIGHBOURS]]
        found += len(np.intersect1d(best, true))
    return found / truth.size


if __name__ == "__main__":
    main()

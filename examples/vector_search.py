"""Find nearest embeddings without comparing with all: k-means as the coarse quantizer of an inverted index.

    python examples/vector_search.py [--small]

The vectors are sorted into lists, one for each center. A query is compared with the centers, and then only with
the vectors in the lists of the nearest centers. The fraction found of the true ten nearest neighbours
(recall@10) depends on how compact the lists are, which is what k-means optimizes: a lower error gives slightly
more recall for the same number of vectors read. Vector databases do this with embeddings of texts or images;
these are made up.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

from eulermeans import EulerMeans

NEIGHBOURS = 10
PROBES = (1, 2, 4)  # lists that a query reads


def main() -> None:
    """Build an index with the centers of each method, and query it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="use 4000 vectors instead of 50000, for a quick look")
    options = parser.parse_args()
    n_vectors, n_lists, n_queries = (4_000, 60, 100) if options.small else (50_000, 200, 500)

    vectors = embeddings(n_vectors + n_queries, np.random.default_rng(0))
    vectors, queries = vectors[:n_vectors], vectors[n_vectors:]
    truth = nearest(queries, vectors, NEIGHBOURS)
    print(f"{n_vectors} vectors of {vectors.shape[1]} dimensions in {n_lists} lists; {n_queries} queries")
    print(f"recall@{NEIGHBOURS} and the share of vectors read, for queries that read {PROBES} lists")
    for estimator in (EulerMeans, KMeans, MiniBatchKMeans):
        start = time.perf_counter()
        model = estimator(n_lists, random_state=0).fit(vectors)
        seconds = time.perf_counter() - start
        found = [ask(queries, vectors, model, n_probes, truth) for n_probes in PROBES]
        cells = "   ".join(f"{recall:.3f} of {share:5.2%}" for recall, share in found)
        error = -model.score(vectors) / n_vectors
        print(f"{estimator.__name__:15s} error {error:.4f}  {seconds:6.2f} s   {cells}")


def embeddings(n_vectors: int, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors around topics of very different frequency, each spread along its own few directions."""
    n_topics, n_features, n_directions = 500, 64, 6
    frequency = 1 / np.arange(1, n_topics + 1) ** 0.8
    topics = rng.choice(n_topics, size=n_vectors, p=frequency / frequency.sum())
    means = rng.standard_normal((n_topics, n_features))
    directions = rng.standard_normal((n_topics, n_directions, n_features))
    spread = rng.standard_normal((n_vectors, n_directions))
    vectors = means[topics] + 0.4 * np.einsum("ik,ikf->if", spread, directions[topics])
    vectors += 0.2 * rng.standard_normal(vectors.shape)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def nearest(queries: np.ndarray, vectors: np.ndarray, size: int) -> np.ndarray:
    """The rows of the `size` vectors with the largest cosine to each query."""
    return np.argpartition(-queries @ vectors.T, size, axis=1)[:, :size]


def ask(queries: np.ndarray, vectors: np.ndarray, model: EulerMeans, n_probes: int, truth: np.ndarray) -> tuple:
    """Recall, and the share of vectors that a query was compared with."""
    lists = [np.flatnonzero(model.labels_ == j) for j in range(model.n_clusters)]
    probed = np.argsort(model.transform(queries), axis=1)[:, :n_probes]
    found = read = 0
    for query, near, true in zip(queries, probed, truth, strict=True):
        rows = np.concatenate([lists[j] for j in near])
        best = rows[np.argsort(-vectors[rows] @ query)[:NEIGHBOURS]]
        found, read = found + len(np.intersect1d(best, true)), read + len(rows)
    return found / truth.size, read / (len(queries) * len(vectors))


if __name__ == "__main__":
    main()

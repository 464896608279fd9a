"""Passes over the points: what the compiled kernels take, for the shapes that choose between them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import scipy.sparse
from measure import Benchmark

from eulermeans.oracles import memory_oracle


def benchmarks() -> Iterator[Benchmark]:
    """One pass over points in memory: counts, sums and cost."""
    for dtype, n_features, n_clusters in product(("float32", "float64", "uint8"), (2, 64, 784), (10, 200)):
        yield dense_pass(dtype, n_features, n_clusters)
    for n_clusters in (10, 200):
        yield sparse_pass(n_clusters)


def dense_pass(dtype: str, n_features: int, n_clusters: int) -> Benchmark:
    rng = np.random.default_rng(0)
    points = rng.integers(0, 256, (2_000_000 // n_features // n_clusters + 1000, n_features)).astype(dtype)
    oracle, centers = memory_oracle(points, n_threads=1), points[:n_clusters].astype(np.float64)
    return Benchmark(f"passes: {dtype}, {n_features} features, K = {n_clusters}", lambda: oracle.full(centers))


def sparse_pass(n_clusters: int) -> Benchmark:
    """50 stored values in each row."""
    n, d, stored = 2000, 5000, 50
    rng = np.random.default_rng(0)
    columns = np.concatenate([np.sort(rng.choice(d, stored, replace=False)) for _ in range(n)])
    values, starts = rng.random(n * stored, dtype=np.float32), np.arange(0, n * stored + 1, stored)
    points = scipy.sparse.csr_array((values, columns.astype(np.int32), starts.astype(np.int32)), shape=(n, d))
    oracle, centers = memory_oracle(points, n_threads=1), points[:n_clusters].toarray().astype(np.float64)
    return Benchmark(f"passes: sparse, K = {n_clusters}", lambda: oracle.full(centers))

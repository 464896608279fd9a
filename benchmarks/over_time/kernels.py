"""Passes over the points: what the compiled kernels take, for the shapes that choose between them."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse

from eulermeans.oracles import memory_oracle


class Passes:
    """One pass over points in memory: counts, sums and cost."""

    timer = time.process_time
    param_names = ("dtype", "features", "clusters")
    params = (["float32", "float64", "uint8"], [2, 64, 784], [10, 200])

    def setup(self, dtype: str, n_features: int, n_clusters: int) -> None:
        rng = np.random.default_rng(0)
        points = rng.integers(0, 256, (2_000_000 // n_features // n_clusters + 1000, n_features)).astype(dtype)
        self.oracle = memory_oracle(points, n_threads=1)
        self.centers = points[:n_clusters].astype(np.float64)

    def time_full(self, dtype: str, n_features: int, n_clusters: int) -> None:
        self.oracle.full(self.centers)


class SparsePasses:
    """One pass over CSR points with 50 stored values each."""

    timer = time.process_time
    param_names = ("clusters",)
    params = ([10, 200],)

    def setup(self, n_clusters: int) -> None:
        n, d, stored = 2000, 5000, 50
        rng = np.random.default_rng(0)
        columns = np.concatenate([np.sort(rng.choice(d, stored, replace=False)) for _ in range(n)])
        values, starts = rng.random(n * stored, dtype=np.float32), np.arange(0, n * stored + 1, stored)
        points = scipy.sparse.csr_array((values, columns.astype(np.int32), starts.astype(np.int32)), shape=(n, d))
        self.oracle = memory_oracle(points, n_threads=1)
        self.centers = points[:n_clusters].toarray().astype(np.float64)

    def time_full(self, n_clusters: int) -> None:
        self.oracle.full(self.centers)

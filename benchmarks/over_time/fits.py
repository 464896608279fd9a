"""Fits and predictions as users call them, on small generated data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from measure import Benchmark
from sklearn.datasets import make_blobs

from eulermeans import EulerMeans, SizedMeans, StochasticBackwardEuler


def benchmarks() -> Iterator[Benchmark]:
    """Fits of one seed: their times depend on the data, so compare them only between commits."""
    plane, _ = make_blobs(5000, 2, centers=40, cluster_std=0.5, random_state=0)
    wide, _ = make_blobs(3000, 64, centers=20, cluster_std=4.0, random_state=0)
    narrow = wide.astype(np.float32)
    model = EulerMeans(20, effort=0, random_state=0, n_threads=1).fit(narrow)

    def stream() -> EulerMeans:
        streamed = EulerMeans(20, random_state=0, n_threads=1)
        for batch in np.split(narrow, 10):
            streamed.partial_fit(batch)
        return streamed

    yield Benchmark("fits: few features", lambda: EulerMeans(40, random_state=0, n_threads=1).fit(plane))
    yield Benchmark("fits: many features", lambda: EulerMeans(20, random_state=0, n_threads=1).fit(narrow))
    yield Benchmark(
        "fits: without search", lambda: EulerMeans(20, effort=0, random_state=0, n_threads=1).fit(wide)
    )
    yield Benchmark(
        "fits: bounded sizes", lambda: SizedMeans(10, size_min=40, random_state=0, n_threads=1).fit(wide[:500])
    )
    yield Benchmark(
        "fits: the paper's algorithm",
        lambda: StochasticBackwardEuler(20, n_outer=20, random_state=0, n_threads=1).fit(wide),
    )
    yield Benchmark("fits: stream", stream)
    yield Benchmark("fits: predict", lambda: model.predict(narrow))

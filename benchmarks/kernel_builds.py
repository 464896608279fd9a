"""What a change does to the time of the kernels: two builds of the extension, called in turns in one process.

    python benchmarks/kernel_builds.py OTHER/_core.so [--repeat 31]

Times calls that both builds know, on one thread, in processor time: first a call by the other build, then the same
by the installed one. A ratio above 1 says that the installed one is slower. It is the median of the ratios of
neighbouring calls; its spread is their middle half.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from types import ModuleType

import numpy as np
import scipy.sparse

from eulermeans import _core

Call = Callable[[ModuleType], object]
LEAST = 5e-3  # seconds: a call that takes less is repeated until it takes as long


def loaded(path: Path) -> ModuleType:
    """A build of the extension, beside the installed one."""
    spec = importlib.util.spec_from_file_location("_core", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that both have a type of the same name
        spec.loader.exec_module(module)
    return module


def calls() -> Iterator[tuple[str, Call]]:
    rng = np.random.default_rng(0)
    images = (255 * rng.random((20_000, 784)) ** 3).astype(np.uint8)
    for n_clusters in (10, 100):
        yield f"pass, 20000×784 float32, K = {n_clusters}", full_pass(images.astype(np.float32), n_clusters)
    yield "pass, 20000×784 uint8, K = 10", full_pass(images, 10)
    yield "pass, 100000×16 float32, K = 100", full_pass(rng.standard_normal((100_000, 16), dtype=np.float32), 100)
    yield "pass, 100000×2 float64, K = 100", full_pass(rng.standard_normal((100_000, 2)), 100)
    yield "labels, 100000×16 float32, K = 100", labels(rng.standard_normal((100_000, 16), dtype=np.float32), 100)
    yield "mini-batch of 500 rows, 20000×784 float32, K = 10", mini_batch(images.astype(np.float32), 500, 10)
    yield "pass, 200000×128 CSR, 1 % stored, K = 50", sparse_pass(200_000, 128, 50)
    yield "refine, 100000×16 float64, K = 100", refine(rng.standard_normal((100_000, 16)), 100)
    yield "the smallest call: 1 point, 1 feature, K = 1", full_pass(np.ones((1, 1)), 1)


def centers_for(points: np.ndarray, n_clusters: int) -> np.ndarray:
    rows = np.random.default_rng(n_clusters).integers(len(points), size=(n_clusters, 3))
    dtype = np.float64 if points.dtype == np.float64 else np.float32
    return points[rows].mean(axis=1).astype(dtype)


def sums_for(centers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros(len(centers)), np.zeros(centers.shape), np.zeros(1)


def full_pass(points: np.ndarray, n_clusters: int) -> Call:
    centers = centers_for(points, n_clusters)
    sums = sums_for(centers)
    return lambda core: core.accumulate(points, centers, *sums, n_threads=1)


def mini_batch(points: np.ndarray, size: int, n_clusters: int) -> Call:
    centers, rows = centers_for(points, n_clusters), np.random.default_rng(0).integers(len(points), size=size)
    sums = sums_for(centers)
    return lambda core: core.accumulate(points, centers, *sums, rows=rows, n_threads=1)


def labels(points: np.ndarray, n_clusters: int) -> Call:
    centers, found = centers_for(points, n_clusters), np.empty(len(points), np.int32)
    return lambda core: core.assign(points, centers, labels=found, n_threads=1)


def sparse_pass(n_points: int, n_features: int, n_clusters: int) -> Call:
    rng = np.random.default_rng(0)
    points = scipy.sparse.random_array(
        (n_points, n_features), density=0.01, format="csr", dtype=np.float32, rng=rng
    )
    arrays = points.data, points.indices, points.indptr.astype(np.int64)
    centers = 0.05 * rng.random((n_clusters, n_features), dtype=np.float32)
    sums, checked = sums_for(centers), _core.CheckedCsr(*arrays[1:], n_features)

    def call(core: ModuleType) -> object:
        known = {"checked": checked} if core is _core else {}  # as the library calls it
        return core.accumulate_csr(*arrays, centers, *sums, **known, n_threads=1)

    return call


def refine(points: np.ndarray, n_clusters: int) -> Call:
    centers, n = centers_for(points, n_clusters), len(points)
    counts, sums, cost = sums_for(centers)
    found = np.empty(n, np.int32)
    _core.accumulate(points, centers, counts, sums, cost, labels=found)
    still, one = np.zeros(n_clusters, np.float32), np.zeros(1, np.float32)

    def call(core: ModuleType) -> object:
        bounds = found.copy(), np.full(n, np.inf, np.float32), np.zeros((n, 1), np.float32)
        return core.refine(points, centers, counts.copy(), sums.copy(), *bounds, still, one, still, n_threads=1)

    return call


def seconds(call: Call, core: ModuleType, n_calls: int) -> float:
    start = time.thread_time()
    for _ in range(n_calls):
        call(core)
    return (time.thread_time() - start) / n_calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", type=Path, help="the extension of the other build")
    parser.add_argument("--repeat", type=int, default=31)
    options = parser.parse_args()
    other = loaded(options.other)
    print(f"{_core.instruction_set()}, 1 thread, {date.today()}")
    print("| call | other | installed | ratio | middle half |\n|---|---:|---:|---:|---:|")
    for name, call in calls():
        call(other), call(_core)
        n_calls = max(1, round(LEAST / max(1e-7, seconds(call, other, 1))))
        pairs = [(seconds(call, other, n_calls), seconds(call, _core, n_calls)) for _ in range(options.repeat)]
        before, after = (1e3 * statistics.median(times) for times in zip(*pairs, strict=True))
        low, ratio, high = statistics.quantiles((now / then for then, now in pairs), n=4)
        print(f"| {name} | {before:.4g} ms | {after:.4g} ms | {ratio:.3f} | {low:.3f} to {high:.3f} |", flush=True)


if __name__ == "__main__":
    main()

"""How fast the kernels are, each as a ratio to a peer that is timed in the same run.

    python benchmarks/kernels.py [--repeat 7] [--threads 2] [--only NAME ...] [--output benchmarks/results]

Prints a table and writes kernels.json and kernels.svg. Both sides of a ratio are timed alternately. The ratio is
that of the medians; its spread is the middle half of the ratios of neighbouring timings. The 60000×784 points are
MNIST if the folder EULERMEANS_DATA has it, otherwise synthetic images.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from itertools import islice
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.cluster._k_means_lloyd import lloyd_iter_chunked_dense, lloyd_iter_chunked_sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from eulermeans import _core
from eulermeans.datasets import mnist
from eulermeans.oracles import as_oracle, memory_oracle
from eulermeans.solvers import polish

Action = Callable[[], object]

REST = 0.3  # seconds of pause before each timing: spinning threads of the other side would take a core
SHORT = 0.25  # seconds: shorter actions run once before they are timed, as a core is slow right after a pause


@dataclass
class Ratio:
    name: str
    ours_ms: float
    peer_ms: float
    ratio: float
    low: float
    high: float
    bar: float | None

    def line(self) -> str:
        verdict = (
            "" if self.bar is None else f"  bar {self.bar:.2f}  {'met' if self.ratio <= self.bar else 'MISSED'}"
        )
        return (
            f"{self.name:58s} {self.ours_ms:9.2f} ms / {self.peer_ms:9.2f} ms = {self.ratio:5.2f}"
            f"  [{self.low:.2f}, {self.high:.2f}]{verdict}"
        )


def seconds(action: Action) -> float:
    time.sleep(REST)
    first = timed(action)
    return timed(action) if first < SHORT else first


def timed(action: Action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def compare(name: str, ours: Action, peer: Action, repeat: int, bar: float | None = None) -> Ratio:
    ours(), peer()
    pairs = [(seconds(ours), seconds(peer)) for _ in range(repeat)]
    mine, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratios = sorted(a / b for a, b in pairs)
    low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
    result = Ratio(name, 1e3 * mine, 1e3 * theirs, mine / theirs, low, high, bar)
    print(result.line(), flush=True)
    return result


def images() -> tuple[str, np.ndarray]:
    """60000×784 bytes: MNIST, or synthetic images that are as sparse and noisy."""
    if "EULERMEANS_DATA" in os.environ:
        return "MNIST", np.ascontiguousarray((255 * mnist().points).round().astype(np.uint8))
    rng = np.random.default_rng(0)
    prototypes = rng.random((64, 784)) ** 3 * (rng.random((64, 784)) < 0.4)
    noisy = prototypes[rng.integers(64, size=60000)] + 0.15 * rng.standard_normal((60000, 784), dtype=np.float32)
    return "made-up images", (255 * np.clip(noisy, 0, 1)).astype(np.uint8)


def centers_for(points: np.ndarray, n_clusters: int) -> np.ndarray:
    rows = np.random.default_rng(n_clusters).choice(len(points), (n_clusters, 3))
    return points[rows].astype(np.float64).mean(axis=1)


def one_pass(points: object, centers: np.ndarray, threads: int) -> Action:
    oracle = as_oracle(points, None, n_threads=threads)
    return lambda: oracle.full(centers)


def lloyd_iteration(points: object, centers: np.ndarray, threads: int) -> Action:
    """One iteration of scikit-learn's KMeans: labels and new centers, without the cost."""
    sparse = scipy.sparse.issparse(points)
    iterate = lloyd_iter_chunked_sparse if sparse else lloyd_iter_chunked_dense
    old = np.ascontiguousarray(centers.astype(points.dtype))
    new, weight_in = np.zeros_like(old), np.zeros(len(old), dtype=points.dtype)
    weights = np.ones(points.shape[0], dtype=points.dtype)
    labels, shift = np.full(points.shape[0], -1, dtype=np.int32), np.zeros(len(old), dtype=points.dtype)

    def iteration() -> None:
        with threadpool_limits(limits=1, user_api="blas"):
            iterate(points, weights, old, new, weight_in, labels, shift, threads)

    return iteration


def numpy_step(points: np.ndarray, rows: np.ndarray, centers: np.ndarray) -> Action:
    """The NumPy twin of a pass over some rows: gather, GEMM, argmin, one-hot GEMM."""
    rounded = centers.astype(points.dtype)

    def step() -> None:
        batch = points[rows]
        labels = (0.5 * (rounded**2).sum(axis=1) - batch @ rounded.T).argmin(axis=1)
        member = np.zeros((len(centers), len(rows)), dtype=points.dtype)
        member[labels, np.arange(len(rows))] = 1
        member.sum(axis=1), member @ batch

    return step


def dense_passes(byte_points: np.ndarray, repeat: int, threads: int) -> list[Ratio]:
    points = byte_points.astype(np.float32) / np.float32(255)
    found = []
    bars = {10: (0.55, 1.0), 100: (None, None), 200: (1.10, 0.85), 1000: (1.10, 0.85)}
    for k, (against_product, against_lloyd) in bars.items():
        centers = centers_for(points, k)
        rounded = centers.astype(np.float32)
        ours = one_pass(points, centers, threads)
        found.append(
            compare(f"pass / X @ C.T, K = {k}", ours, lambda c=rounded: points @ c.T, repeat, against_product)
        )
        peer = lloyd_iteration(points, centers, threads)
        found.append(compare(f"pass / scikit-learn Lloyd iteration, K = {k}", ours, peer, repeat, against_lloyd))
    for k in (10, 100):
        centers = centers_for(points, k)
        everything = np.arange(len(points))
        twin = numpy_step(points, everything, centers)
        found.append(compare(f"pass / NumPy twin, K = {k}", one_pass(points, centers, threads), twin, repeat))
    centers = centers_for(points, 10)
    as_bytes, as_floats = one_pass(byte_points, 255 * centers, threads), one_pass(points, centers, threads)
    found.append(compare("uint8 pass / float32 pass, K = 10", as_bytes, as_floats, repeat, 0.8))
    return found


def batches(byte_points: np.ndarray, repeat: int, threads: int) -> list[Ratio]:
    points = byte_points.astype(np.float32) / np.float32(255)
    centers = centers_for(points, 10)
    rows = np.random.default_rng(0).integers(len(points), size=500)

    rounded = centers.astype(np.float32)
    counts, sums, cost = np.zeros(10), np.zeros((10, 784)), np.zeros(1)

    def steps(n_threads: int) -> Action:
        def run() -> None:
            for _ in range(20):
                _core.accumulate(points, rounded, counts, sums, cost, rows=rows, n_threads=n_threads)

        return run

    twin = numpy_step(points, rows, centers)

    def twins() -> None:
        for _ in range(20):
            twin()

    return [
        compare("20 mini-batch steps of 500 / NumPy twin, K = 10", steps(threads), twins, repeat, 0.5),
        compare(f"mini-batch steps, {threads} threads / 1 thread", steps(threads), steps(1), repeat, 1.05),
    ]


def low_dimension(repeat: int, threads: int) -> list[Ratio]:
    rng = np.random.default_rng(0)
    points = rng.integers(10, size=(100000, 2)) + 0.2 * rng.standard_normal((100000, 2))
    centers = centers_for(points, 100)
    ours, peer = one_pass(points, centers, threads), lloyd_iteration(points, centers, threads)
    return [compare("100000×2 float64, K = 100: pass / Lloyd iteration", ours, peer, repeat, 0.33)]


def sparse_pass(repeat: int, threads: int) -> list[Ratio]:
    points = scipy.sparse.random(1_000_000, 128, density=0.01, format="csr", dtype=np.float32, random_state=0)
    centers = np.random.default_rng(0).random((50, 128)) * 0.05
    ours, peer = one_pass(points, centers, threads), lloyd_iteration(points, centers, threads)
    return [compare("1M×128 CSR, 1 % stored, K = 50: pass / Lloyd iteration", ours, peer, repeat, 0.8)]


def polishes(byte_points: np.ndarray, repeat: int, threads: int) -> list[Ratio]:
    rng = np.random.default_rng(5)
    letters = 2 * rng.standard_normal((26, 16))[rng.integers(26, size=20000)] + rng.standard_normal((20000, 16))
    letters = np.clip(np.rint(2 * letters + 8), 0, 15)
    found = []
    for name, points in (("letter-like 20000×16", letters), ("60000×784", byte_points / np.float32(255))):
        start = points[np.random.default_rng(0).choice(len(points), 100, replace=False)]
        tolerance = 1e-4 * float(points.var(axis=0).mean())

        def ours(points: np.ndarray = points, start: np.ndarray = start, tolerance: float = tolerance) -> None:
            centers = start.astype(np.float64)
            for iterate in islice(polish(memory_oracle(points, n_threads=threads), centers), 300):
                shift, centers = np.sum((iterate.centers - centers) ** 2), iterate.centers
                if shift <= tolerance:
                    return

        for algorithm in ("lloyd", "elkan"):

            def peer(points: np.ndarray = points, start: np.ndarray = start, algorithm: str = algorithm) -> None:
                KMeans(100, init=start, n_init=1, algorithm=algorithm).fit(points)

            few = 1 if len(points) * points.shape[1] > 10**7 else repeat
            found.append(compare(f"polish / KMeans {algorithm}, {name}, K = 100", ours, peer, few, 0.5))
    return found


def memory(byte_points: np.ndarray) -> dict[str, float]:
    """MiB that one pass allocates besides the data, as traced by Python."""
    points = byte_points.astype(np.float32) / np.float32(255)
    peaks = {}
    for k in (10, 100):
        centers = centers_for(points, k)
        for name, action in (
            ("ours", one_pass(points, centers, 2)),
            ("NumPy twin", numpy_step(points, np.arange(len(points)), centers)),
        ):
            tracemalloc.start()
            action()
            peaks[f"{name}, K = {k}"] = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
    return peaks


def roofline(byte_points: np.ndarray, repeat: int, threads: int) -> dict[str, object]:
    """Rates of a pass for several K, and the rates of a matrix product and of a copy on this machine."""
    points = byte_points.astype(np.float32) / np.float32(255)
    square = points[:4096].repeat(2, axis=1)[:, :1024].copy()
    product = 2 * 4096 * 1024 * 4096 / min(seconds(lambda: square @ square.T) for _ in range(repeat)) / 1e9
    buffer = np.empty_like(points)
    bandwidth = 2 * points.nbytes / min(seconds(lambda: np.copyto(buffer, points)) for _ in range(repeat)) / 1e9
    rates = {}
    for k in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        centers = centers_for(points, k)
        best = min(seconds(one_pass(points, centers, threads)) for _ in range(max(2, repeat // 2)))
        rates[k] = 2 * points.size * k / best / 1e9
    print(f"matrix product {product:.0f} Gflop/s, copy {bandwidth:.1f} GB/s")
    return {"product_gflops": product, "copy_gbps": bandwidth, "pass_gflops": rates}


def draw(measured: dict[str, object], path: Path) -> None:
    from matplotlib.figure import Figure

    rates = {int(k): rate for k, rate in measured["pass_gflops"].items()}
    clusters = np.array(sorted(rates))
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    axes = figure.subplots()
    memory_bound = measured["copy_gbps"] * 2 * clusters / 4
    axes.plot(clusters, np.minimum(memory_bound, measured["product_gflops"]), "--", color="0.5",
              label="limit of the machine: reading float32, or a matrix product")  # fmt: skip
    axes.plot(clusters, [rates[k] for k in clusters], "o-", color="#00798c", label="one pass: labels, sums, cost")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:.0f}")
    axes.set(
        xlabel="number of clusters K", ylabel="Gflop/s of 2·N·d·K", title="60000×784 float32: pass against machine"
    )
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parts = ("dense", "batch", "low", "sparse", "polish", "memory", "roofline")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    source, byte_points = images()
    repeat, threads = options.repeat, options.threads
    print(f"{platform.machine()}, {_core.instruction_set()}, {threads} threads, {date.today()}; {source}")
    run: dict[str, Callable[[], list[Ratio]]] = {
        "dense": lambda: dense_passes(byte_points, repeat, threads),
        "batch": lambda: batches(byte_points, 3 * repeat, threads),
        "low": lambda: low_dimension(3 * repeat, threads),
        "sparse": lambda: sparse_pass(repeat, threads),
        "polish": lambda: polishes(byte_points, repeat, threads),
    }
    ratios = [ratio for part in options.only if part in run for ratio in run[part]()]
    result: dict[str, object] = {
        "date": str(date.today()),
        "instruction_set": _core.instruction_set(),
        "threads": threads,
        "points": source,
        "ratios": [asdict(ratio) for ratio in ratios],
    }
    if "memory" in options.only:
        result["peak_mib"] = memory(byte_points)
        print("MiB besides the data:", {name: round(peak, 1) for name, peak in result["peak_mib"].items()})
    options.output.mkdir(parents=True, exist_ok=True)
    if "roofline" in options.only:
        result["roofline"] = roofline(byte_points, repeat, threads)
        draw(result["roofline"], options.output / "kernels.svg")
    (options.output / "kernels.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

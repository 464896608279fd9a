"""Hours of mixed fits and of a stream: memory, open files and threads must stay flat.

    python benchmarks/soak.py --seconds 7200

Prints a line each minute, and exits with 1 if any of the three grew after the first tenth of the time.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from eulermeans import EulerMeans, StochasticBackwardEuler, load

GROWTH = 1.05  # of the memory, that is still flat
SLACK = 16 << 20  # bytes


@dataclass(frozen=True)
class Usage:
    """What the process holds."""

    memory: int  # bytes that are resident
    n_files: int
    n_threads: int

    @classmethod
    def now(cls) -> Usage:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        status = Path("/proc/self/status").read_text()
        n_threads = int(status.split("Threads:")[1].split()[0])
        return cls(pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")), n_threads)

    def __str__(self) -> str:
        return f"{self.memory / 2**20:.0f} MiB, {self.n_files} files, {self.n_threads} threads"


def one_fit(rng: np.random.Generator) -> None:
    n, d, k = int(rng.integers(50, 20_000)), int(rng.integers(1, 40)), int(rng.integers(1, 20))
    points = rng.standard_normal((n, d)).astype(["float32", "float64"][rng.integers(2)])
    weights = rng.random(n) if rng.random() < 0.3 else None
    data = sparse.csr_array(np.where(points > 1, points, 0)) if rng.random() < 0.2 else points
    options = {"max_time": float(rng.uniform(0.01, 2)), "effort": float(rng.choice([0, 0.1, 1]))}
    estimator = EulerMeans(k, random_state=0, **options)
    if rng.random() < 0.2:
        estimator = StochasticBackwardEuler(k, n_outer=20, random_state=0)
    model = estimator.fit(data, sample_weight=weights)
    model.predict(data)
    if rng.random() < 0.1:
        with contextlib.suppress(ValueError):
            model.fit(np.full((5, 2), np.nan))


def one_fit_of_a_file(rng: np.random.Generator, folder: Path) -> None:
    """A fit that reads a file in chunks and writes a checkpoint; its model is saved and loaded."""
    path, model_path = folder / "points.npy", folder / "model.eulermeans"
    np.save(path, rng.standard_normal((int(rng.integers(50, 20_000)), 8)))
    model = EulerMeans(5, effort=0.1, memory_limit="1MB", random_state=0)
    model.fit(path, checkpoint=folder / "fit.checkpoint")
    model.save(model_path)
    load(model_path).predict(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=7200)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, stop = np.random.default_rng(0), threading.Event()

    def stream() -> None:
        own = np.random.default_rng(1)
        model = EulerMeans(8, forgetting=0.05, random_state=0)
        while not stop.is_set():
            model.partial_fit(own.standard_normal((500, 10)))

    thread = threading.Thread(target=stream, daemon=True)
    thread.start()
    begun, first, n_fits, next_line = time.monotonic(), None, 0, 0.0
    while (seconds := time.monotonic() - begun) < options.seconds:
        if n_fits % 10:
            one_fit(rng)
        else:
            with tempfile.TemporaryDirectory() as folder:
                one_fit_of_a_file(rng, Path(folder))
        n_fits += 1
        if first is None and seconds > options.seconds / 10:
            first = Usage.now()
        if seconds > next_line:
            print(f"{seconds:6.0f} s: {n_fits} fits, {Usage.now()}", flush=True)
            next_line = seconds + 60
    stop.set()
    thread.join()
    last = Usage.now()
    print(f"{n_fits} fits; after a tenth of the time {first}, at the end {last}")
    if first is None:
        return 1
    is_flat = last.memory <= GROWTH * first.memory + SLACK
    return 0 if is_flat and last.n_files <= first.n_files and last.n_threads <= first.n_threads else 1


if __name__ == "__main__":
    sys.exit(main())

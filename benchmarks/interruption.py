"""How soon Ctrl-C and time limits are answered.

    python benchmarks/interruption.py

Each row is the worst of some tries. Ctrl-C: from the signal until the call has ended with KeyboardInterrupt.
max_time: from the limit until the fit has ended. Other processes on the machine add to the wall time, so the
time of the processor is printed beside it.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eulermeans import EulerMeans, _core

N_POINTS, N_FEATURES, N_CLUSTERS = 400_000, 64, 20_000  # a kernel call that takes minutes


@dataclass(frozen=True)
class Delay:
    """Seconds until a call had ended."""

    wall: float
    process: float  # of all threads

    def __str__(self) -> str:
        return f"{self.wall:6.3f} s wall, {self.process:6.3f} s of processor"


class Bell:
    """Notes the time after some seconds, and may do something then."""

    def __init__(self, seconds: float, action: Callable[[], object] = lambda: None) -> None:
        self._action = action
        self._rung: tuple[float, float] | None = None
        self._timer = threading.Timer(seconds, self._ring)

    def _ring(self) -> None:
        self._rung = time.perf_counter(), time.process_time()
        self._action()

    def __enter__(self) -> Bell:
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()

    def delay(self) -> Delay:
        """Since it rang."""
        if self._rung is None:
            raise RuntimeError("the call ended before the bell")
        return Delay(time.perf_counter() - self._rung[0], time.process_time() - self._rung[1])


def delay_of_ctrl_c(call: Callable[[], object], after: float) -> Delay:
    """From Ctrl-C, pressed `after` seconds, until the call has ended."""
    with Bell(after, lambda: os.kill(os.getpid(), signal.SIGINT)) as bell:
        try:
            call()
        except KeyboardInterrupt:
            return bell.delay()
    raise RuntimeError("the call ended before Ctrl-C")


def delay_of_max_time(n_clusters: int, points: np.ndarray, max_time: float, *, compute_labels: bool) -> Delay:
    """From the limit of a fit until it has ended."""
    model = EulerMeans(n_clusters, max_time=max_time, compute_labels=compute_labels, random_state=0)
    with Bell(max_time) as bell:
        model.fit(points)
        return bell.delay()


def worst(tries: list[Delay]) -> Delay:
    return max(tries, key=lambda delay: delay.wall)


def long_calls() -> dict[str, Callable[[], object]]:
    """Kernel calls of minutes, and a fit."""
    rng = np.random.default_rng(0)
    points = np.zeros((N_POINTS, N_FEATURES), np.float32)
    centers = rng.standard_normal((N_CLUSTERS, N_FEATURES), np.float32)
    labels = np.zeros(N_POINTS, np.int32)
    sums = {"counts": np.zeros(N_CLUSTERS), "sums": np.zeros((N_CLUSTERS, N_FEATURES)), "cost": np.zeros(1)}
    many = np.tile(centers.astype(np.float64), (5, 3))
    near = np.zeros((len(many), 5), np.int32)
    few = rng.standard_normal((30_000, 16), np.float32)
    return {
        "accumulate": lambda: _core.accumulate(points, centers, **sums, labels=labels),
        "assign": lambda: _core.assign(points, centers, labels=labels),
        "neighbours": lambda: _core.neighbours(many, near),
        "EulerMeans(8000).fit": lambda: EulerMeans(8000, random_state=0).fit(few),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tries", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    for name, call in long_calls().items():
        tries = [delay_of_ctrl_c(call, float(rng.uniform(0.1, 1.0))) for _ in range(options.tries)]
        print(f"Ctrl-C in {name:40} {worst(tries)}", flush=True)
    points = rng.standard_normal((30_000, 16), np.float32)
    for compute_labels in (False, True):
        tries = [delay_of_max_time(8000, points, 1.0, compute_labels=compute_labels) for _ in range(options.tries)]
        print(f"K = 8000, max_time=1, compute_labels={compute_labels!s:16} {worst(tries)}", flush=True)


if __name__ == "__main__":
    main()

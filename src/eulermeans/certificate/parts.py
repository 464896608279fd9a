"""Lower bounds for many parts of the data, computed side by side by threads.

Linear algebra runs on one thread for each part, so the bits of a bound depend on the part alone. NumPy lets other
Python threads run meanwhile.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..oracles import Points
from .problem import make_problem
from .relaxation import tighten
from .sphere_bound import on_sphere

PART_TOLERANCE = 1e-3  # a part whose gap is at most this is done
RESERVE = (
    0.05  # of the time, so that the last parts are done in time although each takes a little more than its share
)


class PartBound(NamedTuple):
    """The bound of one part."""

    number: int
    value: float


@dataclass
class Clock:
    """Until when to go on. `stop` ends all work soon, from any thread."""

    seconds: float
    start: float = field(default_factory=time.perf_counter)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    @property
    def left(self) -> float:
        """Seconds until the end; 0 after it."""
        return 0.0 if self.stop.is_set() else max(0.0, self.seconds - self.elapsed)


def bounds_of(
    points: FloatArray,  # (n_points, n_features), IN
    weights: FloatArray | None,  # (n_points,), IN
    labels: NDArray[np.int32],  # (n_points,), IN: the clustering to compare with
    n_clusters: int,
    clock: Clock,
    *,
    spherical: bool,
    tolerance: float = PART_TOLERANCE,
) -> Iterator[float]:
    """Increasing lower bounds on the optimal inertia, until the gap is closed or the time is up."""
    weights = np.ones(len(points)) if weights is None else weights
    squares, weight = float(weights @ np.einsum("if,if->i", points, points)), float(weights.sum())

    def converted(bound: float) -> float:
        return on_sphere(bound, squares, weight, sum(points.shape)) if spherical else bound

    problem = make_problem(points, weights, n_clusters)
    if problem is None:
        yield converted(0.0)
        return
    enough, best = (1 - tolerance) * _inertia(points, weights, labels), 0.0
    for bound in tighten(problem):
        best = max(best, problem.unscaled(bound))
        yield converted(best)
        if best >= enough or not clock.left:
            return


def part_bounds(
    points: Points,
    parts: Sequence[NDArray[np.int64]],  # the rows of each part
    labels: NDArray[np.int32],  # (n_points,), IN
    n_clusters: int,
    clock: Clock,
    *,
    spherical: bool,
    n_threads: int | None,
) -> Iterator[PartBound]:
    """The bound of each part, as they are done. The time left is shared evenly among the parts not yet begun."""
    n_workers = min(len(parts), n_threads or usable_cores())

    def solve(number: int) -> PartBound:
        share = max(0.0, clock.left - RESERVE * clock.seconds) * n_workers / (len(parts) - number)
        rows = parts[number]
        weights = None if points.weights is None else points.weights[rows]
        own = Clock(min(clock.left, share), stop=clock.stop)
        best = 0.0
        for bound in bounds_of(points.dense(rows), weights, labels[rows], n_clusters, own, spherical=spherical):
            best = bound
        return PartBound(number, best)

    with ThreadPoolExecutor(n_workers) as executor:
        numbers = iter(range(len(parts)))
        running: set[Future[PartBound]] = set()
        try:
            while True:
                while len(running) < n_workers and clock.left and (number := next(numbers, None)) is not None:
                    running.add(executor.submit(solve, number))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from sorted(future.result() for future in done)
        except BaseException:
            clock.stop.set()  # leaving the executor waits for the workers
            raise


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _inertia(points: FloatArray, weights: FloatArray, labels: NDArray[np.int32]) -> float:
    """The weighted sum of squared distances to the means of the labels."""
    total = 0.0
    for label in np.unique(labels):
        rows, of_rows = points[labels == label], weights[labels == label]
        if of_rows.sum() > 0:
            offsets = rows - np.average(rows, axis=0, weights=of_rows)
            total += float(of_rows @ np.einsum("if,if->i", offsets, offsets))
    return total

"""Lower bounds for many parts of the data, computed side by side by threads.

Linear algebra runs on one thread for each part, so the bits of a bound depend on the part alone. NumPy lets other
Python threads run meanwhile.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
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

MOST_BYTES = 1 << 28  # for the states of all parts
_MATRICES = 20  # of the size of the part that the state of a part takes, about
_FIRST_ROUND = 4  # bounds of each part in the first round


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
    tolerance: float,
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


@dataclass(frozen=True)
class Parts:
    """Parts of some points, to be bounded side by side."""

    points: Points
    rows: Sequence[NDArray[np.int64]]  # of each part
    labels: NDArray[np.int32]  # (n_points,) the clustering to compare with
    n_clusters: int
    spherical: bool
    clock: Clock
    n_threads: int | None

    def bounds(self) -> Iterator[PartBound]:
        """The bounds of all parts, as they are found; a part may have several, each better than the one before.

        In rounds, each twice as long as the one before, if there is memory for the state of every part. Otherwise
        one part after the other, which share the time that is left.
        """
        values = sum(len(rows) ** 2 for rows in self.rows) * _MATRICES
        return self._in_rounds() if values * 8 <= MOST_BYTES else self._once()

    def _in_rounds(self) -> Iterator[PartBound]:
        begun: dict[int, Iterator[float]] = {}
        best = dict.fromkeys(range(len(self.rows)), 0.0)
        n_bounds = _FIRST_ROUND

        def advance(number: int) -> PartBound:
            if number not in begun:
                begun[number] = self._solve(number, self.clock)
            best[number] = max(islice(begun[number], n_bounds), default=best[number])
            return PartBound(number, best[number])

        left = list(best)
        while left and self.clock.left:
            before = dict(best)
            yield from self._side_by_side(advance, left)
            left = [number for number in left if best[number] > before[number]]
            n_bounds *= 2

    def _once(self) -> Iterator[PartBound]:
        clock, n_parts = self.clock, len(self.rows)

        def solve(number: int) -> PartBound:
            share = max(0.0, clock.left - RESERVE * clock.seconds) * self._n_workers / (n_parts - number)
            own = Clock(min(clock.left, share), stop=clock.stop)
            return PartBound(number, max(self._solve(number, own)))

        return self._side_by_side(solve, range(n_parts))

    def _solve(self, number: int, clock: Clock) -> Iterator[float]:
        rows = self.rows[number]
        weights = None if self.points.weights is None else self.points.weights[rows]
        points, labels = self.points.dense(rows), self.labels[rows]
        return bounds_of(
            points,
            weights,
            labels,
            self.n_clusters,
            clock,
            spherical=self.spherical,
            tolerance=PART_TOLERANCE,
        )

    @property
    def _n_workers(self) -> int:
        return min(len(self.rows), self.n_threads or usable_cores())

    def _side_by_side(self, solve: Callable[[int], PartBound], numbers: Iterable[int]) -> Iterator[PartBound]:
        """Solve these parts by threads, as long as there is time."""
        with ThreadPoolExecutor(self._n_workers) as executor:
            waiting, running = iter(numbers), set[Future[PartBound]]()
            try:
                while True:
                    while len(running) < self._n_workers and self.clock.left:
                        if (number := next(waiting, None)) is None:
                            break
                        running.add(executor.submit(solve, number))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from sorted(future.result() for future in done)
            except BaseException:
                self.clock.stop.set()  # leaving the executor waits for the workers
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

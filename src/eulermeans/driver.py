"""Runs a solver: decides when to stop, keeps the history, calls back.

Every phase of every fit goes through `run`; progress, time budgets and divergence are handled here and nowhere
else. Does not know which algorithm it drives, nor the data.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np

from .moments import FloatArray
from .solvers import Iterate, Solver

FAR_WORSE = 10.0  # the escape from a bad minimum raises the objective for a while, but not past this
ROUNDING = 1e-12  # of the largest squared norm: what is left of an objective of zero


class StopReason(str, Enum):
    """Why a fit ended. The value is a message for people."""

    CONVERGED = "converged: the centers moved less than the tolerance"
    SEARCHED = "searched: every breath that the effort allows was taken"
    MAX_ITER = "reached the maximum number of iterations"
    MAX_TIME = "reached the time limit"
    CALLBACK = "stopped by a callback"
    DIVERGED = "diverged: the steps were too large and threw centers out of the data"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Record:
    """One outer step of one phase."""

    phase: str
    step: int  # within the phase, from 1
    objective: float  # φ, or what the solver knows of it
    exact: bool  # whether it was computed over all points
    step_size: float | None
    seconds: float  # since the fit began
    points_read: int  # in this step
    n_distances: int = 0  # between points and centers, computed in this step


@dataclass(frozen=True)
class Run:
    """How one phase ended."""

    centers: FloatArray  # (n_clusters, n_features), finite
    n_iter: int
    stop_reason: StopReason


class Observer(Protocol):
    """Who is told of each step."""

    def begin(self, phase: str) -> None:
        """A step is about to be taken."""
        ...

    def end(self, record: Record, centers: FloatArray) -> bool:
        """A step was taken; true asks to stop."""
        ...


@dataclass
class Journal:
    """What the phases of one fit share: the clock, the history and who is told of each step."""

    max_time: float | None = None
    observer: Observer | None = None
    history: list[Record] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Since the fit began."""
        return time.perf_counter() - self._start

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit, if there is one, is over."""
        return self.max_time is not None and self.seconds >= self.max_time


def run(
    solver: Solver,
    centers: FloatArray,  # (n_clusters, n_features) where the solver starts, IN
    journal: Journal,
    *,
    phase: str,
    max_iter: int,
    tolerance: float | None = None,
) -> Run:
    """Take steps until one of the stopping rules holds.

    `tolerance`: the squared Frobenius norm of a step that counts as convergence; None never stops for it.
    """
    if journal.out_of_time:
        return Run(centers, 0, StopReason.MAX_TIME)
    ceiling = 0.0
    for step in range(1, max_iter + 1):
        if journal.observer is not None:
            journal.observer.begin(phase)
        iterate = next(solver)
        ceiling = max(ceiling, FAR_WORSE * iterate.spread, FAR_WORSE * iterate.objective if step == 1 else 0.0)
        diverged = _diverged(iterate, ceiling)
        kept = centers if diverged else iterate.centers
        shift = float(np.sum((kept - centers) ** 2))
        centers = kept
        record = Record(
            phase=phase,
            step=step,
            objective=iterate.objective,
            exact=iterate.exact,
            step_size=iterate.step_size,
            seconds=journal.seconds,
            points_read=iterate.points_read,
            n_distances=iterate.n_distances,
        )
        stopped = journal.observer is not None and journal.observer.end(record, centers)
        if diverged:
            return Run(centers, step - 1, StopReason.DIVERGED)
        journal.history.append(record)
        if stopped:
            return Run(centers, step, StopReason.CALLBACK)
        if iterate.last:
            return Run(centers, step, StopReason.SEARCHED)
        if tolerance is not None and shift <= tolerance:
            return Run(centers, step, StopReason.CONVERGED)
        if journal.out_of_time:
            return Run(centers, step, StopReason.MAX_TIME)
    return Run(centers, max_iter, StopReason.MAX_ITER)


def _diverged(iterate: Iterate, ceiling: float) -> bool:
    """Whether the centers are no numbers, or serve the data far worse than the start and than one center did."""
    if not np.isfinite(iterate.centers).all():
        return True
    rounding = ROUNDING * float(np.max(np.sum(iterate.centers**2, axis=1)))
    return not iterate.objective <= ceiling + rounding

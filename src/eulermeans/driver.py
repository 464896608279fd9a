"""Runs a solver: decides when to stop, keeps the history, notifies the observer, saves checkpoints.

Every phase of every fit goes through `run`: time limits and divergence are handled here and nowhere else. Does not
know which algorithm it runs, nor the data.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .arrays import FloatArray
from .history import Record, StopReason
from .oracles import OutOfTime, time_limit
from .solvers import Begin, Iterate, Memory, Solver
from .storage.checkpoint import Checkpoint
from .storage.snapshots import Snapshot

FAR_WORSE = 10.0  # leaving a poor minimum raises the objective for a while, but not by more than this factor
ROUNDING = 1e-12  # rounding error of an objective of zero, relative to the largest squared norm of a center


@dataclass(frozen=True)
class StoppingRules:
    """When a phase stops by itself."""

    max_iter: int
    tolerance: float | None = None  # converged if the squared Frobenius norm of a step is at most this
    gain: float | None = None  # converged if a step lowers the objective by at most this fraction of it
    before: float = np.inf  # the objective of the points before the first step, if it is known
    largest: float | None = None  # diverged if a coordinate of a center is larger than this in magnitude
    keep_measured: bool = False  # after a step that gained little, keep the centers before it, which were measured


@dataclass(frozen=True)
class Run:
    """How a phase ended."""

    centers: FloatArray  # (n_clusters, n_features), finite
    n_iter: int
    stop_reason: StopReason


class Observer(Protocol):
    """Is notified of each step."""

    def begin(self, phase: str) -> None:
        """A step begins."""

    def end(self, record: Record, centers: FloatArray) -> bool:
        """A step has ended; return True to stop the fit."""


@dataclass
class Journal:
    """What the phases of a fit share: the clock, the history, the observer and the checkpoint."""

    max_time: float | None = None
    observer: Observer | None = None
    checkpoint: Checkpoint | None = None
    history: list[Record] = field(default_factory=list)
    _start: float = field(default_factory=lambda: time.perf_counter())  # looked up then: tests replace the clock
    _phase_start: int = 0  # the number of records of earlier phases

    @property
    def seconds(self) -> float:
        """Time since the fit began."""
        return time.perf_counter() - self._start

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit is reached."""
        return self.max_time is not None and self.seconds >= self.max_time

    def limit(self) -> AbstractContextManager[None]:
        """Within the block, a kernel call that is running when the time is over ends with `OutOfTime`.

        Not with a checkpoint: a later fit resumes from whole steps only.
        """
        if self.max_time is None or self.checkpoint is not None:
            return time_limit(None)
        return time_limit(self.max_time - self.seconds)

    def begin_phase(self, phase: str) -> Snapshot | None:
        """Start a phase; if the checkpoint has it, restore its history and the clock."""
        self._phase_start = len(self.history)
        snapshot = None if self.checkpoint is None else self.checkpoint.resumed(phase)
        if snapshot is not None:
            self.history.extend(snapshot.records)
            self._start = time.perf_counter() - max(self.seconds, snapshot.seconds)
        return snapshot

    def save(
        self,
        phase: str,
        centers: FloatArray,  # (n_clusters, n_features), IN
        step: int,
        *,
        ceiling: float = 0.0,
        memory: Memory | None = None,
        ended: StopReason | None = None,
    ) -> None:
        """Write the state of a phase to the checkpoint, if there is one."""
        if self.checkpoint is None:
            return
        records, rng = self.history[self._phase_start :], self.checkpoint.rng.bit_generator.state
        self.checkpoint.save(
            Snapshot(phase, centers, step, ceiling, records, rng, self.seconds, ended, memory or {})
        )


def run(
    solver: Solver,
    centers: FloatArray,  # (n_clusters, n_features) where the solver starts, IN
    journal: Journal,
    phase: str,
    rules: StoppingRules,
    *,
    resumed: Snapshot | None = None,  # the state that the solver continues from
) -> Run:
    """Take steps until the solver, one of the rules, the time limit or the observer ends the phase."""
    if journal.out_of_time:
        return Run(centers, 0 if resumed is None else resumed.step, StopReason.MAX_TIME)
    ceiling, first = (0.0, 1) if resumed is None else (resumed.ceiling, resumed.step + 1)
    last_objective = rules.before if resumed is None or not journal.history else journal.history[-1].objective
    for step in range(first, rules.max_iter + 1):
        if journal.observer is not None:
            journal.observer.begin(phase)
        try:
            with (
                journal.limit(),
                np.errstate(over="ignore", invalid="ignore"),
            ):  # centers that overflow have diverged
                iterate = next(solver)
        except OutOfTime:
            return Run(centers, step - 1, StopReason.MAX_TIME)
        ceiling = max(ceiling, FAR_WORSE * iterate.spread, FAR_WORSE * iterate.objective if step == 1 else 0.0)
        diverged = _diverged(iterate, ceiling, rules.largest)
        kept = centers if diverged else iterate.centers
        shift = 0.0 if kept is centers else float(np.sum((kept - centers) ** 2))
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
        gained_little = rules.gain is not None and iterate.objective >= (1 - rules.gain) * last_objective
        reason = None
        if stopped:
            reason = StopReason.CALLBACK
        elif iterate.last:
            reason = StopReason.SEARCHED
        elif gained_little or (rules.tolerance is not None and shift <= rules.tolerance):
            reason = StopReason.CONVERGED
        elif journal.out_of_time:
            reason = StopReason.MAX_TIME
        last_objective = iterate.objective
        if journal.checkpoint is not None and iterate.memory is not None and journal.checkpoint.due(reason):
            journal.save(phase, centers, step, ceiling=ceiling, memory=iterate.memory())
        if (
            gained_little
            and reason is StopReason.CONVERGED
            and rules.keep_measured
            and iterate.measured is not None
        ):
            centers = iterate.measured
        if reason is not None:
            return Run(centers, step, reason)
    return Run(centers, rules.max_iter, StopReason.MAX_ITER)


def run_or_resume(
    begin: Begin,
    centers: FloatArray,  # (n_clusters, n_features) where the phase starts unless it is resumed, IN
    journal: Journal,
    phase: str,
    rules: StoppingRules,
) -> Run:
    """Run a phase, or what remains of it according to the checkpoint."""
    resumed = journal.begin_phase(phase)
    memory = None
    if resumed is not None:
        centers, memory = resumed.centers, resumed.memory
        if resumed.ended is not None:
            return Run(centers, resumed.step, resumed.ended)
    ended = run(begin(centers, memory), centers, journal, phase, rules, resumed=resumed)
    if not ended.stop_reason.interrupted:
        journal.save(phase, ended.centers, ended.n_iter, ended=ended.stop_reason)
    return ended


@dataclass
class Attempt:
    """One restart: its centers, its history, and why its last phase stopped."""

    centers: FloatArray  # (n_clusters, n_features)
    history: list[Record] = field(default_factory=list)
    n_iter: int = 0
    stop_reason: StopReason = StopReason.MAX_ITER
    would_anneal: bool = False  # a search of a sample, where a descent by all points finds more

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit ended it."""
        return self.stop_reason is StopReason.MAX_TIME

    def advance(self, begin: Begin, journal: Journal, phase: str, rules: StoppingRules) -> None:
        """Run one phase, unless the attempt was interrupted."""
        if self.stop_reason.interrupted:
            return
        journal.history = self.history
        ended = run_or_resume(begin, self.centers, journal, phase, rules)
        self.centers, self.stop_reason = ended.centers, ended.stop_reason
        self.n_iter += ended.n_iter


def _diverged(iterate: Iterate, ceiling: float, largest: float | None) -> bool:
    """Whether the centers are not finite or too large, or far worse than both the start and a single center."""
    if not np.isfinite(iterate.centers).all():
        return True
    if largest is not None and np.abs(iterate.centers).max() > largest:
        return True
    rounding = ROUNDING * float(np.max(np.sum(iterate.centers**2, axis=1)))
    return not iterate.objective <= ceiling + rounding

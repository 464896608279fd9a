"""Runs a solver: decides when to stop, keeps the history, calls back, saves checkpoints.

Every phase of every fit goes through `run`; progress, time budgets and divergence are handled here and nowhere
else. Does not know which algorithm it drives, nor the data.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np

from .arrays import FloatArray
from .checkpoint import Checkpoint, Snapshot
from .solvers import Begin, Iterate, Memory, Solver

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

    @property
    def interrupted(self) -> bool:
        """Whether there was more to do, but whoever called wants no more of it for now."""
        return self in (StopReason.MAX_TIME, StopReason.CALLBACK)


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
    """What the phases of one fit share: the clock, the history, who is told of each step, and the checkpoint."""

    max_time: float | None = None
    observer: Observer | None = None
    checkpoint: Checkpoint | None = None
    history: list[Record] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)
    _phase_start: int = 0  # the number of records that earlier phases made

    @property
    def seconds(self) -> float:
        """Since the fit began."""
        return time.perf_counter() - self._start

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit, if there is one, is over."""
        return self.max_time is not None and self.seconds >= self.max_time

    def wants_snapshot(self, reason: StopReason | None) -> bool:
        """Whether a phase should be written down, which goes on (no reason) or ends for this one."""
        if self.checkpoint is None:
            return False
        return self.checkpoint.due if reason is None else reason.interrupted

    def begin_phase(self) -> None:
        """The records from here on are those of a new phase."""
        self._phase_start = len(self.history)

    def take_up(self, snapshot: Snapshot) -> None:
        """Go on with the history and the clock of a phase that was saved."""
        self.history.extend(Record(**record) for record in snapshot.records)
        self._start = time.perf_counter() - max(self.seconds, snapshot.seconds)

    def save(
        self,
        phase: str,
        centers: FloatArray,
        step: int,
        ceiling: float,
        memory: Memory,
        ended: StopReason | None = None,
    ) -> None:
        """Write down where a phase stands; there is a checkpoint to write it to."""
        assert self.checkpoint is not None
        snapshot = Snapshot(
            phase=phase,
            centers=centers,
            step=step,
            ceiling=ceiling,
            records=[asdict(record) for record in self.history[self._phase_start :]],
            rng=self.checkpoint.rng.bit_generator.state,
            seconds=self.seconds,
            ended=None if ended is None else ended.name,
            memory=memory,
        )
        self.checkpoint.save(snapshot)


def run(
    solver: Solver,
    centers: FloatArray,  # (n_clusters, n_features) where the solver starts, IN
    journal: Journal,
    *,
    phase: str,
    max_iter: int,
    tolerance: float | None = None,
    gain: float | None = None,
    since: Snapshot | None = None,
) -> Run:
    """Take steps until one of the stopping rules holds.

    `tolerance`: the squared Frobenius norm of a step that counts as convergence; None never stops for it.
    `gain`: the part of the objective by which a step must lower it to go on; None never stops for it.
    `since`: where an earlier run stood, if the solver goes on from there.
    """
    if journal.out_of_time:
        return Run(centers, 0 if since is None else since.step, StopReason.MAX_TIME)
    ceiling, first = (0.0, 1) if since is None else (since.ceiling, since.step + 1)
    last_objective = np.inf if since is None or not journal.history else journal.history[-1].objective
    for step in range(first, max_iter + 1):
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
        reason = None
        if stopped:
            reason = StopReason.CALLBACK
        elif iterate.last:
            reason = StopReason.SEARCHED
        elif (tolerance is not None and shift <= tolerance) or (
            gain is not None and iterate.objective >= (1 - gain) * last_objective
        ):
            reason = StopReason.CONVERGED
        elif journal.out_of_time:
            reason = StopReason.MAX_TIME
        last_objective = iterate.objective
        if iterate.memory is not None and journal.wants_snapshot(reason):
            journal.save(phase, centers, step, ceiling, iterate.memory())
        if reason is not None:
            return Run(centers, step, reason)
    return Run(centers, max_iter, StopReason.MAX_ITER)


def run_or_resume(
    begin: Begin, centers: FloatArray, journal: Journal, *, phase: str, max_iter: int, **rules: Any
) -> Run:
    """Run a phase, or what the journal's checkpoint says is left of it."""
    if journal.checkpoint is None:
        return run(begin(centers, None), centers, journal, phase=phase, max_iter=max_iter, **rules)
    journal.begin_phase()
    since = journal.checkpoint.resumed()
    memory = None
    if since is not None:
        journal.take_up(since)
        centers, memory = since.centers, since.memory
        if since.ended is not None:
            return Run(centers, since.step, StopReason[since.ended])
    ended = run(begin(centers, memory), centers, journal, phase=phase, max_iter=max_iter, since=since, **rules)
    if not ended.stop_reason.interrupted:
        journal.save(phase, ended.centers, ended.n_iter, 0.0, {}, ended.stop_reason)
    return ended


def _diverged(iterate: Iterate, ceiling: float) -> bool:
    """Whether the centers are no numbers, or serve the data far worse than the start and than one center did."""
    if not np.isfinite(iterate.centers).all():
        return True
    rounding = ROUNDING * float(np.max(np.sum(iterate.centers**2, axis=1)))
    return not iterate.objective <= ceiling + rounding

"""One run of one row: from where it starts to its record.

Knows which solver a method is. Does not know of other runs, files or processes.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..datasets import GAUSSIAN_START
from ..driver import Journal, StoppingRules, run
from ..history import Record, StopReason
from ..oracles import Oracle
from ..seeding import seed
from ..solvers import Solver, backward_euler, em, minibatch_em
from .catalogue import Settings

LONGEST_EM = 1000  # steps to where EM is stuck


@dataclass(frozen=True)
class Trace:
    """What is known at the start and after each step; seconds and points count from the start."""

    objectives: list[float]  # exact
    seconds: list[float]  # without those that the exact objective took
    points_read: list[int]


@dataclass(frozen=True)
class Outcome:
    """The end of a run."""

    centers: FloatArray  # (n_clusters, n_features)
    objective: float  # exact
    seconds: float  # seeding and solver
    points_read: int  # by the solver
    steps: int
    diverged: bool
    trace: Trace | None


@dataclass(frozen=True)
class RunRecord:
    """What is kept of a run."""

    key: str  # of what was run
    run: int  # which of the runs
    objective: float
    seconds: float
    points_read: int
    steps: int
    diverged: bool
    trace: Trace | None = None

    def as_json(self) -> dict[str, Any]:
        """For a line of a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> RunRecord:
        """From such a line."""
        trace = values.pop("trace")
        return cls(**values, trace=None if trace is None else Trace(**trace))


def record_of(outcome: Outcome, key: str, run: int) -> RunRecord:
    """The outcome without its centers, which the same settings and the same run give again."""
    return RunRecord(
        key=key,
        run=run,
        objective=outcome.objective,
        seconds=outcome.seconds,
        points_read=outcome.points_read,
        steps=outcome.steps,
        diverged=outcome.diverged,
        trace=outcome.trace,
    )


def perform(settings: Settings, oracle: Oracle, random: tuple[int, int], judge: Oracle | None = None) -> Outcome:
    """One run. `random`: the seed and the number of the run, from which all its random numbers come.

    Rows that start the same way start at the same centers in runs of the same number. The judge, if it is another
    oracle than the solver's, computes the exact objectives, which count for nobody's time.
    """
    judge = judge or oracle
    rng = np.random.default_rng(random)
    began = time.perf_counter()
    centers = _start(settings, oracle, rng)
    seeding = time.perf_counter() - began
    tracer = _Tracer(judge, centers) if settings.trace else None
    journal = Journal(observer=tracer)
    ended = run(
        _solver(settings, oracle, centers, rng),
        centers,
        journal,
        settings.method,
        # EM stands still when no point changes its center
        StoppingRules(settings.steps, tolerance=0.0 if settings.method == "EM" else None),
    )
    solving = journal.seconds if tracer is None else tracer.trace.seconds[-1]
    return Outcome(
        centers=ended.centers,
        objective=judge.full(ended.centers).objective,
        seconds=seeding + solving,
        points_read=sum(step.points_read for step in journal.history),
        steps=len(journal.history),
        diverged=ended.stop_reason is StopReason.DIVERGED,
        trace=None if tracer is None else tracer.trace,
    )


def _start(settings: Settings, oracle: Oracle, rng: np.random.Generator) -> FloatArray:
    centers = GAUSSIAN_START if settings.init == "paper" else seed(settings.init, oracle, settings.n_clusters, rng)
    if settings.after_em:
        rules = StoppingRules(LONGEST_EM, tolerance=0.0)
        stuck = run(em(oracle, centers), centers, Journal(), "EM", rules)
        return stuck.centers
    return centers


def _solver(settings: Settings, oracle: Oracle, centers: FloatArray, rng: np.random.Generator) -> Solver:
    if settings.method == "EM":
        return em(oracle, centers)
    assert settings.batch_size is not None
    if settings.method == "mb-EM":
        return minibatch_em(oracle, centers, batch_size=settings.batch_size, rule=settings.rule, rng=rng)
    assert settings.inner is not None
    return backward_euler(
        oracle,
        centers,
        step_size=float(settings.n_clusters),
        batch_size=settings.batch_size,
        averaging=settings.averaging,
        decay=settings.decay_factor,
        n_inner=settings.inner,
        rng=rng,
    )


class _Tracer:
    """Notes the exact objective after every step, and takes the time that this takes off the clock."""

    def __init__(self, judge: Oracle, centers: FloatArray) -> None:
        self._judge = judge
        self._aside = 0.0
        self.trace = Trace([judge.full(centers).objective], [0.0], [0])

    def begin(self, phase: str) -> None:
        """Nothing to note yet."""

    def end(self, record: Record, centers: FloatArray) -> bool:
        """Note where the step led. Never asks to stop."""
        began = time.perf_counter()
        self.trace.seconds.append(record.seconds - self._aside)
        self.trace.points_read.append(self.trace.points_read[-1] + record.points_read)
        self.trace.objectives.append(self._judge.full(centers).objective)
        self._aside += time.perf_counter() - began
        return False

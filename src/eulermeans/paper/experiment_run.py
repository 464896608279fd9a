"""One run of one row of a table, from the initial centers to its record.

Knows which solver belongs to which method. Does not know other runs, files or processes.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass

import numpy as np

from ..arrays import FloatArray
from ..datasets import GAUSSIAN_START
from ..driver import Journal, StoppingRules, run
from ..history import Record, StopReason
from ..oracles import Oracle
from ..seeding import seed
from ..solvers import Solver, backward_euler, em, minibatch_em
from .experiments import Settings

LONGEST_EM = 1000  # steps allowed to find where EM gets stuck


@dataclass(frozen=True)
class Trace:
    """The state at the start and after each step; seconds and points are counted from the start."""

    objectives: list[float]  # exact
    seconds: list[float]  # without the time for the exact objectives
    points_read: list[int]


@dataclass(frozen=True)
class RunRecord:
    """What is kept of a run: everything but the centers, which the same settings and run number give again."""

    key: str  # of the settings and the data, see `settings_key`
    run: int  # the number of the run
    objective: float  # exact, at the end
    seconds: float  # seeding and solver
    points_read: int  # by the solver
    steps: int
    diverged: bool
    trace: Trace | None = None

    def to_json(self) -> str:
        """One line of a file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str | bytes) -> RunRecord:
        """From such a line."""
        values = json.loads(line)
        trace = values.pop("trace")
        return cls(**values, trace=None if trace is None else Trace(**trace))


@dataclass(frozen=True)
class Outcome:
    """The end of a run."""

    centers: FloatArray  # (n_clusters, n_features)
    record: RunRecord


def perform(
    settings: Settings,
    oracle: Oracle,
    random: tuple[int, int],  # the seed and the number of the run: the source of all its random numbers
    judge: Oracle | None = None,  # computes the exact objectives, which are not timed; None: the oracle does
    key: str = "",
) -> Outcome:
    """One run. Rows with the same `init` start at the same centers in runs of the same number."""
    judge = judge or oracle
    rng = np.random.default_rng(random)
    began = time.perf_counter()
    centers = _initial_centers(settings, oracle, rng)
    seeding = time.perf_counter() - began
    tracer = _Tracer(judge, centers) if settings.trace else None
    journal = Journal(observer=tracer)
    ended = run(
        solver_for(settings, oracle, centers, rng),
        centers,
        journal,
        settings.method,
        # EM stands still when no point changes its center
        StoppingRules(settings.steps, tolerance=0.0 if settings.method == "EM" else None),
    )
    solving = journal.seconds if tracer is None else tracer.trace.seconds[-1]
    record = RunRecord(
        key=key,
        run=random[1],
        objective=judge.full(ended.centers).objective,
        seconds=seeding + solving,
        points_read=sum(step.points_read for step in journal.history),
        steps=len(journal.history),
        diverged=ended.stop_reason is StopReason.DIVERGED,
        trace=None if tracer is None else tracer.trace,
    )
    return Outcome(ended.centers, record)


def _initial_centers(settings: Settings, oracle: Oracle, rng: np.random.Generator) -> FloatArray:
    centers = GAUSSIAN_START if settings.init == "paper" else seed(settings.init, oracle, settings.n_clusters, rng)
    if settings.after_em:
        rules = StoppingRules(LONGEST_EM, tolerance=0.0)
        stuck = run(em(oracle, centers), centers, Journal(), "EM", rules)
        return stuck.centers
    return centers


def solver_for(settings: Settings, oracle: Oracle, centers: FloatArray, rng: np.random.Generator) -> Solver:
    """The solver of these settings, which starts at the centers."""
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
    """Records the exact objective after every step, and excludes the time this takes."""

    def __init__(self, judge: Oracle, centers: FloatArray) -> None:
        self._judge = judge
        self._excluded = 0.0  # seconds
        self.trace = Trace([judge.full(centers).objective], [0.0], [0])

    def begin(self, phase: str) -> None:
        """Nothing to record yet."""

    def end(self, record: Record, centers: FloatArray) -> bool:
        """Record the step. Never asks to stop."""
        began = time.perf_counter()
        self.trace.seconds.append(record.seconds - self._excluded)
        self.trace.points_read.append(self.trace.points_read[-1] + record.points_read)
        self.trace.objectives.append(self._judge.full(centers).objective)
        self._excluded += time.perf_counter() - began
        return False

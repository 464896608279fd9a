"""Runs of one row of a table, each from the initial centers to its record, and several of them in parallel.

Knows which solver belongs to which method, and how the data reach other processes: through a file that all of them
map. Does not know what the records are used for.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..arrays import Array, FloatArray
from ..datasets import GAUSSIAN_START
from ..driver import Journal, StoppingRules, run
from ..history import Record, StopReason
from ..oracles import MemoryOracle, Oracle, memory_oracle
from ..seeding import seed
from ..solvers import Solver, backward_euler, em, minibatch_em
from .experiments import Settings

LONGEST_EM = 1000  # steps allowed to find where EM gets stuck


@dataclass(frozen=True)
class Task:
    """One run to do. Its random numbers come from the seed and the number of the run."""

    settings: Settings
    seed: int
    run: int
    key: str = ""  # of the settings and the data, see `settings_key`


@dataclass(frozen=True)
class Trace:
    """The state at the start and after each step; seconds and points are counted from the start."""

    objectives: list[float]  # exact
    seconds: list[float]  # without the time for the exact objectives
    points_read: list[int]


@dataclass(frozen=True)
class RunRecord:
    """What is kept of a run: everything but the centers, which the same settings and run number give again."""

    key: str  # of the task
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


def perform(task: Task, oracle: Oracle, judge: Oracle | None = None) -> Outcome:
    """One run. Rows with the same `init` start at the same centers in runs of the same number.

    `judge` computes the exact objectives, which are not timed; by default the oracle does.
    """
    settings, judge = task.settings, judge or oracle
    rng = np.random.default_rng((task.seed, task.run))
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
        key=task.key,
        run=task.run,
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
        solver = em(oracle, centers, empty=settings.empty, rng=rng)
        return run(solver, centers, Journal(), "EM", StoppingRules(LONGEST_EM, tolerance=0.0)).centers
    return centers


def solver_for(settings: Settings, oracle: Oracle, centers: FloatArray, rng: np.random.Generator) -> Solver:
    """The solver of these settings, which starts at the centers."""
    if settings.method == "EM":
        return em(oracle, centers, empty=settings.empty, rng=rng)
    assert settings.batch_size is not None
    if settings.method == "mb-EM":
        size, rule, empty = settings.batch_size, settings.rule, settings.empty
        return minibatch_em(oracle, centers, batch_size=size, rule=rule, empty=empty, rng=rng)
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


def run_tasks(
    tasks: Sequence[Task],
    points: Array,  # (n_points, n_features), IN
    *,
    jobs: int,
    on_done: Callable[[RunRecord], None],
) -> None:
    """Do all tasks, `jobs` at a time, each on one thread; call `on_done` with each record.

    After an interrupt, runs in progress in other processes are finished and reported.
    """
    if jobs == 1 or len(tasks) < 2:
        solver, judge = memory_oracle(points, n_threads=1), memory_oracle(points)
        for task in tasks:
            on_done(perform(task, solver, judge).record)
        return
    with tempfile.TemporaryDirectory(prefix="eulermeans-", ignore_cleanup_errors=True) as folder:
        path = str(Path(folder) / "points.npy")
        np.save(path, points)
        with ProcessPoolExecutor(
            min(jobs, len(tasks)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=signal.signal,  # the workers ignore interrupts: the parent handles them
            initargs=(signal.SIGINT, signal.SIG_IGN),
        ) as executor:
            pending = {executor.submit(_perform_mapped, task, path) for task in tasks}
            try:
                for future in as_completed(list(pending)):
                    pending.discard(future)
                    on_done(future.result())
            except BaseException:
                executor.shutdown(wait=True, cancel_futures=True)
                for future in pending:
                    if not future.cancelled() and future.exception() is None:
                        on_done(future.result())
                raise


def _perform_mapped(task: Task, path: str) -> RunRecord:
    return perform(task, _mapped_oracle(path)).record


@lru_cache(maxsize=1)
def _mapped_oracle(path: str) -> MemoryOracle:
    return memory_oracle(np.load(path, mmap_mode="r"), n_threads=1)

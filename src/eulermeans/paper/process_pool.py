"""Runs several tasks at a time, in processes of their own.

Knows processes and how the data reach them: through a file that all of them map. Does not know the results.
"""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..arrays import Array
from ..oracles import MemoryOracle, memory_oracle
from .experiment_run import RunRecord, perform
from .experiments import Settings


@dataclass(frozen=True)
class Task:
    """One run to do."""

    settings: Settings
    key: str
    seed: int
    run: int


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
            on_done(_run(task, solver, judge))
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
            pending = {executor.submit(_run_mapped, task, path) for task in tasks}
            try:
                for future in as_completed(list(pending)):
                    pending.discard(future)
                    on_done(future.result())
            except BaseException:
                _finish_running(executor, pending, on_done)
                raise


def _run(task: Task, oracle: MemoryOracle, judge: MemoryOracle | None = None) -> RunRecord:
    return perform(task.settings, oracle, (task.seed, task.run), judge, task.key).record


def _run_mapped(task: Task, path: str) -> RunRecord:
    return _run(task, _oracle(path))


@lru_cache(maxsize=1)
def _oracle(path: str) -> MemoryOracle:
    return memory_oracle(np.load(path, mmap_mode="r"), n_threads=1)


def _finish_running(
    executor: ProcessPoolExecutor, pending: set[Future[RunRecord]], on_done: Callable[[RunRecord], None]
) -> None:
    """Cancel the tasks that have not started, wait for those that have, and report them."""
    executor.shutdown(wait=True, cancel_futures=True)
    for future in pending:
        if not future.cancelled() and future.exception() is None:
            on_done(future.result())

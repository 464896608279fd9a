"""Runs, several at a time in processes of their own.

Knows processes and how the data get there: through a file that all of them map. Does not know what comes of it.
"""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..arrays import Array
from ..oracles import MemoryOracle, memory_oracle
from .catalogue import Settings
from .running import RunRecord, perform, record_of


@dataclass(frozen=True)
class Task:
    """One run to do."""

    settings: Settings
    key: str
    seed: int
    run: int


def carry_out(
    tasks: Sequence[Task],
    points: Array,  # (n_points, n_features), IN
    *,
    jobs: int,
    on_done: Callable[[RunRecord], None],
) -> None:
    """Do all tasks, `jobs` at a time, each on one thread; tell of each that is done.

    An interrupt lets the runs that are under way in other processes end and tells of them.
    """
    if jobs == 1 or len(tasks) < 2:
        solver, judge = memory_oracle(points, n_threads=1), memory_oracle(points)
        for task in tasks:
            on_done(_do(task, solver, judge))
        return
    with _in_file(points) as path, _executor(min(jobs, len(tasks))) as executor:
        waiting = {executor.submit(_do_mapped, task, path) for task in tasks}
        try:
            for future in as_completed(list(waiting)):
                waiting.discard(future)
                on_done(future.result())
        except BaseException:
            _wind_up(executor, waiting, on_done)
            raise


def _do(task: Task, oracle: MemoryOracle, judge: MemoryOracle | None = None) -> RunRecord:
    return record_of(perform(task.settings, oracle, (task.seed, task.run), judge), task.key, task.run)


def _do_mapped(task: Task, path: str) -> RunRecord:
    return _do(task, _oracle(path))


@lru_cache(maxsize=1)
def _oracle(path: str) -> MemoryOracle:
    return memory_oracle(np.load(path, mmap_mode="r"), n_threads=1)


@contextmanager
def _in_file(points: Array) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="eulermeans-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "points.npy"
        np.save(path, points)
        yield str(path)


def _executor(n_workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        n_workers, mp_context=multiprocessing.get_context("spawn"), initializer=_leave_interrupts_to_the_parent
    )


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _wind_up(
    executor: ProcessPoolExecutor, waiting: set[Future[RunRecord]], on_done: Callable[[RunRecord], None]
) -> None:
    """Cancel what has not begun, wait for what has, and tell of that."""
    executor.shutdown(wait=True, cancel_futures=True)
    for future in waiting:
        if not future.cancelled() and future.exception() is None:
            on_done(future.result())

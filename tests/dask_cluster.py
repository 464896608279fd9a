"""Clusters of real worker processes over TCP for the tests of Dask, and what the tests do to them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from eulermeans.driver import Journal, StoppingRules, run
from eulermeans.solvers import backward_euler, em


@contextmanager
def cluster(n_workers: int) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as workers,
        Client(workers) as client,
    ):
        yield client


def kill(client: Client, worker: str) -> None:
    """End a worker's process as if its machine had lost power."""
    pid = client.run(os.getpid, workers=[worker])[worker]
    os.kill(pid, signal.SIGKILL)


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for what Dask does in its own time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def from_files(folder: Path, points: np.ndarray, n_parts: int) -> da.Array:
    """A Dask array that reads a file for each partition."""
    arrays = []
    for number, part in enumerate(np.array_split(points, n_parts)):
        path = folder / f"{number}.npy"
        np.save(path, part)
        arrays.append(da.from_delayed(dask.delayed(np.load)(path), shape=part.shape, dtype=part.dtype))
    return da.concatenate(arrays)


def solve(oracle, n_clusters: int, observer=None, seed: int = 0) -> np.ndarray:
    """Centers after steps over mini-batches and passes over all points."""
    rng = np.random.default_rng(seed)
    centers = oracle.sample(n_clusters, rng).points.dense(np.arange(n_clusters))
    steps = backward_euler(
        oracle,
        centers,
        step_size=float(n_clusters),
        batch_size=100,
        averaging=0.75,
        decay=0.9,
        n_inner=5,
        rng=rng,
        limit=2.0,
    )
    journal = Journal(observer=observer)
    searched = run(steps, centers, journal, "descend", StoppingRules(8)).centers
    return run(em(oracle, searched), searched, journal, "polish", StoppingRules(6)).centers

"""A lost worker changes nothing in the end; lost data end the fit with an error that says what was lost."""

from __future__ import annotations

import threading

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
from dask_cluster import cluster, from_files, kill, solve, until
from distributed import Future

from eulermeans.oracles import as_oracle, dask_partitions
from eulermeans.sources import SourceError

N_CLUSTERS = 5


class Killer:
    """Kills a worker after a step of a phase, and another after a later one."""

    def __init__(self, client, *moments):
        self._client, self._moments, self.killed = client, list(moments), []

    def begin(self, phase):
        pass

    def end(self, record, centers):
        if (record.phase, record.step) in self._moments:
            holders = self._client.who_has()
            worker = next(workers[0] for workers in holders.values() if workers)
            kill(self._client, worker)
            self.killed.append(worker)
        return False


@pytest.fixture
def client():
    """A cluster for each test: a worker that was killed may not come back with distributed 2024.12."""
    with cluster(2) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


def test_killed_workers_do_not_change_the_centers(client, blobs, tmp_path):
    rows = from_files(tmp_path, blobs, 8)
    expected = solve(as_oracle(rows), N_CLUSTERS)
    killer = Killer(client, ("descend", 3), ("polish", 2))
    centers = solve(as_oracle(rows), N_CLUSTERS, killer)
    assert len(killer.killed) == 2
    np.testing.assert_array_equal(centers, expected)


def test_a_worker_killed_in_the_middle_of_a_pass(client, tmp_path):
    points = np.random.default_rng(0).standard_normal((60_000, 16))
    centers = points[:100]
    oracle = as_oracle(from_files(tmp_path, points, 12))
    expected = oracle.full(centers, detail=True)
    worker = next(iter(client.nthreads()))
    killer = threading.Thread(target=kill, args=(client, worker))
    killer.start()
    while worker in client.nthreads():
        moments = oracle.full(centers, detail=True)
        np.testing.assert_array_equal(moments.sums, expected.sums)
    killer.join()
    moments = oracle.full(centers, detail=True)
    np.testing.assert_array_equal(moments.utilities, expected.utilities)
    assert moments.cost == expected.cost


def test_a_worker_killed_right_after_its_engine_was_created(client, blobs, tmp_path, monkeypatch):
    rows = from_files(tmp_path, blobs, 4)
    expected = as_oracle(rows).full(blobs[:2])
    result, killed = Future.result, []

    def late(future, *arguments, **options):
        if future.key.startswith("Engine") and not killed:
            killed.append(client.who_has(future)[future.key][0])
            kill(client, killed[0])
            until(lambda: future.status == "error")
        return result(future, *arguments, **options)

    monkeypatch.setattr(Future, "result", late)
    moments = as_oracle(rows).full(blobs[:2])
    assert killed
    np.testing.assert_array_equal(moments.sums, expected.sums)
    assert moments.cost == expected.cost


def test_a_lost_source_is_an_error_that_says_so(client, blobs, tmp_path):
    oracle = as_oracle(from_files(tmp_path, blobs, 4))
    oracle.full(blobs[:2])
    for path in tmp_path.iterdir():
        path.unlink()
    worker = next(workers[0] for workers in client.who_has().values() if workers)
    kill(client, worker)
    with pytest.raises(
        SourceError,
        match=r"partition \d could not be computed again after its worker was lost \(FileNotFoundError",
    ):
        oracle.full(blobs[:2])


def test_data_that_dask_cannot_make_again_is_an_error_that_says_so(client, blobs):
    future = client.scatter(blobs, hash=False)
    oracle = as_oracle(da.from_delayed(dask.delayed(future), blobs.shape, blobs.dtype))
    oracle.full(blobs[:2])
    kill(client, client.who_has(future)[future.key][0])
    with pytest.raises(
        SourceError, match=r"partition 0 could not be .*Dask does not know how to compute it again"
    ):
        oracle.full(blobs[:2])


def test_a_cluster_without_workers_is_an_error_after_a_while(blobs, monkeypatch):
    with cluster(1) as client:
        oracle = as_oracle(da.from_array(blobs, chunks=(200, 3)))
        expected = oracle.full(blobs[:2])
        client.cluster.scale(0)
        until(lambda: not client.nthreads())
        with monkeypatch.context() as impatient:
            impatient.setattr(dask_partitions, "PATIENCE", 1.0)
            with pytest.raises(RuntimeError, match="no workers for 1 seconds"):
                oracle.full(blobs[:2])
        client.cluster.scale(1)
        assert oracle.full(blobs[:2]).cost == expected.cost

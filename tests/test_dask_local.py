"""Dask collections where there is no cluster: read a partition at a time, by local threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

pytest.importorskip("dask")

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd

from eulermeans.oracles import DaskOracle, as_oracle, memory_oracle
from eulermeans.oracles.dask_oracle import current_client
from eulermeans.sources import SourceError, as_source, is_source, mapped


def test_the_chunks_are_the_partitions(blobs):
    weights = np.arange(600.0)
    source = as_source(da.from_array(blobs.astype("float32"), chunks=(250, 2))).weighted_by(weights)
    assert (source.n_points, source.n_features, source.weighted) == (600, 3, True)
    assert source.feature_names is None
    for _ in range(2):
        chunks = list(source.chunks())
        assert [chunk.where for chunk in chunks] == [f"partition {i} of the Dask array" for i in range(3)]
        assert [len(chunk.points) for chunk in chunks] == [250, 250, 100]
        np.testing.assert_array_equal(np.concatenate([chunk.points for chunk in chunks]), blobs.astype("float32"))
        np.testing.assert_array_equal(np.concatenate([chunk.weights for chunk in chunks]), weights)
        assert {chunk.points.dtype for chunk in chunks} == {source.dtype}
    assert max(len(chunk) for chunk in source.chunks(12 * 40)) == 40


def test_dataframes(blobs):
    frame = dd.from_pandas(pd.DataFrame(blobs, columns=["x", "y", "z"]), npartitions=3)
    source = as_source(frame)
    assert source.feature_names == ["x", "y", "z"]
    assert source.n_points is None
    assert not source.weighted
    np.testing.assert_array_equal(np.concatenate([chunk.points for chunk in source.chunks()]), blobs)
    named = as_source(frame, columns=["z"], weights="x")
    np.testing.assert_array_equal(np.concatenate([chunk.weights for chunk in named.chunks()]), blobs[:, 0])
    with pytest.raises(SourceError, match="no column w; it has x, y, z"):
        as_source(frame, columns=["w"])


def test_mapped_rows_are_those_of_a_mapped_source(blobs):
    source = mapped(as_source(da.from_array(blobs, chunks=(250, 3))), lambda rows: 2 * rows + 1)
    assert (source.n_points, source.n_features) == (600, 3)
    np.testing.assert_array_equal(np.concatenate([chunk.points for chunk in source.chunks()]), 2 * blobs + 1)


def test_a_partition_is_computed_when_it_is_asked_for_and_by_threads():
    seen = []

    def block(number):
        seen.append((number, threading.current_thread() is threading.main_thread()))
        return np.full((2, 3), number)

    rows = da.concatenate([da.from_delayed(dask.delayed(block)(i), (2, 3), np.int64) for i in range(4)])
    chunks = as_source(rows).chunks()
    assert seen == []
    assert next(chunks).points[0, 0] == 0
    assert next(chunks).points[0, 0] == 1
    assert seen == [(0, False), (1, False)]


def test_errors_name_the_partition(blobs):
    blobs = blobs.copy()
    blobs[310, 1] = np.nan
    with pytest.raises(SourceError, match=r"row 60 \(from 0\) of partition 1 of the Dask array has NaN in column"):
        as_oracle(da.from_array(blobs, chunks=(250, 3))).full(blobs[:2])

    def fail(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 2:
            raise OSError("the disk is full of holes")
        return block

    rows = da.ones((40, 3), chunks=(10, 3)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(SourceError, match=r"partition 2 could not be computed \(OSError: the disk is full"):
        list(as_source(rows).chunks())


@pytest.mark.parametrize("in_memory", [True, False])
def test_answers_are_lazy_arrays_as_over_a_cluster(blobs, in_memory):
    rng = np.random.default_rng(0) if in_memory else None
    oracle = as_oracle(da.from_array(blobs, chunks=(250, 3)), np.ones(600), rng=rng)
    local, centers = memory_oracle(blobs, np.ones(600)), blobs[:4]
    if in_memory:
        assert oracle.at_hand is oracle
    assert oracle.full(centers).cost == pytest.approx(local.full(centers).cost)
    assert isinstance(oracle.labels(centers), da.Array)
    assert oracle.label(centers).moments.cost == pytest.approx(local.full(centers).cost)
    np.testing.assert_array_equal(oracle.label(centers).labels, local.labels(centers))
    np.testing.assert_array_equal(oracle.labels(centers).compute(), local.labels(centers))
    np.testing.assert_array_equal(oracle.distances(centers).compute(), local.distances(centers))


def test_partitions_must_fit_in_the_memory_limit():
    rows = da.ones((2_000_000, 100), chunks=(500_000, 100))
    with pytest.raises(ValueError, match="too small for the Dask array"):
        as_oracle(rows, memory_limit="512MiB")


def test_the_oracle_over_a_cluster_needs_a_client():
    assert current_client() is None
    assert is_source(da.ones((4, 2)))
    with pytest.raises(ValueError, match="no Dask client"):
        DaskOracle(as_source(da.ones((4, 2))))

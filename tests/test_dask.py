"""The oracle over a Dask cluster answers as one over the same points in memory, wherever the partitions are."""

from __future__ import annotations

import gc

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask_cluster import cluster, solve, until
from distributed import Client, LocalCluster, wait

from eulermeans.oracles import DaskOracle, MemoryOracle, as_oracle, memory_oracle
from eulermeans.oracles.dask_oracle import current_client
from eulermeans.sources import SourceError, as_source

N, D, K = 900, 5, 7


@pytest.fixture(scope="module")
def client():
    with cluster(2) as client:
        yield client


def points_of(dtype: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    values = 20 * rng.standard_normal((N, D)) + 60
    return (values > 60 if dtype == "bool" else values.clip(0, 120)).astype(dtype)


def weights_of(kind: str) -> np.ndarray | None:
    rng = np.random.default_rng(1)
    return {"none": None, "some": rng.random(N) + 0.1, "zeros": rng.integers(0, 3, N).astype(float)}[kind]


def check_moments(found, expected):
    np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-14)
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-13)
    assert found.cost == pytest.approx(expected.cost, rel=1e-13)
    assert found.n_distances == expected.n_distances
    for name in ("errors", "utilities"):
        values = getattr(expected, name)
        if values is None:
            assert getattr(found, name) is None
        else:
            np.testing.assert_allclose(getattr(found, name), values, rtol=1e-12, atol=1e-12 * found.cost)


def check(oracle: DaskOracle, local: MemoryOracle, n_clusters: int = K) -> None:
    """Every answer, against those of the points in memory."""
    centers = np.random.default_rng(2).uniform(0, 120, size=(n_clusters, local.n_features))
    assert (oracle.n_points, oracle.n_features) == (local.n_points, local.n_features)
    assert oracle.total_weight == pytest.approx(local.total_weight, rel=1e-14)
    assert (oracle.unweighted, oracle.dtype, oracle.row_bytes) == (local.unweighted, local.dtype, local.row_bytes)
    check_moments(oracle.full(centers), local.full(centers))
    check_moments(oracle.full(centers, detail=True), local.full(centers, detail=True))
    batches = [each.minibatch(centers, 200, np.random.default_rng(3)) for each in (oracle, local)]
    check_moments(*batches)
    for size in (50, 2 * N):
        sample, expected = (each.sample(size, np.random.default_rng(4)) for each in (oracle, local))
        np.testing.assert_array_equal(sample.points.stored, expected.points.stored)
        assert sample.points.stored.dtype == expected.points.stored.dtype
        np.testing.assert_array_equal(sample.points.weights, expected.points.weights)
    found, outliers = oracle.farthest(centers, 6), local.farthest(centers, 6)
    np.testing.assert_array_equal(found.distances, outliers.distances)
    np.testing.assert_allclose(oracle.mean(), local.mean(), rtol=1e-13)
    np.testing.assert_allclose(oracle.variance(), local.variance(), rtol=1e-12)
    labels = oracle.labels(centers).compute()
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, local.label(centers).labels)
    with pytest.raises(TypeError, match="lazy"):
        oracle.label(centers)
    distances = oracle.distances(centers).compute()
    assert distances.dtype == local.dtype
    np.testing.assert_array_equal(distances, local.distances(centers))


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64", "bool"])
def test_answers_are_those_of_the_points_in_memory(client, dtype):
    points = points_of(dtype)
    check(as_oracle(da.from_array(points, chunks=(200, 2))), memory_oracle(points))


@pytest.mark.parametrize("kind", ["some", "zeros"])
@pytest.mark.parametrize("given", ["array", "Dask array of other chunks"])
def test_weights(client, kind, given):
    points, weights = points_of("float32"), weights_of(kind)
    weights_given = weights if given == "array" else da.from_array(weights, chunks=137)
    check(as_oracle(da.from_array(points, chunks=(250, D)), weights_given), memory_oracle(points, weights))


def test_a_single_center(client):
    points = points_of("float32")
    check(as_oracle(da.from_array(points, chunks=(200, D))), memory_oracle(points), n_clusters=1)


def test_empty_partitions_and_partitions_without_weight(client):
    points, weights = points_of("float32"), weights_of("some")
    weights[300:500] = 0
    rows = da.from_array(points, chunks=((300, 200, 0, 400), D))
    check(as_oracle(rows, weights), memory_oracle(points, weights))
    check(as_oracle(rows), memory_oracle(points))


def test_chunks_of_unknown_size(client):
    points = points_of("float64")
    rows = da.from_array(points, chunks=(200, D))
    oracle = as_oracle(rows[rows[:, 0] > 50], rows[:, 1][rows[:, 0] > 50])
    kept = points[points[:, 0] > 50]
    check(oracle, memory_oracle(kept, np.ascontiguousarray(kept[:, 1])))


def test_dataframes(client):
    frame = pd.DataFrame(points_of("float64"), columns=list("abcde"))
    frame["b"] = frame["b"].astype("int16")
    frame["c"] = frame["c"].astype("Float32")  # one of pandas' own
    weights = pd.Series(weights_of("some"))
    source = as_source(dd.from_pandas(frame, npartitions=4))
    assert source.feature_names == list("abcde")
    check(
        as_oracle(source, dd.from_pandas(weights, npartitions=4)),
        memory_oracle(frame.to_numpy(dtype=np.float64), weights.to_numpy()),
    )


def test_columns_of_a_dataframe_by_name(client):
    frame = pd.DataFrame(points_of("float32"), columns=list("abcde"))
    frame["text"] = "x"
    source = as_source(dd.from_pandas(frame, npartitions=4), columns=["d", "a"], weights="e")
    assert source.feature_names == ["d", "a"]
    expected = np.ascontiguousarray(frame[["d", "a"]].to_numpy(dtype=np.float32))
    check(as_oracle(source), memory_oracle(expected, frame["e"].to_numpy(dtype=np.float64)))


def test_a_solver_comes_to_the_centers_that_it_comes_to_in_memory(client, plane):
    oracle = as_oracle(da.from_array(plane, chunks=(700, 2)))
    np.testing.assert_allclose(solve(oracle, 4), solve(memory_oracle(plane), 4), rtol=1e-9)


# Where the partitions are does not matter


def placed(client: Client, points: np.ndarray, workers: list[str]) -> da.Array:
    """A Dask array with a partition on each of these workers, in this order."""
    parts = np.array_split(points, len(workers))
    futures = [
        client.submit(np.array, part, workers=[worker]) for part, worker in zip(parts, workers, strict=True)
    ]
    wait(futures)
    return da.concatenate(
        [
            da.from_delayed(dask.delayed(future), part.shape, part.dtype)
            for future, part in zip(futures, parts, strict=True)
        ]
    )


def engines(client: Client) -> set[str]:
    """The workers that have engines."""
    counts = client.run(lambda dask_worker: len(dask_worker.state.actors))
    return {worker for worker, count in counts.items() if count}


def test_the_bits_do_not_depend_on_the_workers(client, blobs):
    first, second = client.nthreads()
    centers = []
    for workers in (6 * [first], 6 * [second], 3 * [first, second], [first] + 5 * [second]):
        gc.collect()  # Dask's actors are in cycles of references
        until(lambda: not engines(client))
        oracle = as_oracle(placed(client, blobs, workers))
        centers.append(solve(oracle, 5))
        assert engines(client) == set(workers)
        del oracle
    for other in centers[1:]:
        np.testing.assert_array_equal(other, centers[0])


def test_partitions_that_a_worker_has_put_on_disk(client, blobs):
    def spill(dask_worker):
        while dask_worker.data.fast:
            dask_worker.data.evict()
        return len(dask_worker.data.slow)

    oracle = as_oracle(da.from_array(blobs, chunks=(50, 3)))
    before = oracle.full(blobs[:5])
    assert sum(client.run(spill).values()) >= 12
    after = oracle.full(blobs[:5])
    np.testing.assert_array_equal(before.sums, after.sums)


# What moves


def bytes_of(dask_worker, reset: bool = False) -> dict[str, int]:
    """How much has come to a worker and gone from it since the last reset, over every connection."""
    from distributed.comm import tcp

    if not hasattr(tcp, "counted"):
        tcp.counted = {"in": 0, "out": 0}
        from_frames, to_frames = tcp.from_frames, tcp.to_frames

        async def counting_from_frames(frames, *args, **options):
            tcp.counted["in"] += sum(len(memoryview(frame).cast("B")) for frame in frames)
            return await from_frames(frames, *args, **options)

        async def counting_to_frames(*args, **options):
            frames = await to_frames(*args, **options)
            tcp.counted["out"] += sum(memoryview(frame).nbytes for frame in frames)
            return frames

        tcp.from_frames, tcp.to_frames = counting_from_frames, counting_to_frames
    if reset:
        tcp.counted["in"] = tcp.counted["out"] = 0
    return dict(tcp.counted)


def test_steps_move_centers_and_moments_and_no_rows(client):
    rng = np.random.default_rng(0)
    n_points, n_features, n_clusters, n_steps = 40_000, 8, 20, 10
    points = da.from_array(rng.standard_normal((n_points, n_features)), chunks=(n_points // 8, n_features))
    oracle = as_oracle(points)
    centers = rng.standard_normal((n_clusters, n_features))
    oracle.full(centers)
    transfers = client.run(lambda dask_worker: len(dask_worker.transfer_outgoing_log))
    client.run(bytes_of, reset=True)
    for _ in range(n_steps):
        oracle.full(centers, detail=True)
        oracle.minibatch(centers, 10 * n_clusters, rng)
        oracle.farthest(centers, 2)
    moved = client.run(bytes_of)
    of_moments = 8 * n_clusters * (n_features + 3)
    for worker in moved.values():
        # Two whole numbers stand for each moment; some kB go with any message; and Dask's heartbeat.
        assert n_steps * 2 * of_moments < worker["out"] < n_steps * (4 * of_moments + 10_000)
        assert n_steps * 3 * 8 * n_clusters * n_features < worker["in"] < n_steps * (4 * of_moments + 20_000)
        assert max(worker.values()) < n_points * n_features * 8 // 8, "as much as a partition"
    assert client.run(lambda dask_worker: len(dask_worker.transfer_outgoing_log)) == transfers


def test_the_workers_memory_is_free_when_the_oracle_is_gone(client, blobs):
    oracle = as_oracle(da.from_array(blobs, chunks=(50, 3)), np.ones(600))
    oracle.full(blobs[:5])
    assert sum(map(len, client.has_what().values())) >= 12
    del oracle
    gc.collect()
    until(lambda: not any(client.has_what().values()))


# Which client


def test_another_client_than_the_one_in_use(client, blobs):
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as other,
        Client(other) as newest,
    ):
        assert current_client() is newest
        rows = da.from_array(blobs, chunks=(200, 3))
        check(DaskOracle(as_source(rows), client=client), memory_oracle(blobs), n_clusters=3)
        with client.as_current():
            assert current_client() is client
        check(as_oracle(rows), memory_oracle(blobs), n_clusters=3)


# Lazy, and errors


def test_labels_and_distances_compute_nothing_before_they_are_asked_to(client):
    def refuse(block):
        raise AssertionError("computed")

    rows = da.ones((40, 3), chunks=(10, 3)).map_blocks(refuse, dtype=float, meta=np.empty((0, 0)))
    oracle = as_oracle(rows)
    labels, distances = oracle.labels(np.zeros((2, 3))), oracle.distances(np.zeros((2, 3)))
    assert labels.chunks == ((10, 10, 10, 10),)
    assert distances.chunks == ((10, 10, 10, 10), (2,))
    with pytest.raises(AssertionError, match="computed"):
        labels.compute()


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (-np.inf, "an infinite value")])
def test_what_is_not_finite_is_found_and_named(client, value, name):
    points = points_of("float32")
    points[431, 2] = value
    oracle = as_oracle(da.from_array(points, chunks=(200, D)))
    message = rf"row 31 \(from 0\) of partition 2 of the Dask array has {name} in column 2"
    with pytest.raises(SourceError, match=message):
        oracle.full(np.zeros((1, D)))
    with pytest.raises(SourceError, match=message):
        oracle.labels(np.zeros((1, D))).compute()


ROWS = da.zeros((40, 3), chunks=(10, 3))
WITH_GAP = dd.from_pandas(pd.DataFrame({"a": pd.array([1, None], dtype="Int8"), "b": [0, 1]}), npartitions=1)
WITH_TEXT = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "y"]}), npartitions=1)


@pytest.mark.parametrize(
    ("collection", "weights", "error", "message"),
    [
        (ROWS[:, 0], None, ValueError, r"shape \(40,\); expected \(n_points, n_features\)"),
        (ROWS[None], None, ValueError, r"shape \(1, 40, 3\)"),
        (ROWS.astype(complex), None, ValueError, "dtype complex128"),
        (dask.delayed(np.zeros((2, 2))), None, TypeError, "a Dask Delayed"),
        (WITH_TEXT, None, ValueError, r"non-numeric columns: name \("),
        (WITH_TEXT["a"], None, TypeError, "a Dask Series"),
        (WITH_GAP, None, ValueError, r"partition 0 could not be computed .*row 1 \(from 0\) has a missing value"),
        (ROWS[:0], None, ValueError, "is empty"),
        (ROWS[ROWS[:, 0] == 1], None, ValueError, "is empty"),
        (1e300 * (1 + ROWS), None, ValueError, "partition 0 of the Dask array has the value 1e"),
        (ROWS, np.ones(39), ValueError, "has 39 elements, but X has 40 rows"),
        (ROWS, np.ones((40, 1)), ValueError, "2 dimensions"),
        (ROWS, np.zeros(40), ValueError, "zero for every sample"),
        (ROWS, np.arange(40) - 25.0, ValueError, r"row 0 \(from 0\) of partition 0 .* has weight -25.0"),
        (ROWS, np.where(np.arange(40) == 33, np.nan, 1), ValueError, r"row 3 .* of partition 3 .* has weight nan"),
        (ROWS[ROWS[:, 0] == 0], np.ones(40), ValueError, "unknown length"),
        (ROWS[ROWS[:, 0] == 0], da.ones(40, chunks=20), ValueError, "has 2 partitions, but X has 4"),
        (ROWS[ROWS[:, 0] == 0], da.ones(44, chunks=11), ValueError, "has 10 rows, but 11 weights"),
    ],
)
def test_bad_input_gets_a_clear_error(client, collection, weights, error, message):
    with pytest.raises(error, match=message):
        as_oracle(collection, weights).full(np.zeros((1, 3)))


def test_partitions_that_are_not_what_the_collection_says(client):
    wrong = ROWS.map_blocks(lambda block: block[:, :2], dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(SourceError, match=r"partition 0 of the Dask array has shape \(10, 2\); expected 3"):
        as_oracle(wrong).full(np.zeros((1, 3)))

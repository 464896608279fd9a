"""An oracle over a stream says of its rows what an oracle says that has them all in memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from kinds_of_data import AS_FLOAT64, AT_HAND, KINDS

from eulermeans.byte_sizes import parse_bytes
from eulermeans.oracles import MemoryOracle, StreamOracle, as_oracle, memory_oracle, with_bounds
from eulermeans.sources import Blocks, SourceError, as_source
from eulermeans.sources.batches import ArraySource

N, D, K = 3000, 6, 7
LIMIT = 90_000  # more than 1024 rows, less than all


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).standard_normal((N, D)).astype("f4") + 3


@pytest.fixture(scope="module")
def centers():
    return np.random.default_rng(1).standard_normal((K, D)) + 3


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "eulermeans-reader"]


def streamed(points, weights=None, **options):
    rng = options.pop("rng", np.random.default_rng(0))
    return StreamOracle(ArraySource(points), weights, memory_limit=LIMIT, rng=rng, **options)


def assert_close(one, other):
    np.testing.assert_allclose(one.counts, other.counts, rtol=1e-12)
    np.testing.assert_allclose(one.sums, other.sums, rtol=1e-9)
    assert one.cost == pytest.approx(other.cost, rel=1e-9)
    assert one.n_distances == other.n_distances
    if one.errors is not None:
        np.testing.assert_allclose(one.errors, other.errors, rtol=1e-9)
        np.testing.assert_allclose(one.utilities, other.utilities, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data_says_the_same(points, centers, kind, tmp_path):
    stream = StreamOracle(as_source(KINDS[kind](points, tmp_path)), memory_limit=LIMIT)
    memory = memory_oracle(points.astype("f8") if kind in AS_FLOAT64 else points)
    assert_close(stream.full(centers, detail=True), memory.full(centers, detail=True))
    labels = stream.labels(centers)
    assert isinstance(labels, np.ndarray if kind in AT_HAND else Blocks)
    np.testing.assert_array_equal(np.asarray(labels), memory.label(centers).labels)
    np.testing.assert_array_equal(np.asarray(stream.distances(centers)), memory.distances(centers))
    assert (stream.n_points, stream.n_features, stream.total_weight) == (N, D, N)
    assert (stream.dtype, stream.unweighted, stream.row_bytes) == (memory.dtype, True, memory.row_bytes)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_answers(points, centers, weighted):
    weights = np.random.default_rng(2).uniform(0, 2, size=N) if weighted else None
    if weighted:
        weights[::5] = 0
    stream, memory = streamed(points, weights), memory_oracle(points, weights)
    assert stream.total_weight == pytest.approx(memory.total_weight, rel=1e-12)
    assert_close(stream.full(centers), memory.full(centers))
    np.testing.assert_allclose(stream.mean(), memory.mean(), rtol=1e-9)
    np.testing.assert_allclose(stream.variance(), memory.variance(), rtol=1e-9)
    np.testing.assert_array_equal(np.asarray(stream.distances(centers)), memory.distances(centers))
    one, other = stream.farthest(centers, 9), memory.farthest(centers, 9)
    np.testing.assert_array_equal(one.points, other.points)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_allclose(one.distances, other.distances, rtol=1e-12)
    labeling = stream.label(centers)
    np.testing.assert_array_equal(labeling.labels, memory.label(centers).labels)
    assert_close(labeling.moments, memory.full(centers))
    assert with_bounds(stream) is stream


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int64", "float16", "float64"])
def test_every_dtype(dtype, centers):
    points = np.random.default_rng(3).integers(0, 2, size=(N, D)).astype(dtype)
    stream, memory = StreamOracle(ArraySource(points), memory_limit=10**6), memory_oracle(points)
    assert stream.dtype == memory.dtype
    assert_close(stream.full(centers), memory.full(centers))
    pool = stream.pool(np.random.default_rng(0))
    assert pool.points.stored.dtype == dtype


def test_weights_of_the_source(points, centers):
    weights = np.random.default_rng(2).uniform(0, 2, size=N)
    source = as_source(lambda: zip(np.array_split(points, 4), np.array_split(weights, 4), strict=True))
    stream, memory = StreamOracle(source, memory_limit=LIMIT), memory_oracle(points, weights)
    assert not stream.unweighted
    assert stream.total_weight == pytest.approx(weights.sum())
    assert_close(stream.full(centers), memory.full(centers))
    with pytest.raises(ValueError, match="weights of its own"):
        StreamOracle(source, weights)


def test_variance_far_from_the_origin():
    points = 1e8 + np.random.default_rng(0).standard_normal((N, D))
    np.testing.assert_allclose(
        StreamOracle(ArraySource(points), memory_limit=200_000).variance(), points.var(axis=0), rtol=1e-6
    )


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_change_a_bit(points, centers, n_threads):
    one, other = (streamed(points, n_threads=n).full(centers) for n in (1, n_threads))
    np.testing.assert_array_equal(one.sums, other.sums)
    assert one.cost == other.cost


# The pool


def values_in(pool):
    return pool.points.stored[:, 0].astype(int)


def numbered(n):
    return np.repeat(np.arange(n, dtype=np.float64)[:, None], D, axis=1)


@pytest.fixture(params=["counted", "not counted"])
def stream_of(request):
    """A stream of numbered rows, with their number known beforehand or not."""

    def make(n, **options):
        rows = numbered(n)
        source = ArraySource(rows) if request.param == "counted" else as_source(lambda: np.array_split(rows, 9))
        return StreamOracle(source, memory_limit=200_000, **options)

    return make


def test_the_pool_has_distinct_rows_and_takes_half_of_the_limit(stream_of):
    pool = stream_of(20_000).pool(np.random.default_rng(0))
    values = values_in(pool)
    assert len(np.unique(values)) == len(values)
    assert 200_000 / 8 <= pool.points.stored.nbytes <= 200_000 / 2


def test_every_row_is_as_likely_to_be_in_the_pool(stream_of):
    """By chi-square over tenths of the data, added up over many pools."""
    n, found, expected = 8000, np.zeros(10), 0.0
    for seed in range(60):
        values = values_in(stream_of(n).pool(np.random.default_rng(seed)))
        found += np.bincount(values * 10 // n, minlength=10)
        expected += len(values) / 10
    statistic = np.sum((found - expected) ** 2 / expected)
    assert statistic < 27.9  # one in a thousand of chi-square with 9 degrees of freedom


def test_the_pool_keeps_the_weights_of_its_rows():
    weights = np.arange(8000) % 7.0
    pool = StreamOracle(ArraySource(numbered(8000)), weights, memory_limit=200_000).pool(np.random.default_rng(0))
    np.testing.assert_array_equal(pool.points.weights, values_in(pool) % 7)


def test_the_pool_depends_on_the_seed_alone(stream_of):
    one, other, third = (stream_of(8000, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    one.full(np.zeros((1, D)))
    one.mean()
    np.testing.assert_array_equal(values_in(one.pool(np.random.default_rng(5))), values_in(other.pool()))
    assert len(values_in(one.pool())) != len(values_in(third.pool())) or np.any(
        values_in(one.pool()) != values_in(third.pool())
    )


def test_batches_and_samples_are_of_the_pool(stream_of, centers):
    stream, rng = stream_of(8000), np.random.default_rng(0)
    sample = stream.sample(100, rng)
    pool = values_in(stream.pool())
    assert set(values_in(sample)) <= set(pool)
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    np.testing.assert_array_equal(
        stream.minibatch(centers, 50, one).sums, stream.pool().minibatch(centers, 50, other).sums
    )


def test_a_sorted_stream_gives_a_batch_of_all_classes():
    classes = np.repeat(np.arange(10), 2000)
    rows = np.repeat(classes[:, None], D, axis=1).astype("f4")
    moments = streamed(rows).minibatch(
        np.repeat(np.arange(10.0)[:, None], D, axis=1), 2000, np.random.default_rng(0)
    )
    assert np.all(np.abs(moments.counts - 200) < 100)


# Reading


def test_a_sample_does_not_read_again(points, centers):
    passes = []

    def batches():
        passes.append(1)
        return iter(np.array_split(points, 5))

    stream, rng = StreamOracle(as_source(batches), memory_limit=LIMIT), np.random.default_rng(0)
    before = len(passes)
    stream.sample(20, rng)
    for _ in range(5):
        stream.minibatch(centers, 20, rng)
    assert stream.n_points == N
    assert len(passes) == before + 1
    stream.full(centers)
    assert len(passes) == before + 2


def test_the_same_centers_are_not_measured_twice(points, centers):
    passes = []

    def batches():
        passes.append(1)
        return iter(np.array_split(points, 5))

    stream = StreamOracle(as_source(batches), memory_limit=LIMIT, rng=np.random.default_rng(0))
    first = stream.full(centers)
    before = len(passes)
    again = stream.full(centers.copy())
    assert len(passes) == before
    np.testing.assert_array_equal(again.sums, first.sums)
    assert stream.full(centers, detail=True).errors is not None
    assert stream.full(centers + 1).cost != first.cost
    assert len(passes) == before + 2


def test_weights_are_added_up_while_the_pool_is_drawn(points, centers):
    passes = []

    def batches():
        passes.append(1)
        return ((part, np.ones(len(part))) for part in np.array_split(points, 5))

    stream = StreamOracle(as_source(batches), memory_limit=LIMIT, rng=np.random.default_rng(0))
    before = len(passes)
    assert (stream.n_points, stream.total_weight) == (N, N)
    stream.minibatch(centers, 20, np.random.default_rng(0))
    assert len(passes) == before + 1


def test_errors_of_the_reading_thread_are_raised(points, centers):
    calls = []

    def batches():
        calls.append(1)
        yield points
        if len(calls) > 1:
            raise RuntimeError("the network is gone")
        yield points

    with pytest.raises(RuntimeError, match="the network is gone"):
        StreamOracle(as_source(batches), memory_limit=LIMIT).full(centers)


def test_stopping_early_ends_the_reading(points, centers):
    closed = []

    def batches():
        try:
            while True:
                yield points
        finally:
            closed.append(1)

    labels = StreamOracle(as_source(batches), memory_limit=LIMIT).labels(centers)
    before = len(closed)
    blocks = iter(labels)
    next(blocks)
    blocks.close()
    assert len(closed) > before


def test_blocks(points, centers, tmp_path):
    expected = memory_oracle(points).label(centers).labels
    for kind, n_known in (("npy", N), ("function", None)):
        labels = StreamOracle(as_source(KINDS[kind](points, tmp_path)), memory_limit=LIMIT).labels(centers)
        assert isinstance(labels, Blocks)
        assert labels.shape == (n_known,)
        for _ in range(2):
            np.testing.assert_array_equal(np.concatenate(list(labels)), expected)
        assert np.asarray(labels).dtype == labels.dtype == np.int32
        assert np.asarray(labels, dtype=np.int64).dtype == np.int64
        assert labels.shape == (N,)
        assert str(labels) == f"Blocks(shape=({N},), dtype=int32)"


# Which oracle


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"array"}))
def test_what_fits_is_read_into_memory(points, centers, kind, tmp_path):
    data = KINDS[kind](points, tmp_path)
    oracle = as_oracle(data, rng=np.random.default_rng(0))
    assert isinstance(oracle, MemoryOracle)
    np.testing.assert_array_equal(oracle.points.stored.astype("f4"), points)
    assert isinstance(as_oracle(data, memory_limit=LIMIT, rng=np.random.default_rng(0)), StreamOracle)
    assert isinstance(as_oracle(data), StreamOracle)


def test_an_array_is_taken_as_it_is(points):
    assert as_oracle(points, memory_limit=LIMIT).points.stored is points


def test_weights_must_be_as_many_as_rows(points):
    for n in (N - 1, N + 1):
        with pytest.raises(ValueError, match=rf"sample_weight has {n} elements, but .* rows"):
            streamed(points, np.ones(n)).full(np.zeros((1, D)))
    with pytest.raises(SourceError, match="all weights of the array are zero"):
        streamed(points, np.zeros(N)).full(np.zeros((1, D)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [(5, 5), ("512MB", 512 * 10**6), ("1GiB", 2**30), ("1.5 kib", 1536), ("7", 7), ("3b", 3)],
)
def test_amounts_of_memory(given, expected):
    assert parse_bytes(given) == expected


@pytest.mark.parametrize("given", ["", "much", "5 parsecs", "-5", 0, -1, 1.5, None, True])
def test_what_is_no_amount_of_memory(given):
    with pytest.raises(ValueError, match="is not a memory size"):
        parse_bytes(given)


def test_a_limit_too_small_for_the_rows(points):
    with pytest.raises(ValueError, match=r"memory_limit=1000 bytes is too small .* give at least \d+ bytes"):
        StreamOracle(ArraySource(points), memory_limit=1000)


def test_small_batches_are_put_together_for_a_pass_but_not_in_the_results(points, centers):
    weights = np.random.default_rng(2).uniform(size=N)
    batches = [slice(first, first + 7) for first in range(0, N, 7)]
    stream = StreamOracle(as_source(lambda: ((points[b], weights[b]) for b in batches)))
    assert_close(stream.full(centers), memory_oracle(points, weights).full(centers))
    assert [len(block) for block in stream.labels(centers)] == [len(points[b]) for b in batches]


def test_blocks_can_be_pickled_and_do_not_keep_the_pool(points, centers, tmp_path):
    stream = StreamOracle(as_source(KINDS["parquet"](points, tmp_path)), memory_limit=LIMIT)
    pool = weakref.ref(stream.pool(np.random.default_rng(0)).points.stored.base)
    labels, distances = stream.labels(centers), stream.distances(centers)
    expected = np.asarray(labels)
    del stream
    assert pool() is None
    for blocks in (labels, labels.map(np.negative), distances):
        again = pickle.loads(pickle.dumps(blocks))
        np.testing.assert_array_equal(np.asarray(again), np.asarray(blocks))
    np.testing.assert_array_equal(np.asarray(labels), expected)


def test_leaving_the_program_in_the_middle_of_a_pass():
    code = """
import numpy as np
from eulermeans.oracles import StreamOracle
from eulermeans.sources import as_source
points = np.ones((100_000, 8), "f4")
stream = StreamOracle(as_source(lambda: iter(np.array_split(points, 50))), memory_limit=800_000)
blocks = iter(stream.labels(np.zeros((3, 8))))
print(len(next(blocks)))
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert run.stderr == ""

"""However the data are stored, the oracle says the same of them; and it only reads."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from naive import naive_moments

from eulermeans import _core
from eulermeans.oracles import Clustering, StepRun, memory_oracle, with_bounds
from eulermeans.oracles.dense_points import ChosenRows, DensePoints
from eulermeans.solvers import take_steps

N, D, K = 5 * _core.BLOCK_ROWS + 11, 12, 6


@pytest.fixture(scope="module")
def points():
    """Small whole numbers: every dtype holds them."""
    return np.random.default_rng(0).integers(0, 100, size=(N, D)).astype(np.float64)


@pytest.fixture(scope="module")
def centers():
    return np.random.default_rng(1).uniform(0, 100, size=(K, D))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks even for little data."""
    monkeypatch.setattr("eulermeans.oracles.dense_points.BLOCK_BYTES", 2 * _core.BLOCK_ROWS * D * 8)


def byte_swapped(points):
    return points.astype(points.dtype.newbyteorder())


def misaligned(points):
    buffer = np.zeros(points.nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(points.dtype).reshape(points.shape)
    view[:] = points
    assert not view.flags.aligned
    return view


LAYOUTS = {
    "fortran": np.asfortranarray,
    "every other row": lambda points: np.repeat(points, 2, axis=0)[::2],
    "every other column": lambda points: np.repeat(points, 2, axis=1)[:, ::2],
    "backwards": lambda points: points[::-1].copy()[::-1],
    "byte-swapped": byte_swapped,
    "misaligned": misaligned,
}


def assert_same_bits(one, other):
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_array_equal(one.sums, other.sums)
    assert one.cost == other.cost


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_does_not_change_a_bit(points, centers, dtype, layout):
    plain = points.astype(dtype)
    one, other = memory_oracle(plain), memory_oracle(LAYOUTS[layout](plain))
    assert_same_bits(one.full(centers), other.full(centers))
    np.testing.assert_array_equal(one.label(centers).labels, other.label(centers).labels)
    np.testing.assert_array_equal(one.distances(centers), other.distances(centers))
    np.testing.assert_array_equal(one.mean(), other.mean())
    batches = [oracle.minibatch(centers, 300, np.random.default_rng(2)) for oracle in (one, other)]
    assert_same_bits(*batches)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_memory_map(points, centers, tmp_path, dtype):
    np.save(tmp_path / "points.npy", points.astype(dtype))
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    one, other = memory_oracle(points.astype(dtype)), memory_oracle(mapped)
    assert_same_bits(one.full(centers), other.full(centers))
    assert_same_bits(*(oracle.minibatch(centers, 99, np.random.default_rng(0)) for oracle in (one, other)))


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "int64", "uint64", "longdouble"]
)
def test_every_real_dtype_says_the_same(points, centers, dtype):
    stored = memory_oracle(points.astype(dtype))
    same_arithmetic = memory_oracle(points.astype(stored.dtype))
    assert_same_bits(stored.full(centers), same_arithmetic.full(centers))
    expected, labels = naive_moments(points, centers)
    found = stored.label(centers)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(found.moments.sums, expected.sums)
    assert found.moments.cost == pytest.approx(expected.cost, rel=1e-5)


def test_bool(centers):
    points = np.random.default_rng(0).random((N, D)) < 0.5
    found, expected = (
        memory_oracle(points).full(centers / 100),
        memory_oracle(points.astype("f4")).full(centers / 100),
    )
    assert_same_bits(found, expected)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        *((name, "f4") for name in ("float32", "float16", "uint8", "int16", "bool")),
        *((name, "f8") for name in ("float64", "int32", "int64", "longdouble")),
    ],
)
def test_arithmetic_is_in_a_dtype_that_holds_the_values(points, dtype, expected):
    assert memory_oracle(points.astype(dtype)).dtype == np.dtype(expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_weights_and_detail(points, centers, order):
    weights = np.random.default_rng(3).uniform(0, 2, size=N)
    weights[::5] = 0
    found = memory_oracle(np.array(points, order=order), weights).full(centers, detail=True)
    expected, _ = naive_moments(points, centers, weights)
    np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-12)
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)
    np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-9)
    np.testing.assert_allclose(found.utilities, expected.utilities, rtol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_mean_and_variance(points, dtype, weighted):
    weights = np.random.default_rng(3).uniform(size=N) if weighted else None
    oracle = memory_oracle(points.astype(dtype), weights)
    mean = np.average(points, axis=0, weights=weights)
    np.testing.assert_allclose(oracle.mean(), mean, rtol=1e-12)
    np.testing.assert_allclose(
        oracle.variance(), np.average((points - mean) ** 2, axis=0, weights=weights), rtol=1e-10
    )


def test_variance_far_from_the_origin():
    points = 1e8 + np.random.default_rng(0).standard_normal((5000, 3))
    np.testing.assert_allclose(memory_oracle(points).variance(), points.var(axis=0), rtol=1e-6)


# Drawing


def rows_drawn(oracle, size, rng):
    """Which points a batch had, where each point is its own center: counts are how often."""
    return oracle.minibatch(oracle.points.stored.astype(np.float64), size, rng).counts


def one_dimensional(n):
    return np.arange(n, dtype=np.float64)[:, None]


def test_batches_draw_with_replacement():
    counts = rows_drawn(memory_oracle(one_dimensional(20)), 20, np.random.default_rng(0))
    assert counts.sum() == 20
    assert counts.max() > 1


def test_weighted_draws_follow_the_weights():
    weights = np.array([0.0, 1.0, 2.0, 0.0, 5.0, 0.0])
    counts = rows_drawn(memory_oracle(one_dimensional(6), weights), 80_000, np.random.default_rng(0))
    expected = 80_000 * weights / weights.sum()
    assert not counts[weights == 0].any()
    assert np.abs(counts - expected).max() < 5 * np.sqrt(80_000 / 4)  # five standard deviations


def test_a_batch_is_an_unbiased_estimate(points, centers):
    weights = np.random.default_rng(3).uniform(size=N)
    oracle, rng = memory_oracle(points, weights), np.random.default_rng(0)
    gradients = np.array([oracle.minibatch(centers, 200, rng).gradient(centers) for _ in range(400)])
    error = gradients.mean(axis=0) - oracle.full(centers).gradient(centers)
    assert np.all(np.abs(error) <= 5 * gradients.std(axis=0) / np.sqrt(400) + 1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [5, 45, 60, 100])
def test_sample_is_of_distinct_points_with_weight(weighted, size):
    weights = np.where(np.arange(60) % 3 == 0, 0.0, 1.0) if weighted else None
    sample = memory_oracle(one_dimensional(60), weights).sample(size, np.random.default_rng(0))
    values = sample.points.stored[:, 0]
    available = 40 if weighted else 60
    assert len(np.unique(values)) == len(values) == min(size, available)
    if weighted:
        assert (values % 3 != 0).all()
        assert sample.points.weights.shape == values.shape


def test_farthest(points, centers):
    weights = np.ones(N)
    _, labels = naive_moments(points, centers)
    squared = ((points - centers[labels]) ** 2).sum(axis=1)
    order = np.argsort(-squared)
    weights[order[0]] = 0
    found = memory_oracle(points, weights).farthest(centers, 3)
    np.testing.assert_array_equal(found.points, points[order[1:4]])
    np.testing.assert_array_equal(found.labels, labels[order[1:4]])
    np.testing.assert_allclose(found.distances, squared[order[1:4]])


# Memory


@pytest.mark.parametrize("layout", ["fortran", "int64", "strided"])
def test_a_pass_does_not_copy_the_data_whole(layout):
    n, d = 100_000, 12
    points = np.random.default_rng(0).standard_normal((n, d))
    points = {"fortran": np.asfortranarray, "int64": lambda p: p.astype(np.int64), "strided": lambda p: p[::2]}[
        layout
    ](points)
    oracle, centers = memory_oracle(points), np.random.default_rng(1).standard_normal((4, d))
    tracemalloc.start()
    oracle.full(centers)
    oracle.variance()
    oracle.minibatch(centers, 500, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < points.size * 8 / 4


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda p: p.astype(np.int64)])
def test_data_are_never_written(points, centers, layout):
    given, weights = layout(points).copy(order="K"), np.random.default_rng(0).uniform(size=N)
    before = given.copy(), weights.copy()
    given.flags.writeable = weights.flags.writeable = False
    oracle, rng = memory_oracle(given, weights), np.random.default_rng(0)
    oracle.full(centers, detail=True)
    oracle.minibatch(centers, 50, rng)
    oracle.sample(20, rng)
    oracle.farthest(centers, 3)
    oracle.label(centers)
    oracle.variance()
    np.testing.assert_array_equal(given, before[0])
    np.testing.assert_array_equal(weights, before[1])


# Samples that are not copied


def both_samples(monkeypatch, weights, size=400):
    """A sample that was copied, and the same one where it is."""
    rng = np.random.default_rng(2)
    points = rng.standard_normal((1000, 12)).astype(np.float32)
    oracle = memory_oracle(points, weights)
    copied = oracle.sample(size, np.random.default_rng(3))
    monkeypatch.setattr("eulermeans.oracles.dense_points.COPIED_SAMPLE_BYTES", 0)
    in_place = oracle.sample(size, np.random.default_rng(3))
    assert type(copied.points) is DensePoints
    assert type(in_place.points) is ChosenRows
    return copied, in_place


def answers(oracle, centers):
    """All that may be asked of a sample."""
    rows, run = np.array([5, 0, 5, 99]), StepRun(2, 3, 50, 1.0, 0.9, 0.5, 1.5)
    outliers = oracle.farthest(centers, 7)
    again = oracle.sample(60, np.random.default_rng(6))
    moments = [
        oracle.full(centers, detail=True),
        oracle.minibatch(centers, 100, np.random.default_rng(4)),
        again.full(centers),
        again.sample(20, np.random.default_rng(7)).full(centers),
        with_bounds(oracle).full(centers),
    ]
    arrays = [array for found in moments for array in vars(found).values() if array is not None]
    return [
        *arrays,
        *(oracle.points.stored, oracle.points.dense(rows), oracle.points.mean_of(rows)),
        *(oracle.mean(), oracle.variance()),
        *(oracle.distances(centers), oracle.labels(centers), oracle.n_points, oracle.total_weight),
        *(outliers.points, outliers.weights, outliers.labels, outliers.distances),
        take_steps(oracle, centers, run, np.random.default_rng(5)),
        again.points.stored,
    ]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_in_place_answers_as_its_copy_does(monkeypatch, weighted):
    weights = np.random.default_rng(1).integers(0, 4, size=1000).astype(float) if weighted else None
    copied, in_place = both_samples(monkeypatch, weights)
    centers = np.random.default_rng(8).standard_normal((9, 12))
    for one, other in zip(answers(copied, centers), answers(in_place, centers), strict=True):
        np.testing.assert_array_equal(one, other)
    one, other = (Clustering(oracle.points, centers) for oracle in (copied, in_place))
    np.testing.assert_array_equal(one.sums, other.sums)
    np.testing.assert_array_equal(one.labels(), other.labels())


def test_a_large_sample_of_an_array_is_not_copied():
    points = np.ones((40_000, 200), dtype=np.float32)
    tracemalloc.start()
    memory_oracle(points).sample(30_000, np.random.default_rng(0)).full(np.zeros((3, 200)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * points.nbytes


def test_a_large_sample_of_a_memory_map_is_copied(tmp_path):
    """To read it again might be to read the disk again."""
    np.save(tmp_path / "points.npy", np.ones((40_000, 200), dtype=np.float32))
    points = np.load(tmp_path / "points.npy", mmap_mode="r")
    sample = memory_oracle(points).sample(30_000, np.random.default_rng(0))
    assert type(sample.points) is DensePoints
    assert not isinstance(sample.points.stored, np.memmap)

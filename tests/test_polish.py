"""The exact polish: the same as plain Lloyd, from fewer distances."""

from itertools import islice

import numpy as np
import pytest

from eulermeans import _core
from eulermeans.oracles import memory_oracle, triangle_bounds, with_bounds
from eulermeans.solvers import em, polish


def blobs(n, d, k, seed, dtype=np.float64, spread=3.0):
    rng = np.random.default_rng(seed)
    centers = spread * rng.standard_normal((k, d))
    return (centers[rng.integers(k, size=n)] + rng.standard_normal((n, d))).astype(dtype)


def start(points, k, seed):
    rows = np.random.default_rng(seed).choice(len(points), k, replace=False)
    return points[rows].astype(np.float64)


def centers_after(solver, n_steps):
    return [iterate.centers for iterate in islice(solver, n_steps)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "d", "k"),
    [
        (300, 2, 5),
        (2000, 2, 40),
        (1500, 16, 30),
        (1200, 40, 12),
        (1200, 100, 25),
        (1000, 300, 40),
        (500, 33, 1),
        (60, 50, 60),
    ],
)
def test_every_step_is_that_of_plain_lloyd(n, d, k, dtype):
    points = blobs(n, d, min(k, 20), seed=n + d, dtype=dtype)
    first = start(points, k, seed=1)
    plain = centers_after(em(memory_oracle(points), first), 25)
    bounded = centers_after(polish(memory_oracle(points), first), 25)
    for ours, theirs in zip(bounded, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bounds", ["one for all centers", "one for each center"])
def test_any_number_of_bounds_gives_the_same_labels(bounds, monkeypatch):
    points = blobs(900, 40, 10, seed=3)
    monkeypatch.setattr(triangle_bounds, "MANY_FEATURES", 1 if bounds == "one for each center" else 1000)
    monkeypatch.setattr(triangle_bounds, "MANY_CLUSTERS", 1)
    first = start(points, 25, seed=2)
    plain = centers_after(em(memory_oracle(points), first), 20)
    bounded = centers_after(polish(memory_oracle(points), first), 20)
    np.testing.assert_allclose(bounded[-1], plain[-1], rtol=1e-9, atol=1e-9)


def test_data_are_looked_at_in_parts_to_the_same_bits(monkeypatch):
    points = blobs(20 * _core.BLOCK_ROWS + 7, 12, 10, seed=9, dtype=np.float32)
    first = start(points, 10, seed=3)
    whole = centers_after(polish(memory_oracle(points), first), 10)
    monkeypatch.setattr(triangle_bounds, "LABEL_ROWS", 3 * _core.BLOCK_ROWS)
    parts = centers_after(polish(memory_oracle(points), first), 10)
    np.testing.assert_array_equal(parts, whole)


def test_bounds_that_take_too_much_are_left_out(monkeypatch):
    points = blobs(2000, 12, 10, seed=10)
    first = start(points, 10, seed=4)
    bounded = with_bounds(memory_oracle(points))
    monkeypatch.setattr(triangle_bounds, "BOUND_BYTES", 0)
    monkeypatch.setattr(triangle_bounds, "BOUND_PART", 0)
    plain = with_bounds(memory_oracle(points))
    for oracle in (bounded, plain):
        centers = first
        for _ in range(12):
            moments = oracle.full(centers)
            centers = moments.means(centers)
    assert moments.n_distances == 2000 * 10
    assert not plain.memory()
    assert {"labels", "upper", "lower"} <= bounded.memory().keys()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float16, np.int32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_storage_is_read(dtype, order):
    rng = np.random.default_rng(4)
    points = np.asarray(rng.integers(0, 100, size=(800, 40)), dtype=dtype, order=order)
    first = start(points, 12, seed=5)
    bounded = centers_after(polish(memory_oracle(points), first), 15)
    plain = centers_after(em(memory_oracle(points), first), 15)
    np.testing.assert_allclose(bounded[-1], plain[-1], rtol=1e-6)


@pytest.mark.parametrize("d", [3, 50])
def test_weights_count(d):
    points = blobs(700, d, 6, seed=6)
    weights = np.random.default_rng(7).integers(0, 4, size=len(points)).astype(np.float64)
    first = start(points, 8, seed=8)
    bounded = centers_after(polish(memory_oracle(points, weights), first), 20)
    plain = centers_after(em(memory_oracle(points, weights), first), 20)
    np.testing.assert_allclose(bounded[-1], plain[-1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("d", [2, 60])
def test_duplicates_and_empty_clusters_end_like_plain_lloyd(d):
    points = np.repeat(np.random.default_rng(9).standard_normal((6, d)), 40, axis=0)
    first = np.vstack([points[:1]] * 5 + [points[-1:]] * 4)
    plain = list(islice(em(memory_oracle(points), first), 12))
    bounded = list(islice(polish(memory_oracle(points), first), 12))
    assert bounded[-1].objective == pytest.approx(plain[-1].objective, abs=1e-12)


@pytest.mark.parametrize("d", [2, 64])
def test_objectives_are_those_of_plain_lloyd(d):
    points = blobs(2000, d, 15, seed=10)
    first = start(points, 20, seed=11)
    plain = [iterate.objective for iterate in islice(em(memory_oracle(points), first), 30)]
    bounded = [iterate.objective for iterate in islice(polish(memory_oracle(points), first), 30)]
    np.testing.assert_allclose(bounded, plain, rtol=1e-9)


@pytest.mark.parametrize("d", [2, 64])
def test_far_from_the_origin_nothing_is_lost(d):
    points = blobs(1500, d, 8, seed=12) + 1e6
    first = start(points, 10, seed=13)
    bounded = centers_after(polish(memory_oracle(points), first), 20)
    plain = centers_after(em(memory_oracle(points), first), 20)
    np.testing.assert_allclose(bounded[-1], plain[-1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("d", [2, 64])
def test_most_distances_are_skipped_once_the_centers_settle(d):
    points = blobs(3000, d, 12, seed=14)
    first = start(points, 30, seed=15)
    steps = list(islice(polish(memory_oracle(points), first), 40))
    assert steps[0].n_distances == len(points) * 30
    assert steps[-1].n_distances < 0.1 * steps[0].n_distances


@pytest.mark.parametrize("d", [16, 64])
def test_same_bits_for_any_number_of_threads(d):
    points = blobs(40000, d, 30, seed=16, dtype=np.float32)
    first = start(points, 60, seed=17)
    assert len(points) * d * 60 > 2 * 2**24  # enough work for two threads
    one = centers_after(polish(memory_oracle(points, n_threads=1), first), 12)[-1]
    for n_threads in (2, 3, 8):
        many = centers_after(polish(memory_oracle(points, n_threads=n_threads), first), 12)[-1]
        np.testing.assert_array_equal(one, many)


def test_wrong_shapes_are_refused():
    points, centers = np.zeros((5, 2)), np.zeros((2, 2))
    floats, ints = np.zeros(2, np.float32), np.zeros(2, np.int32)
    arguments = dict(
        counts=np.zeros(2), sums=np.zeros((2, 2)), labels=np.zeros(4, np.int32), upper=np.zeros(5, np.float32),
        lower=np.zeros((5, 1), np.float32), moved=floats, group_moved=np.zeros(1, np.float32), half_gap=floats,
        group_of=ints, members=ints, group_start=ints,
    )  # fmt: skip
    with pytest.raises(ValueError, match="labels, upper, lower: expected one for each row"):
        _core.refine(points, centers, **arguments)


def test_what_was_remembered_is_taken_up_to_the_bit(blobs):
    """A new oracle that remembers goes on as the old one would have."""
    old, new = with_bounds(memory_oracle(blobs)), with_bounds(memory_oracle(blobs))
    centers = blobs[:7].copy()
    for _ in range(4):
        centers = old.full(centers).means(otherwise=centers)
    assert "upper" in old.memory()  # the bounds are in use
    new.remember(old.memory())
    for _ in range(3):
        one, other = old.full(centers), new.full(centers)
        np.testing.assert_array_equal(one.sums, other.sums)
        assert (one.cost, one.n_distances) == (other.cost, other.n_distances)
        centers = one.means(otherwise=centers)

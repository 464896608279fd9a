"""The compiled greedy k-means++, beside its naive twin."""

from __future__ import annotations

import numpy as np
import pytest
from naive import naive_seeds

from eulermeans import _core
from eulermeans.oracles import DensePoints, memory_oracle, time_limit
from eulermeans.seeding import add_centers, seed

DTYPES = ["float32", "float64", "float16", "uint8", "int8"]


def whole_numbers(dtype, n=400, d=3, seed=0):
    """Points whose squared distances are whole numbers, so that no sum is rounded."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 100, size=(n, d)).astype(dtype)


def seeds(points, centers, numbers, **options):
    n = len(options.get("rows", points))
    labels, nearest = np.empty(n, dtype=np.int32), np.empty(n)
    rounded = centers.astype("float64" if points.dtype == np.float64 else "float32")
    _core.assign(points, rounded, rows=options.get("rows"), labels=labels, nearest=nearest)
    chosen = np.full(len(numbers), -1)
    _core.seed_greedily(points, rounded, labels, nearest, numbers, chosen, **options)
    return chosen


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 2, 9, 70])
@pytest.mark.parametrize("n_candidates", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_is_its_twin(dtype, d, n_candidates, weighted):
    rng = np.random.default_rng(1)
    points = whole_numbers(dtype, d=d)
    weights = rng.integers(0, 4, size=len(points)).astype(float) if weighted else None
    numbers = rng.random((40, n_candidates))
    found = seeds(points, points[:1], numbers, weights=weights)
    np.testing.assert_array_equal(found, naive_seeds(points, points[:1], numbers, weights))


@pytest.mark.parametrize("n_known", [1, 5, 30])
def test_new_centers_are_added_to_those_that_are_there(n_known):
    points, numbers = whole_numbers("float32"), np.random.default_rng(2).random((20, 3))
    known = points[:n_known] + 3  # they need not be points
    np.testing.assert_array_equal(seeds(points, known, numbers), naive_seeds(points, known, numbers))


def test_chosen_rows_are_read():
    points, numbers = whole_numbers("float64"), np.random.default_rng(3).random((20, 3))
    rows = np.random.default_rng(4).permutation(len(points))[:200]
    found = seeds(points, points[:1], numbers, rows=rows)
    np.testing.assert_array_equal(found, rows[naive_seeds(points[rows], points[:1], numbers)])


@pytest.mark.parametrize("d", [2, 40])
def test_the_same_bits_for_any_number_of_threads(d):
    rng = np.random.default_rng(5)
    points, numbers = rng.standard_normal((20_000, d)).astype(np.float32), rng.random((60, 6))
    one, four = (seeds(points, points[:1], numbers, n_threads=threads) for threads in (1, 4))
    np.testing.assert_array_equal(one, four)


def test_few_distinct_points():
    """When each point is at a center, all of them have the same chance."""
    points = np.repeat(np.array([[0.0], [1.0], [5.0]]), 20, axis=0)
    numbers = np.random.default_rng(6).random((30, 3))
    found = seeds(points, points[:1], numbers)
    np.testing.assert_array_equal(found, naive_seeds(points, points[:1], numbers))
    assert set(points[found[:2], 0]) == {1.0, 5.0}
    assert len(set(found[2:])) > 10


def test_squares_beyond_the_range_of_single_precision():
    points = whole_numbers("float32") * np.float32(2.0**70)
    numbers = np.random.default_rng(7).random((20, 3))
    np.testing.assert_array_equal(seeds(points, points[:1], numbers), naive_seeds(points, points[:1], numbers))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_are_skipped_only_if_they_cannot_go_over(dtype):
    """With all distances measured, as on sparse points, the costs of seeds are the same on average."""
    points = np.random.default_rng(8).standard_normal((3000, 4)).astype(dtype)
    oracle = memory_oracle(points)

    def costs():
        return [oracle.full(seed("k-means++", oracle, 30, np.random.default_rng(s))).cost for s in range(40)]

    compiled = costs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DensePoints, "seed_greedily", lambda *_: None)
        measured = costs()
    error = np.hypot(np.std(compiled), np.std(measured)) / np.sqrt(40)
    assert abs(np.mean(compiled) - np.mean(measured)) < 4 * error


def test_centers_that_time_is_left_for_are_kept():
    points = np.random.default_rng(9).standard_normal((5000, 8))
    oracle, weights = memory_oracle(points), np.ones(5000)
    rng = np.random.default_rng(0)
    with time_limit(0.0):
        centers = add_centers(oracle, points[:2], 50, rng, weights=weights, n_candidates=4)
    assert centers.shape == (50, 8)
    np.testing.assert_array_equal(centers[:2], points[:2])
    assert all((points == center).all(axis=1).any() for center in centers)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.full(10, 2, np.int32)}, "labels: 2 is out of range, expected 0 to 1"),
        ({"labels": np.zeros(9, np.int32)}, "labels: expected one for each row"),
        ({"nearest": np.zeros(11)}, "nearest: expected one for each row"),
        ({"numbers": np.ones((3, 2))}, "numbers: expected values from 0 up to 1"),
        ({"numbers": np.full((3, 2), np.nan)}, "numbers: expected values from 0 up to 1"),
        ({"numbers": np.zeros((3, 0))}, "numbers: expected at least one column"),
        ({"chosen": np.zeros(2, np.int64)}, "chosen: expected one for each row of numbers"),
        ({"rows": np.zeros(0, np.int64)}, "points: expected at least one row"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    points = whole_numbers("float64", n=10)
    arguments = {
        "points": points,
        "centers": points[:2],
        "labels": np.zeros(10, np.int32),
        "nearest": np.ones(10),
        "numbers": np.zeros((3, 2)),
        "chosen": np.zeros(3, np.int64),
    }
    with pytest.raises(ValueError, match=message):
        _core.seed_greedily(**(arguments | change))

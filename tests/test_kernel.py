"""The compiled kernel against its slow twin, and its checks of arguments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_passes import (
    DTYPES,
    assert_agrees,
    assert_nearest,
    assert_same_bits,
    center_dtype,
    kernel,
    make,
    run_python,
    squared_distances,
)
from naive import naive_moments

from eulermeans import _core

N_FEATURES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 48, 64, 70]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", N_FEATURES)
def test_agrees_with_the_twin(dtype, d):
    points, centers = make(101, d, 5, dtype)
    assert_agrees(kernel(points, centers), points, centers)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 2, 3, 7, 11, 12, 16, 17, 40, 301])
@pytest.mark.parametrize("d", [2, 19, 67])
def test_agrees_with_the_twin_for_any_number_of_centers(dtype, k, d):
    points, centers = make(301, d, k, dtype)
    assert_agrees(kernel(points, centers), points, centers)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [3, 24, 70])
def test_weights(dtype, d):
    points, centers = make(250, d, 6, dtype)
    weights = np.random.default_rng(3).uniform(0, 5, size=250)
    weights[::3] = 0
    assert_agrees(kernel(points, centers, weights=weights), points, centers, weights)


@pytest.mark.parametrize("d", [3, 24])
def test_a_point_without_weight_adds_nothing(d):
    points, centers = make(60, d, 4)
    weights = np.ones(60)
    weights[20:] = 0
    found, without = kernel(points, centers, weights=weights), kernel(points[:20], centers)
    for name in ("counts", "sums", "cost", "errors", "utilities"):
        np.testing.assert_array_equal(getattr(found, name), getattr(without, name))


def test_one_center_and_no_weight_gives_no_nan():
    points, centers = make(10, 3, 1)
    found = kernel(points, centers, weights=np.zeros(10))
    assert found.utilities.tolist() == [0]
    assert found.cost.tolist() == [0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [2, 30, 70])
def test_as_many_centers_as_points(dtype, d):
    points, _ = make(90, d, 1, dtype)
    points = np.unique(points, axis=0)
    centers = points.astype(center_dtype(points))
    found = kernel(points, centers)
    np.testing.assert_array_equal(found.labels, np.arange(len(points)))
    np.testing.assert_array_equal(found.sums, points.astype(np.float64))
    assert found.cost[0] == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 8, 9, 40, 70])
@pytest.mark.parametrize("k", [2, 7, 33, 100])
def test_ties_go_to_the_lowest_index(dtype, d, k):
    points, one = make(97, d, 1, dtype)
    found = kernel(points, np.repeat(one, k, axis=0))
    assert not found.labels.any()
    np.testing.assert_array_equal(found.nearest, found.second)
    assert found.counts.tolist() == [97] + [0] * (k - 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [2, 12, 70])
def test_a_point_halfway_goes_to_the_lower_index(dtype, d):
    centers = np.zeros((40, d), dtype=dtype)
    centers[:, 0] = np.where(np.arange(40) < 37, 100.0, 3.0)
    centers[20, 0], centers[29, 0] = -1.0, 1.0
    found = kernel(np.zeros((5, d), dtype=dtype), centers)
    assert (found.labels == 20).all()
    centers[[20, 29]] = centers[[29, 20]]
    assert (kernel(np.zeros((5, d), dtype=dtype), centers).labels == 20).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [4, 20, 70])
def test_rows_are_read_in_place_of_a_gathered_copy(dtype, d):
    points, centers = make(300, d, 7, dtype)
    rng = np.random.default_rng(4)
    rows, weights = rng.integers(300, size=777), rng.uniform(size=300)
    found = kernel(points, centers, rows=rows, weights=weights)
    assert len(np.unique(rows)) < len(rows)
    assert_same_bits(found, kernel(points[rows], centers, weights=weights[rows]))


def test_adds_to_what_is_there():
    points, centers = make(100, 5, 3)
    once = kernel(points, centers)
    twice = kernel(points, centers, into=kernel(points, centers))
    for name in ("counts", "sums", "cost", "errors", "utilities"):
        np.testing.assert_allclose(getattr(twice, name), 2 * getattr(once, name), rtol=1e-15)


@pytest.mark.parametrize("dtype", DTYPES)
def test_input_may_be_read_only_and_is_not_written(dtype):
    points, centers = make(100, 11, 3, dtype)
    rows, weights = np.arange(0, 100, 2), np.random.default_rng(0).uniform(size=100)
    given = (points, centers, rows, weights)
    before = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    kernel(points, centers, rows=rows, weights=weights)
    for array, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_errors_add_up_to_the_cost():
    points, centers = make(1000, 13, 9)
    found = kernel(points, centers)
    assert found.errors.sum() == pytest.approx(found.cost[0], rel=1e-13)


@pytest.mark.parametrize("d", [4, 20, 70])
def test_utility_is_what_the_cost_grows_by_without_the_center(d):
    points, centers = make(400, d, 6)
    found = kernel(points, centers)
    for j in range(6):
        without = kernel(points, np.delete(centers, j, axis=0))
        assert without.cost[0] - found.cost[0] == pytest.approx(found.utilities[j], rel=1e-9)


@pytest.mark.parametrize("kind", ["centered", "far", "heavy tails"])
@pytest.mark.parametrize(("d", "k"), [(2, 40), (6, 100), (20, 7), (64, 80)])
def test_utilities_alone_are_those_with_exact_distances_up_to_the_rounding_of_float(d, k, kind):
    points, centers = make(2000, d, k)
    if kind == "far":
        points, centers = points + 1e4, centers + 1e4
    elif kind == "heavy tails":
        points = np.exp(2 * points)
        centers = points[:k]
    exact = kernel(points, centers)
    alone = np.zeros(k)
    _core.accumulate(points, centers, np.zeros(k), np.zeros((k, d)), np.zeros(1), utilities=alone)
    np.testing.assert_allclose(alone, exact.utilities, rtol=0.05, atol=1e-4 * exact.utilities.max())
    assert (alone <= exact.utilities * (1 + 1e-9)).all()  # a lower bound


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("d", "k"), [(6, 30), (12, 80), (40, 60), (64, 100)])
def test_centers_of_very_different_norms(d, k, dtype):
    rng = np.random.default_rng(d)
    points = np.exp(2.5 * rng.standard_normal((3000, d))).astype(dtype)
    centers = points[rng.choice(len(points), k, replace=False)]
    assert_agrees(kernel(points, centers), points, centers)


@st.composite
def problems(draw):
    n, d, k = draw(st.integers(1, 60)), draw(st.integers(1, 20)), draw(st.integers(1, 40))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):  # few different values: many ties and equal points
        return rng.integers(-2, 3, size=(n, d)).astype(dtype), rng.integers(-2, 3, size=(k, d)).astype(dtype)
    scale, shift = 10.0 ** draw(st.integers(-8, 8)), 10.0 ** draw(st.integers(-3, 3))
    points = scale * (rng.standard_normal((n, d)) + shift)
    return points.astype(dtype), (scale * (rng.standard_normal((k, d)) + shift)).astype(dtype)


@settings(max_examples=150, deadline=None)
@given(problems())
def test_any_small_problem(problem):
    points, centers = problem
    found = kernel(points, centers)
    assert_agrees(found, points, centers)
    exact = squared_distances(points, centers)
    exact_in_float32 = (exact == np.round(exact)).all() and exact.max() < 2**20
    if exact_in_float32:
        np.testing.assert_array_equal(found.labels, exact.argmin(axis=1))


@st.composite
def problems_in_bytes(draw):
    """Points as bytes, and centers at points, between them, nearly equal, or far outside the range of bytes."""
    n, d, k = draw(st.integers(1, 60)), draw(st.integers(60, 200)), draw(st.integers(1, 40))
    limits = np.iinfo(draw(st.sampled_from(["uint8", "int8"])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    points = rng.integers(limits.min, limits.max + 1, size=(n, d)).astype(limits.dtype)
    kind = draw(st.sampled_from(["points", "means", "alike", "scaled", "tiny"]))
    if kind == "points":
        centers = points[rng.integers(n, size=k)].astype(np.float64)
    elif kind == "means":
        centers = points[rng.integers(n, size=(k, 3))].mean(axis=1)
    elif kind == "alike":
        centers = points[0] + 10.0 ** draw(st.integers(-7, 0)) * rng.standard_normal((k, d))
    elif kind == "scaled":
        centers = 10.0 ** draw(st.integers(0, 20)) * rng.standard_normal((k, d))
    else:
        points[:] = 0
        centers = 10.0 ** draw(st.integers(-30, -10)) * rng.standard_normal((k, d))
    return points, centers.astype(np.float32)


@settings(max_examples=150, deadline=None)
@given(problems_in_bytes())
def test_any_small_problem_in_bytes(problem):
    points, centers = problem
    found = kernel(points, centers)
    exact = squared_distances(points, centers)
    assert_nearest(found.labels, exact, rtol=1e-12)
    np.testing.assert_allclose(found.plain_nearest, exact.min(axis=1).astype(float), rtol=2e-5)
    sums = np.zeros(centers.shape)
    np.add.at(sums, found.labels, points)
    np.testing.assert_array_equal(found.plain_sums, sums)


@pytest.mark.parametrize(("dtype", "value"), [("uint8", 255), ("int8", -128)])
def test_blocks_of_the_largest_bytes_add_up(dtype, value):
    points = np.full((2 * _core.BLOCK_ROWS + 100, 70), value, dtype=dtype)
    found = kernel(points, np.full((2, 70), [[value], [0]], dtype=np.float32))
    assert found.counts.tolist() == [len(points), 0]
    np.testing.assert_array_equal(found.sums[0], float(value) * len(points))
    assert found.cost[0] == 0


def test_images_as_they_are_stored(mnist):
    points = mnist[:3000]
    centers = points[:10].astype(np.float32) + 0.25
    found = kernel(points, centers)
    assert_agrees(found, points, centers)
    np.testing.assert_array_equal(found.labels, naive_moments(points, centers)[1])


# Distances


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 7, 8, 9, 33])
def test_distances(dtype, d):
    points, centers = make(120, d, 6, dtype)
    out = np.empty((120, 6), dtype=centers.dtype)
    _core.distances(points, centers, out, n_threads=2)
    exact = np.sqrt(squared_distances(points, centers)).astype(np.float64)
    np.testing.assert_allclose(out, exact, rtol=1e-13 if dtype == "float64" else 1e-5)


# Arguments


def arguments(**changes):
    points, centers = make(10, 3, 2)
    given = {
        "points": points,
        "centers": centers,
        "counts": np.zeros(2),
        "sums": np.zeros((2, 3)),
        "cost": np.zeros(1),
    }
    return {**given, **changes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"centers": np.zeros((2, 4))}, "features"),
        ({"centers": np.zeros((0, 3)), "counts": np.zeros(0), "sums": np.zeros((0, 3))}, "centers"),
        ({"counts": np.zeros(3)}, "counts"),
        ({"cost": np.zeros(2)}, "cost"),
        ({"sums": np.zeros((2, 4))}, "sums"),
        ({"sums": np.zeros((3, 3))}, "sums"),
        ({"weights": np.ones(9)}, "weights"),
        ({"rows": np.array([0, 10])}, "rows"),
        ({"rows": np.array([-1])}, "rows"),
        ({"errors": np.zeros(3)}, "errors"),
        ({"utilities": np.zeros(1)}, "utilities"),
        ({"labels": np.zeros(9, dtype=np.int32)}, "labels"),
        ({"nearest": np.zeros(11)}, "nearest"),
        ({"second": np.zeros(11)}, "second"),
        ({"n_threads": 0}, "n_threads"),
        ({"n_threads": -1}, "n_threads"),
    ],
)
def test_wrong_values_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        _core.accumulate(**arguments(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"points": np.zeros((10, 3), dtype=np.int64)},
        {"points": np.zeros((10, 3), dtype=">f8")},
        {"points": np.zeros((10, 3), dtype=np.float32)},  # with float64 centers
        {"points": np.zeros((3, 10)).T},
        {"points": np.zeros(3)},
        {"centers": np.zeros((2, 3), dtype=np.float32)},  # with float64 points
        {"centers": np.zeros((2, 3), dtype=np.int64)},
        {"counts": np.zeros(2, dtype=np.float32)},
        {"rows": np.zeros(2, dtype=np.int32)},
        {"weights": np.ones(10, dtype=np.float32)},
        {"labels": np.zeros(10, dtype=np.int64)},
        {"n_threads": 1.5},
    ],
)
def test_wrong_types_are_refused(changes):
    with pytest.raises((TypeError, ValueError, BufferError)):
        _core.accumulate(**arguments(**changes))


@pytest.mark.parametrize("name", ["counts", "sums", "cost"])
def test_a_read_only_output_is_refused(name):
    given = arguments()
    given[name].flags.writeable = False
    with pytest.raises(TypeError):
        _core.accumulate(**given)


def test_distances_refuses_a_wrong_out():
    points, centers = make(10, 3, 2)
    with pytest.raises(ValueError, match="out"):
        _core.distances(points, centers, np.empty((10, 3)))
    with pytest.raises(ValueError, match="out"):
        _core.distances(points, centers, np.empty((10, 2), dtype=np.float32))


NO_ROWS = """
import sys
import numpy as np
from eulermeans import _core

centers = np.ones((2, 3))
if sys.argv[1] == "distances":
    _core.distances(np.ones((0, 3)), centers, np.empty((0, 2)))
else:
    counts, sums, cost = np.zeros(2), np.zeros((2, 3)), np.zeros(1)
    if sys.argv[1] == "rows":
        _core.accumulate(np.ones((4, 3)), centers, counts, sums, cost, rows=np.empty(0, dtype=np.int64))
    else:
        _core.accumulate(np.ones((0, 3)), centers, counts, sums, cost)
    assert not counts.any() and not sums.any() and not cost.any()
"""


@pytest.mark.parametrize("what", ["rows", "points", "distances"])
def test_no_rows_add_nothing(what):
    done = run_python(NO_ROWS, what)  # in its own process: a failure would be a crash
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"


# Without sums


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(("d", "k"), [(1, 3), (5, 7), (5, 1), (40, 12), (40, 1), (70, 3), (70, 120), (200, 60)])
def test_assigning_gives_the_rows_of_a_pass(dtype, second, d, k):
    """For each way to find the nearest center; see src/core/README.md."""
    points, centers = make(301, d, k, dtype)
    rows = np.random.default_rng(1).integers(301, size=77)
    for chosen in (None, rows):
        n = 301 if chosen is None else 77
        found, expected = ((np.empty(n, np.int32), np.empty(n), np.empty(n)) for _ in range(2))
        outputs = ("labels", "nearest", "second") if second else ("labels", "nearest")
        totals = np.zeros(k), np.zeros((k, d)), np.zeros(1)
        options = {"rows": chosen, "n_threads": 2}
        largest = _core.accumulate(
            points, centers, *totals, **dict(zip(outputs, expected, strict=False)), **options
        )
        assert _core.assign(points, centers, **dict(zip(outputs, found, strict=False)), **options) == largest
        for name, one, other in zip(outputs, found, expected, strict=False):
            np.testing.assert_array_equal(one, other, err_msg=name)
        assert largest == found[1].max()


def test_assigning_refuses_wrong_arguments():
    points, centers = np.ones((4, 3)), np.zeros((2, 3))
    for changes in ({"labels": np.zeros(3, np.int32)}, {"nearest": np.zeros(5)}, {"rows": np.array([4])}):
        with pytest.raises(ValueError, match=next(iter(changes))):
            _core.assign(points, centers, **changes)
    with pytest.raises(ValueError, match="features"):
        _core.assign(points, np.zeros((2, 4)))
    assert _core.assign(points[:0], centers) == 0

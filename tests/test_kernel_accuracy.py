"""The nearest center is found even where rounding makes that hard."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_passes import assert_nearest, kernel, make, squared_distances

from eulermeans import _core


def test_float32_sums_over_ten_million_points():
    value = np.float32(0.1)
    points = np.full((10_000_000, 1), value)
    found_counts, found_sums, found_cost = np.zeros(2), np.zeros((2, 1)), np.zeros(1)
    centers = np.array([[0.2], [9.0]], dtype=np.float32)
    _core.accumulate(points, centers, found_counts, found_sums, found_cost)
    assert found_counts.tolist() == [1e7, 0]
    assert found_sums[0, 0] == pytest.approx(1e7 * float(value), rel=1e-6)
    assert found_cost[0] == pytest.approx(1e7 * (float(np.float32(0.2)) - float(value)) ** 2, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [2, 16, 50, 70])
def test_data_far_from_the_origin(dtype, d):
    rng = np.random.default_rng(5)
    centers = (1e6 + np.array([[-2.0], [0.0], [2.0]]) * np.ones((3, d))).astype(dtype)
    truth = rng.integers(3, size=500)
    points = (centers[truth] + 0.25 * rng.standard_normal((500, d))).astype(dtype)
    found = kernel(points, centers)
    exact = squared_distances(points, centers)
    np.testing.assert_array_equal(found.labels, exact.argmin(axis=1))
    np.testing.assert_allclose(found.nearest, exact.min(axis=1).astype(float), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [2, 16, 50, 70])
def test_two_tight_groups_far_apart(dtype, d):
    """No shift of the origin makes both groups' norms small, so products alone can't tell close centers apart."""
    rng = np.random.default_rng(6)
    side = 1e4
    middles = np.concatenate([np.full((2, d), -side), np.full((2, d), side)])
    centers = middles.copy()
    centers[[1, 3], 0] += 0.125
    centers = centers.astype(dtype)
    truth = rng.integers(4, size=600)
    points = centers[truth].copy()
    points[:, -1] += rng.choice([-0.03125, 0.03125], size=600).astype(dtype)
    found = kernel(points, centers)
    np.testing.assert_array_equal(found.labels, squared_distances(points, centers).argmin(axis=1))
    np.testing.assert_array_equal(found.labels, truth)


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int8"])
@pytest.mark.parametrize("d", [20, 70, 300])
@pytest.mark.parametrize("k", [2, 9, 30])
def test_distances_that_differ_in_the_last_digits_only(dtype, d, k):
    """Squared distances that single precision can't tell apart are compared in double."""
    points, one = make(400, d, 1, dtype)
    nudges = np.random.default_rng(8).choice([-1, 0, 1], size=(k, d), p=[0.05, 0.9, 0.05])
    centers = (one + nudges * np.spacing(one)).astype(np.float32)
    exact = squared_distances(points, centers)
    in_order = np.sort(exact, axis=1)
    assert np.median(in_order[:, 1] / in_order[:, 0] - 1) < np.finfo(np.float32).eps
    np.testing.assert_array_equal(kernel(points, centers).labels, exact.argmin(axis=1))


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e18, 1e25, 1e30])
@pytest.mark.parametrize("d", [2, 12, 50, 70])
def test_extreme_magnitudes_in_float32(scale, d):
    """Squared distances that float32 can't hold are still compared and added up."""
    rng = np.random.default_rng(7)
    points = (scale * rng.standard_normal((200, d))).astype(np.float32)
    centers = (scale * rng.standard_normal((6, d))).astype(np.float32)
    found = kernel(points, centers)
    exact = squared_distances(points, centers)
    assert_nearest(found.labels, exact, rtol=1e-5)
    np.testing.assert_allclose(found.nearest, exact.min(axis=1).astype(float), rtol=1e-4)
    np.testing.assert_allclose(found.cost[0], float(exact.min(axis=1).sum()), rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("d", [2, 50])
def test_distances_of_extreme_magnitudes_in_float32(scale, d):
    points, centers = make(50, d, 4, "float32")
    out, unit = np.empty((50, 4), dtype=np.float32), np.empty((50, 4), dtype=np.float32)
    _core.distances((scale * points).astype(np.float32), (scale * centers).astype(np.float32), out)
    _core.distances(points, centers, unit)
    np.testing.assert_allclose(out, scale * unit, rtol=1e-5)


# Points in double, whose nearest centers may be looked for in single precision

N_FEATURES = [3, 6, 20, 70, 300]
N_CLUSTERS = [2, 11, 20, 90]


@pytest.mark.parametrize("d", N_FEATURES)
@pytest.mark.parametrize("k", N_CLUSTERS)
def test_centers_that_single_precision_cannot_tell_apart(d, k):
    points, one = make(400, d, 1, "float64")
    centers = one + 1e-10 * np.random.default_rng(9).standard_normal((k, d))
    exact = squared_distances(points, centers)
    in_order = np.sort(exact, axis=1)
    assert np.median(in_order[:, 1] / in_order[:, 0] - 1) < 1e-3 * np.finfo(np.float32).eps
    np.testing.assert_array_equal(kernel(points, centers).labels, exact.argmin(axis=1))


@pytest.mark.parametrize("d", N_FEATURES)
@pytest.mark.parametrize("k", N_CLUSTERS)
def test_tight_groups_farther_apart_than_single_precision_reaches(d, k):
    rng = np.random.default_rng(10)
    centers = rng.choice([-1e9, 1e9], size=(k, 1)) + rng.standard_normal((k, d))
    truth = rng.integers(k, size=600)
    points = centers[truth] + 0.1 * rng.standard_normal((600, d))
    found = kernel(points, centers)
    exact = squared_distances(points, centers)
    np.testing.assert_array_equal(found.labels, exact.argmin(axis=1))
    np.testing.assert_allclose(found.nearest, exact.min(axis=1).astype(float), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e-20, 1e-12, 1e15, 1e20, 1e40, 1e150])
@pytest.mark.parametrize("d", N_FEATURES)
@pytest.mark.parametrize("k", N_CLUSTERS)
def test_extreme_magnitudes_in_float64(scale, d, k):
    points, centers = make(200, d, k, "float64")
    found = kernel(scale * points, scale * centers)
    np.testing.assert_array_equal(found.labels, squared_distances(points, centers).argmin(axis=1))
    np.testing.assert_allclose(found.nearest, scale**2 * kernel(points, centers).nearest, rtol=1e-12)


@pytest.mark.parametrize("size", [1e14, 1e25, 1e37, 1e60, 1e120])
@pytest.mark.parametrize("d", N_FEATURES)
@pytest.mark.parametrize("k", N_CLUSTERS)
def test_points_far_out_of_the_centers_range(size, d, k):
    """Some or all of their products with the centers overflow single precision, and may cancel."""
    points, centers = make(200, d, k, "float64")
    points[::7] *= size
    points[::11, 0] = -size
    points[::13, -1] = size
    labels, nearest = np.empty(200, dtype=np.int32), np.empty(200)
    totals = np.zeros(k), np.zeros((k, d)), np.zeros(1)
    _core.accumulate(points, centers, *totals, labels=labels, nearest=nearest)
    exact = squared_distances(points, centers)
    assert_nearest(labels, exact, rtol=1e-13)
    np.testing.assert_allclose(nearest, exact.min(axis=1).astype(float), rtol=1e-13)
    near = np.abs(points).max(axis=1) < 1e3
    np.testing.assert_array_equal(labels[near], exact.argmin(axis=1)[near])


@st.composite
def hard_problems(draw):
    """Any number of features and centers, so that every way to find the nearest center is tested."""
    n, d, k = draw(st.integers(1, 100)), draw(st.integers(1, 150)), draw(st.integers(1, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    offset, spread = 10.0 ** draw(st.integers(-3, 7)), 10.0 ** draw(st.integers(-12, 3))
    groups = offset * rng.standard_normal((draw(st.integers(1, 5)), d))
    points = groups[rng.integers(len(groups), size=n)] + rng.standard_normal((n, d))
    centers = groups[rng.integers(len(groups), size=k)] + spread * rng.standard_normal((k, d))
    if draw(st.booleans()):  # some at points, some twice
        centers[: k // 2] = points[rng.integers(n, size=k // 2)]
        centers[k // 2 :: 3] = centers[0]
    dtype = draw(st.sampled_from(["float32", "float64"]))
    return points.astype(dtype), centers.astype(dtype)


@settings(max_examples=300, deadline=None)
@given(hard_problems())
def test_any_hard_problem(problem):
    points, centers = problem
    found = kernel(points, centers)
    exact = squared_distances(points, centers)
    rtol = 1e-12 if points.dtype == np.float64 else 2e-5
    assert_nearest(found.labels, exact, rtol)
    np.testing.assert_allclose(found.nearest, exact.min(axis=1).astype(float), rtol=rtol)

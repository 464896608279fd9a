"""A pass says whether it read a value that is NaN or infinite, however it finds the nearest centers."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_passes import make
from scipy import sparse

from eulermeans import _core

# For each way of src/core/README.md: few features, direct, columns, product, with one center and with many.
SHAPES = [(1, 1), (2, 5), (5, 1), (7, 40), (40, 1), (20, 12), (33, 140), (64, 1), (70, 3), (131, 13), (150, 70)]
NOT_FINITE = [np.nan, np.inf, -np.inf]
N_POINTS = 101


def dense_largest(points, centers, *, second=False, weights=None):
    """The largest squared distance to a nearest center, as `accumulate` and `assign` return it."""
    (k, d), n = centers.shape, len(points)
    row_outputs = {"second": np.empty(n)} if second else {"labels": np.empty(n, np.int32)}
    totals = np.zeros(k), np.zeros((k, d)), np.zeros(1)
    largest = _core.accumulate(points, centers, *totals, weights=weights, **row_outputs, n_threads=2)
    assert _core.assign(points, centers, **row_outputs, n_threads=2) == largest
    return largest


def csr_largest(points, centers, *, second=False, weights=None):
    (k, d), n = centers.shape, len(points)
    stored = sparse.csr_array(points)
    arguments = stored.data, stored.indices, stored.indptr.astype(np.int64), centers
    row_outputs = {"second": np.empty(n)} if second else {"labels": np.empty(n, np.int32)}
    totals = np.zeros(k), np.zeros((k, d)), np.zeros(1)
    largest = _core.accumulate_csr(*arguments, *totals, weights=weights, **row_outputs, n_threads=2)
    assert _core.assign_csr(*arguments, **row_outputs, n_threads=2) == pytest.approx(largest, rel=1e-5)
    return largest


# Which points, and how their nearest centers are found.
STORED = [
    *((dtype, dense_largest, second) for dtype in ("float32", "float64", "float16") for second in (False, True)),
    *((dtype, csr_largest, second) for dtype in ("float32", "float64") for second in (False, True)),
]
stored = pytest.mark.parametrize(
    ("dtype", "largest_of", "second"),
    STORED,
    ids=[f"{dtype}-{largest_of.__name__}-{second}" for dtype, largest_of, second in STORED],
)


def far(centers):
    return centers + centers.dtype.type(1000)


def out_of_range_for_float32(centers):
    return centers * (1e30 if centers.dtype == np.float64 else 1e15)


def with_zeros(centers):
    """Where the product of an infinite value is NaN."""
    centers = centers.copy()
    centers[:, ::2] = 0
    centers[::3] = 0
    return centers


@stored
@pytest.mark.parametrize(("d", "k"), SHAPES)
@pytest.mark.parametrize("change", [with_zeros, far, out_of_range_for_float32, np.zeros_like])
def test_no_value_that_is_not_finite_gets_past(dtype, largest_of, second, d, k, change):
    points, centers = make(N_POINTS, d, k, dtype)
    centers = change(centers).astype(centers.dtype)
    assert np.isfinite(largest_of(points, centers, second=second))
    for f in range(0, d, 1 if change is with_zeros else 11):
        value, row = NOT_FINITE[f % 3], 7 * f % N_POINTS
        bad = points.copy()
        bad[row, f] = value
        assert largest_of(bad, centers, second=second) == np.inf, (value, row, f)


@stored
@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("row", [0, 47, 48, 95, 96, N_POINTS - 1])
def test_in_any_row(dtype, largest_of, second, value, row):
    points, centers = make(N_POINTS, 20, 6, dtype)
    points[row, 3] = value
    assert largest_of(points, centers, second=second) == np.inf


@stored
def test_all_values_and_a_row_without_weight(dtype, largest_of, second):
    points, centers = make(N_POINTS, 20, 6, dtype)
    weights = np.ones(N_POINTS)
    weights[50] = 0
    points[50] = np.nan
    assert largest_of(points, centers, second=second, weights=weights) == np.inf
    points[50] = [-np.inf, np.inf] * 10
    assert largest_of(points, centers, second=second, weights=weights) == np.inf
    assert largest_of(np.full_like(points, np.nan), centers, second=second) == np.inf


@stored
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_large_finite_values_are_finite(dtype, largest_of, second, d, k):
    points, centers = make(N_POINTS, d, k, dtype)
    largest = min(float(np.finfo(dtype).max), 1e150)
    points[5, -1], points[60] = largest, -largest
    found = largest_of(points, centers, second=second)
    assert found == pytest.approx(d * largest**2, rel=1e-2)
    assert np.isfinite(found)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_bytes_are_always_finite(dtype):
    points, centers = make(N_POINTS, 70, 13, dtype)
    exact = ((points[:, None].astype(float) - centers) ** 2).sum(axis=2).min(axis=1).max()
    assert dense_largest(points, centers) == pytest.approx(exact, rel=1e-5)

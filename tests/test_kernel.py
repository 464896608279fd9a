"""The compiled kernel against its slow twin, and what it promises beyond that."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eulermeans import _core
from eulermeans.moments import naive_moments

DTYPES = ["float32", "float64", "float16", "uint8", "int8"]
N_FEATURES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 48, 64, 70]


@dataclass
class Pass:
    """All that one call of the kernel gives."""

    counts: np.ndarray
    sums: np.ndarray
    cost: np.ndarray
    errors: np.ndarray
    utilities: np.ndarray
    labels: np.ndarray
    nearest: np.ndarray
    second: np.ndarray

    def arrays(self):
        return vars(self).values()


@dataclass
class BothPasses(Pass):
    """And what a call gives that asks for no more than it must."""

    plain_sums: np.ndarray
    plain_cost: np.ndarray
    plain_nearest: np.ndarray


def kernel(points, centers, *, rows=None, weights=None, n_threads=None, into=None) -> BothPasses:
    (k, d), n = centers.shape, len(points) if rows is None else len(rows)
    sums = (np.zeros(k), np.zeros((k, d)), np.zeros(1), np.zeros(k), np.zeros(k))
    plain_sums, plain_cost = np.zeros((k, d)), np.zeros(1)
    if into is not None:
        sums = (into.counts, into.sums, into.cost, into.errors, into.utilities)
        plain_sums, plain_cost = into.plain_sums, into.plain_cost
    labels, nearest, second = np.full(n, -1, dtype=np.int32), np.empty(n), np.empty(n)
    out = BothPasses(*sums, labels, nearest, second, plain_sums, plain_cost, np.empty(n))
    given = {"rows": rows, "weights": weights, "n_threads": n_threads}
    _core.accumulate(
        points,
        centers,
        out.counts,
        out.sums,
        out.cost,
        errors=out.errors,
        utilities=out.utilities,
        labels=out.labels,
        nearest=out.nearest,
        second=out.second,
        **given,
    )
    # Who does not ask for the second nearest may be served by another way to search: it must find the same.
    plain, counts = np.full(n, -1, dtype=np.int32), np.zeros(k)
    _core.accumulate(
        points, centers, counts, plain_sums, plain_cost, labels=plain, nearest=out.plain_nearest, **given
    )
    np.testing.assert_array_equal(plain, out.labels)
    np.testing.assert_array_equal(plain_sums, out.sums)
    rtol = 1e-10 if points.dtype == np.float64 else 2e-5
    np.testing.assert_allclose(out.plain_nearest, out.nearest, rtol=rtol)
    np.testing.assert_allclose(plain_cost, out.cost, rtol=rtol)
    return out


def center_dtype(points):
    return np.float64 if points.dtype == np.float64 else np.float32


def make(n, d, k, dtype="float64", seed=0):
    """Points of some dtype, and centers scattered among them."""
    rng = np.random.default_rng([seed, n, d, k])
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        points = rng.integers(limits.min, limits.max + 1, size=(n, d)).astype(dtype)
        centers = rng.uniform(limits.min, limits.max, size=(k, d))
    else:
        points = rng.standard_normal((n, d)).astype(dtype)
        centers = rng.standard_normal((k, d))
    return points, centers.astype(center_dtype(points))


def squared_distances(points, centers):
    offsets = points.astype(np.longdouble)[:, None, :] - centers.astype(np.longdouble)[None, :, :]
    return (offsets**2).sum(axis=2)


def assert_agrees(found: Pass, points, centers, weights=None):
    """Each label is a nearest center as far as the arithmetic can tell; the moments are those of the labels."""
    rtol = 1e-10 if points.dtype == np.float64 else 2e-5
    n, k = len(points), len(centers)
    exact = squared_distances(points, centers)
    in_order = np.sort(exact, axis=1).astype(np.float64)
    atol = rtol * float(exact.max(initial=0))
    chosen = exact[np.arange(n), found.labels].astype(np.float64)
    np.testing.assert_allclose(chosen, in_order[:, 0], rtol=rtol, atol=1e-6 * atol)
    np.testing.assert_allclose(found.nearest, in_order[:, 0], rtol=rtol, atol=atol)

    weight = np.ones(n) if weights is None else weights
    member = np.zeros((k, n))
    member[found.labels, np.arange(n)] = weight
    sums = member @ points.astype(np.float64)
    np.testing.assert_allclose(found.counts, member.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(found.sums, sums, rtol=1e-12, atol=1e-12 * np.abs(sums).max(initial=0))
    np.testing.assert_allclose(found.errors, member @ in_order[:, 0], rtol=rtol, atol=n * atol)
    np.testing.assert_allclose(found.cost[0], weight @ in_order[:, 0], rtol=rtol, atol=atol)
    assert found.cost[0] == pytest.approx(naive_moments(points, centers, weights)[0].cost, rel=rtol, abs=atol)
    if k == 1:
        assert np.isposinf(found.second).all()
    else:
        np.testing.assert_allclose(found.second, in_order[:, 1], rtol=rtol, atol=atol)
        utilities = member @ (in_order[:, 1] - in_order[:, 0])
        np.testing.assert_allclose(found.utilities, utilities, rtol=rtol, atol=n * atol)


def assert_same_bits(one: Pass, other: Pass):
    for a, b in zip(one.arrays(), other.arrays(), strict=True):
        np.testing.assert_array_equal(a, b)


# The twin


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


@st.composite
def problems(draw):
    n, d, k = draw(st.integers(1, 60)), draw(st.integers(1, 20)), draw(st.integers(1, 40))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):  # few values: many ties and equal points
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
    if (
        exact == np.round(exact)
    ).all() and exact.max() < 2**20:  # exact in either precision: labels are the twin's
        np.testing.assert_array_equal(found.labels, exact.argmin(axis=1))


@st.composite
def problems_in_bytes(draw):
    """Points as bytes and centers of any kind: at points, between them, nearly equal, far from all bytes."""
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
    chosen = exact[np.arange(len(points)), found.labels]
    np.testing.assert_allclose(chosen.astype(float), exact.min(axis=1).astype(float), rtol=1e-12)
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


# Threads and blocks


LARGE_WORK = 9 * 2**24  # products; the kernel takes a thread for each 2^24 of them, and these tests ask for eight


def large(dtype, d):
    """So much work that eight threads are used, in many blocks, the last one not full."""
    n = 40 * _core.BLOCK_ROWS + 17
    return make(n, d, LARGE_WORK // (n * d) + 1, dtype)


COUNT_THREADS = """
import os, sys
import numpy as np
from eulermeans import _core

n, d, k = map(int, sys.argv[1:])
points, centers = np.ones((n, d), np.float32), np.ones((k, d), np.float32)
before = len(os.listdir("/proc/self/task"))
_core.accumulate(points, centers, np.zeros(k), np.zeros((k, d)), np.zeros(1), n_threads=8)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted by way of /proc")
@pytest.mark.parametrize("d", [5, 40])
def test_data_of_this_size_are_shared_out_among_threads(d):
    """Without this the tests of equal bits below might compare one thread with itself."""
    points, centers = large("float32", d)
    done = run_python(COUNT_THREADS, *map(str, (*points.shape, len(centers))), OPENBLAS_NUM_THREADS="1")
    assert int(done.stdout) == 7, done.stderr


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [5, 40])
def test_same_bits_for_any_number_of_threads(dtype, d):
    points, centers = large(dtype, d)
    weights = np.random.default_rng(0).uniform(size=len(points))
    one = kernel(points, centers, weights=weights, n_threads=1)
    for n_threads in (2, 3, 8, None):
        assert_same_bits(one, kernel(points, centers, weights=weights, n_threads=n_threads))


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_same_bits_for_any_number_of_threads_with_few_centers(dtype):
    n, d, k = 200 * _core.BLOCK_ROWS + 17, 320, 10
    assert n * d * k > LARGE_WORK
    points, centers = make(n, d, k, dtype)
    one = kernel(points, centers, n_threads=1)
    for n_threads in (2, 3, 8):
        assert_same_bits(one, kernel(points, centers, n_threads=n_threads))


def test_same_bits_for_any_number_of_threads_with_rows():
    points, centers = large("float32", 40)
    rows = np.random.default_rng(0).integers(len(points), size=len(points))
    one = kernel(points, centers, rows=rows, n_threads=1)
    for n_threads in (2, 3, 8):
        assert_same_bits(one, kernel(points, centers, rows=rows, n_threads=n_threads))


def test_calls_at_the_same_time_share_the_threads_to_the_same_bits():
    """Several threads of Python, each with a pass of its own on several threads, again and again."""
    problems = [make(60 * _core.BLOCK_ROWS + 11, 24, k, "float32", seed=k) for k in (30, 45, 60, 75)]
    alone = [kernel(*problem, n_threads=1) for problem in problems]
    with ThreadPoolExecutor(len(problems)) as callers:
        for _ in range(5):
            together = callers.map(lambda problem: kernel(*problem, n_threads=3), problems)
            for one, other in zip(alone, together, strict=True):
                assert_same_bits(one, other)


def test_distances_have_the_same_bits_for_any_number_of_threads():
    points, centers = large("float32", 40)
    one, other = (np.empty((len(points), len(centers)), dtype=np.float32) for _ in range(2))
    _core.distances(points, centers, one, n_threads=1)
    for n_threads in (2, 3, 8):
        _core.distances(points, centers, other, n_threads=n_threads)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [5, 40, 70])
def test_calls_over_blocks_give_the_same_bits_as_one(dtype, d):
    points, centers = make(10 * _core.BLOCK_ROWS + 31, d, 12, dtype)
    whole = kernel(points, centers, n_threads=2)
    parts = None
    bounds = [0, 1, 4, 5, 9, 11]  # in blocks
    for first, last in pairwise(bounds):
        block = points[first * _core.BLOCK_ROWS : last * _core.BLOCK_ROWS]
        parts = kernel(block, centers, into=parts, n_threads=2)
    for name in ("counts", "sums", "cost", "errors", "utilities"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


# Accuracy


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
    chosen = exact[np.arange(200), found.labels]
    np.testing.assert_allclose(chosen.astype(float), exact.min(axis=1).astype(float), rtol=1e-5)
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


# Instruction sets

COMPARE = """
import sys
import numpy as np
from eulermeans import _core
from eulermeans.moments import naive_moments

assert _core.instruction_set() == sys.argv[1]
rng = np.random.default_rng(0)
for dtype in (np.float32, np.float64):
    for d in (1, 3, 8, 9, 16, 17, 70):
        for k in (1, 5, 33):
            points = rng.standard_normal((150, d)).astype(dtype)
            centers = rng.standard_normal((k, d)).astype(dtype)
            counts, sums, cost, labels = np.zeros(k), np.zeros((k, d)), np.zeros(1), np.empty(150, np.int32)
            _core.accumulate(points, centers, counts, sums, cost, labels=labels)
            expected, twin = naive_moments(points, centers)
            np.testing.assert_array_equal(labels, twin)
            np.testing.assert_allclose(sums, expected.sums, rtol=1e-11, atol=1e-11)
            np.testing.assert_allclose(cost[0], expected.cost, rtol=1e-5)
"""


def run_python(code, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", _core.instruction_sets())
def test_every_instruction_set_agrees_with_the_twin(name):
    done = run_python(COMPARE, name, EULERMEANS_ISA=name)
    assert done.returncode == 0, done.stderr


def test_the_best_instruction_set_is_taken():
    done = run_python("from eulermeans import _core; print(_core.instruction_set())", EULERMEANS_ISA="")
    assert done.stdout.strip() == _core.instruction_sets()[-1]


def test_an_unknown_instruction_set_is_an_import_error():
    done = run_python("import eulermeans._core", EULERMEANS_ISA="abacus")
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    assert "abacus" in done.stderr
    assert _core.instruction_sets()[0] in done.stderr


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
    done = run_python(NO_ROWS, what)  # in a process of its own: a failure here would be a crash
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"


def test_max_threads_follows_the_environment():
    done = run_python("from eulermeans import _core; print(_core.max_threads())", OMP_NUM_THREADS="3")
    assert done.stdout.strip() == "3"

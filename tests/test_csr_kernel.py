"""The kernel for sparse points against the dense twin."""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_passes import Pass, assert_agrees, assert_same_bits, run_python
from scipy import sparse

from eulermeans import _core
from eulermeans.oracles import CsrPoints, memory_oracle

DTYPES = ["float32", "float64"]
INDEX_TYPES = ["int32", "int64"]


def with_index_type(matrix, index_type):
    """A CSR array with this type of indices, which the constructors do not let one choose."""
    out = sparse.csr_array(matrix)
    out.indices, out.indptr = out.indices.astype(index_type), out.indptr.astype(index_type)
    assert out.indices.dtype == index_type
    return out


def make(n, d, k, dtype="float64", *, density=0.2, index_type="int32", seed=0):
    """Sparse points, some of them empty, and dense centers."""
    rng = np.random.default_rng([seed, n, d, k])
    dense = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    dense[::7] = 0
    centers = rng.standard_normal((k, d)) * density
    return with_index_type(dense.astype(dtype), index_type), centers.astype(dtype)


def kernel(points, centers, *, rows=None, weights=None, n_threads=None) -> Pass:
    (k, d), n = centers.shape, points.shape[0] if rows is None else len(rows)
    out = Pass(
        np.zeros(k),
        np.zeros((k, d)),
        np.zeros(1),
        np.zeros(k),
        np.zeros(k),
        np.full(n, -1, dtype=np.int32),
        np.empty(n),
        np.empty(n),
    )
    arguments = points.data, points.indices, points.indptr.astype(np.int64), centers
    _core.accumulate_csr(*arguments, rows=rows, weights=weights, n_threads=n_threads, **vars(out))
    # Without the second nearest, keys are computed in float. The same must be found.
    labels, nearest, sums, cost = np.full(n, -1, dtype=np.int32), np.empty(n), np.zeros((k, d)), np.zeros(1)
    _core.assign_csr(*arguments, rows=rows, labels=labels, n_threads=n_threads)
    np.testing.assert_array_equal(labels, out.labels)
    totals, given = (np.zeros(k), sums, cost), {"rows": rows, "weights": weights, "n_threads": n_threads}
    _core.accumulate_csr(*arguments, *totals, **given, labels=labels, nearest=nearest)
    np.testing.assert_array_equal(labels, out.labels)
    np.testing.assert_array_equal(sums, out.sums)
    np.testing.assert_allclose(nearest, out.nearest, rtol=1e-7)
    np.testing.assert_allclose(cost, out.cost, rtol=1e-7)
    return out


# The kernel


@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 13, 26, 52, 53, 107, 301])
@pytest.mark.parametrize("d", [1, 9, 40])
def test_agrees_with_the_dense_twin(dtype, index_type, k, d):
    points, centers = make(301, d, k, dtype, index_type=index_type)
    assert_agrees(kernel(points, centers), points.toarray(), centers)


@pytest.mark.parametrize("density", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_share_of_stored_values(dtype, density):
    points, centers = make(150, 30, 6, dtype, density=density)
    assert_agrees(kernel(points, centers), points.toarray(), centers)


@pytest.mark.parametrize("dtype", DTYPES)
def test_weights(dtype):
    points, centers = make(250, 24, 6, dtype)
    weights = np.random.default_rng(3).uniform(0, 5, size=250)
    weights[::3] = 0
    assert_agrees(kernel(points, centers, weights=weights), points.toarray(), centers, weights)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [2, 7, 33, 100])
def test_ties_go_to_the_lowest_index(dtype, k):
    points, one = make(97, 11, 1, dtype)
    found = kernel(points, np.repeat(one, k, axis=0))
    assert not found.labels.any()
    np.testing.assert_array_equal(found.nearest, found.second)
    assert found.counts.tolist() == [97] + [0] * (k - 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_centers_that_start_at_equal_points(dtype):
    points, centers = make(200, 15, 30, dtype)
    centers[[3, 9, 29]] = 0
    centers[[5, 6]] = points[[1]].toarray()
    found = kernel(points, centers)
    assert_agrees(found, points.toarray(), centers)
    assert not found.counts[[6, 9, 29]].any()
    np.testing.assert_array_equal(found.utilities[[3, 5]], 0)
    assert found.counts[[3, 5]].all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_empty_row_halfway_goes_to_the_lower_index(dtype):
    centers = np.zeros((40, 12), dtype=dtype)
    centers[:, 0] = np.where(np.arange(40) < 37, 100.0, 3.0)
    centers[20, 0], centers[29, 5] = -1.0, 1.0
    found = kernel(sparse.csr_array((5, 12), dtype=dtype), centers)
    assert (found.labels == 20).all()
    assert found.cost[0] == 5


@pytest.mark.parametrize("dtype", DTYPES)
def test_as_many_centers_as_points(dtype):
    points = np.unique(make(90, 30, 1, dtype)[0].toarray(), axis=0)
    found = kernel(sparse.csr_array(points), points)
    np.testing.assert_array_equal(found.labels, np.arange(len(points)))
    assert found.cost[0] == 0


@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_rows_are_read_in_place_of_a_gathered_copy(index_type):
    points, centers = make(300, 20, 7, index_type=index_type)
    rng = np.random.default_rng(4)
    rows, weights = rng.integers(300, size=777), rng.uniform(size=300)
    found = kernel(points, centers, rows=rows, weights=weights)
    assert_same_bits(found, kernel(points[rows], centers, weights=weights[rows]))


def test_no_rows_add_nothing():
    points, centers = make(10, 4, 3)
    assert not kernel(points[:0], centers).counts.any()
    assert not kernel(points, centers, rows=np.empty(0, dtype=np.int64)).counts.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("k", [1, 6, 53])
def test_assigning_gives_the_rows_of_a_pass(dtype, index_type, k):
    points, centers = make(301, 20, k, dtype, index_type=index_type)
    rows = np.random.default_rng(1).integers(301, size=77)
    stored = points.data, points.indices, points.indptr.astype(np.int64)
    for chosen in (None, rows):
        expected = kernel(points, centers, rows=chosen)
        found = [np.empty_like(expected.labels), np.empty_like(expected.nearest), np.empty_like(expected.second)]
        outputs = dict(zip(("labels", "nearest", "second"), found, strict=True))
        largest = _core.assign_csr(*stored, centers, rows=chosen, n_threads=2, **outputs)
        assert largest == expected.nearest.max()
        for name, one in outputs.items():
            np.testing.assert_array_equal(one, getattr(expected, name), err_msg=name)
        plain = np.empty_like(expected.labels)
        assert _core.assign_csr(*stored, centers, rows=chosen, labels=plain) == pytest.approx(largest, rel=1e-5)
        np.testing.assert_array_equal(plain, expected.labels)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("k", [1, 6, 53])
def test_distances(dtype, index_type, k):
    points, centers = make(120, 33, k, dtype, index_type=index_type)
    centers[0] = points[[5]].toarray()
    found = memory_oracle(points).distances(centers.astype(np.float64))
    exact = np.linalg.norm(points.toarray().astype(np.float64)[:, None] - centers.astype(np.float64), axis=2)
    assert found.dtype == dtype
    assert found[5, 0] == 0
    np.testing.assert_allclose(found, exact, rtol=1e-9 if dtype == "float64" else 1e-6)


@st.composite
def problems(draw):
    n, d, k = draw(st.integers(1, 60)), draw(st.integers(1, 20)), draw(st.integers(1, 60))
    dtype = draw(st.sampled_from(DTYPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    stored = rng.random((n, d)) < draw(st.floats(0, 1))
    if draw(st.booleans()):  # few different values: many ties and equal points
        points, centers = rng.integers(-2, 3, size=(n, d)), rng.integers(-2, 3, size=(k, d))
    else:
        scale, shift = 10.0 ** draw(st.integers(-30, 30)), 10.0 ** draw(st.integers(-3, 3))
        points, centers = (scale * (rng.standard_normal((m, d)) + shift) for m in (n, k))
    return (points * stored).astype(dtype), centers.astype(dtype)


@settings(max_examples=150, deadline=None)
@given(problems())
def test_any_small_problem(problem):
    points, centers = problem
    found = kernel(sparse.csr_array(points), centers)
    assert_agrees(found, points, centers)


# Accuracy


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [2, 16, 50])
def test_data_far_from_the_origin(dtype, d):
    rng = np.random.default_rng(5)
    centers = (1e6 + np.array([[-2.0], [0.0], [2.0]]) * np.ones((3, d))).astype(dtype)
    points = (centers[rng.integers(3, size=500)] + 0.25 * rng.standard_normal((500, d))).astype(dtype)
    found = kernel(sparse.csr_array(points), centers)
    exact = ((points.astype(np.longdouble)[:, None] - centers.astype(np.longdouble)) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.labels, exact.argmin(axis=1))
    np.testing.assert_allclose(found.nearest, exact.min(axis=1).astype(float), rtol=1e-8)
    distances = memory_oracle(sparse.csr_array(points)).distances(centers.astype(np.float64))
    np.testing.assert_allclose(distances, np.sqrt(exact).astype(float), rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_close_centers_far_from_each_other_in_groups(dtype):
    side, d = 1e4, 16
    centers = np.concatenate([np.full((2, d), -side), np.full((2, d), side)])
    centers[[1, 3], 0] += 0.125
    centers = centers.astype(dtype)
    truth = np.random.default_rng(6).integers(4, size=600)
    points = centers[truth].copy()
    points[:, -1] += np.float32(0.03125)
    np.testing.assert_array_equal(kernel(sparse.csr_array(points), centers).labels, truth)


# Threads


def large(dtype="float64"):
    """Enough work for eight threads, in many blocks, the last one not full."""
    return make(70_007, 40, 220, dtype, density=0.2)


COUNT_THREADS = """
import os, sys
import numpy as np
from eulermeans import _core

n, d, k = map(int, sys.argv[1:])
values, indices, starts = np.ones(8 * n), np.tile(np.arange(8), n), 8 * np.arange(n + 1)
before = len(os.listdir("/proc/self/task"))
totals = np.zeros(k), np.zeros((k, d)), np.zeros(1)
_core.accumulate_csr(values, indices, starts, np.ones((k, d)), *totals, n_threads=8)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc to count threads")
def test_data_of_this_size_are_shared_among_threads():
    """Otherwise the tests of equal bits below might compare one thread with itself."""
    points, centers = large()
    done = run_python(COUNT_THREADS, *map(str, (*points.shape, len(centers))), OPENBLAS_NUM_THREADS="1")
    assert int(done.stdout) == 7, done.stderr


@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_for_any_number_of_threads(dtype):
    points, centers = large(dtype)
    rng = np.random.default_rng(0)
    weights, rows = rng.uniform(size=points.shape[0]), rng.integers(points.shape[0], size=points.shape[0])
    for options in ({"weights": weights}, {"rows": rows}):
        one = kernel(points, centers, n_threads=1, **options)
        for n_threads in (2, 3, 8, None):
            assert_same_bits(one, kernel(points, centers, n_threads=n_threads, **options))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [7, 110])
def test_calls_over_blocks_give_the_same_bits_as_one(dtype, k):
    points, centers = make(10 * _core.BLOCK_ROWS + 31, 15, k, dtype)
    weights = np.random.default_rng(0).uniform(size=points.shape[0])
    totals = "counts", "sums", "cost", "errors", "utilities"
    for names in (totals, totals[:3]):  # with the second nearest center and without it

        def zeros(names=names):
            shapes = {"sums": centers.shape, "cost": 1}
            return {name: np.zeros(shapes.get(name, k)) for name in names}

        def add(rows, into):
            stored = points[rows]
            arguments = stored.data, stored.indices, stored.indptr.astype(np.int64), centers
            _core.accumulate_csr(*arguments, **into, weights=weights[rows], n_threads=2)

        whole, parts = zeros(), zeros()
        add(slice(None), whole)
        for first, last in pairwise([0, 1, 4, 5, 9, 11]):  # in blocks
            add(slice(first * _core.BLOCK_ROWS, last * _core.BLOCK_ROWS), parts)
        for name in names:
            np.testing.assert_array_equal(parts[name], whole[name], err_msg=name)


@pytest.mark.parametrize("k", [7, 110])
def test_more_rows_than_are_remembered_at_once(k):
    points, centers = make(512 * _core.BLOCK_ROWS + 1234, 15, k)
    weights = np.random.default_rng(0).uniform(size=points.shape[0])
    found = kernel(points, centers, weights=weights)
    sums, counts, cost = np.zeros(centers.shape), np.zeros(k), np.zeros(1)
    labels = np.empty(points.shape[0], dtype=np.int32)
    arguments = points.data, points.indices, points.indptr.astype(np.int64), centers, counts, sums, cost
    _core.accumulate_csr(*arguments, weights=weights, labels=labels)
    member = sparse.csr_array((weights, (labels, np.arange(len(labels)))), shape=(k, len(labels)))
    np.testing.assert_array_equal(labels, found.labels)
    for other in (sums, found.sums):
        np.testing.assert_allclose(other, (member @ points).toarray(), rtol=1e-9, atol=1e-9)
    for other in (cost, found.cost):
        np.testing.assert_allclose(other, weights @ found.nearest, rtol=1e-12)
    np.testing.assert_allclose(counts, member.sum(axis=1), rtol=1e-12)


def test_close_centers_among_many_are_told_apart():
    """Keys in float leave many centers open; the nearest is decided beyond the precision of double."""
    rng = np.random.default_rng(7)
    centers = 1 + 1e-9 * rng.standard_normal((120, 12))
    points = (centers[rng.integers(120, size=500)] + 1e-11 * rng.standard_normal((500, 12))) * (
        rng.random((500, 12)) < 0.9
    )
    stored = sparse.csr_array(points)
    labels, nearest = np.empty(500, dtype=np.int32), np.empty(500)
    arguments = stored.data, stored.indices, stored.indptr.astype(np.int64), centers
    _core.assign_csr(*arguments, labels=labels, nearest=nearest)
    exact = ((points.astype(np.longdouble)[:, None] - centers.astype(np.longdouble)) ** 2).sum(axis=2)
    np.testing.assert_array_equal(labels, exact.argmin(axis=1))
    np.testing.assert_allclose(nearest, exact.min(axis=1).astype(float), rtol=1e-6)


def test_distances_have_the_same_bits_for_any_number_of_threads():
    points, centers = large()
    one = memory_oracle(points, n_threads=1).distances(centers)
    for n_threads in (2, 3, 8):
        np.testing.assert_array_equal(memory_oracle(points, n_threads=n_threads).distances(centers), one)


# Arguments


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"values": np.ones(3)}, ValueError),
        ({"values": np.ones(2, dtype=np.int64)}, TypeError),
        ({"indices": np.zeros(2, dtype=np.int16)}, TypeError),
        ({"starts": np.empty(0, dtype=np.int64)}, ValueError),
        ({"centers": np.zeros((2, 3), dtype=np.float32)}, TypeError),
        ({"centers": np.zeros((0, 3)), "counts": np.zeros(0), "sums": np.zeros((0, 3))}, ValueError),
        ({"sums": np.zeros((2, 4))}, ValueError),
        ({"rows": np.array([2])}, ValueError),
        ({"weights": np.ones(3)}, ValueError),
        ({"labels": np.zeros(3, dtype=np.int32)}, ValueError),
        ({"n_threads": 0}, ValueError),
    ],
)
def test_wrong_arguments_are_refused(changes, error):
    arguments = {
        "values": np.ones(2),
        "indices": np.zeros(2, dtype=np.int32),
        "starts": np.array([0, 1, 2]),
        "centers": np.zeros((2, 3)),
        "counts": np.zeros(2),
        "sums": np.zeros((2, 3)),
        "cost": np.zeros(1),
    }
    _core.accumulate_csr(**arguments)
    with pytest.raises(error):
        _core.accumulate_csr(**{**arguments, **changes})


@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("k", [3, 120])
def test_rows_without_a_common_feature_go_to_the_first_of_equal_norms(values, k):
    """Keys are of double with few centers and of float with many."""
    centers = np.zeros((k, k + 2), dtype=values)
    centers[np.arange(k), np.arange(k)] = 1
    rows = sparse.csr_array(np.array([[0] * k + [0.6, 0.8], [0] * (k - 1) + [1, 0, 0]], dtype=values))
    points = CsrPoints(rows)
    assert points.partition(centers.astype(np.float64)).labels.tolist() == [0, k - 1]
    found = memory_oracle(rows).full(centers.astype(np.float64), detail=True)
    assert found.cost == pytest.approx(float(np.float64(values(0.6)) ** 2 + np.float64(values(0.8)) ** 2 + 1))
    assert found.utilities[0] == 0  # another center is as near


def test_coordinates_too_small_for_float_decide():
    tiny = 1e-46
    centers = np.zeros((120, 2))
    centers[:, 1] = 1 + np.arange(120)
    centers[40], centers[80] = (0, 0), (tiny, 0)
    labels = CsrPoints(sparse.csr_array([[tiny, 0], [0.4 * tiny, 0]])).partition(centers).labels
    assert labels.tolist() == [80, 40]

"""Sparse points: the oracle and the estimators say of them what they say of a dense array, and fill nothing in."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from test_csr_kernel import DTYPES, INDEX_TYPES, make, with_index_type

from eulermeans import EulerMeans, StochasticBackwardEuler, _core
from eulermeans.oracles import CsrPoints, MemoryOracle, as_oracle, memory_oracle
from eulermeans.search_budget import SearchBudget

both = pytest.mark.parametrize("Estimator", [EulerMeans, StochasticBackwardEuler])


# How the matrix may be stored


def unsorted(matrix):
    out = matrix.copy()
    for first, last in zip(out.indptr[:-1], out.indptr[1:], strict=True):
        out.indices[first:last] = out.indices[first:last][::-1].copy()
        out.data[first:last] = out.data[first:last][::-1].copy()
    out.has_sorted_indices = True  # a lie, which nobody should believe
    return out


def duplicated(matrix):
    """Each value in two halves, one after all of the others."""
    rows, columns = matrix.nonzero()
    halves = np.concatenate([matrix.data / 2, matrix.data / 2])
    order = np.argsort(np.concatenate([rows, rows]), kind="stable")
    starts = 2 * matrix.indptr
    return sparse.csr_array((halves[order], np.concatenate([columns, columns])[order], starts), shape=matrix.shape)


def with_explicit_zeros(matrix):
    out = (matrix + sparse.csr_array(np.ones(matrix.shape))).tocsr()
    out.data = matrix.toarray().ravel()
    assert (out.data == 0).any()
    return out


def with_spare_room(matrix):
    out = matrix.copy()
    out.data, out.indices = np.append(out.data, [np.nan] * 3), np.append(out.indices, [99] * 3)
    return out


STORED = {
    "csr_matrix": sparse.csr_matrix,
    "unsorted": unsorted,
    "duplicated": duplicated,
    "explicit zeros": with_explicit_zeros,
    "spare room": with_spare_room,
    "int64": lambda matrix: with_index_type(matrix, "int64"),
    "byte-swapped": lambda matrix: sparse.csr_array(
        (matrix.data.astype(">f8"), matrix.indices, matrix.indptr), shape=matrix.shape
    ),
}


@pytest.mark.parametrize("stored", STORED)
def test_however_stored_the_oracle_says_the_same(stored):
    points, centers = make(500, 12, 6)
    given = STORED[stored](points)
    parts = (given.data, given.indices, given.indptr)
    before = [part.copy() for part in parts]
    for part in parts:
        part.flags.writeable = False
    weights = np.random.default_rng(0).uniform(size=500)
    one, other = memory_oracle(points.toarray(), weights), memory_oracle(given, weights)
    assert_same_answers(one, other, centers)
    for part, now, copy in zip(parts, (given.data, given.indices, given.indptr), before, strict=True):
        assert part is now
        np.testing.assert_array_equal(part, copy)


def assert_same_answers(one, other, centers):
    assert (one.n_points, one.n_features, one.total_weight) == (
        other.n_points,
        other.n_features,
        other.total_weight,
    )
    assert one.dtype == other.dtype
    tolerance = {"rtol": 1e-12, "atol": 1e-12} if one.dtype == np.float64 else {"rtol": 1e-5, "atol": 1e-5}
    for ask in (
        lambda oracle: oracle.full(centers, detail=True),
        lambda oracle: oracle.minibatch(centers, 200, np.random.default_rng(1)),
        lambda oracle: oracle.farthest(centers, 5),
        lambda oracle: oracle.label(centers),
        lambda oracle: {
            "distances": oracle.distances(centers),
            "mean": oracle.mean(),
            "variance": oracle.variance(),
        },
        lambda oracle: {
            "some": oracle.points.dense(np.array([3, 3, 0])),
            "mean": oracle.points.mean_of(np.arange(20)),
        },
    ):
        assert_close(ask(one), ask(other), tolerance)
    samples = [oracle.sample(100, np.random.default_rng(2)) for oracle in (one, other)]
    assert_close(samples[0].full(centers), samples[1].full(centers), tolerance)


def assert_close(one, other, tolerance):
    if hasattr(one, "__dict__") or isinstance(one, dict):
        one, other = (answer if isinstance(answer, dict) else vars(answer) for answer in (one, other))
        assert one.keys() == other.keys()
        for name in one:
            rounded = {"rtol": 1e-4} if name == "utilities" else tolerance  # those of dense points are
            assert_close(one[name], other[name], rounded)
    elif one is not None:
        np.testing.assert_allclose(other, one, **tolerance)


@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "uint8", "int16", "int32", "int64", "longdouble"])
def test_every_dtype(dtype):
    dense = np.random.default_rng(0).integers(0, 2, size=(300, 12)) * (1 if dtype == "bool" else 50)
    dense = dense.astype(dtype)
    centers = 50 * np.random.default_rng(1).uniform(size=(4, 12))
    assert_same_answers(memory_oracle(dense), memory_oracle(sparse.csr_array(dense)), centers)


def test_duplicates_of_small_integers_do_not_overflow():
    points = sparse.csr_array((np.full(2, 100, np.int8), np.zeros(2, np.int32), [0, 2]), shape=(1, 1))
    assert memory_oracle(points).mean() == [200]


def test_variance_far_from_the_origin():
    points = 1e8 + np.random.default_rng(0).standard_normal((5000, 3))
    np.testing.assert_allclose(memory_oracle(sparse.csr_array(points)).variance(), points.var(axis=0), rtol=1e-6)


def test_variance_in_blocks(monkeypatch):
    points, _ = make(1000, 12, 1)
    monkeypatch.setattr("eulermeans.oracles.sparse_points.BLOCK_STORED", 100)
    np.testing.assert_allclose(memory_oracle(points).variance(), points.toarray().var(axis=0), rtol=1e-12)


def test_a_matrix_that_fits_is_not_copied():
    points, _ = make(100, 12, 1, index_type="int64")
    oracle = as_oracle(points)
    assert isinstance(oracle.points, CsrPoints)
    assert oracle.points.stored is points
    given = {"values": points.data, "indices": points.indices, "starts": points.indptr}
    assert all(np.shares_memory(oracle.points._arguments[name], array) for name, array in given.items())


def broken(**changes):
    points, _ = make(20, 5, 1)
    for name, value in changes.items():
        array = getattr(points, name).copy()
        array[6] = value
        setattr(points, name, array)
    return points


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indices": 5}, "indices"),
        ({"indices": -1}, "indices"),
        ({"indptr": 10**6}, "indptr"),
        ({"indptr": -1}, "indptr"),
    ],
)
def test_a_broken_structure_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        memory_oracle(broken(**changes))


# Estimators


@pytest.fixture(scope="module")
def topics():
    """Five groups of rows that share their few features, and some rows that are empty."""
    rng = np.random.default_rng(0)
    dense = np.zeros((800, 50))
    for i in range(780):
        features = 10 * (i % 5) + rng.choice(10, size=6, replace=False)
        dense[i, features] = 1 + rng.random(6)
    return sparse.csr_array(rng.permutation(dense))


@both
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("init", ["k-means++", "random", "partition", "mean"])
def test_dense_and_sparse_give_the_same_clusters(topics, Estimator, dtype, init):
    sparse_X, weights = topics.astype(dtype), np.random.default_rng(1).uniform(size=topics.shape[0])
    model = Estimator(5, init=init, random_state=0)
    if Estimator is EulerMeans:
        model.set_params(effort=0)  # the search magnifies rounding: the test after this one
    for sample_weight in (None, weights):
        one, other = (clone(model).fit(X, sample_weight=sample_weight) for X in (sparse_X, sparse_X.toarray()))
        assert one.cluster_centers_.dtype == other.cluster_centers_.dtype == dtype
        if Estimator is EulerMeans and init in ("partition", "mean"):
            # From centers that are all in one place, sweeps over sparse rows and passes over dense ones part ways.
            assert one.inertia_ == pytest.approx(other.inertia_, rel=0.05)
            continue
        np.testing.assert_array_equal(one.labels_, other.labels_)
        np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-4, atol=1e-5)
        assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-5)
        np.testing.assert_array_equal(one.labels_, one.predict(sparse_X))
        assert one.inertia_ == -one.score(sparse_X, sample_weight=sample_weight)
        np.testing.assert_allclose(one.transform(sparse_X), other.transform(sparse_X.toarray()), rtol=1e-4)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_the_search_finds_as_good_a_minimum_in_sparse_data(topics, init):
    one, other = (EulerMeans(5, init=init, random_state=0).fit(X) for X in (topics, topics.toarray()))
    assert one.inertia_ == pytest.approx(other.inertia_, rel=2e-3)


@both
def test_partial_fit(topics, Estimator):
    one, other = Estimator(5, random_state=0), Estimator(5, random_state=0)
    for first in range(0, 800, 200):
        one.partial_fit(topics[first : first + 200])
        other.partial_fit(topics[first : first + 200].toarray())
    if Estimator is StochasticBackwardEuler:
        np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, atol=1e-9)
    else:  # sparse and dense points are searched in different ways
        assert one.score(topics) == pytest.approx(other.score(topics.toarray()), rel=1e-3)


@both
@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr"])
def test_other_formats_are_converted(topics, Estimator, form):
    one, other = (Estimator(5, random_state=0).fit(X) for X in (topics, topics.asformat(form)))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


@both
def test_a_callable_init_gets_the_matrix(topics, Estimator):
    given = []

    def init(X, n_clusters, random_state):
        given.append(X)
        return X[:n_clusters].toarray()

    Estimator(5, init=init, random_state=0).fit(topics)
    assert given[0] is topics


@both
@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_the_matrix_is_not_written(topics, Estimator, index_type):
    X = unsorted(with_index_type(topics, index_type))
    before = [part.copy() for part in (X.data, X.indices, X.indptr)]
    Estimator(5, random_state=0).fit(X).predict(X)
    for part, copy in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(part, copy)


@both
def test_nothing_is_filled_in(Estimator):
    """As a dense array these points would take 32 GB."""
    n, d = 20_000, 200_000
    X = sparse.random_array((n, d), density=1e-4, format="csr", rng=np.random.default_rng(0), dtype=np.float64)
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # points without structure: centers may be lost
        model = Estimator(3, random_state=0).fit(X)
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 30
    assert model.cluster_centers_.shape == (3, d)


@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_sweeps_leave_no_point_that_would_lower_the_cost_elsewhere(values, weighted, monkeypatch):
    """Hartigan's condition, by its definition, and the moments of the partition that was found."""
    monkeypatch.setattr("eulermeans.oracles.sparse_points.FEW_MOVED", 0)  # until no point moves
    rng = np.random.default_rng(31)
    matrix = sparse.random_array((400, 60), density=0.1, format="csr", rng=rng, dtype=values)
    weights = rng.integers(0, 3, size=400).astype(float) if weighted else None
    points, start = CsrPoints(matrix, weights), matrix[:8].toarray().astype(np.float64)
    found = points.sweep(points.partition(start), 200, np.random.default_rng(32))
    dense, mass = matrix.toarray().astype(np.float64), np.ones(400) if weights is None else weights
    assert found.counts.sum() == pytest.approx(mass.sum())
    np.testing.assert_allclose(found.sums.sum(axis=0), mass @ dense, atol=1e-6)
    means = found.means(otherwise=start)
    squared = np.sum((dense[:, None] - means) ** 2, axis=2)
    own = np.argmin(squared, axis=1)  # a point that is best where it is, is nearest to its own mean
    stay = squared[np.arange(400), own] * found.counts[own] / np.maximum(found.counts[own] - mass, 1e-9)
    joined = squared * found.counts / (found.counts + mass[:, None])
    joined[np.arange(400), own] = np.inf
    better = (joined.min(axis=1) < stay * (1 - 1e-6)) & (mass > 0) & (found.counts[own] > mass)
    assert np.mean(better) < 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_sweeps_give_the_cost_of_each_cluster(weighted):
    rng = np.random.default_rng(38)
    matrix = sparse.random_array((500, 80), density=0.1, format="csr", rng=rng)
    weights = rng.uniform(0.5, 2, size=500) if weighted else None
    points = CsrPoints(matrix, weights)
    partition = points.partition(matrix[:7].toarray())
    found = points.sweep(partition, 3, np.random.default_rng(39))
    offsets = matrix.toarray() - found.means(otherwise=found.sums)[partition.labels]
    costs = np.sum(offsets**2, axis=1) * (1 if weights is None else weights)
    np.testing.assert_allclose(found.errors, np.bincount(partition.labels, costs, minlength=7), rtol=1e-9)
    assert found.cost == pytest.approx(costs.sum())


def far_from_zero(rng):
    """Rows whose squared distances are 1e8 times smaller than their squared norms."""
    rows = rng.random((300, 12))
    rows[:, 0] = 1e4
    return rows


def beside_large_rows(rng):
    """Small rows, among some that are so large that float knows nothing of the small ones' scale."""
    rows = rng.random((300, 12))
    rows[::10] *= 1e5
    return rows


def tiny(rng):
    return 1e-25 * rng.random((300, 12))  # squares underflow in float


@pytest.mark.parametrize("make", [far_from_zero, beside_large_rows, tiny])
def test_sweeps_of_rows_that_float_does_not_tell_apart(make, monkeypatch):
    """No point gains by a move, as computed from differences, which lose nothing."""
    monkeypatch.setattr("eulermeans.oracles.sparse_points.FEW_MOVED", 0)
    dense = make(np.random.default_rng(41))
    points = CsrPoints(sparse.csr_array(dense))
    partition = points.partition(dense[1:7])
    cost = np.inf
    for _ in range(100):
        found = points.sweep(partition, 1, np.random.default_rng(42))
        assert found.cost <= cost * (1 + 1e-7)
        cost = found.cost
    means = found.means(otherwise=found.sums)
    squared = np.sum((dense[:, None] - means) ** 2, axis=2)
    joined = squared * found.counts / (found.counts + 1)
    every, own = np.arange(len(dense)), partition.labels
    with np.errstate(divide="ignore"):
        stay = squared[every, own] * found.counts[own] / (found.counts[own] - 1)
    joined[every, own] = np.inf
    assert np.all((joined.min(axis=1) > stay * (1 - 1e-6)) | (found.counts[own] == 1))


@pytest.mark.parametrize("n_threads", [2, 3])
def test_bits_of_sweeps_do_not_depend_on_threads(n_threads):
    matrix = sparse.random_array((3000, 500), density=0.02, format="csr", rng=np.random.default_rng(33))
    start = matrix[:20].toarray()
    found = []
    for threads in (1, n_threads):
        points = CsrPoints(matrix, n_threads=threads)
        partition = points.partition(start).without(np.arange(20) < 3)
        found.append(points.sweep(partition, 5, np.random.default_rng(34)))
    np.testing.assert_array_equal(found[0].sums, found[1].sums)
    assert found[0].cost == found[1].cost


# Matrices that were changed in place


def changed_in_place():
    """SciPy remembers that the matrix was canonical."""
    rng = np.random.default_rng(0)
    matrix = sparse.csr_array(rng.random((40, 5)))
    assert matrix.has_canonical_format
    return matrix


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("index", [-1, 5, 10**6, -(2**31)])
def test_a_changed_sparse_matrix_is_refused(metric, index):
    good, bad = changed_in_place(), changed_in_place()
    bad.indices[7] = index
    model = EulerMeans(2, metric=metric, random_state=0)
    for method in (model.fit, model.partial_fit, model.fit(good).predict, model.transform, model.score):
        with pytest.raises(ValueError, match="indices"):
            method(bad)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_starts_that_were_changed_are_refused(metric):
    for change in ({3: 10**6}, {3: -1}, {40: 10**6}, {0: 1}):
        bad = changed_in_place()
        for place, start in change.items():
            bad.indptr[place] = start
        with pytest.raises(ValueError, match="ind"):
            EulerMeans(2, metric=metric).fit(bad)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_duplicates_that_were_made_in_place_are_added_up(metric):
    changed = changed_in_place()
    changed.indices[:] = np.tile([0, 0, 1, 1, 2], 40)
    dense = np.zeros((40, 5))
    np.add.at(dense, (np.repeat(np.arange(40), 5), changed.indices), changed.data)
    model = EulerMeans(2, metric=metric, random_state=0).fit(changed)
    np.testing.assert_array_equal(model.predict(dense), model.labels_)
    assert changed.nnz == 200  # the given matrix is not written


def test_a_stream_of_sparse_batches_can_be_pickled():
    batch = sparse.csr_array(np.random.default_rng(0).random((30, 5)))
    model = EulerMeans(2, random_state=0).partial_fit(batch)
    copy = pickle.loads(pickle.dumps(model))
    for _ in range(5):
        model.partial_fit(batch)
        copy.partial_fit(batch)
    np.testing.assert_array_equal(copy.cluster_centers_, model.cluster_centers_)


def swept_naively(dense, weights, labels, counts, sums, order):
    """One sweep, point after point. Returns how many points moved."""
    n_moved = 0
    for i in order:
        x, weight, own = dense[i], weights[i], labels[i]
        alone = own >= 0 and not counts[own] > weight * (1 + 1e-9) > 0  # rounding may leave a little of others
        if alone:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.where(counts[:, None] > 0, sums / counts[:, None], 0.0)
        squared = np.sum((x - means) ** 2, axis=1)
        costs = squared * counts / (counts + weight)
        if own >= 0:
            costs[own] = squared[own] * counts[own] / (counts[own] - weight)
        to = int(np.argmin(costs))
        if own >= 0 and not costs[to] < costs[own]:
            continue
        if own >= 0:
            counts[own] -= weight
            sums[own] -= weight * x
        counts[to] += weight
        sums[to] += weight * x
        labels[i], n_moved = to, n_moved + 1
    return n_moved


@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 5, 8, 21])
def test_sweeps_agree_with_the_naive_twin(values, weighted, k):
    """Compares one point at a time, as the kernel's turns would differ. Some points are in no cluster yet."""
    rng = np.random.default_rng([35, k])
    matrix = sparse.random_array((60, 30), density=0.2, format="csr", rng=rng, dtype=values)
    dense = matrix.toarray().astype(np.float64)
    weights = rng.uniform(0.5, 2, size=60) if weighted else np.ones(60)
    labels = rng.integers(-1, k, size=60).astype(np.int32)
    within = labels == np.arange(k)[:, None]  # (k, 60)
    counts, sums = within @ weights, (within * weights) @ dense
    twin = labels.copy(), counts.copy(), sums.copy()
    # A sweep over a matrix of a single row is a turn of one point.
    for i in rng.permutation(60):
        row = matrix[[i]]
        label = labels[i : i + 1].copy()
        _core.sweep_csr(
            row.data,
            row.indices,
            row.indptr.astype(np.int64),
            order=np.zeros(1, dtype=np.int64),
            labels=label,
            counts=counts,
            sums=sums,
            errors=np.empty(k),
            extra=np.empty(1),
            n_sweeps=1,
            few=0,
            weights=weights[i : i + 1],
        )
        labels[i] = label[0]
        swept_naively(dense, weights, *twin, [i])
    assert np.all(labels >= 0)
    np.testing.assert_array_equal(labels, twin[0])
    np.testing.assert_allclose(counts, twin[1])
    np.testing.assert_allclose(sums, twin[2], atol=1e-12)


def test_removed_clusters_leave_their_points_in_none():
    matrix = sparse.random_array((50, 20), density=0.3, format="csr", rng=np.random.default_rng(36))
    points = CsrPoints(matrix)
    whole = points.partition(matrix[:4].toarray())
    removed = np.array([False, True, False, True])
    part = whole.without(removed)
    np.testing.assert_array_equal(part.labels, np.array([0, -1, 1, -1])[whole.labels])
    np.testing.assert_array_equal(part.sums, whole.sums[~removed])
    swept = points.sweep(part, 1, np.random.default_rng(37))
    assert np.all(part.labels >= 0)
    assert swept.counts.sum() == 50


@pytest.mark.parametrize(
    ("n_clusters", "n_stored", "spherical", "whole"),
    [(200, 4, False, True), (200, 4, True, False), (400, 40, False, False)],
)
def test_sparse_points_are_searched_whole_unless_a_pass_takes_long(n_clusters, n_stored, spherical, whole):
    n = 60_000
    features = np.tile(np.arange(n_stored), n)
    starts = np.arange(0, n_stored * n + 1, n_stored)
    matrix = sparse.csr_array((np.ones(n_stored * n), features, starts), shape=(n, 50))
    oracle = MemoryOracle(CsrPoints(matrix), spherical=spherical)
    searched = SearchBudget(n_clusters, 1.0).points(oracle, np.random.default_rng(43))
    assert (searched is oracle) == whole

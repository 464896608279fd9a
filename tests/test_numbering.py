"""Clusters are numbered by size after one pass: reordered centers need another only where points are tied."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from eulermeans import EulerMeans, search_budget
from eulermeans.oracles import DensePoints, MemoryOracle
from eulermeans.oracles.questions import LabeledMoments
from eulermeans.oracles.sparse_points import CsrPoints

KINDS = ["float64", "float32", "float16", "uint8", "int8", "csr float32", "csr float64"]


def stored(rows, kind):
    """Rows of numbers from about -4 to 4 as points of one kind."""
    if kind.startswith("csr"):
        return CsrPoints(csr_array(np.where(np.abs(rows) > 1, rows, 0).astype(kind.split()[1])))
    if np.dtype(kind).kind in "iu":
        limits, middle = np.iinfo(kind), 100 if kind == "uint8" else 0
        rows = np.clip(np.round(20 * rows) + middle, limits.min, limits.max)
    return DensePoints(rows.astype(kind))


def assert_reordered(oracle, centers, rng):
    """Whether a pass about centers in another order finds the same, bit for bit."""
    one, order = oracle.label(centers, nearest=True, count_ties=True), rng.permutation(len(centers))
    expected, found = oracle.label(centers[order], nearest=True), one.reordered(order)
    assert one.n_tied == 0
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.labels, oracle.labels(centers[order]))
    np.testing.assert_array_equal(found.nearest, expected.nearest)
    np.testing.assert_array_equal(found.moments.counts, expected.moments.counts)
    np.testing.assert_array_equal(found.moments.sums, expected.moments.sums)
    assert found.moments.cost == expected.moments.cost == oracle.full(centers[order]).cost


# The kernels


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 4, 7, 8, 33, 64, 70, 140])
@pytest.mark.parametrize("k", [1, 2, 5, 9, 16, 17, 41, 97, 300, 1030])
def test_the_order_of_centers_does_not_matter(kind, d, k):
    rng = np.random.default_rng(d * k)
    oracle = MemoryOracle(stored(rng.standard_normal((250, d)), kind))
    centers = rng.standard_normal((k, d)) * (20 if kind in ("uint8", "int8") else 1)
    assert_reordered(oracle, centers.astype(oracle.dtype).astype(float), rng)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [9, 70])
@pytest.mark.parametrize("k", [7, 130])
@pytest.mark.parametrize("offset", [30.0, 1e4, 1e7])
def test_nor_where_data_are_far_from_the_origin(dtype, d, k, offset):
    rng = np.random.default_rng(1)
    points = (rng.standard_normal((500, d)) + offset * rng.uniform(1, 2, size=d)).astype(dtype)
    centers = points[rng.choice(500, k, replace=False)] + np.dtype(dtype).type(0.125)
    centers = np.unique(centers, axis=0).astype(float)
    oracle = MemoryOracle(DensePoints(points))
    if oracle.label(centers, count_ties=True).n_tied == 0:
        assert_reordered(oracle, centers, rng)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 5, 9, 66])
@pytest.mark.parametrize("k", [1, 2, 8, 20, 120])
def test_ties_are_counted(kind, d, k):
    rng = np.random.default_rng(d + k)
    points, centers = rng.integers(4, size=(300, d)), rng.integers(4, size=(k, d)).astype(float)
    weights = rng.integers(2, size=300).astype(float)  # points without weight are labelled as well
    of_kind = points.astype(kind.removeprefix("csr "))
    rows = CsrPoints(csr_array(of_kind), weights) if "csr" in kind else DensePoints(of_kind, weights)
    squared = ((points[:, None] - centers) ** 2).sum(axis=2)
    tied = np.count_nonzero((squared == squared.min(axis=1, keepdims=True)).sum(axis=1) > 1)
    assert MemoryOracle(rows).label(centers, count_ties=True).n_tied == tied


def test_ties_of_blocks_add_up():
    points = np.tile([[0], [1], [2]], (400_000, 6))  # int64: converted a block at a time
    labeling = MemoryOracle(DensePoints(points)).label(np.array([[0.0] * 6, [2.0] * 6]), count_ties=True)
    assert labeling.n_tied == 400_000


# The estimator


@pytest.fixture
def passes(monkeypatch):
    """The passes that label points, True for those of the numbering."""
    made, label = [], MemoryOracle.label

    def counted(self, *args, **options):
        made.append("count_ties" in options)
        return label(self, *args, **options)

    monkeypatch.setattr(MemoryOracle, "label", counted)
    return made


def fitted(X, k, **options):
    weights = options.pop("sample_weight", None)
    model = EulerMeans(k, effort=0, random_state=0, **options).fit(X, sample_weight=weights)
    labels = model.predict(X)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_weights_, np.bincount(labels, weights, minlength=k), rtol=1e-12)
    assert model.inertia_ == -model.score(X, sample_weight=weights)
    return model


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "uint8", "int16", "csr", "cosine", "weights"])
@pytest.mark.parametrize("k", [1, 2, 17, 150, 1100])
def test_labels_of_one_pass_are_those_of_predict(kind, k, passes):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((1500, 12)) + rng.integers(5, size=(1500, 1))
    options = {"metric": "cosine"} if kind == "cosine" else {}
    if kind == "csr":
        X = csr_array(np.where(np.abs(X) > 1, X, 0))
    elif kind == "weights":
        options["sample_weight"] = rng.uniform(size=1500)
    elif kind != "cosine":
        X = (X if np.dtype(kind).kind == "f" else 20 * X + 100).clip(0 if kind == "uint8" else None).astype(kind)
    model = fitted(X, k, **options)
    assert (np.diff(model.cluster_weights_) <= 0).all()
    if kind in ("float64", "float32", "csr", "weights"):
        assert passes.count(True) == 1
        assert passes[-1]  # no pass after that one


@pytest.mark.parametrize("d", [1, 2, 3, 9])
@pytest.mark.parametrize("k", [2, 9, 40, 60])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_grids_have_the_labels_of_predict(d, k, n_threads):
    X = np.random.default_rng(d).integers(4, size=(1000, d)).astype(float)
    X = np.unique(X, axis=0) if d < 9 else X
    if k <= len(X):
        fitted(X, k, n_threads=n_threads)


def test_tied_points_are_labelled_again(passes):
    # 1 lies between 0 and 2. The center at 2 has more points: it becomes the first, and gets 1 as well.
    X, model = np.repeat([[0.0], [1.0], [2.0]], [3, 1, 5], axis=0), EulerMeans(2)
    model._settle(MemoryOracle(DensePoints(X)), np.array([[0.0], [2.0]]), by_size=True)
    assert passes == [True, False]
    np.testing.assert_array_equal(model.cluster_centers_[:, 0], [2, 0])
    np.testing.assert_array_equal(model.labels_, [1, 1, 1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(model.cluster_weights_, [6, 3])


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_equal_centers_have_the_labels_of_predict():
    X = np.repeat(np.random.default_rng(0).standard_normal((5, 3)), [2, 9, 4, 30, 1], axis=0)
    model = fitted(X, 12)
    assert (np.diff(model.cluster_weights_[:5]) <= 0).all()


def test_given_centers_keep_their_numbers_in_one_pass(passes):
    X = np.random.default_rng(0).standard_normal((3000, 5))
    model = fitted(X, 4, init=X[:4])
    assert len(passes) == 1
    assert len(model.restarts_) == 1
    assert model.restarts_[0] == model.objective_


@pytest.mark.parametrize("options", [{}, {"sample_weight": np.arange(4000.0)}, {"metric": "cosine"}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("grid", [False, True])
def test_labels_of_the_only_pass_of_the_polish(options, dtype, grid, monkeypatch):
    monkeypatch.setattr(search_budget, "MANY_OPERATIONS", 0.0)
    rng, made, answer = np.random.default_rng(0), [], LabeledMoments.answer
    X = rng.integers(1, 9, size=(4000, 4 if grid else 12)).astype(dtype)
    X = X if grid else (X + 50 * rng.random(X.shape)).astype(dtype)

    def counted(self, points):
        made.append(self.count_ties)
        return answer(self, points)

    monkeypatch.setattr(LabeledMoments, "answer", counted)
    model = fitted(X, 60, **options)
    if "metric" not in options:
        assert [record.phase for record in model.history_].count("polish") == 1
        assert made.count(True) == 1
        assert model.history_[-1].objective == model.objective_


def test_an_effort_does_not_stop_at_the_labels_of_the_polish(monkeypatch):
    monkeypatch.setattr(search_budget, "MANY_OPERATIONS", 0.0)
    X = np.random.default_rng(0).standard_normal((4000, 12))
    model = EulerMeans(60, effort=0.01, random_state=0).fit(X)
    assert model.objective_ < model.history_[-1].objective
    np.testing.assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("offset", [0, 100])
def test_the_mean_of_the_variances(kind, offset):
    points = stored(np.random.default_rng(0).standard_normal((500, 20)), kind)
    if kind in ("float32", "float64"):
        points = DensePoints(points.stored + np.dtype(kind).type(offset))
    oracle = MemoryOracle(points)
    assert oracle.variance_of_features() == pytest.approx(oracle.variance().mean(), rel=1e-5)

"""The estimators: scikit-learn's conventions, and the invariants that people rely on."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import sklearn
from scipy.stats import ks_2samp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from eulermeans import DivergenceWarning, EulerMeans, Record, SizedMeans, StochasticBackwardEuler, StopReason

BOTH = [EulerMeans, StochasticBackwardEuler]
WEIGHTS_ARE_NO_REPETITION = "sample_weight is not equivalent to removing/repeating samples, draw for draw"

both = pytest.mark.parametrize("Estimator", BOTH)


# scikit-learn's own checks


def expected_failures(estimator):
    """Those that scikit-learn itself lists for KMeans and MiniBatchKMeans, and no other."""
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS_ARE_NO_REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS_ARE_NO_REPETITION,
    }


# Some checks fit eight clusters to fewer distinct points; scikit-learn ignores the warning in its own run.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [EulerMeans(), SizedMeans(), SizedMeans(size_min=0.01), StochasticBackwardEuler()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator, check):
    check(estimator)


# Weights and repetition


@pytest.fixture(scope="module")
def weighted(plane):
    """Some points with whole weights, zeros among them, and the same data with each point so often."""
    points = plane[::10]
    heavy = 4 * (points[:, 1] > 3)  # so that the weights change what the best centers are
    weights = heavy + np.random.default_rng(0).integers(0, 3, size=len(points))
    return points, weights.astype(float), np.repeat(points, weights, axis=0)


def test_weights_are_repetition_with_the_full_gradient(weighted):
    points, weights, repeated = weighted
    model = StochasticBackwardEuler(4, batch_size=None, init=points[[3, 103, 203, 303]], n_outer=30)
    one, other = clone(model).fit(points, sample_weight=weights), clone(model).fit(repeated)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-9)
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-10)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-10)
    np.testing.assert_array_equal(one.predict(points), other.predict(points))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a center may end without points
def test_weights_are_repetition_in_distribution(weighted):
    points, weights, repeated = weighted
    model = StochasticBackwardEuler(9, batch_size=60, n_outer=20, n_inner=3, init="random")

    def objectives(first_seed, points, weights):
        seeds = range(first_seed, first_seed + 60)
        return [
            clone(model).set_params(random_state=seed).fit(points, sample_weight=weights).objective_
            for seed in seeds
        ]

    by_weight, by_repetition = objectives(0, points, weights), objectives(1000, repeated, None)
    assert len(set(np.round(by_weight, 6))) > 5  # there is a distribution to compare
    assert ks_2samp(by_weight, by_repetition).pvalue > 0.01
    unweighted = objectives(0, points, None)
    assert ks_2samp(unweighted, by_repetition).pvalue < 1e-6  # and the test could tell


def test_weights_are_worth_as_much_as_repetition(weighted):
    # Not point for point: a transfer moves the whole weight of a point, but only one of several copies.
    points, weights, repeated = weighted
    found = [
        (
            EulerMeans(9, random_state=seed).fit(points, sample_weight=weights).objective_,
            EulerMeans(9, random_state=seed).fit(repeated).objective_,
        )
        for seed in range(20)
    ]
    by_weight, by_repetition = np.mean(found, axis=0)
    assert by_weight == pytest.approx(by_repetition, rel=0.01)


@both
def test_weights_of_one_change_nothing(blobs, Estimator):
    model = Estimator(5, random_state=0)
    plain = clone(model).fit(blobs)
    ones = clone(model).fit(blobs, sample_weight=np.ones(len(blobs)))
    assert plain.inertia_ == pytest.approx(ones.inertia_, rel=0.01)
    np.testing.assert_allclose(
        np.sort(plain.cluster_centers_, axis=0), np.sort(ones.cluster_centers_, axis=0), atol=0.3
    )


@both
def test_scale_of_weights_does_not_matter(blobs, Estimator):
    weights = np.random.default_rng(0).uniform(size=len(blobs))
    model = Estimator(5, random_state=0)
    one, other = clone(model).fit(blobs, sample_weight=weights), clone(model).fit(blobs, sample_weight=8 * weights)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-9)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)


@both
def test_points_without_weight_do_not_count(blobs, Estimator):
    weights = np.ones(len(blobs) + 1)
    weights[-1] = 0
    with_outlier = np.concatenate([blobs, [[1e6, 1e6, 1e6]]])
    model = Estimator(5, random_state=0).fit(with_outlier, sample_weight=weights)
    assert np.abs(model.cluster_centers_).max() < 100
    assert model.inertia_ < 10 * len(blobs)


# The invariants of the design


def as_stored(blobs, kind):
    if kind == "fortran":
        return np.asfortranarray(blobs)
    if kind == "strided":
        return np.repeat(blobs, 2, axis=0)[::2]
    return np.round(10 * blobs).astype(kind) if np.dtype(kind).kind in "iu" else blobs.astype(kind)


@both
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int16", "int64", "fortran", "strided"])
def test_labels_and_inertia_are_those_of_predict_and_score(blobs, Estimator, weighted, kind):
    X = as_stored(blobs, kind)
    weights = np.random.default_rng(0).uniform(size=len(X)) if weighted else None
    model = Estimator(4, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.inertia_ == -model.score(X, sample_weight=weights)


@both
def test_labels_after_partial_fit_are_those_of_its_points(blobs, Estimator):
    model = Estimator(3, random_state=0)
    for batch in np.array_split(blobs, 4):
        model.partial_fit(batch)
        np.testing.assert_array_equal(model.labels_, model.predict(batch))
        assert model.inertia_ == -model.score(batch)


@both
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_parameters_stay_as_given(blobs, Estimator, method):
    init = blobs[:5].copy()
    model = Estimator(5, init=init, random_state=np.random.RandomState(0))
    before = model.get_params()
    getattr(model, method)(blobs)
    after = model.get_params()
    assert before.keys() == after.keys()
    assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(init, blobs[:5])


@both
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_inputs_are_never_written(blobs, Estimator, dtype):
    X, weights, init = as_stored(blobs, dtype), np.linspace(0, 2, len(blobs)), blobs[:5].copy()
    given = (X, weights, init)
    before = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    model = Estimator(5, init=init, random_state=0).fit(X, sample_weight=weights)
    model.partial_fit(X, sample_weight=weights)
    model.predict(X)
    model.transform(X)
    model.score(X, sample_weight=weights)
    for array, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.fixture(scope="module")
def wide():
    """So much work, with 104 clusters, that a full pass and a batch of 16000 are shared among three threads."""
    rng = np.random.default_rng(0)
    points = (5 * rng.standard_normal((104, 32)))[rng.integers(104, size=16_000)]
    points += rng.standard_normal(points.shape)
    assert points.size * 104 > 3 * 2**24
    return points


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # too few steps to end well
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "model",
    [
        EulerMeans(104, max_iter=5, random_state=0),
        StochasticBackwardEuler(104, step_size=2.0, batch_size=16_000, n_outer=3, random_state=0),
        StochasticBackwardEuler(104, step_size=2.0, batch_size=None, n_outer=3, random_state=0),
    ],
)
def test_same_bits_for_any_number_of_threads(wide, dtype, model):
    X, weights = wide.astype(dtype), np.random.default_rng(1).uniform(size=len(wide))
    fits = [
        clone(model).set_params(n_threads=n_threads).fit(X, sample_weight=weights)
        for n_threads in (1, 2, 3, 8, None)
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.cluster_centers_, fits[0].cluster_centers_)
        np.testing.assert_array_equal(fit.labels_, fits[0].labels_)
        assert fit.inertia_ == fits[0].inertia_
        np.testing.assert_array_equal(fit.transform(X), fits[0].transform(X))


@both
def test_same_seed_same_bits(blobs, Estimator):
    one, other = (Estimator(5, random_state=3).fit(blobs) for _ in range(2))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    different = Estimator(5, random_state=4).fit(blobs)
    assert not np.array_equal(one.cluster_centers_, different.cluster_centers_)


def peak_of(action):
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("dtype", "order", "bytes_of_a_copy"),
    [("int64", "C", 8), ("float32", "F", 4), ("uint8", "C", 4), ("float16", "C", 4)],
)
@both
def test_data_are_never_copied_whole(Estimator, dtype, order, bytes_of_a_copy):
    """Memory grows with the data by far less than a copy of what was added."""
    n_points, n_features = 150_000, 64
    options = {"max_iter": 2} if Estimator is EulerMeans else {"n_outer": 2, "n_inner": 1}
    model = Estimator(4, random_state=0, **options)
    X = np.zeros((2 * n_points, n_features), dtype=dtype, order=order)
    X[:, :3] = np.random.default_rng(0).integers(100, size=(2 * n_points, 3))
    half = np.array(X[:n_points], order=order)
    copied = n_points * n_features * bytes_of_a_copy
    assert peak_of(lambda: model.fit(X)) - peak_of(lambda: model.fit(half)) < copied / 2
    assert peak_of(lambda: model.predict(X)) - peak_of(lambda: model.predict(half)) < copied / 2


# What a fit gives


@both
def test_fitted_attributes(blobs, Estimator):
    model = Estimator(5, random_state=0).fit(blobs)
    assert model.cluster_centers_.shape == (5, 3)
    assert model.labels_.shape == (600,)
    assert model.labels_.dtype == np.int32
    assert model.n_features_in_ == 3
    assert model.n_iter_ == len(model.history_)
    assert isinstance(model.stop_reason_, StopReason)
    assert isinstance(model.inertia_, float)


@both
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float32", "float32"),
        ("float64", "float64"),
        ("float16", "float32"),
        ("uint8", "float32"),
        ("int64", "float64"),
    ],
)
def test_centers_have_the_dtype_of_the_arithmetic(blobs, Estimator, dtype, expected):
    X = np.abs(np.round(blobs)).astype(dtype)
    model = Estimator(3, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == expected
    assert model.transform(X).dtype == expected


@both
def test_groups_that_are_apart_are_found(blobs, Estimator):
    model = Estimator(5, random_state=0).fit(blobs)
    assert sorted(np.bincount(model.labels_, minlength=5)) == [120] * 5


def test_euler_means_ends_at_a_stationary_point(plane):
    model = EulerMeans(6, tol=0, random_state=0).fit(plane)
    means = [plane[model.labels_ == j].mean(axis=0) for j in range(6)]
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-9)
    assert model.stop_reason_ is StopReason.CONVERGED


@both
def test_history_tells_each_step(plane, Estimator):
    model = Estimator(4, random_state=0).fit(plane)
    assert all(isinstance(record, Record) for record in model.history_)
    seconds = [record.seconds for record in model.history_]
    assert seconds == sorted(seconds)
    assert all(record.points_read > 0 for record in model.history_)
    assert all(np.isfinite(record.objective) for record in model.history_)
    for phase in {record.phase for record in model.history_}:
        steps = [record.step for record in model.history_ if record.phase == phase]
        assert steps == list(range(1, len(steps) + 1))


def test_euler_means_searches_and_then_polishes(plane):
    model = EulerMeans(4, random_state=0).fit(plane)
    phases = [record.phase for record in model.history_]
    assert set(phases) == {"search", "polish"}
    assert phases == sorted(phases, reverse=True)
    polish = [record.objective for record in model.history_ if record.phase == "polish"]
    assert all(record.exact for record in model.history_ if record.phase == "polish")
    assert polish == sorted(polish, reverse=True)


def test_step_size_of_the_paper(plane):
    model = StochasticBackwardEuler(4, decay=0.9, n_outer=5, random_state=0).fit(plane)
    steps = [record.step_size for record in model.history_]
    np.testing.assert_allclose(steps, 4 * 0.9 ** np.arange(5))
    assert [record.points_read for record in model.history_] == [5 * 500] * 5
    model.set_params(step_size=1.5, decay=1.0).fit(plane)
    assert {record.step_size for record in model.history_} == {1.5}
    assert model.n_iter_ == 5
    assert model.stop_reason_ is StopReason.MAX_ITER


def test_full_gradient_needs_no_randomness(plane):
    model = StochasticBackwardEuler(4, step_size=0.9, batch_size=None, init=plane[::1000], n_outer=5)
    one = clone(model).set_params(random_state=0).fit(plane)
    other = clone(model).set_params(random_state=1).fit(plane)
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert all(record.exact for record in one.history_)


def test_restarts_keep_the_best(plane):
    model = EulerMeans(9, n_init=6, init="random", effort=0, random_state=0).fit(plane[::10])
    assert model.restarts_.shape == (6,)
    assert len(np.unique(np.round(model.restarts_, 9))) > 1
    assert model.objective_ == pytest.approx(model.restarts_.min(), rel=1e-12)
    assert model.history_[-1].objective == pytest.approx(model.objective_, rel=1e-3)
    single = EulerMeans(9, n_init=1, init="random", effort=0, random_state=0).fit(plane[::10])
    np.testing.assert_array_equal(single.restarts_, model.restarts_[:1])


def test_time_limit(plane):
    model = EulerMeans(4, n_init=50, max_time=1e-9, random_state=0).fit(plane)
    assert model.stop_reason_ is StopReason.MAX_TIME
    assert len(model.restarts_) == 1
    assert np.isfinite(model.cluster_centers_).all()
    np.testing.assert_array_equal(model.labels_, model.predict(plane))


@pytest.fixture(scope="module")
def many():
    """So many points, and no clusters, that the search on a sample leaves something to polish."""
    return np.random.default_rng(0).standard_normal((40000, 2))


def test_iteration_limit(many):
    model = EulerMeans(9, max_iter=1, tol=0, random_state=0).fit(many)
    assert model.stop_reason_ is StopReason.MAX_ITER
    assert [record.phase for record in model.history_].count("polish") == 1


def test_a_looser_tolerance_stops_sooner(many):
    loose, tight = (EulerMeans(9, tol=tol, random_state=0).fit(many) for tol in (1e-2, 1e-7))
    assert loose.stop_reason_ is tight.stop_reason_ is StopReason.CONVERGED
    assert loose.n_iter_ < tight.n_iter_
    assert tight.objective_ <= loose.objective_


@pytest.mark.parametrize("init", ["k-means++", "random", "partition", "mean"])
@both
def test_every_init(blobs, Estimator, init):
    model = Estimator(5, init=init, random_state=0).fit(blobs)
    assert np.isfinite(model.cluster_centers_).all()
    assert model.objective_ < ((blobs - blobs.mean(axis=0)) ** 2).sum() / (2 * len(blobs))


@both
def test_init_as_array_is_where_it_starts(blobs, Estimator):
    model = Estimator(5, init=blobs[:5].tolist(), random_state=0).fit(blobs)
    assert model.cluster_centers_.shape == (5, 3)


def test_euler_means_recovers_from_a_start_far_from_the_data(blobs):
    model = EulerMeans(5, init=blobs[:5] + 1000, random_state=0).fit(blobs)
    assert model.stop_reason_ is StopReason.CONVERGED
    assert np.abs(model.cluster_centers_).max() < 30


@both
def test_init_as_callable(blobs, Estimator):
    calls = []

    def init(X, n_clusters, random_state):
        calls.append((X.shape, n_clusters, isinstance(random_state, np.random.RandomState)))
        return X[:n_clusters]

    by_call = Estimator(5, init=init, random_state=0).fit(blobs)
    assert calls == [((600, 3), 5, True)]
    assert by_call.cluster_centers_.shape == (5, 3)


def test_as_many_clusters_as_points():
    X = np.arange(10.0).reshape(5, 2)
    model = EulerMeans(5, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0, abs=1e-12)


@both
def test_one_cluster_is_the_mean(plane, Estimator):
    model = Estimator(1, random_state=0).fit(plane)
    tolerance = 1e-9 if Estimator is EulerMeans else 0.2
    np.testing.assert_allclose(model.cluster_centers_[0], plane.mean(axis=0), atol=tolerance)


@both
def test_fewer_distinct_points_than_clusters(Estimator):
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"\(2\).*n_clusters \(3\)"):
        model = Estimator(3, random_state=0, init="random").fit(X)
    assert model.cluster_centers_.shape == (3, 2)
    assert np.isfinite(model.cluster_centers_).all()


# Divergence


def test_verbatim_steps_that_diverge_are_reported(unbalanced):
    with pytest.warns(DivergenceWarning, match="EulerMeans"):
        model = StochasticBackwardEuler(100, random_state=0).fit(unbalanced)
    assert model.stop_reason_ is StopReason.DIVERGED
    assert np.isfinite(model.cluster_centers_).all()
    np.testing.assert_array_equal(model.labels_, model.predict(unbalanced))


def test_without_averaging_the_run_is_stopped_at_finite_centers(unbalanced):
    with pytest.warns(DivergenceWarning):
        model = StochasticBackwardEuler(100, averaging=0.0, init="k-means++", random_state=2).fit(unbalanced)
    assert model.stop_reason_ is StopReason.DIVERGED
    assert model.n_iter_ < 100
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.inertia_)


def test_divergence_is_a_convergence_warning():
    assert issubclass(DivergenceWarning, ConvergenceWarning)


def test_euler_means_does_not_diverge(unbalanced):
    for seed in range(3):
        model = EulerMeans(100, random_state=seed).fit(unbalanced)
        assert model.stop_reason_ is StopReason.CONVERGED
        assert np.abs(model.cluster_centers_).max() <= 50
        assert len(np.unique(model.labels_)) == 100
        assert model.objective_ < 6  # half of the points spread over 99 cells of a square of side 100: about 4


def test_no_divergence_is_reported_where_there_is_none(plane):
    for seed in range(5):
        model = StochasticBackwardEuler(4, random_state=seed).fit(plane)
        assert model.stop_reason_ is StopReason.MAX_ITER


# scikit-learn's surroundings


@both
def test_not_fitted(blobs, Estimator):
    for method in ("predict", "transform", "score"):
        with pytest.raises(NotFittedError):
            getattr(Estimator(), method)(blobs)


@both
def test_clone_and_pickle(blobs, Estimator):
    model = Estimator(5, random_state=0).fit(blobs)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "cluster_centers_")
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(blobs), model.predict(blobs))
    assert copy.stop_reason_ is model.stop_reason_
    assert copy.history_ == model.history_


@both
def test_a_pickled_model_goes_on_as_the_original_would(blobs, Estimator):
    model = Estimator(5, random_state=0, batch_size=50)
    model.partial_fit(blobs[:300])
    copy = pickle.loads(pickle.dumps(model))
    for each in (model, copy):
        each.partial_fit(blobs[300:])
    np.testing.assert_array_equal(model.cluster_centers_, copy.cluster_centers_)


@both
def test_feature_names_and_pandas_output(blobs, Estimator):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(blobs, columns=["a", "b", "c"])
    model = Estimator(4, random_state=0).set_output(transform="pandas").fit(X)
    name = Estimator.__name__.lower()
    expected = [f"{name}{j}" for j in range(4)]
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert list(model.get_feature_names_out()) == expected
    table = model.transform(X)
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == expected
    assert list(model.fit_transform(X).columns) == expected
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["c", "b", "a"]])


@both
def test_transform_is_the_distance_to_each_center(blobs, Estimator):
    model = Estimator(4, random_state=0).fit(blobs)
    expected = np.linalg.norm(blobs[:, None, :] - model.cluster_centers_[None, :, :], axis=2)
    np.testing.assert_allclose(model.transform(blobs), expected, rtol=1e-10, atol=1e-10)


@both
def test_fit_predict_and_fit_transform(blobs, Estimator):
    model = Estimator(4, random_state=0)
    fitted = clone(model).fit(blobs)
    np.testing.assert_array_equal(clone(model).fit_predict(blobs), fitted.labels_)
    np.testing.assert_array_equal(clone(model).fit_transform(blobs), fitted.transform(blobs))


@both
def test_pipeline_and_search(blobs, Estimator):
    pipeline = make_pipeline(StandardScaler(), Estimator(5, random_state=0)).fit(blobs)
    scaled = StandardScaler().fit_transform(blobs)
    np.testing.assert_array_equal(pipeline.predict(blobs), Estimator(5, random_state=0).fit_predict(scaled))
    search = GridSearchCV(Estimator(random_state=0), {"n_clusters": [2, 5]}, cv=2).fit(blobs)
    assert search.best_params_ == {"n_clusters": 5}


@both
def test_sample_weight_is_routed(blobs, Estimator):
    weights = np.random.default_rng(0).uniform(size=len(blobs))
    scaled = StandardScaler().fit_transform(blobs)
    alone = Estimator(5, random_state=0).fit(scaled, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        model = Estimator(5, random_state=0).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = Pipeline([("scale", scaler), ("cluster", model)]).fit(blobs, sample_weight=weights)
        score = pipeline.score(blobs, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[-1].cluster_centers_, alone.cluster_centers_)
    assert score == alone.score(scaled, sample_weight=weights)


# Learning from a stream


@both
def test_partial_fit_learns_from_a_stream(blobs, Estimator):
    model = Estimator(5, random_state=0, init="k-means++")
    for i, batch in enumerate(np.array_split(blobs, 12), start=1):
        model.partial_fit(batch)
        assert model.n_iter_ == len(model.history_) == i
    assert -model.score(blobs) / (2 * len(blobs)) < 3  # 1.5 is the best
    assert {record.phase for record in model.history_} == {"partial_fit"}


@both
def test_partial_fit_goes_on_from_fit(blobs, Estimator):
    model = Estimator(5, random_state=0).fit(blobs)
    before, n_iter = model.cluster_centers_.copy(), model.n_iter_
    model.partial_fit(blobs[:100])
    assert model.n_iter_ == n_iter + 1
    assert np.abs(model.cluster_centers_ - before).max() < 1


@both
def test_partial_fit_is_reproducible(blobs, Estimator):
    one, other = Estimator(5, random_state=0, batch_size=30), Estimator(5, random_state=0, batch_size=30)
    for batch in np.array_split(blobs, 5):
        one.partial_fit(batch)
        other.partial_fit(batch)
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


@both
def test_partial_fit_after_fit_does_not_depend_on_what_came_before(blobs, Estimator):
    used, fresh = Estimator(5, random_state=0, batch_size=30), Estimator(5, random_state=0, batch_size=30)
    used.partial_fit(blobs)
    for model in (used, fresh):
        model.fit(blobs)
        model.partial_fit(blobs)
    np.testing.assert_array_equal(used.cluster_centers_, fresh.cluster_centers_)


@both
def test_partial_fit_takes_weights(blobs, Estimator):
    weights = np.where(blobs[:, 0] > 10, 0.0, 1.0)
    model = Estimator(2, random_state=0)
    for _ in range(10):
        model.partial_fit(blobs, sample_weight=weights)
    assert model.cluster_centers_[:, 0].max() < 10


# Callbacks


class Recorder:
    """Keeps what scikit-learn tells a callback."""

    def __init__(self, stop_after=None):
        self.begun, self.ended, self.objectives = [], [], []
        self.is_set_up = self.is_torn_down = False
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.is_set_up = True

    def teardown(self, estimator, context):
        self.is_torn_down = True

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.begun.append((context.task_name, context.parent is None))

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.ended.append((context.task_name, context.parent is None))
        self.objectives.append(-fitted_estimator.score(X) / (2 * len(X)))
        return self.stop_after is not None and self.steps >= self.stop_after

    @property
    def steps(self):
        return sum(not is_root for _, is_root in self.ended)


@pytest.fixture
def callback_module():
    return pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")


@pytest.mark.usefixtures("callback_module")
@both
def test_callbacks_see_each_step(plane, Estimator):
    recorder = Recorder()
    model = Estimator(4, random_state=0).set_callbacks(recorder).fit(plane)
    assert recorder.is_set_up
    assert recorder.is_torn_down
    assert recorder.steps == model.n_iter_ == len(model.history_)
    assert sorted(recorder.begun) == sorted(recorder.ended)
    assert recorder.objectives[-1] == pytest.approx(model.objective_)
    tasks = [name for name, is_root in recorder.ended if not is_root]
    assert tasks == [record.phase for record in model.history_]


@pytest.mark.usefixtures("callback_module")
@both
def test_a_callback_can_stop_the_fit(plane, Estimator):
    recorder = Recorder(stop_after=3)
    model = Estimator(4, random_state=0).set_callbacks(recorder).fit(plane)
    assert model.stop_reason_ is StopReason.CALLBACK
    assert model.n_iter_ == 3


@pytest.mark.usefixtures("callback_module")
def test_callbacks_are_told_the_end_of_a_step_that_diverged(unbalanced):
    recorder = Recorder()
    model = StochasticBackwardEuler(100, averaging=0.0, init="k-means++", random_state=0).set_callbacks(recorder)
    with pytest.warns(DivergenceWarning):
        model.fit(unbalanced)
    assert sorted(recorder.begun) == sorted(recorder.ended)


@both
def test_progress_bar(callback_module, plane, Estimator, capsys):
    pytest.importorskip("rich")
    model = Estimator(4, random_state=0).set_callbacks(callback_module.ProgressBar())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rich's, where there is no terminal
        model.fit(plane)
    assert Estimator.__name__ in capsys.readouterr().out


@both
def test_nothing_is_printed(blobs, Estimator, capfd):
    Estimator(5, random_state=0).fit(blobs).partial_fit(blobs)
    assert capfd.readouterr() == ("", "")


ORDERS = {
    "Fortran": np.asfortranarray,
    "strided": lambda centers: np.repeat(centers, 2, axis=1)[:, ::2],
    "frame": lambda centers: pytest.importorskip("pandas").DataFrame(centers),
    "list": lambda centers: centers.tolist(),
}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("Estimator", [EulerMeans, StochasticBackwardEuler])
def test_initial_centers_are_taken_in_any_form(blobs, Estimator, order, method):
    start = blobs[:5].copy()
    expected = getattr(Estimator(5, init=start, random_state=0), method)(blobs).cluster_centers_
    given = ORDERS[order](start)
    found = getattr(Estimator(5, init=given, random_state=0), method)(blobs).cluster_centers_
    np.testing.assert_array_equal(found, expected)
    called = Estimator(5, init=lambda X, n_clusters, random_state: given, random_state=0)
    found = getattr(called, method)(blobs).cluster_centers_  # numbered by size
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])


def test_centers_that_were_assigned_are_read_in_any_order(blobs):
    model = EulerMeans(5, random_state=0).fit(blobs)
    labels, distances, score = model.predict(blobs), model.transform(blobs), model.score(blobs)
    model.cluster_centers_ = np.asfortranarray(model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(blobs), labels)
    np.testing.assert_array_equal(model.transform(blobs), distances)
    assert model.score(blobs) == score

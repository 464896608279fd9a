"""The estimators on Dask collections: the same call, the same quality, results in kind."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask_cluster import cluster, from_files, kill

from eulermeans import EulerMeans, SizedMeans, StochasticBackwardEuler, StopReason

K = 12


@pytest.fixture(scope="module")
def client():
    with cluster(2) as client:
        yield client


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    """20000 points about 20 means, in 6 dimensions: more than a search reads."""
    rng = np.random.default_rng(0)
    means = 3 * rng.standard_normal((20, 6))
    return (means[rng.integers(20, size=20_000)] + rng.standard_normal((20_000, 6))).astype(np.float32)


@pytest.fixture(scope="module")
def rows(client, points, tmp_path_factory) -> da.Array:
    return from_files(tmp_path_factory.mktemp("rows"), points, 6)


@pytest.fixture(scope="module")
def fitted(rows) -> EulerMeans:
    return EulerMeans(K, random_state=0).fit(rows)


class Observer:
    """A callback of scikit-learn's that does something after each step."""

    def __init__(self, do=lambda phase, step: False):
        self._do, self.phases = do, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X=None):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        if context.parent is None:
            return False
        self.phases.append(context.task_name)
        return self._do(context.task_name, self.phases.count(context.task_name))


@pytest.fixture
def _callbacks():
    pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")


def test_the_objective_is_that_of_the_points_in_memory(fitted, points):
    local = EulerMeans(K, random_state=0).fit(points)
    assert fitted.inertia_ == pytest.approx(local.inertia_, rel=1e-3)
    assert {record.phase for record in fitted.history_} == {"search", "descend", "polish"}
    assert fitted.cluster_centers_.dtype == np.float32
    assert fitted.n_features_in_ == 6


def test_results_are_lazy_and_those_of_the_points_in_memory(fitted, rows, points):
    for labels in (fitted.labels_, fitted.predict(rows)):
        assert isinstance(labels, da.Array)
        assert labels.chunks == rows.chunks[:1]
        np.testing.assert_array_equal(labels.compute(), fitted.predict(points))
    distances = fitted.transform(rows)
    assert isinstance(distances, da.Array)
    np.testing.assert_array_equal(distances.compute(), fitted.transform(points))
    assert fitted.score(rows) == pytest.approx(fitted.score(points))
    assert fitted.inertia_ == -fitted.score(rows)


def test_predictions_compute_nothing_before_they_are_asked_to(client, points):
    def refuse(block):
        raise AssertionError("computed")

    rows = da.ones((40, 6), chunks=(10, 6)).map_blocks(refuse, dtype=float, meta=np.empty((0, 0)))
    for metric in ("euclidean", "cosine"):
        model = EulerMeans(3, random_state=0, metric=metric).fit(points[:500])
        assert model.predict(rows).shape == (40,)
        assert model.transform(rows).shape == (40, 3)


def test_dataframes_keep_their_names(client, points):
    frame = pd.DataFrame(points, columns=list("abcdef"))
    collection = dd.from_pandas(frame, npartitions=5)
    model = EulerMeans(K, random_state=0, max_time=1e-3).fit(collection)
    assert list(model.feature_names_in_) == list("abcdef")
    np.testing.assert_array_equal(model.predict(collection).compute(), model.predict(frame))
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        model.predict(collection[list("bacdef")])
    with pytest.raises(ValueError, match="5 features, but EulerMeans is expecting 6"):
        model.predict(collection[list("abcde")])


def test_weights_may_be_in_the_cluster_too(rows, points):
    weights = np.random.default_rng(1).random(len(points))
    here = EulerMeans(K, random_state=0).fit(rows, sample_weight=weights)
    there = EulerMeans(K, random_state=0).fit(rows, sample_weight=da.from_array(weights, chunks=7000))
    np.testing.assert_array_equal(here.cluster_centers_, there.cluster_centers_)
    local = EulerMeans(K, random_state=0).fit(points, sample_weight=weights)
    assert here.inertia_ == pytest.approx(local.inertia_, rel=1e-3)
    assert here.score(rows, sample_weight=da.from_array(weights, chunks=100)) == -here.inertia_


def test_the_cosine(rows, points):
    model = EulerMeans(K, random_state=0, metric="cosine").fit(rows)
    local = EulerMeans(K, random_state=0, metric="cosine").fit(points)
    assert model.inertia_ == pytest.approx(local.inertia_, rel=1e-2)  # there are minima 0.5 % apart
    np.testing.assert_allclose(model.transform(rows).compute(), model.transform(points), atol=1e-6)


def test_the_papers_algorithm(rows, points):
    there = StochasticBackwardEuler(K, n_outer=10, init="k-means++", random_state=0).fit(rows)
    here = StochasticBackwardEuler(K, n_outer=10, init="k-means++", random_state=0).fit(points)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-3)


def test_few_points(client, blobs):
    model = EulerMeans(5, random_state=0).fit(da.from_array(blobs, chunks=(100, 3)))
    assert model.inertia_ == pytest.approx(EulerMeans(5, random_state=0).fit(blobs).inertia_, rel=1e-3)
    with pytest.raises(ValueError, match="n_samples=600 should be >= n_clusters=601"):
        EulerMeans(601).fit(da.from_array(blobs, chunks=(100, 3)))


def test_without_labels(rows, points):
    model = EulerMeans(K, random_state=0, max_time=1e-3, compute_labels=False).fit(rows)
    assert not hasattr(model, "labels_")
    assert model.cluster_weights_.sum() == pytest.approx(len(points))


@pytest.mark.usefixtures("_callbacks")
def test_callbacks_see_each_step_and_can_stop_the_fit(rows):
    observer = Observer(lambda phase, step: phase == "descend" and step == 3)
    model = EulerMeans(K, random_state=0).set_callbacks(observer).fit(rows)
    assert model.stop_reason_ is StopReason.CALLBACK
    assert observer.phases == [record.phase for record in model.history_]
    assert observer.phases.count("descend") == 3


@pytest.mark.usefixtures("_callbacks")
def test_a_fit_that_loses_a_worker_ends_with_the_same_bits(client, rows, fitted):
    killed = []

    def lose_a_worker(phase, step):
        if (phase, step) == ("descend", 5):
            killed.append(next(workers[0] for workers in client.who_has().values() if workers))
            kill(client, killed[0])
        return False

    model = EulerMeans(K, random_state=0).set_callbacks(Observer(lose_a_worker)).fit(rows)
    assert len(killed) == 1
    np.testing.assert_array_equal(model.cluster_centers_, fitted.cluster_centers_)
    assert model.inertia_ == fitted.inertia_


@pytest.mark.usefixtures("_callbacks")
def test_a_fit_on_a_cluster_goes_on_from_a_checkpoint(rows, fitted, tmp_path):
    path = tmp_path / "fit.checkpoint"
    stop = Observer(lambda phase, step: phase == "descend" and step == 2)
    EulerMeans(K, random_state=0).set_callbacks(stop).fit(rows, checkpoint=path)
    assert path.exists()
    with pytest.raises(ValueError, match="its digest of the data"):  # the same rows in another order
        EulerMeans(K, random_state=0).fit(rows[::-1].rechunk(rows.chunks), checkpoint=path)
    resumed = EulerMeans(K, random_state=0).fit(rows, checkpoint=path)
    np.testing.assert_array_equal(resumed.cluster_centers_, fitted.cluster_centers_)
    assert resumed.inertia_ == fitted.inertia_


def test_bounds_on_sizes_hold_for_a_collection(rows, points):
    model = SizedMeans(5, size_min=3900, size_max=4100, effort=0.1, random_state=0).fit(rows)
    counts = np.bincount(model.labels_, minlength=5)
    assert counts.min() >= 3900
    assert counts.max() <= 4100
    offsets = points - model.cluster_centers_[model.labels_]
    assert model.inertia_ == pytest.approx(float(np.sum(offsets.astype(float) ** 2)), rel=1e-5)
    assert np.mean(np.asarray(model.predict(rows)) == model.labels_) > 0.98

"""A sweep finds the right K, reports when there is none, and accepts the same data as the estimator."""

from __future__ import annotations

import dataclasses
import warnings

import matplotlib as mpl
import matplotlib.pyplot
import numpy as np
import pandas as pd
import pytest
from conftest import PLANE_COVARIANCES, PLANE_MEANS
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite

import eulermeans
from eulermeans import EulerMeans, sweep
from eulermeans.choosing import Confidence

mpl.use("Agg")


def drawn(centers, rng, n=1000, spread=1.0):
    """Points around these centers, the same number around each."""
    return np.repeat(centers, n // len(centers), axis=0) + spread * rng.standard_normal(
        (len(centers) * (n // len(centers)), centers.shape[1])
    )


def ring(k, d, radius=10.0):
    """Centers on a circle in the first two dimensions, at least 6 apart."""
    angles = 2 * np.pi * np.arange(k) / k
    centers = np.zeros((k, d))
    centers[:, 0], centers[:, 1] = radius * np.cos(angles), radius * np.sin(angles)
    return centers


def same(one, other):
    """Whether two sweeps agree in everything but time."""
    return [dataclasses.replace(row, seconds=0) for row in one.rows] == [
        dataclasses.replace(row, seconds=0) for row in other.rows
    ]


# The recommendation


def test_iris():
    found = sweep(load_iris().data, "2:8", random_state=0)
    assert found.recommended in (2, 3)
    assert found.confidence is Confidence.HIGH


def test_the_papers_data_in_the_plane(plane):
    found = sweep(plane, "2:10", random_state=0)
    assert found.recommended == 4
    assert "K = 3 is the largest K whose clusters are well separated" in found.reason  # two of the four overlap


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_other_draws_of_the_papers_data(seed):
    rng = np.random.default_rng(seed)
    parts = [
        rng.multivariate_normal(*cluster, size=1000)
        for cluster in zip(PLANE_MEANS, PLANE_COVARIANCES, strict=True)
    ]
    assert sweep(np.concatenate(parts), "2:8", random_state=seed).recommended == 4


@pytest.mark.parametrize(("k", "d"), [(3, 2), (3, 50), (5, 10), (8, 2), (8, 50), (12, 10)])
def test_round_clusters(k, d):
    rng = np.random.default_rng([k, d])
    found = sweep(drawn(ring(k, d, radius=12), rng), [2, 3, 4, 5, 6, 8, 9, 12, 13, 14], random_state=0)
    assert (found.recommended, found.confidence) == (k, Confidence.HIGH)


def test_long_clusters():
    rng = np.random.default_rng(5)
    points = rng.standard_normal((1200, 2)) * [4, 0.5] + np.repeat([[0, 0], [0, 8], [0, 16]], 400, axis=0)
    assert sweep(points, "2:9", random_state=0).recommended == 3


def test_uneven_clusters():
    rng = np.random.default_rng(6)
    sizes = [40, 100, 300, 1500]
    points = np.repeat(8.0 * ring(4, 3, radius=1), sizes, axis=0) + rng.standard_normal((sum(sizes), 3))
    assert sweep(points, "2:9", random_state=0).recommended == 4


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("draw", ["uniform", "standard_normal"])
def test_noise_has_no_clusters(draw, d):
    points = getattr(np.random.default_rng(d), draw)(size=(1500, d))
    found = sweep(points, "2:8", random_state=0)
    assert found.confidence is Confidence.LOW
    assert found.reason.startswith("No K stands out")


def test_a_range_that_ends_too_soon():
    points = drawn(ring(9, 2, radius=14), np.random.default_rng(7))
    assert sweep(points, "2:14", random_state=0).recommended == 9
    short = sweep(points, "2:6", random_state=0)
    assert short.confidence is not Confidence.HIGH
    assert "so try larger values" in short.reason


def test_a_range_that_begins_too_late():
    found = sweep(drawn(ring(3, 2), np.random.default_rng(8)), "5:9", random_state=0)
    assert found.confidence is Confidence.LOW
    assert "so try smaller values" in found.reason


def test_outliers():
    rng = np.random.default_rng(15)
    points = np.concatenate([drawn(ring(3, 2), rng), rng.uniform(-300, 300, size=(5, 2))])
    assert "check for outliers" in sweep(points, "2:5", random_state=0).reason


# Rows and models


@pytest.fixture(scope="module")
def five():
    return drawn(ring(5, 3), np.random.default_rng(9), n=1500)


@pytest.fixture(scope="module")
def found(five):
    return sweep(five, "2:7", random_state=0)


def test_rows_are_what_the_models_say(five, found):
    assert [row.n_clusters for row in found.rows] == list(found.models) == [2, 3, 4, 5, 6, 7]
    for row in found.rows:
        model = found.models[row.n_clusters]
        assert model.n_clusters == row.n_clusters
        assert row.inertia == model.inertia_ == pytest.approx(-model.score(five))
        assert row.objective == model.objective_
        assert row.points_read > len(five)
        assert row.n_distances > row.points_read
        assert row.seconds > 0
    assert found.model is found.models[5]
    assert found[5].n_clusters == 5
    with pytest.raises(KeyError, match="K = 9 was not tried"):
        found[9]


def test_models_are_as_good_as_fits_from_scratch(five, found):
    for k, model in found.models.items():
        assert model.inertia_ <= 1.01 * EulerMeans(k, random_state=1).fit(five).inertia_


def test_models_have_the_estimators_parameters(five):
    estimator = EulerMeans(init="random", effort=0.7, tol=1e-3)
    before = estimator.get_params()
    model = sweep(five, [2, 3], estimator=estimator, random_state=0, n_threads=1).models[3]
    after = model.get_params()
    assert estimator.get_params() == before
    assert not hasattr(estimator, "cluster_centers_")
    for name in ("init", "n_init", "effort", "tol", "max_time"):
        assert after[name] == before[name]
    assert after["n_threads"] == 1


def test_warm_starts_save_work(five):
    warm = sweep(five, "2:7", random_state=0, n_restarts=1)[7].n_distances
    cold = sweep(five, "7", random_state=0, n_restarts=1)[7].n_distances
    assert warm < 0.8 * cold


def test_same_seed_same_bits_for_any_number_of_threads(five, found):
    assert same(found, sweep(five, "2:7", random_state=0, n_threads=1))
    assert same(found, sweep(five, [7, 6, 5, 4, 3, 2], random_state=np.random.RandomState(0), n_threads=2))
    assert not same(found, sweep(five, "2:7", random_state=1))


def test_on_result_is_called_for_each_k(five):
    told = []
    found = sweep(five, "2:4", random_state=0, n_restarts=1, on_result=told.append)
    assert told == list(found.rows)


def test_stops_when_time_is_up(five, monkeypatch):
    asked = iter([False, True])
    monkeypatch.setattr("eulermeans.choosing.sweep_fits.Budget.used_up", property(lambda budget: next(asked)))
    found = sweep(five, "2:9", random_state=0, max_time=1000)
    assert [row.n_clusters for row in found.rows] == [2, 3]
    assert found.skipped == (4, 5, 6, 7, 8, 9)
    monkeypatch.undo()
    at_least_one = sweep(five, "2:9", random_state=0, max_time=1e-9)
    assert len(at_least_one.rows) == 1
    assert at_least_one.model.predict(five).max() == 1


def test_one_cluster_can_be_asked_for(five):
    found = sweep(five, "1:6", random_state=0)
    assert found.recommended == 5
    assert found[1].inertia == pytest.approx(np.sum((five - five.mean(axis=0)) ** 2))
    assert np.isnan([found[1].silhouette, found[1].stability, found[1].valley]).all()


# Kinds of data


def test_frames_give_models_with_names(five):
    frame = pd.DataFrame(five, columns=["width", "height", "depth"])
    found = sweep(frame, "2:6", random_state=0)
    assert found.recommended == 5
    assert list(found.model.feature_names_in_) == ["width", "height", "depth"]
    np.testing.assert_array_equal(found.model.predict(frame), found.model.labels_)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.coo_array])
def test_sparse(make):
    rng = np.random.default_rng(10)
    points = np.where(rng.random((900, 40)) < 0.1, rng.random((900, 40)), 0) + 5 * np.repeat(
        np.eye(3, 40), 300, axis=0
    )
    dense, found = sweep(points, "2:5", random_state=0), sweep(make(points), "2:5", random_state=0)
    # Small groups of rows may be found again beside the three large ones, but they are not well separated.
    for each in (dense, found):
        text = " ".join(str(each).split())
        assert each.recommended == 3 or "K = 3 is the largest K whose clusters are well separated" in text
    assert found[3].silhouette == pytest.approx(dense[3].silhouette, abs=1e-4)
    assert found[3].davies_bouldin == pytest.approx(dense[3].davies_bouldin, rel=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int64"])
def test_dtypes(five, dtype):
    stored = np.rint(5 * (five - five.min())).astype(dtype)
    assert sweep(stored, "2:7", random_state=0).recommended == 5


def test_weights(five):
    rng = np.random.default_rng(11)
    noise = rng.uniform(-15, 15, size=(3000, 3))
    weights = np.repeat([1.0, 0.0], [len(five), len(noise)])
    found = sweep(np.concatenate([five, noise]), "2:7", sample_weight=weights, random_state=0)
    assert (found.recommended, found.confidence) == (5, Confidence.HIGH)
    assert found.model.inertia_ == pytest.approx(EulerMeans(5, random_state=0).fit(five).inertia_)


def test_the_estimators_metric_is_used():
    rng = np.random.default_rng(12)
    directions = np.repeat(np.eye(4, 6), 250, axis=0) + 0.1 * rng.standard_normal((1000, 6))
    points = directions * 10 ** rng.uniform(-1, 3, size=(1000, 1))
    found = sweep(points, "2:8", estimator=EulerMeans(metric="cosine"), random_state=0)
    assert (found.recommended, found.confidence) == (4, Confidence.HIGH)
    assert found.model.metric == "cosine"
    np.testing.assert_array_equal(found.model.predict(points), found.model.labels_)


def test_files(five, tmp_path):
    np.save(tmp_path / "five.npy", five)
    found = sweep(tmp_path / "five.npy", "2:7", random_state=0)
    assert (found.recommended, found.n_points) == (5, len(five))


def test_a_sample_is_clustered_if_data_do_not_fit_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("eulermeans.choosing.k_sweep.SAMPLE", 3000)
    monkeypatch.setattr("eulermeans.choosing.k_sweep.SAMPLE_PER_CLUSTER", 100)
    np.save(tmp_path / "large.npy", drawn(ring(5, 8), np.random.default_rng(13), n=20000))
    small = EulerMeans(memory_limit="700kB")
    found = sweep(tmp_path / "large.npy", "2:7", estimator=small, random_state=0)
    assert (found.recommended, found.n_points) == (5, 3000)
    assert same(found, sweep(tmp_path / "large.npy", "2:7", estimator=small, random_state=0))


# Odd data


def test_as_many_clusters_as_points():
    points = np.random.default_rng(14).standard_normal((10, 2))
    found = sweep(points, "2:10", random_state=0)
    assert found[10].inertia == 0
    assert np.isnan(found[10].strength)
    assert found.confidence is Confidence.LOW


def test_more_clusters_than_points_are_refused():
    with pytest.raises(ValueError, match="n_samples=10 should be >= n_clusters=20"):
        sweep(np.zeros((10, 2)), "2:20")


def test_constant_data():
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        found = sweep(np.ones((50, 2)), [2, 3], random_state=0)
    assert found.confidence is Confidence.LOW


def test_few_distinct_points():
    points = np.repeat(np.array([[0.0, 0], [5, 5], [0, 9]]), 40, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = sweep(points, "2:5", random_state=0)
    assert found.recommended == 3
    assert found[3].calinski_harabasz == np.inf


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_clusters": 5}, "n_clusters must be values of K"),
        ({"n_restarts": 0}, "n_restarts must be an integer from 1 on; got 0"),
        ({"sample_size": 1.5}, "sample_size must be an integer from 1 on"),
        ({"max_time": -1}, "max_time must be a positive number of seconds"),
        ({"estimator": "kmeans"}, "estimator must be an EulerMeans"),
    ],
)
def test_bad_arguments(five, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sweep(five, **given)


def test_bad_data(five):
    with pytest.raises(ValueError, match="NaN"):
        sweep(np.where(five > 0, five, np.nan))
    with pytest.raises(ValueError, match="sample_weight"):
        sweep(five, sample_weight=-np.ones(len(five)))


# Table and figure


def test_table(found):
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["K", "objective", "silhouette", "Calinski-H."]
    assert [line.split()[0] for line in lines[1:7]] == ["2", "3", "4", "5", "6", "7"]
    assert [line.split()[0] for line in lines if "*" in line] == ["5"]
    assert " ".join(lines[8:]) == found.reason
    assert max(map(len, lines)) <= 80
    assert not {"seconds", "distances"} & set(lines[0].split())
    assert repr(found) == "Sweep(recommended=5, confidence='high', tried=2 to 7)"


def test_frame(found):
    frame = found.to_frame()
    assert list(frame.index) == [2, 3, 4, 5, 6, 7]
    assert_all_finite(frame.to_numpy())
    assert frame.loc[5, "silhouette"] == found[5].silhouette


def test_picture(found, tmp_path):
    axes = found.plot()
    assert axes.shape == (2, 2)
    figure = axes[0, 0].figure
    assert "K = 5 is recommended" in figure.get_suptitle()
    np.testing.assert_allclose(axes[0, 0].lines[1].get_ydata(), [row.objective for row in found.rows])
    figure.savefig(tmp_path / "sweep.png")
    mpl.pyplot.close(figure)
    own = mpl.figure.Figure().subplots(1, 4)
    assert found.plot(own)[1, 1] is own[3]
    with pytest.raises(ValueError, match="four Axes"):
        found.plot(own[0])


@pytest.mark.parametrize("valley", [0.4, 3.7])
def test_the_density_panel_says_where_it_is_cut(found, valley):
    rows = (*found.rows[:-1], dataclasses.replace(found.rows[-1], valley=valley))
    border = dataclasses.replace(found, rows=rows).plot(mpl.figure.Figure().subplots(1, 4))[1, 1]
    texts = [text.get_text() for text in border.texts]
    assert texts == (["▲ above 2: the axis is cut there"] if valley > 2 else [])
    arrows = [line.get_xdata().tolist() for line in border.lines if line.get_marker() == "^"]
    assert arrows == ([[7]] if valley > 2 else [])


def test_words_in_the_figure_have_no_box(found):
    """The report shows the figure on dark pages, with light words."""
    rows = tuple(dataclasses.replace(row, valley=3.7) for row in found.rows)
    axes = dataclasses.replace(found, rows=rows).plot(mpl.figure.Figure().subplots(1, 4)).ravel()
    legends = [ax.get_legend() for ax in axes if ax.get_legend() is not None]
    assert legends
    assert not any(legend.get_frame_on() for legend in legends)
    assert [text.get_bbox_patch() for ax in axes for text in ax.texts] == [None]


def test_a_table_of_many_clusters_and_large_numbers_fits_80_columns(found):
    wide = [dataclasses.replace(row, n_clusters=1000 + row.n_clusters, objective=1.2345e105) for row in found.rows]
    shown = str(dataclasses.replace(found, rows=tuple(wide), recommended=1005))
    assert max(map(len, shown.splitlines())) <= 80


def test_is_public():
    assert eulermeans.sweep is sweep
    assert eulermeans.Sweep.__name__ == "Sweep"

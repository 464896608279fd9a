"""Plots: they show what the model says, and they stay readable whatever the data is."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from conftest import search_a_sample
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.metrics import silhouette_samples
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from eulermeans import EulerMeans, Record, StochasticBackwardEuler, plot
from eulermeans.plot.fit_plots import final_objectives, stretches
from eulermeans.plot.fitted_model import as_fitted_model
from eulermeans.plot.model_data import as_model_data
from eulermeans.plot.plane_plot import spread_discs
from eulermeans.plot.style import PALETTE, cluster_colors, format_number, short_label

matplotlib = pytest.importorskip("matplotlib", reason="no matplotlib: it comes with eulermeans[plot]")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")
PathCollection = matplotlib.collections.PathCollection

NEEDS_X = {"plane", "silhouette"}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def scaled(iris):
    return make_pipeline(StandardScaler(), EulerMeans(3, n_init=4, random_state=0)).fit(iris)


@pytest.fixture(scope="module")
def crowd():
    """40000 points, of which the search reads a sample, and 200 clusters of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 5)) + 6 * rng.integers(0, 3, (40_000, 1))
    with pytest.MonkeyPatch.context() as patch:
        search_a_sample(patch)
        return X, EulerMeans(200, effort=0, max_iter=3, n_init=2, random_state=0).fit(X)


def draw(name, model, X, **options):
    function = getattr(plot, name)
    return function(model, X, **options) if name in NEEDS_X else function(model, **options)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


# What each plot must hold, computed from the model and the data without the code under test.


def check_objective(ax, model, X):
    assert ax.get_title(loc="left") == "Objective over time"
    history = getattr(model[-1], "history_", [])
    if not history:
        assert texts(ax) == ["the model has no history"]
        return
    *lines, final = ax.get_lines()
    drawn = [value for line in lines for value in line.get_ydata()]
    drawn += [value for dots in ax.collections for value in dots.get_offsets()[:, 1]]
    assert sorted(drawn) == sorted(record.objective for record in history)
    assert final.get_ydata()[0] == model[-1].objective_
    assert ax.get_ylabel() == "objective φ"
    assert ax.get_xlabel().endswith("seconds since the fit started")
    low, high = ax.get_ylim()
    assert np.mean([low <= record.objective <= high for record in history]) >= 0.9


def check_restarts(ax, model, X):
    assert ax.get_title(loc="left") == "Final objectives of the restarts"
    finals = getattr(model[-1], "restarts_", [])
    if len(finals) == 0:
        assert texts(ax) == ["the model has no restarts"]
    elif len(finals) == 1:
        assert texts(ax) == [f"only one restart, final objective {format_number(finals[0], 5)}"]
    else:
        (dots,) = [drawn for drawn in ax.collections if isinstance(drawn, PathCollection)]
        assert len(dots.get_offsets()) == len(finals)
        assert dots.get_offsets()[0, 0] == 0
        assert ax.get_xlabel().startswith("% above the best (")


def check_sizes(ax, model, X):
    counts = np.bincount(model.predict(X), minlength=model[-1].n_clusters)
    order = np.argsort(-counts, kind="stable")
    assert ax.get_title(loc="left") == "Cluster sizes"
    assert ax.get_ylabel() == "rows"
    assert ax.get_lines()[0].get_ydata()[0] == counts.mean()
    if len(counts) <= 40:
        assert [bar.get_height() for bar in ax.patches] == list(counts[order])
        assert tick_labels(ax.xaxis) == [str(cluster) for cluster in order]
        assert ax.get_ylim()[1] > counts.max()
    else:
        heights = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert set(heights) - {0} == set(counts) - {0}
        assert ax.get_xlabel() == f"{len(counts)} clusters, largest first"


def check_centers(ax, model, X):
    counts = np.bincount(model.predict(X), minlength=model[-1].n_clusters)
    rows = np.argsort(-counts, kind="stable")[:30]
    centers = model[-1].cluster_centers_
    deviation = np.sqrt(np.cov(centers.T, aweights=counts, ddof=0).reshape(X.shape[1], -1).diagonal())
    away = (centers - np.average(centers, axis=0, weights=counts)) / np.where(deviation > 1e-12, deviation, np.inf)
    np.testing.assert_allclose(ax.images[0].get_array(), away[rows], rtol=1e-6, atol=1e-6)
    assert tick_labels(ax.yaxis) == [str(cluster) for cluster in rows]
    assert len(texts(ax)) == len(rows) * X.shape[1]
    few = len(rows) == len(counts)
    expected = "Centers" if few else f"Centers of the 30 largest of {len(counts)} clusters"
    assert ax.get_title(loc="left") == expected


def check_plane(ax, model, X):
    assert ax.get_title(loc="left") == "Rows and centers"
    n_clusters = model[-1].n_clusters
    *rows, centers = [drawn.get_offsets() for drawn in ax.collections]
    assert len(centers) == n_clusters
    assert texts(ax) == ([str(cluster) for cluster in range(n_clusters)] if n_clusters <= 40 else [])
    if len(X) < 4000:
        assert len(rows[0]) == len(X)
        colors = matplotlib.colors.to_rgba_array(cluster_colors(model[-1].cluster_centers_))[model.predict(X)]
        np.testing.assert_allclose(ax.collections[0].get_facecolor()[:, :3], colors[:, :3])
    else:
        assert not rows
        assert ax.images[0].get_array()[..., 3].max() == pytest.approx(1)
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
    for offsets in (*rows, centers):
        assert np.all((low < offsets) & (offsets < high))


def check_silhouette(ax, model, X):
    points = model[:-1].transform(X)[:3000] if len(X) <= 3000 else None
    labels = model.predict(X)
    n_found = len(np.unique(labels))
    if not 1 < n_found < len(X):
        assert texts(ax) == ["needs two or more clusters, and fewer clusters than rows"]
        return
    if points is None:
        assert ax.get_title(loc="left").startswith("Silhouettes of 3,000 rows, mean ")
    else:
        values = silhouette_samples(points, labels)
        assert ax.get_lines()[0].get_xdata()[0] == pytest.approx(values.mean())
        ends = np.concatenate([drawn.get_paths()[0].vertices[:, 0] for drawn in ax.collections])
        assert {round(value, 9) for value in values} <= {round(end, 9) for end in ends}
        assert [drawn.get_facecolor().shape for drawn in ax.collections] == [(1, 4)] * n_found
    assert ax.get_xlabel() == "silhouette (below 0: closer to another cluster)"
    assert ax.get_xlim()[1] == 1


CHECKS = {
    "objective": check_objective,
    "restarts": check_restarts,
    "sizes": check_sizes,
    "centers": check_centers,
    "plane": check_plane,
    "silhouette": check_silhouette,
}


def check(name, ax, model, X):
    """The plot can be rendered, its limits are finite, and it holds what it should."""
    assert isinstance(ax, matplotlib.axes.Axes)
    ax.figure.canvas.draw()
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()
    steps = model if hasattr(model, "steps") else make_pipeline(FunctionTransformer(), model)
    CHECKS[name](ax, steps, np.asarray(X))


# All of them


@pytest.mark.parametrize("name", plot.__all__)
def test_each_needs_only_the_model_and_the_data(name, iris):
    model = EulerMeans(3, n_init=4, random_state=0).fit(iris.to_numpy())
    check(name, draw(name, model, iris.to_numpy()), model, iris)


@pytest.mark.parametrize("name", plot.__all__)
def test_each_draws_into_the_axes_given(name, scaled, iris):
    figure = matplotlib.figure.Figure()
    ax = figure.subplots()
    assert draw(name, scaled, iris, ax=ax) is ax
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("name", plot.__all__)
@pytest.mark.parametrize(
    "estimator", [KMeans(3, n_init=1, random_state=0), StochasticBackwardEuler(3, n_outer=5, random_state=0)]
)
def test_each_takes_other_estimators_with_centers(name, estimator, blobs):
    check(name, draw(name, estimator.fit(blobs), blobs), estimator, blobs)


@pytest.mark.parametrize("name", plot.__all__)
def test_very_many_clusters_need_no_legend_and_few_labels(name, crowd):
    X, model = crowd
    ax = draw(name, model, X)
    check(name, ax, model, X)
    if name not in ("objective", "centers"):
        assert ax.get_legend() is None
    if name != "centers":  # a table of numbers
        assert len(texts(ax)) <= 3
        assert len(ax.get_xticklabels()) + len(ax.get_yticklabels()) < 40


@pytest.mark.parametrize("name", plot.__all__)
@pytest.mark.parametrize("n_clusters", [1, 3])
@pytest.mark.parametrize(
    "X", [np.zeros((5, 3)), np.arange(12.0).reshape(12, 1), np.eye(3)], ids=["constant", "one feature", "few rows"]
)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_poor_data_can_be_drawn(name, X, n_clusters):
    model = EulerMeans(n_clusters, random_state=0).fit(X)
    check(name, draw(name, model, X), model, X)


def test_names_from_the_data_are_not_read_as_formulas(iris):
    names = ["$x_{$", "price in $ or $ \\frac", "two\n\tlines", "x" * 500]
    frame = iris.set_axis(names, axis=1)
    ax = plot.centers(EulerMeans(2, random_state=0).fit(frame))
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels[0] == r"\$x_{\$"
    assert labels[2] == "two lines"
    assert len(labels[3]) < 30
    ax.figure.canvas.draw()  # raises where a label is read as a formula that is wrong


def test_what_is_not_a_model_is_refused(blobs):
    with pytest.raises(NotFittedError, match="call fit before"):
        plot.sizes(EulerMeans(3))
    with pytest.raises(TypeError, match="a str is not a model"):
        plot.sizes("model")


def test_matplotlib_is_imported_when_something_is_drawn_and_not_before():
    code = """
import sys
import eulermeans.plot
assert "matplotlib" not in sys.modules and "jinja2" not in sys.modules
sys.modules["matplotlib"] = None  # as if it were not installed
try:
    eulermeans.plot.sizes(eulermeans.EulerMeans(2).fit([[0.0], [1.0]]))
except ImportError as error:
    assert "eulermeans[plot]" in str(error), error
else:
    raise AssertionError("drawn without matplotlib")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# Objective


def test_the_objective_is_that_of_the_history(crowd):
    _, model = crowd
    ax = plot.objective(model)
    exact = np.concatenate([line.get_ydata() for line in ax.get_lines()[:-1]])  # the last is the end
    np.testing.assert_array_equal(exact, [r.objective for r in model.history_ if r.phase == "polish"])
    for dots, phase in zip(ax.collections, ("search", "descend"), strict=True):  # estimates
        np.testing.assert_array_equal(
            dots.get_offsets()[:, 1], [r.objective for r in model.history_ if r.phase == phase]
        )
        assert len(dots.get_facecolor()) == 0  # hollow
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words[0].startswith("search: ")
    assert words[0].endswith("estimated on a sample")
    assert words[1].endswith("estimated on mini-batches")
    assert words[2] == "polish: 3 steps, exact"
    assert ax.get_legend().get_title().get_text().endswith("exact")


def test_a_search_of_a_larger_sample_is_told_from_that_of_all_rows():
    def searched(n_steps):
        return [Record("search", step + 1, 1.0, False, None, 0.1, 10) for step in range(n_steps)]

    polished = [Record("polish", 1, 1.0, True, None, 0.2, 10)]
    model = EulerMeans(2)
    model.history_ = searched(3) + searched(2) + polished
    bases = [(stretch.phase, stretch.basis) for stretch in stretches(model)]
    assert bases == [("search", "a sample"), ("search", "all rows"), ("polish", "all rows")]
    model.history_ = searched(3) + polished
    assert [stretch.basis for stretch in stretches(model)] == ["all rows", "all rows"]


def test_steps_of_the_papers_algorithm_are_estimates_unless_they_read_all_points(blobs):
    on_batches = StochasticBackwardEuler(3, n_outer=4, batch_size=50, random_state=0).fit(blobs)
    assert [stretch.basis for stretch in stretches(on_batches)] == ["mini-batches"]
    on_all = StochasticBackwardEuler(3, n_outer=4, batch_size=None, random_state=0).fit(blobs)
    assert [stretch.basis for stretch in stretches(on_all)] == ["all rows"]


def test_a_model_without_a_history_says_so(blobs):
    ax = plot.objective(KMeans(3, n_init=1, random_state=0).fit(blobs))
    assert texts(ax) == ["the model has no history"]


# Restarts


def test_restarts_are_compared_on_the_same_points(crowd):
    _, model = crowd
    ended = final_objectives(model)
    on_sample = [record.objective for record in model.history_ if record.phase == "search"][-1]
    assert len(ended) == 2
    assert on_sample in ended
    assert model.objective_ not in ended


def test_restarts_on_all_data_are_taken_as_they_are(scaled):
    model = scaled[-1]
    np.testing.assert_array_equal(final_objectives(model), np.sort(model.restarts_))


def test_few_restarts_are_dots_and_many_a_histogram(plane):
    few = EulerMeans(6, n_init=5, effort=0, random_state=0).fit(plane)
    dots = plot.restarts(few).collections[-1].get_offsets()
    np.testing.assert_allclose(dots[:, 0], 100 * (np.sort(few.restarts_) / few.restarts_.min() - 1))
    many = EulerMeans(6, n_init=20, effort=0, random_state=0).fit(plane)
    assert sum(bar.get_height() for bar in plot.restarts(many).patches) == 20


def test_differences_of_no_importance_look_like_none(scaled):
    low, high = plot.restarts(scaled).get_xlim()
    assert high - low >= 0.1  # per cent


# Numbers in the plane


@pytest.mark.parametrize("n_discs", [2, 12, 40])
def test_numbers_of_centers_do_not_overlap(n_discs):
    places = np.random.default_rng(0).normal(100, 15, (n_discs, 2))
    places[1] = places[0]
    moved = spread_discs(places, np.array([300.0, 200.0]), 14.0)
    distances = np.hypot(*(moved[:, None] - moved).T) + 1e9 * np.eye(n_discs)
    assert distances.min() > 14 * 0.97
    assert np.all((moved >= 7 - 1e-9) & (moved <= np.array([293, 193]) + 1e-9))
    apart = np.column_stack([np.arange(5) * 50.0 + 20, np.full(5, 50.0)])
    np.testing.assert_array_equal(spread_discs(apart, np.array([300.0, 200.0]), 14.0), apart)


# Sizes


def test_sizes_are_bars_in_order(scaled, iris):
    bars = plot.sizes(scaled).patches
    assert [bar.get_height() for bar in bars] == sorted(np.bincount(scaled[-1].labels_), reverse=True)
    half = [bar.get_height() for bar in plot.sizes(scaled, iris[::2]).patches]
    assert sum(half) == 75


def test_sizes_without_labels_ask_for_the_data(blobs):
    model = EulerMeans(3, random_state=0).fit(blobs)
    del model.labels_
    by_weights = [bar.get_height() for bar in plot.sizes(model).patches]
    assert by_weights == sorted(model.cluster_weights_, reverse=True)
    del model.cluster_weights_
    with pytest.raises(ValueError, match="give the data as X"):
        plot.sizes(model)
    assert sum(bar.get_height() for bar in plot.sizes(model, blobs).patches) == len(blobs)


# Centers


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()], ids=lambda scaler: type(scaler).__name__)
def test_centers_are_in_the_units_of_the_data(scaler, iris):
    model = make_pipeline(scaler, EulerMeans(3, random_state=0)).fit(iris)
    ax = plot.centers(model)
    labels = model.predict(iris)
    order = np.argsort(-np.bincount(labels), kind="stable")
    means = np.array([iris[labels == cluster].mean() for cluster in order])
    np.testing.assert_allclose(np.array(texts(ax), dtype=float).reshape(3, 4), means, rtol=5e-3)
    assert [label.get_text() for label in ax.get_xticklabels()] == list(iris.columns)


def test_a_pair_of_scaler_and_estimator_is_a_pipeline(scaled, iris):
    scaler, estimator = scaled[0], scaled[1]
    assert texts(plot.centers((scaler, estimator))) == texts(plot.centers(scaled))


def test_where_scaling_cannot_be_undone_centers_stay_scaled(blobs):
    from sklearn.preprocessing import Normalizer

    model = make_pipeline(Normalizer(), EulerMeans(3, random_state=0)).fit(blobs + 30)
    largest = max(abs(float(text)) for text in texts(plot.centers(model)))
    assert largest <= 1


def test_images_are_the_centers():
    X = np.random.default_rng(0).uniform(size=(60, 12))
    model = EulerMeans(5, random_state=0).fit(X)
    ax = plot.centers(model, image_shape=(4, 3))
    order = [int(text) for text in texts(ax)]
    for image, cluster in zip(ax.images, order, strict=True):
        np.testing.assert_array_equal(image.get_array(), model.cluster_centers_[cluster].reshape(4, 3))
    colored = plot.centers(model, image_shape=(2, 2, 3))
    assert colored.images[0].get_array().shape == (2, 2, 3)
    with pytest.raises(ValueError, match=r"image_shape=\(5, 5\) does not fit 12 features"):
        plot.centers(model, image_shape=(5, 5))


def test_many_features_without_names_are_lines():
    X = np.random.default_rng(0).uniform(size=(60, 100))
    model = EulerMeans(3, random_state=0).fit(X)
    drawn = {tuple(line.get_ydata()) for line in plot.centers(model).get_lines()}
    assert drawn == {tuple(center) for center in model.cluster_centers_}


def test_of_very_many_features_those_are_shown_in_which_centers_differ():
    rng = np.random.default_rng(0)
    X = rng.normal(10, 0.1, size=(60, 200))
    X[:30, 150] += 20
    model = EulerMeans(2, random_state=0).fit(X)
    names = [f"n{i}" for i in range(200)]
    labels = [label.get_text() for label in plot.centers(model, feature_names=names).get_xticklabels()]
    assert "n150" in labels
    assert len(labels) == 30


def test_bad_options_of_centers_are_refused(scaled):
    with pytest.raises(ValueError, match="kind='pie' is not known"):
        plot.centers(scaled, kind="pie")
    with pytest.raises(ValueError, match="2 feature_names were given for 4 features"):
        plot.centers(scaled, feature_names=["a", "b"])


# Plane


def test_two_features_are_shown_as_they_are(plane):
    model = make_pipeline(StandardScaler(), EulerMeans(4, random_state=0)).fit(plane[:3000])
    ax = plot.plane(model, plane[:3000])
    rows, centers = ax.collections[0].get_offsets(), ax.collections[1].get_offsets()
    np.testing.assert_allclose(rows, plane[:3000], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(centers, model[0].inverse_transform(model[1].cluster_centers_))
    assert texts(ax) == ["0", "1", "2", "3"]


def test_more_features_are_projected_to_the_principal_components(scaled, iris):
    offsets = plot.plane(scaled, iris).collections[0].get_offsets()
    expected = PCA(2).fit_transform(scaled[:-1].transform(iris))
    np.testing.assert_allclose(np.abs(offsets), np.abs(expected), atol=1e-8)


def test_of_many_rows_the_density_is_shown(crowd):
    X, model = crowd
    ax = plot.plane(model, X)
    image = ax.images[0].get_array()
    assert image.shape[2] == 4
    assert 0.05 < np.mean(image[..., 3] > 0) < 0.95
    assert len(ax.collections) == 1  # the centers
    assert len(ax.collections[0].get_offsets()) == 200


def test_sparse_rows_are_projected_as_dense_ones_are(blobs):
    model = EulerMeans(5, random_state=0).fit(blobs)
    dense = plot.plane(model, blobs).collections[0].get_offsets()
    sparse = plot.plane(model, csr_array(blobs)).collections[0].get_offsets()
    np.testing.assert_allclose(np.abs(sparse), np.abs(dense), atol=1e-6)


# Silhouette


def test_silhouettes_are_those_of_scikit_learn(scaled, iris):
    title = plot.silhouette(scaled, iris).get_title(loc="left")
    expected = silhouette_samples(scaled[:-1].transform(iris), scaled.predict(iris)).mean()
    assert title == f"Silhouettes of 150 rows, mean {expected:.2f}"


def test_silhouettes_are_of_a_sample(crowd):
    X, model = crowd
    assert "Silhouettes of 500 rows" in plot.silhouette(model, X, sample_size=500).get_title(loc="left")


# Style


def test_neighbors_have_different_colors():
    side = np.arange(6.0)
    centers = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    colors = cluster_colors(centers)
    assert set(colors) == set(PALETTE)
    for place, color in zip(centers, colors, strict=True):
        beside = np.abs(centers - place).sum(axis=1) == 1
        assert color not in {colors[other] for other in np.flatnonzero(beside)}


def test_few_clusters_have_a_color_each():
    assert len(set(cluster_colors(np.eye(8)))) == 8


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12345, "12,345"),
        (0.123456, "0.1235"),
        (-0.5, "-0.5"),
        (99.99, "99.99"),
        (1234.5678, "1,235"),
        (1.23e-9, "1.23e-09"),
        (3e15, "3.00e+15"),
        (float("nan"), "–"),
        (0.0999999, "0.1"),
    ],
)
def test_numbers_are_written_for_people(value, text):
    assert format_number(value) == text


def test_long_names_are_cut():
    assert short_label("x" * 100) == "x" * 23 + "…"
    assert short_label("a\x00\nb") == "a b"


def test_a_pipeline_is_taken_apart(scaled, iris):
    parts = as_fitted_model(scaled)
    assert parts.feature_names == list(iris.columns)
    assert parts.n_features == 4
    np.testing.assert_allclose(parts.inverse_transform(parts.transform(iris)), iris)


def test_rows_may_be_in_a_file(scaled, iris, tmp_path):
    np.save(tmp_path / "iris.npy", iris.to_numpy())
    assert sum(bar.get_height() for bar in plot.sizes(scaled, tmp_path / "iris.npy").patches) == 150
    offsets = plot.plane(scaled, tmp_path / "iris.npy").collections[0].get_offsets()
    expected = plot.plane(scaled, iris).collections[0].get_offsets()
    order = [np.lexsort(np.abs(points).round(9).T) for points in (offsets, expected)]
    np.testing.assert_allclose(np.abs(offsets[order[0]]), np.abs(expected[order[1]]), atol=1e-8)
    assert "150 rows" in plot.silhouette(scaled, tmp_path / "iris.npy").get_title(loc="left")


def test_a_stream_of_unknown_length_is_sampled_uniformly():
    X = np.arange(40_000.0).reshape(-1, 2)
    model = EulerMeans(2, random_state=0).fit(X)
    data = as_model_data(as_fitted_model(model), lambda: iter(np.array_split(X, 9)))
    points = data.sample(1000, np.random.default_rng(0))
    assert 500 <= len(points) <= 1000
    assert len(np.unique(points[:, 0])) == len(points)
    assert set(points[:, 0]) <= set(X[:, 0])
    # The mean of 500 rows has a standard error of 11547 / sqrt(500) = 516.
    assert abs(points[:, 0].mean() - X[:, 0].mean()) < 5 * 516


def test_a_stream_takes_memory_for_a_block_only():
    batch = np.random.default_rng(0).standard_normal((50_000, 10))  # 4 MB
    model = EulerMeans(3, effort=0, random_state=0).fit(batch)
    data = as_model_data(as_fitted_model(model), lambda: (batch.copy() for _ in range(40)))
    tracemalloc.start()
    try:
        counts = data.counts()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(counts, 40 * np.bincount(model.labels_))
    assert most < 40 << 20  # of 160 MB


def test_a_frame_goes_through_the_pipeline_as_a_frame(iris):
    columns = make_column_transformer(
        (StandardScaler(), list(iris.columns[:2])), (MinMaxScaler(), iris.columns[2:])
    )
    model = make_pipeline(columns, EulerMeans(3, random_state=0)).fit(iris)
    heights = [bar.get_height() for bar in plot.sizes(model, iris).patches]
    assert heights == sorted(np.bincount(model.predict(iris)), reverse=True)
    assert len(plot.plane(model, iris).collections[0].get_offsets()) == 150


def test_two_components_of_more_features_are_projected(iris):
    model = make_pipeline(PCA(2), EulerMeans(3, random_state=0)).fit(iris)
    ax = plot.plane(model, iris)
    assert ax.get_xlabel().startswith("first principal component")
    np.testing.assert_allclose(
        np.abs(ax.collections[0].get_offsets()), np.abs(model[0].transform(iris)), atol=1e-8
    )

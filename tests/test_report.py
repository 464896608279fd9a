"""The report: its numbers and warnings are right, and nothing in the data is taken for markup."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.metrics import silhouette_samples
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import eulermeans
from eulermeans import EulerMeans, StochasticBackwardEuler, report
from eulermeans.plot import model_data
from eulermeans.sources import Chunk, Source

pytest.importorskip("matplotlib", reason="no matplotlib: it comes with eulermeans[plot]")
pytest.importorskip("jinja2", reason="no jinja2: it comes with eulermeans[plot]")

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def scaled(iris):
    return make_pipeline(StandardScaler(), EulerMeans(3, n_init=3, random_state=0)).fit(iris)


@pytest.fixture(scope="module")
def page(scaled, iris, tmp_path_factory):
    """The whole report on iris."""
    command = "eulermeans fit iris.csv -k 3"
    return written(tmp_path_factory.mktemp("page"), scaled, iris, name="iris.csv", command=command)


@dataclass
class Pieces(Source):
    """A source of chunks of uneven lengths."""

    points: np.ndarray
    weights: np.ndarray | None = None
    name: str = "pieces"
    n_points: int | None = None
    feature_names: list[str] | None = None
    at_hand: bool = False

    def __post_init__(self):
        self.n_features, self.dtype, self.weighted = (
            self.points.shape[1],
            self.points.dtype,
            self.weights is not None,
        )

    def chunks(self, most_bytes: int = 0):
        for first, last in zip([0, 1, 70, 71], [1, 70, 71, len(self.points)], strict=True):
            weights = None if self.weights is None else self.weights[first:last]
            yield Chunk((self.points[first:last],), self.dtype, self.name, first, weights)


class Elements(HTMLParser):
    """The elements of a page and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""  # without scripts and styles
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.text += data


def headlines(description):
    return [finding.headline for finding in description.findings]


def written(tmp_path, model, data, **options):
    return report.write(model, data, tmp_path / "report.html", **options).read_text(encoding="utf-8")


# Numbers


def same(one, other):
    """Whether two descriptions have the same numbers."""
    np.testing.assert_allclose(one.counts, other.counts)
    np.testing.assert_allclose(one.means, other.means, rtol=1e-9)
    assert one.objective == pytest.approx(other.objective)
    assert one.single == pytest.approx(other.single)
    for a, b in zip(one.features, other.features, strict=True):
        np.testing.assert_allclose([a.mean, a.deviation, a.low, a.high], [b.mean, b.deviation, b.low, b.high])
        assert a.separation == pytest.approx(b.separation, abs=1e-9)
    for a, b in zip(one.clusters, other.clusters, strict=True):
        assert (a.number, a.size, [row.id for row in a.nearest]) == (
            b.number,
            b.size,
            [row.id for row in b.nearest],
        )
        assert a.spread == pytest.approx(b.spread)


def test_numbers_are_those_of_the_definition(scaled, iris):
    description = report.describe(scaled, iris)
    X, labels = iris.to_numpy(), scaled.predict(iris)
    points = StandardScaler().fit_transform(X)
    distances = scaled.transform(iris)
    for cluster in description.clusters:
        own = labels == cluster.number
        assert cluster.size == own.sum()
        assert cluster.share == pytest.approx(own.mean())
        np.testing.assert_allclose(description.means[cluster.number], X[own].mean(axis=0))
        assert cluster.spread == pytest.approx(np.sqrt(np.mean(distances[own, cluster.number] ** 2)))
        nearest = np.flatnonzero(own)[np.argsort(distances[own, cluster.number], kind="stable")[:3]]
        assert [row.id for row in cluster.nearest] == [f"row {row}" for row in nearest]
        away = np.abs((X[own].mean(axis=0) - X.mean(axis=0)) / X.std(axis=0))
        assert [trait.name for trait in cluster.traits] == list(iris.columns[np.argsort(-away)[:3]])
        assert cluster.traits[0].mean == pytest.approx(X[own, np.argmax(away)].mean())
        assert cluster.traits[0].overall == pytest.approx(X[:, np.argmax(away)].mean())
    for column, feature in enumerate(description.features):
        values = X[:, column]
        expected = [values.mean(), values.std(), values.min(), values.max()]
        np.testing.assert_allclose([feature.mean, feature.deviation, feature.low, feature.high], expected)
        within = sum(values[labels == cluster].var() * np.mean(labels == cluster) for cluster in range(3))
        assert feature.separation == pytest.approx(1 - within / values.var())
    assert description.objective == pytest.approx(scaled[-1].objective_)
    assert description.explained == pytest.approx(1 - scaled[-1].inertia_ / np.sum(points**2))
    assert description.silhouette == pytest.approx(silhouette_samples(points, labels).mean())


@pytest.mark.parametrize("form", ["frame", "float32", "sparse", "source", "small blocks", "list"])
def test_all_forms_of_data_give_the_same_numbers(form, iris, monkeypatch):
    X = iris.to_numpy()
    if form == "float32":
        X = X.astype(np.float32).astype(np.float64)  # numbers that both dtypes hold
    model = EulerMeans(3, random_state=0).fit(X)
    expected = report.describe(model, X)
    assert expected.sample.points.dtype == np.float64
    if form == "small blocks":
        monkeypatch.setattr(model_data, "BLOCK_VALUES", 30)
    data = {
        "frame": iris,
        "float32": X.astype(np.float32),
        "sparse": csr_array(X),
        "source": Pieces(X),
        "small blocks": X,
        "list": X.tolist(),
    }[form]
    found = report.describe(model, data)
    assert found.sample.points.dtype == (np.float32 if form == "float32" else np.float64)
    same(found, expected)


def test_distances_far_from_the_origin_keep_their_digits(blobs):
    X = (blobs + 3000).astype(np.float32)
    model = EulerMeans(5, random_state=0).fit(X)
    description = report.describe(model, X)
    distances = cdist(X.astype(np.float64), model.cluster_centers_.astype(np.float64))
    for cluster in description.clusters:
        own = distances[model.labels_ == cluster.number, cluster.number]
        assert cluster.spread == pytest.approx(np.sqrt(np.mean(own**2)), rel=1e-4)
        np.testing.assert_allclose([row.distance for row in cluster.nearest], np.sort(own)[:3], rtol=0.01)


def test_weights_count_as_repetitions(blobs):
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 4, len(blobs))
    model = EulerMeans(5, random_state=0).fit(blobs)
    repeated = report.describe(model, np.repeat(blobs, weights, axis=0))
    for weighted in (
        report.describe(model, blobs, sample_weight=weights),
        report.describe(model, Pieces(blobs, weights.astype(float))),
        report.describe(model, Pieces(blobs), sample_weight=weights),
    ):
        np.testing.assert_allclose(weighted.counts, repeated.counts)
        np.testing.assert_allclose(weighted.means, repeated.means)
        assert weighted.objective == pytest.approx(repeated.objective)
        assert weighted.features[0].deviation == pytest.approx(repeated.features[0].deviation)


def test_a_sample_is_uniform_and_as_large_as_it_may(monkeypatch):
    from eulermeans.report import measurements

    monkeypatch.setattr(measurements, "SAMPLE_ROWS", 2000)
    monkeypatch.setattr(model_data, "BLOCK_VALUES", 700)
    X = np.arange(20_000.0).reshape(-1, 1)
    model = EulerMeans(2, random_state=0).fit(X)
    rows = report.describe(model, X).sample.points.ravel()
    assert len(set(rows)) == 2000
    # The mean of a sample of 2000 has a standard error of 129; that of its first 500 of 258.
    assert abs(rows.mean() - 10_000) < 5 * 129
    assert abs(rows[:500].mean() - 10_000) < 5 * 258


def test_centers_of_scaled_data_are_in_the_units_of_the_data(iris):
    model = make_pipeline(MinMaxScaler(), EulerMeans(3, random_state=0)).fit(iris)
    description = report.describe(model, iris)
    np.testing.assert_allclose(
        description.means, model[0].inverse_transform(model[-1].cluster_centers_), rtol=1e-6
    )


def test_columns_are_chosen_by_the_names_that_the_model_knows(scaled, iris):
    more = iris.assign(species="setosa")[["species", *iris.columns[::-1]]]
    same(report.describe(scaled, more), report.describe(scaled, iris))
    with pytest.raises(ValueError, match="has no column 'petal width \\(cm\\)'"):
        report.describe(scaled, iris.drop(columns="petal width (cm)"))


def test_a_pipeline_may_make_numbers_of_words():
    frame = pd.DataFrame({"kind": ["a", "b"] * 20, "size": np.arange(40.0)})
    columns = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), (StandardScaler(), ["size"]))
    model = make_pipeline(columns, EulerMeans(2, random_state=0)).fit(frame)
    names = [feature.name for feature in report.describe(model, frame).features]
    assert names == ["onehotencoder__kind_a", "onehotencoder__kind_b", "standardscaler__size"]


def test_rows_are_called_by_their_ids(scaled, iris):
    ids = [f"flower {number}" for number in range(150)]
    by_argument = report.describe(scaled, iris, ids=ids).clusters
    by_index = report.describe(scaled, iris.set_axis(ids)).clusters
    numbers = report.describe(scaled, iris).clusters
    for a, b, c in zip(by_argument, by_index, numbers, strict=True):
        assert [row.id for row in a.nearest] == [row.id for row in b.nearest]
        assert [row.id for row in a.nearest] == [row.id.replace("row", "flower") for row in c.nearest]


def test_ids_may_come_in_blocks(scaled, iris):
    ids = np.array([f"flower {number}" for number in range(150)])
    blocks = iter([ids[:1], ids[1:90].tolist(), [], ids[90:]])
    expected = report.describe(scaled, iris, ids=ids)
    assert report.describe(scaled, iris, ids=blocks).clusters == expected.clusters


def test_files_and_frames_of_all_kinds_have_the_same_report(scaled, iris, tmp_path):
    polars = pytest.importorskip("polars", reason="no polars")
    pytest.importorskip("pyarrow", reason="no pyarrow: it comes with eulermeans[io]")
    expected = report.describe(scaled, iris)
    more = iris.assign(species="setosa")[["species", *iris.columns[::-1]]]
    more.to_csv(tmp_path / "iris.csv", index=False)
    more.to_parquet(tmp_path / "iris.parquet")
    np.save(tmp_path / "iris.npy", iris.to_numpy())
    for data in (polars.DataFrame(dict(more)), *sorted(tmp_path.iterdir()), lambda: iter([iris.to_numpy()])):
        same(report.describe(scaled, data), expected)
    assert report.describe(scaled, tmp_path / "iris.csv").source == str(tmp_path / "iris.csv")


def test_models_by_the_cosine_are_measured_by_it():
    rng = np.random.default_rng(0)
    directions = np.repeat(np.eye(3), 100, axis=0) + 0.1 * rng.standard_normal((300, 3))
    X = directions * rng.uniform(1, 50, (300, 1))
    model = EulerMeans(3, metric="cosine", random_state=0).fit(X)
    description = report.describe(model, X)
    np.testing.assert_array_equal(description.counts, np.bincount(model.labels_))
    assert description.objective == pytest.approx(model.objective_)
    assert description.silhouette == pytest.approx(silhouette_samples(X, model.labels_, metric="cosine").mean())
    assert headlines(description) == []
    np.testing.assert_allclose(description.means[0], X[model.labels_ == 0].mean(axis=0))


def test_a_loaded_model_has_the_same_report(scaled, iris, tmp_path):
    path = tmp_path / "model.eulermeans"
    eulermeans.save(scaled, path)
    same(report.describe(eulermeans.load(path), iris), report.describe(scaled, iris))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": np.zeros((5, 2))}, "the array has 2 features, but the model was fitted to 4"),
        ({"data": np.zeros((0, 4))}, "the array has no rows"),
        ({"data": np.zeros(4)}, "the data has 1 axes"),
        ({"data": np.array([[1.0] * 4, [np.nan] * 4])}, r"row 1 \(from 0\) of the array has NaN in column 0"),
        ({"data": "nowhere.csv"}, "no such file: nowhere.csv"),
        ({"feature_names": ["a"]}, "1 feature_names were given for 4 features"),
        ({"ids": ["a"]}, r"ids has shape \(1,\); expected \(150,\)"),
        ({"sample_weight": np.zeros(150)}, "every row has weight zero"),
        ({"image_shape": (3, 3), "feature_names": list("abcd")}, r"image_shape=\(3, 3\) does not fit 4 features"),
    ],
)
def test_bad_input_leaves_the_old_file(options, message, scaled, iris, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        report.write(scaled, options.pop("data", iris), path, **options)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_values_that_are_not_finite_are_refused_in_sparse_rows(blobs):
    model = EulerMeans(5, random_state=0).fit(blobs)
    with pytest.raises(ValueError, match="the sparse matrix has missing or infinite values"):
        report.describe(model, csr_array([[1.0, 0, 0], [np.inf, 0, 1]]))


# Findings


def gaussians(*means, n=300, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.permutation(np.concatenate([rng.normal(mean, scale, (n, len(mean))) for mean in means]))


def test_good_clusters_have_no_findings():
    X = gaussians((0, 0), (9, 0), (0, 9))
    assert headlines(report.describe(EulerMeans(3, random_state=0).fit(X), X)) == []


def test_overlapping_clusters_are_found():
    X = gaussians((0, 0), (9, 0), (0, 9))
    description = report.describe(EulerMeans(4, random_state=0).fit(X), X)
    assert "2 of 4 clusters overlap" in headlines(description)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_empty_clusters_are_found():
    X = np.repeat(np.eye(3), 10, axis=0)
    assert "1 cluster without rows" in headlines(report.describe(EulerMeans(4, random_state=0).fit(X), X))


def test_tiny_clusters_are_found():
    X = np.concatenate([gaussians((0, 0), (9, 0)), [[200.0, 200.0]]])
    assert "1 tiny cluster" in headlines(report.describe(EulerMeans(3, random_state=0).fit(X), X))


def test_a_dominating_cluster_is_found():
    X = np.concatenate([gaussians((0, 0)), gaussians((30, 0), (0, 30), n=15)])
    found = headlines(report.describe(EulerMeans(3, random_state=0).fit(X), X))
    assert "One cluster has 90.9% of the rows" in found


def test_features_on_different_scales_are_found_unless_scaled():
    X = gaussians((0, 0, 0), (9, 0, 5), (0, 9, 5)) * [1, 1000, 1]
    plain = report.describe(EulerMeans(3, random_state=0).fit(X), X, feature_names=["a", "b", "c"])
    finding = next(f for f in plain.findings if "scales" in f.headline)
    assert finding.text.startswith("“b” has 100% of the variance, so the other 2 features hardly matter.")
    scaled = make_pipeline(StandardScaler(), EulerMeans(3, random_state=0)).fit(X)
    assert not any("scales" in headline for headline in headlines(report.describe(scaled, X)))


def test_a_fit_that_did_not_converge_is_found(plane):
    model = EulerMeans(20, effort=0, max_iter=1, init="random", random_state=0).fit(plane)
    assert "The fit did not converge" in headlines(report.describe(model, plane))


def test_other_data_are_found(scaled, iris):
    other = "This is not the data that the model was fitted to"
    assert other in headlines(report.describe(scaled, iris[:100]))
    assert other not in headlines(report.describe(scaled, iris))
    in_floats = EulerMeans(3, random_state=0).fit(iris.to_numpy(np.float32))
    assert other not in headlines(report.describe(in_floats, iris.to_numpy(np.float32)))


def test_restarts_that_differ_constant_features_and_weak_structure_are_notes(plane):
    X = np.column_stack([np.random.default_rng(0).standard_normal((4000, 12)), np.ones(4000)])
    model = EulerMeans(40, n_init=3, effort=0, init="random", max_iter=3, random_state=0).fit(X)
    description = report.describe(model, X)
    notes = [finding.headline for finding in description.findings if not finding.serious]
    assert "1 feature is constant" in notes
    assert any(headline.startswith("The mean silhouette is 0.0") for headline in notes)
    stuck = EulerMeans(12, n_init=5, effort=0, init="random", random_state=0).fit(plane)
    assert "The restarts found different solutions" in headlines(report.describe(stuck, plane))


# The page


def test_the_page_says_what_was_clustered_and_how(page, scaled):
    text = " ".join(Elements(page).text.split())
    assert (
        "150 rows with 4 features from iris.csv, scaled by StandardScaler, grouped into 3 clusters by EulerMeans."
        in text
    )
    assert "eulermeans fit iris.csv -k 3" in text
    assert "make_pipeline(StandardScaler(), EulerMeans(n_clusters=3, n_init=3, random_state=0))" in text
    assert str(scaled[-1].stop_reason_) in text
    assert page.count("<svg") == 6


def test_the_page_says_that_rows_have_weights_and_that_the_metric_is_the_cosine(tmp_path, blobs):
    X = blobs + 30
    model = EulerMeans(3, metric="cosine", random_state=0).fit(X)
    weights = np.where(np.arange(600) < 100, 0.5, 1.5)
    page = written(tmp_path, model, X, sample_weight=weights, ids=[f"point {row}" for row in range(600)])
    text = " ".join(Elements(page).text.split())
    assert (
        "600 rows with 3 features from the array, not scaled, grouped into 3 clusters by EulerMeans with" in text
    )
    low, high = np.sort(np.bincount(model.labels_, weights))[[0, -1]]
    assert low < high
    assert f"{low:g} to {high:g} of weight" in text
    assert "Spread is the root mean squared distance to the center, between unit vectors." in text
    assert "Total weight of each cluster, largest first." in text
    assert "Rows are numbered from 0." not in text
    assert f"total weight{weights.sum():g}" in text


def test_features_of_images_are_pixels(tmp_path):
    X = np.random.default_rng(0).uniform(size=(60, 12))
    page = written(tmp_path, EulerMeans(3, random_state=0).fit(X), X, image_shape=(4, 3))
    text = Elements(page).text
    assert "pixel 3, 2" in text
    assert "The mean of each cluster as an image" in text


def test_a_folder_that_is_not_there_is_noticed_before_the_work(scaled, iris, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        report.write(scaled, "nothing is read", tmp_path / "nowhere" / "report.html")


def test_the_python_that_is_shown_makes_the_same_clusters(scaled, iris):
    from eulermeans.report.reproduction_details import python_code

    names = {"X": iris}
    exec(python_code(report.describe(scaled, iris).model), names)
    np.testing.assert_array_equal(names["model"].predict(iris), scaled.predict(iris))


def test_a_fit_without_a_seed_cannot_be_reproduced(page, iris, tmp_path):
    assert "No seed was set" not in page
    assert "No seed was set" in written(tmp_path, EulerMeans(3).fit(iris), iris)


def test_everything_from_the_data_is_escaped(iris, tmp_path):
    names = [f"{EVIL}{column}" for column in "abcd"]
    frame = iris.set_axis(names, axis=1).set_axis([f'"><img src=x onerror=alert({row})>' for row in range(150)])
    model = make_pipeline(StandardScaler(), EulerMeans(3, random_state=0)).fit(frame)
    page = written(tmp_path, model, frame, title=f"</title>{EVIL}", command=f"</code>{EVIL}", name=f"{EVIL}.csv")
    elements = Elements(page)
    assert elements.tags.count("script") == 2  # the data and the code
    assert "img" not in elements.tags
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
    assert f"{EVIL}a" in elements.text
    assert f"{EVIL}.csv" in elements.text


@pytest.mark.parametrize("name", ["$x_{$", "線形\x00", 'id="a" #24292f url(#b)', "\ufffe\ud800", "{{ 7 * 7 }}"])
def test_odd_names_stand_as_they_are(name, iris, tmp_path):
    X = iris.to_numpy()
    page = written(tmp_path, EulerMeans(2, random_state=0).fit(X), X, feature_names=[name, "b", "c", "d"])
    elements = Elements(page)
    assert elements.tags.count("script") == 2  # the data and the code
    assert elements.tags.count("svg") == 5
    if name.isprintable():
        assert elements.text.count(name) >= 3  # in the clusters' and features' tables, and in a picture


def test_the_page_loads_nothing(page):
    elements = Elements(page)
    for name, value in elements.attributes:
        if name in ("src", "href"):
            assert value.startswith(("data:", "#")), value
    assert "default-src 'none'" in "".join(value or "" for _, value in elements.attributes)


def test_words_in_pictures_have_the_font_of_the_page(page):
    styles = [value for name, value in Elements(page).attributes if name == "style" and "font" in value]
    assert len(styles) > 50
    assert all("var(--font)" in style for style in styles)


def test_ids_of_pictures_do_not_clash(page):
    attributes = Elements(page).attributes
    ids = [value for name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for name, value in attributes:
        if name == "href" and value.startswith("#"):
            assert value[1:] in ids
        if name == "clip-path":
            assert value.removeprefix("url(#").removesuffix(")") in ids


def test_the_page_stays_small_however_large_the_model(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 2000)).astype(np.float32)
    model = KMeans(1000, init=X[:1000], n_init=1, max_iter=1).fit(X)
    names = [f"<&'\">{'&' * 300} {column}" for column in range(2000)]
    page = written(tmp_path, model, X, feature_names=names, ids=["<" * 500] * 1500)
    assert len(page.encode()) < 2_000_000
    assert "Only the 200 largest of 1,000 clusters are listed." in page
    assert "Only the 60 of 2,000 features that separate most are listed." in page


def test_the_page_stays_small_with_very_many_clusters_features_and_steps(tmp_path):
    X = np.random.default_rng(0).standard_normal((4000, 3))
    many = written(tmp_path, EulerMeans(1500, effort=0, polish=False, random_state=0).fit(X), X)
    assert len(many.encode()) < 1_000_000
    long = StochasticBackwardEuler(3, n_outer=3000, n_inner=1, random_state=0).fit(X)
    assert not any("converge" in headline for headline in headlines(report.describe(long, X)))
    assert len(written(tmp_path, long, X).encode()) < 500_000
    wide = np.random.default_rng(0).standard_normal((30, 5000))
    page = written(tmp_path, EulerMeans(2, random_state=0).fit(wide), wide)
    assert "The mean of each cluster in every feature." in page
    assert len(page.encode()) < 1_000_000


def test_the_page_stays_small_with_many_rows(tmp_path):
    X = gaussians((0, 0), (3, 3), n=150_000)
    page = written(tmp_path, EulerMeans(2, random_state=0).fit(X), X)
    assert len(page.encode()) < 500_000
    assert "A random sample of 20,000 of 300,000 rows, and the centers." in page


@pytest.mark.parametrize("X", [np.zeros((5, 3)), np.arange(12.0).reshape(12, 1), np.eye(3)], ids=len)
@pytest.mark.parametrize("n_clusters", [1, 3])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_poor_data_have_a_report(X, n_clusters, tmp_path):
    page = written(tmp_path, EulerMeans(n_clusters, random_state=0).fit(X), X)
    assert "nan" not in Elements(page).text.lower()


def test_the_same_report_is_written_twice(page, scaled, iris, tmp_path):
    command = "eulermeans fit iris.csv -k 3"
    assert written(tmp_path, scaled, iris, name="iris.csv", command=command) == page


def test_a_missing_package_is_named(tmp_path):
    code = """
import sys
sys.modules["jinja2"] = None  # as if it were not installed
from eulermeans import EulerMeans, StochasticBackwardEuler, report
try:
    report.write(EulerMeans(2).fit([[0.0], [1.0]]), "nothing is read", "report.html")
except ImportError as error:
    assert "eulermeans[plot]" in str(error), error
else:
    raise AssertionError("written without jinja2")
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []

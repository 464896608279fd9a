"""What the report says to help to decide: words, stability, columns to distrust, other K, files and images."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from html import unescape
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eulermeans
from eulermeans import EulerMeans, report
from eulermeans.report.cluster_sentences import AVERAGE, Averages, cluster_sentences, readable_name
from eulermeans.report.cluster_stability import best_overlaps
from eulermeans.report.csv_downloads import downloads
from eulermeans.report.k_comparison import alternatives, neighbor_sentences
from eulermeans.report.report_records import Feature
from eulermeans.report.reproduction_details import python_code

pytest.importorskip("matplotlib", reason="no matplotlib: it comes with eulermeans[plot]")
pytest.importorskip("jinja2", reason="no jinja2: it comes with eulermeans[plot]")
Image = pytest.importorskip("PIL.Image", reason="no pillow: it comes with matplotlib")


def feature(name, mean=0.0, deviation=1.0, low=-9.0, high=9.0):
    return Feature(name, mean, deviation, low, high, 0.5)


def sentence(means, *features):
    return cluster_sentences(Averages(features), np.array([means], dtype=float))[0]


def headlines(description):
    return [finding.headline for finding in description.findings]


def text_of(description, word):
    return next(finding.text for finding in description.findings if word in finding.headline)


@pytest.fixture(scope="module")
def customers():
    """Three kinds of customers."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], [300, 200, 100])
    rows = {
        "age": np.array([25, 40, 70])[kind] + 3 * rng.standard_normal(600),
        "tenure": np.array([5, 25, 120])[kind] + 4 * rng.standard_normal(600),
        "visits": np.array([20, 14, 2])[kind] + rng.standard_normal(600),
        "member": (kind == 2).astype(float),
    }
    return pd.DataFrame(rows).sample(frac=1, random_state=0, ignore_index=True)


@pytest.fixture(scope="module")
def segments(customers):
    return make_pipeline(StandardScaler(), EulerMeans(3, random_state=0)).fit(customers)


@pytest.fixture(scope="module")
def description(segments, customers):
    return report.describe(segments, customers)


@pytest.fixture(scope="module")
def other_k(segments, customers):
    return eulermeans.sweep(segments[:-1].transform(customers), "2:5", random_state=0)


# Words


def test_clusters_are_described_in_words(description):
    found = [cluster.sentence for cluster in description.clusters]  # the largest first
    assert found[0] == "Many visits, younger, short tenure"
    assert found[2] == "Almost all member, very long tenure, very few visits"
    assert len(set(found)) == 3


@pytest.mark.parametrize(
    ("name", "away", "expected"),
    [
        ("age", 1.0, "Older"),
        ("age", -2.0, "Much younger"),
        ("tenure", -1.0, "Short tenure"),
        ("visits", -1.0, "Few visits"),
        ("n_orders", 2.0, "Very many orders"),
        ("annual_income", 1.0, "High annual income"),
        ("petal length (cm)", -0.3, "Slightly low petal length"),
        ("feature 7", 1.0, "High feature 7"),
        ("scaler__basket", 1.0, "High basket"),
        ("x", 0.05, AVERAGE),
        ("<b>&", 1.0, "High <b>&"),
    ],
)
def test_the_words_fit_the_name_and_the_direction(name, away, expected):
    assert sentence([away], feature(name)) == expected


def test_names_with_the_same_word_share_it_and_weak_differences_are_left_out():
    features = [feature("a"), feature("b"), feature("c"), feature("d")]
    assert sentence([1.0, 0.9, -0.8, 0.1], *features) == "High a and b, low c"
    assert sentence([2.0, 0.3, 0.2, 0.1], *features) == "Very high a"


def test_yes_and_no_are_shares():
    flag = Feature("kind_b", 0.4, float(np.sqrt(0.24)), 0, 1, 0.5)
    assert flag.is_flag
    assert sentence([0.95], flag) == "95% kind b"
    assert sentence([0.0], flag) == "Almost no kind b"
    assert not Feature("share", 0.4, 0.1, 0, 1, 0.5).is_flag


def test_clusters_that_would_sound_the_same_name_more_features():
    features = [feature(name) for name in "abcde"]
    means = np.array([[2, 2, 2, 1.0, 0], [2, 2, 2, -1.0, 0]])
    one, other = cluster_sentences(Averages(features), means)
    assert one == "Very high a, b and c, high d"
    assert other == "Very high a, b and c, low d"


def test_images_are_brighter_or_darker_somewhere():
    features = [feature(f"pixel {place}") for place in range(36)]
    image = np.zeros((6, 6))
    image[:2, :2], image[4:, 4:] = 1, -1
    averages = Averages(features, (6, 6))
    assert cluster_sentences(averages, image.reshape(1, -1)) == [
        "Brighter at the top left, darker at the bottom right"
    ]
    assert cluster_sentences(averages, np.zeros((1, 36))) == [AVERAGE]


def test_names_are_readable_and_never_empty():
    assert readable_name("total_day_charge") == "total day charge"
    assert readable_name("___") == "___"
    assert readable_name("(cm)") == "(cm)"
    assert len(readable_name("x" * 500)) == 40


# Stability


def test_real_clusters_are_found_again_and_a_cloud_cut_in_parts_is_not(description):
    assert description.stability.overall > 0.95
    assert min(cluster.found_again for cluster in description.clusters) > 0.9
    assert not any("found again" in headline for headline in headlines(description))
    cloud = np.random.default_rng(0).standard_normal((800, 6))
    cut = report.describe(EulerMeans(12, random_state=0).fit(cloud), cloud)
    assert cut.stability.overall < 0.6
    assert any("not found again" in headline for headline in headlines(cut))


def test_overlaps_are_jaccard_indices():
    labels, others = np.array([0, 0, 0, 1, 1, 1], np.int32), np.array([0, 0, 1, 1, 1, 1], np.int32)
    np.testing.assert_allclose(best_overlaps(labels, others, 3), [2 / 3, 3 / 4, np.nan])


def test_one_cluster_and_few_rows_have_no_stability(customers):
    X = customers.to_numpy()
    assert report.describe(EulerMeans(1).fit(X), X).stability is None
    few = report.describe(EulerMeans(3, random_state=0).fit(X[:8]), X[:8])
    assert few.stability is None
    assert few.clusters[0].found_again is None


# Columns


def test_identifiers_are_found_however_they_are_ordered(customers):
    n_rows, rng = len(customers), np.random.default_rng(0)
    columns = {
        "running": np.arange(n_rows) + 5000,
        "shuffled": rng.permutation(n_rows),
        "customer_id": rng.choice(10**9, n_rows, replace=False),
        "income": rng.integers(20_000, 90_000, n_rows),  # whole numbers, most of them different
        "visits_rounded": rng.poisson(5, n_rows),
    }
    frame = customers.assign(**columns)
    model = make_pipeline(StandardScaler(), EulerMeans(3, random_state=0)).fit(frame)
    found = {feature.name for feature in report.describe(model, frame).features if feature.is_identifier}
    assert found == {"running", "shuffled", "customer_id"}


def test_advice_fits_the_column(customers):
    frame = customers.assign(order_no=np.arange(len(customers)) * 1000)
    description = report.describe(EulerMeans(3, random_state=0).fit(frame), frame)
    assert "“order_no” looks like an identifier" in headlines(description)
    assert "--drop order_no" in text_of(description, "identifier")
    assert "Leave it out" in text_of(description, "scales")
    spent = customers.assign(spent=np.random.default_rng(0).lognormal(5, 2.5, len(customers)))
    assert "take its logarithm first" in text_of(
        report.describe(EulerMeans(3, random_state=0).fit(spent), spent), "scales"
    )
    wide = customers.assign(income=np.random.default_rng(0).normal(0, 10_000, len(customers)))
    assert "--scale standard" in text_of(report.describe(EulerMeans(3, random_state=0).fit(wide), wide), "scales")


def test_the_tail_behind_a_dominating_cluster_is_named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"steady": rng.standard_normal(500), "sales": np.append(rng.random(497), [90.0, 95, 99])})
    description = report.describe(EulerMeans(2, random_state=0).fit(frame), frame)
    assert "A few values of “sales” are far above all others: take its logarithm" in text_of(
        description, "One cluster"
    )


def test_missing_values_are_counted_and_filled_as_the_model_does(customers):
    frame = customers.copy()
    frame.loc[:59, "age"], frame.loc[0, "tenure"] = np.nan, np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), EulerMeans(3, random_state=0)).fit(frame)
    description = report.describe(model, frame)
    assert [feature.n_missing for feature in description.features] == [60, 1, 0, 0]
    filled = frame.fillna(frame.mean()).to_numpy()
    labels = model.predict(frame)
    for cluster in range(3):
        np.testing.assert_allclose(description.means[cluster], filled[labels == cluster].mean(axis=0))
    assert np.isfinite(description.shown.rows).all()
    assert "SimpleImputer()," in python_code(description.model)  # its default, NaN, is not equal to itself
    assert "“age” has no value in 60 rows (10%) and “tenure” has no value in 1 row" in text_of(
        description, "missing"
    )
    frame.loc[:299, "age"] = np.nan
    model.fit(frame)
    assert next(f for f in report.describe(model, frame).findings if "missing" in f.headline).serious


# Other K


def test_other_k_share_the_rows_and_the_clusters_of_the_report_stay(description, other_k):
    found = alternatives(description, other_k)
    assert [other.n_clusters for other in found] == [2, 3, 4, 5]
    own = found[1]
    np.testing.assert_array_equal(own.labels, description.shown.labels)
    assert own.sentences == [
        cluster.sentence for cluster in sorted(description.clusters, key=lambda cluster: cluster.number)
    ]
    assert all(sum(other.shares) == pytest.approx(1) for other in found)
    assert len(set(found[0].colors)) == 2


def test_neighbors_say_what_merges_and_what_splits(description, other_k):
    smaller, larger = neighbor_sentences(description, alternatives(description, other_k))
    assert re.fullmatch(r"With K = 2, clusters \d and \d become one\.", smaller)
    assert re.fullmatch(r"With K = 4, cluster \d splits into 2\.", larger)


def test_a_sweep_of_other_rows_is_refused(description, customers):
    unscaled = eulermeans.sweep(customers, "2:3", random_state=0)
    with pytest.raises(ValueError, match="give a sweep of the same rows, scaled in the same way"):
        alternatives(description, unscaled)
    narrow = eulermeans.sweep(customers[["age", "tenure"]], "2:3", random_state=0)
    with pytest.raises(ValueError, match="the sweep has 2 features, but the model's centers have 4"):
        alternatives(description, narrow)


def test_the_page_has_all_k_without_scripts(segments, customers, other_k, tmp_path):
    page = report.write(segments, customers, tmp_path / "k.html", sweep=other_k).read_text()
    assert page.count('<tr data-k="') == 4
    assert unescape(other_k.reason) in unescape(page)
    assert 'id="figure-sweep"' in page
    plain = report.write(segments, customers, tmp_path / "plain.html").read_text()
    assert 'id="k"' not in plain


# What the page's script reads, and files


def page_data(page):
    return json.loads(re.search(r'id="page-data">(.*?)</script>', page, re.DOTALL)[1])


def test_rows_on_hover_have_their_own_values(segments, customers, tmp_path):
    page = report.write(segments, customers, tmp_path / "page.html").read_text()
    rows = page_data(page)["rows"]
    assert rows["ids"][7] == "row 7"
    assert rows["names"] == list(customers.columns)
    np.testing.assert_allclose(rows["values"], customers.to_numpy(), rtol=1e-5)
    np.testing.assert_array_equal(rows["labels"], segments.predict(customers))
    assert len(rows["places"]) == 2 * len(customers)


@pytest.mark.parametrize("form", ["array", "sparse", "blocks"])
def test_shown_rows_are_a_uniform_sample_with_their_numbers(form, monkeypatch):
    from eulermeans.report import measurements

    monkeypatch.setattr(measurements, "SHOWN_ROWS", 300)
    X = np.column_stack([np.arange(3000.0), np.ones(3000)])
    data = {"array": X, "sparse": csr_array(X), "blocks": lambda: iter(np.array_split(X, 17))}[form]
    shown = report.describe(EulerMeans(2, random_state=0).fit(X), data).shown
    np.testing.assert_array_equal(shown.rows[:, 0], shown.numbers)
    assert len(shown.numbers) == len(set(shown.numbers)) == 300
    assert abs(shown.numbers.mean() - 1500) < 5 * 50  # the standard error of the mean is 50


def test_a_feature_without_a_name_and_a_formula_are_text_in_csv_files(customers):
    X = customers.to_numpy()
    names = ["=1+1", 'a "b", c', "line\nbreak", "#%&"]
    description = report.describe(EulerMeans(3, random_state=0).fit(X), X, feature_names=names)
    clusters, centers = downloads(description)
    address = centers.address
    assert address.startswith("data:text/csv;charset=utf-8,")
    table = list(csv.reader(io.StringIO(unquote(address.split(",", 1)[1]))))
    assert table[0] == ["cluster", "'=1+1", *names[1:]]
    for line in table[1:]:
        np.testing.assert_allclose([float(v) for v in line[1:]], description.means[int(line[0])], rtol=1e-6)
    summary = list(csv.DictReader(io.StringIO(clusters.text)))
    assert [float(line["rows"]) for line in summary] == sorted(description.counts, reverse=True)
    assert summary[0]["in_words"] == description.clusters[0].sentence


def test_very_many_centers_are_cut_and_the_link_says_so():
    X = np.random.default_rng(0).standard_normal((300, 3000)).astype(np.float32)
    model = KMeans(100, init=X[:100], n_init=1, max_iter=1).fit(X)
    centers = downloads(report.describe(model, X))[1]
    assert len(centers.address) < 500_000
    assert re.fullmatch(r"centers, [\d,]+ of 3,000 features", centers.label)


# Images


def test_images_are_shown_as_images(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 64)) * np.repeat([[0.2], [1.0]], 100, axis=0)
    model = EulerMeans(2, random_state=0).fit(X)
    page = report.write(model, X, tmp_path / "page.html", image_shape="square").read_text()
    addresses = re.findall(r'<img src="data:image/png;base64,([^"]*)"', page)
    assert len(addresses) == 2 * 4 + 1  # means, three nearest rows each, and the separation
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(addresses[0]))))
    assert image.shape == (8, 8)
    images = page_data(page)["rows"]["images"]
    assert (images["height"], images["width"], images["channels"]) == (8, 8, 1)
    assert len(base64.b64decode(images["pixels"])) == 64 * len(images["rows"])


def test_images_in_color_and_large_ones_stay_small(tmp_path):
    X = np.random.default_rng(0).uniform(size=(80, 100 * 80 * 3)).astype(np.float32)  # cannot be compressed
    model = KMeans(40, init=X[:40], n_init=1, max_iter=1).fit(X)
    path = report.write(model, X, tmp_path / "page.html", image_shape=(100, 80, 3))
    assert path.stat().st_size < 2_000_000
    images = page_data(path.read_text())["rows"]["images"]
    assert max(images["height"], images["width"]) == 32
    assert images["channels"] == 3


def test_a_number_that_is_no_square_is_refused(customers, tmp_path):
    model = EulerMeans(2, random_state=0).fit(customers[["age", "tenure"]])
    with pytest.raises(ValueError, match='image_shape="square" does not fit 2 features, which is not a square'):
        report.write(model, customers, tmp_path / "page.html", image_shape="square")

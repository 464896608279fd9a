"""What a notebook shows of an estimator."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from eulermeans import EulerMeans, StochasticBackwardEuler

both = pytest.mark.parametrize(
    "model", [EulerMeans(5, random_state=0), StochasticBackwardEuler(5, n_outer=20, random_state=0)]
)


def html_of(model):
    return model._repr_mimebundle_()["text/html"]


def plain(html):
    return re.sub(r"<[^>]*>", "", html.rpartition('<div style="font')[2])


@both
def test_a_fitted_estimator_says_how_it_ended(model, blobs):
    model = clone(model).fit(blobs)
    html = html_of(model)
    words = plain(html)
    assert plain(model._repr_html_()) == words
    sizes = np.bincount(model.labels_, minlength=5)
    assert f"5 clusters in 3 features, of {sizes.min()} to {sizes.max()} points" in words
    assert f"objective φ {model.objective_:.5g}" in words
    assert str(model.stop_reason_) in words
    assert html.count("<svg") >= 2
    HTMLParser().feed(html)


@both
def test_one_that_is_not_fitted_looks_as_scikit_learn_shows_it(model):
    assert "objective φ" not in html_of(model)
    assert type(model).__name__ in html_of(model)


def test_a_text_display_stays_text(blobs):
    model = EulerMeans(5, random_state=0).fit(blobs)
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(model, "_repr_html_")


def test_the_line_is_the_history_and_the_bars_are_the_sizes(plane):
    model = EulerMeans(12, effort=0, init="random", random_state=0).fit(plane)
    html = html_of(model)
    points = re.search(r'<polyline points="([^"]*)"', html)[1].split()
    assert len(points) == len(model.history_)
    heights = [float(point.partition(",")[2]) for point in points]
    assert heights == sorted(heights)  # down the page: the objective falls
    bars = [float(height) for height in re.findall(r'<rect [^>]* height="([^"]*)"', html)]
    assert len(bars) == 12
    np.testing.assert_allclose(
        bars, 28 * np.sort(model.cluster_weights_)[::-1] / model.cluster_weights_.max(), atol=0.06
    )


def test_it_stays_small_however_many_clusters_and_steps(plane):
    model = EulerMeans(300, effort=0, tol=0, random_state=0).fit(plane)
    with config_context(display="diagram"):
        assert len(html_of(model)) - len(html_of(EulerMeans(300))) < 60_000
    assert html_of(model).count("<rect") == 44


def test_a_fit_without_labels_shows_what_it_has(blobs):
    model = EulerMeans(5, compute_labels=False, random_state=0).fit(blobs)
    words = plain(html_of(model))
    assert "5 clusters in 3 features" in words
    assert "objective φ" not in words


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("n_clusters", [1, 2])
def test_poor_data_can_be_shown(n_clusters):
    assert "nan" not in plain(html_of(EulerMeans(n_clusters, random_state=0).fit(np.zeros((4, 2)))))

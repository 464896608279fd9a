"""What a notebook shows of an estimator."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from eulermeans import EulerMeans, StochasticBackwardEuler
from eulermeans.plot.notebook_summary import summary

both = pytest.mark.parametrize(
    "model", [EulerMeans(5, random_state=0), StochasticBackwardEuler(5, n_outer=20, random_state=0)]
)
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class StrictParser(HTMLParser):
    """Raises where a tag is closed that is not the last one opened, or where one is left open."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(html)
        self.close()
        if self.open:
            raise ValueError(f"never closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            raise ValueError(f"<{tag}> has an attribute twice: {names}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise ValueError(f"</{tag}> closes a tag that is not open at {self.getpos()}")


def html_of(model):
    return model._repr_mimebundle_()["text/html"]


def summary_of(model):
    """The elements of our part, which follows scikit-learn's diagram; raises unless it is well-formed."""
    html = html_of(model)
    assert html.endswith(summary(model))
    return ElementTree.fromstring(summary(model))


def words(model):
    return "".join(summary_of(model)[0].itertext())


@pytest.mark.parametrize(
    "html", ["<div><span></div></span>", "<div>", "</p>", "<svg><g></svg>", '<p a="" a=""></p>']
)
def test_the_parser_of_these_tests_can_fail(html):
    with pytest.raises(ValueError, match=r"closed|closes|twice"):
        StrictParser(html)


@both
def test_a_fitted_estimator_says_how_it_ended(model, blobs):
    model = clone(model).fit(blobs)
    sizes = np.bincount(model.labels_, minlength=5)
    clusters, points, objective, steps, reason = words(model).split(" · ")
    assert clusters == "5 clusters in 3 features"
    assert points == f"{sizes.min()} to {sizes.max()} points each"
    assert objective == f"objective φ {model.objective_:.5g}"
    assert steps.startswith(f"{len(model.history_)} steps in ")
    assert reason == str(model.stop_reason_)
    assert [svg.get("aria-label") for svg in summary_of(model).iter("svg")] == ["objective", "sizes"]


@both
def test_both_ways_to_show_it_are_well_formed_and_say_the_same(model, blobs):
    model = clone(model).fit(blobs)
    StrictParser(html_of(model))
    StrictParser(model._repr_html_())
    assert model._repr_html_().endswith(summary(model))


@both
def test_one_that_is_not_fitted_looks_as_scikit_learn_shows_it(model):
    assert summary(model) == ""
    assert "objective φ" not in html_of(model)
    assert type(model).__name__ in html_of(model)


def test_a_text_display_stays_text(blobs):
    model = EulerMeans(5, random_state=0).fit(blobs)
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(model, "_repr_html_")


def test_the_line_is_the_history_and_the_bars_are_the_sizes(plane):
    model = EulerMeans(12, effort=0, init="random", random_state=0).fit(plane)
    objective, sizes = summary_of(model).iter("svg")
    points = np.array(
        [point.split(",") for point in objective.find("polyline").get("points").split()], dtype=float
    )
    values = np.array([record.objective for record in model.history_])
    assert len(points) == len(values)
    np.testing.assert_allclose(points[:, 0], np.linspace(1, 131, len(values)), atol=0.06)
    assert list(points[:, 1]) == sorted(points[:, 1])  # y grows downwards, and the objective falls
    assert points[-1, 1] == 28
    assert points[0, 1] == 2
    bars = [float(bar.get("height")) for bar in sizes.iter("rect")]
    expected = 28 * np.sort(model.cluster_weights_)[::-1] / model.cluster_weights_.max()
    np.testing.assert_allclose(bars, expected, atol=0.06)


def test_it_stays_small_however_many_clusters_and_steps(plane):
    model = EulerMeans(300, effort=0, tol=0, random_state=0).fit(plane)
    assert len(summary(model)) < 60_000
    assert len(list(summary_of(model).iter("rect"))) == 44


def test_a_fit_without_labels_shows_what_it_has(blobs):
    model = EulerMeans(5, compute_labels=False, random_state=0).fit(blobs)
    assert "5 clusters in 3 features" in words(model)
    assert "objective φ" not in words(model)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("n_clusters", [1, 2])
def test_poor_data_can_be_shown(n_clusters):
    model = EulerMeans(n_clusters, random_state=0).fit(np.zeros((4, 2)))
    assert words(model).startswith(f"{n_clusters} cluster{'s' if n_clusters > 1 else ''} in 2 features · ")
    assert "nan" not in summary(model)


def test_the_reason_is_escaped():
    estimator = SimpleNamespace(cluster_centers_=np.zeros((2, 3)), stop_reason_="x < 1 & <b>")
    assert (
        "".join(ElementTree.fromstring(summary(estimator)).itertext()) == "2 clusters in 3 features · x < 1 & <b>"
    )


def test_matplotlib_is_not_needed():
    code = """
import sys
sys.modules["matplotlib"] = None  # as if it were not installed
import eulermeans
assert "objective φ" in eulermeans.EulerMeans(2).fit([[0.0], [1.0], [3.0]])._repr_html_()
"""
    subprocess.run([sys.executable, "-c", code], check=True)

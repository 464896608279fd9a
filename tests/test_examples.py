"""Every example of the gallery runs, draws its pictures, and shows what it claims."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ORDER = EXAMPLES.parent / "docs" / "_ext" / "gallery_order.py"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs an example and returns its names; all of its figures must be drawn."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")  # what other tests left open

    def run_example(name, n_figures):
        names = runpy.run_path(str(EXAMPLES / name))
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert len(figures) == n_figures
        for figure in figures:
            figure.canvas.draw()
            assert np.asarray(figure.canvas.buffer_rgba())[..., :3].std() > 5, "the picture is empty"
        return names

    with mpl.rc_context({"backend": "agg"}):
        yield run_example
    plt.close("all")


def test_escape_from_a_minimum(run):
    names = run("escape_from_a_minimum.py", 1)
    assert names["lloyd"].objective_ == pytest.approx(1.34, abs=0.01)
    assert names["sbe"].objective_ < 0.91
    assert names["default"].objective_ <= names["sbe"].objective_


def test_choosing_k(run):
    found = run("choosing_k.py", 2)["found"]
    assert found.recommended == 4
    assert str(found.confidence) == "moderate"


def test_colour_quantisation(run):
    names = run("colour_quantisation.py", 1)
    ours, theirs = ([names["decibels"](model) for model in models] for models in names["palettes"].values())
    assert min(ours) > 20
    assert min(ours) > min(theirs)
    assert max(ours) >= max(theirs) - 0.02


def test_customer_segments(run):
    names = run("customer_segments.py", 1)
    assert names["found"].recommended == 5
    assert names["scaled_agreement"] > 0.95
    assert names["unscaled_agreement"] < 0.7
    spenders = names["centers"].nlargest(1, "euros per year").iloc[0]
    assert spenders[["age", "euros per year"]].tolist() == pytest.approx([38, 4800], rel=0.05)


def test_topics_of_texts(run):
    names = run("topics_of_texts.py", 1)
    assert len(names["texts"]) > 500
    assert any("spline" in topic for topic in names["topics"])
    assert any("fft" in topic for topic in names["topics"])


def test_cosine_tfidf(run):
    agreement = run("cosine_tfidf.py", 1)["agreement"]
    assert agreement["cosine"] > 0.9
    assert agreement["euclidean"] < 0.2


def test_bounded_teams(run):
    names = run("bounded_teams.py", 1)
    sizes = np.bincount(names["tours"].labels_)
    assert (sizes.min(), sizes.max()) == (90, 110)
    assert np.bincount(names["free"].labels_).min() < 60


def test_vector_search(run):
    names = run("vector_search.py", 1)
    assert names["errors"]["EulerMeans"] < min(names["errors"]["KMeans"], names["errors"]["MiniBatchKMeans"])
    recalls, shares = np.array(names["answers"]["EulerMeans"]).T
    assert recalls[0] > 0.5  # from 2 % of the vectors
    assert shares[0] < 0.05
    assert (np.diff(recalls) > 0).all()


def test_balanced_lists(run):
    names = run("balanced_lists.py", 1)
    lengths, free = names["lengths"]["SizedMeans"], names["lengths"]["EulerMeans"]
    assert lengths.min() >= 53  # 66.7 in each on average, within 20 %
    assert lengths.max() <= 81
    assert lengths.std() < 0.5 * free.std()
    assert names["recalls"]["SizedMeans"][-1] > names["recalls"]["EulerMeans"][-1] - 0.05


def test_certificates(run):
    names = run("certificates.py", 1)
    assert names["certificate"].proven
    assert names["certificate"].excess < 1e-4
    assert names["of_found"].excess < 0.2
    assert names["of_stuck"].excess > 0.4


def test_streaming_drift(run):
    at_end = {name: np.mean(errors[-10:]) for name, errors in run("streaming_drift.py", 1)["errors"].items()}
    assert at_end["EulerMeans(forgetting=0.2)"] < 1.0  # 0.5 for the true centers
    assert at_end["EulerMeans(forgetting=0)"] > 2.0


def test_out_of_core(run):
    names = run("out_of_core.py", 1)
    assert names["n_labels"] == 100_000
    assert names["ratio"] == pytest.approx(1, abs=0.01)
    assert "finish" in {record.phase for record in names["model"].history_}  # it was not read into memory


def test_dask_collection(run):
    names = run("dask_collection.py", 1)
    assert np.array_equal(names["model"].cluster_centers_, names["again"].cluster_centers_)
    assert names["sizes"].sum() == 60_000


def test_every_example_is_run_and_short():
    tested = re.findall(r'run\("(\w+\.py)"', Path(__file__).read_text())
    examples = sorted(EXAMPLES.glob("*.py"))
    assert sorted(tested) == [path.name for path in examples]
    assert all(len(path.read_text().splitlines()) <= 80 for path in examples)
    assert sorted(runpy.run_path(str(ORDER))["ORDER"]) == [path.stem for path in examples]

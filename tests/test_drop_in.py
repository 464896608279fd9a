"""What code for KMeans passes, EulerMeans takes: parameters, weights, warm starts, and numbers by size."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans

import eulermeans
from eulermeans import EulerMeans, StochasticBackwardEuler
from eulermeans.estimators import fit_log
from eulermeans.storage.models import load

BOTH = pytest.mark.parametrize("kind", [EulerMeans, StochasticBackwardEuler])


@pytest.fixture(scope="module")
def unbalanced():
    """Clusters of 400, 30, 200 and 90 points."""
    rng = np.random.default_rng(0)
    means = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    return np.concatenate(
        [m + rng.standard_normal((n, 2)) for m, n in zip(means, (400, 30, 200, 90), strict=True)]
    )


def quick(kind, n_clusters=4, **options):
    fast = {"effort": 0.05} if kind is EulerMeans else {"n_outer": 20, "step_size": 2.0}
    return kind(n_clusters, random_state=0, **{**fast, **options})


# Parameters


def test_what_code_for_kmeans_passes_is_accepted(unbalanced):
    ours = EulerMeans.__init__.__kwdefaults__
    theirs = KMeans.__init__.__kwdefaults__
    assert theirs.keys() <= ours.keys()
    plain = quick(EulerMeans).fit(unbalanced)
    model = quick(EulerMeans, n_init="auto", algorithm="elkan", copy_x=False).fit(unbalanced)
    np.testing.assert_array_equal(model.cluster_centers_, plain.cluster_centers_)


@pytest.mark.parametrize("wrong", [{"n_init": "many"}, {"algorithm": "full"}, {"copy_x": "no"}, {"verbose": -1}])
def test_values_that_kmeans_refuses_are_refused(wrong, unbalanced):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        EulerMeans(2, **wrong).fit(unbalanced)


@pytest.fixture
def no_handlers(monkeypatch):
    monkeypatch.setattr(fit_log.LOGGER, "handlers", [])
    monkeypatch.setattr(fit_log.LOGGER, "propagate", True)
    monkeypatch.setattr(fit_log.LOGGER, "level", logging.NOTSET)


@pytest.mark.usefixtures("no_handlers")
def test_verbose_writes_to_stdout(unbalanced, capsys):
    quick(EulerMeans).fit(unbalanced)
    assert capsys.readouterr().out == ""
    quick(EulerMeans, verbose=1).fit(unbalanced)
    some = capsys.readouterr().out.splitlines()
    model = quick(EulerMeans, verbose=2).fit(unbalanced)
    all_steps = capsys.readouterr().out.splitlines()
    assert any(line.startswith("search, step 1: objective ") for line in some)
    assert any(line.startswith("polish, step 1: objective ") for line in some)
    assert some[-1] == f"ended after {model.n_iter_} steps: {model.stop_reason_}"
    assert len(all_steps) == model.n_iter_ + 1


@pytest.mark.usefixtures("no_handlers")
def test_verbose_uses_handlers_that_the_logger_has(unbalanced, capsys):
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    fit_log.LOGGER.addHandler(handler)
    fit_log.LOGGER.setLevel(logging.INFO)
    quick(EulerMeans, verbose=1).fit(unbalanced)
    assert capsys.readouterr().out == ""
    assert lines


# Warm starts


@pytest.mark.parametrize("as_data", [np.asarray, csr_array, pd.DataFrame], ids=["dense", "sparse", "frame"])
@pytest.mark.parametrize("n_points", [50, 30_000])  # of more than 10,000, the search would read a sample
def test_given_centers_without_search_take_steps_of_lloyd(as_data, n_points):
    rng = np.random.default_rng(1)
    points, start = rng.standard_normal((n_points, 3)), rng.standard_normal((4, 3))
    labels = np.argmin(((points[:, None] - start) ** 2).sum(axis=2), axis=1)
    expected = np.array([points[labels == j].mean(axis=0) for j in range(4)])
    data = as_data(points)
    columns = {"columns": list(data.columns)} if isinstance(data, pd.DataFrame) else {}
    model = EulerMeans(4, init=start, max_iter=1, effort=0).fit(data, **columns)
    np.testing.assert_allclose(model.cluster_centers_, expected, rtol=1e-12)
    assert model.n_iter_ == 1


def test_given_centers_without_search_read_all_of_a_stream():
    rng = np.random.default_rng(2)
    points, start = rng.standard_normal((20_000, 3)), rng.standard_normal((4, 3))
    batches = lambda: iter(np.array_split(points, 10))  # noqa: E731
    whole = EulerMeans(4, init=start, max_iter=2, effort=0, tol=0).fit(points)
    stream = EulerMeans(4, init=start, max_iter=2, effort=0, tol=0, memory_limit="256KiB").fit(batches)
    np.testing.assert_allclose(stream.cluster_centers_, whole.cluster_centers_, rtol=1e-10)
    assert [record.phase for record in stream.history_] == ["finish", "finish"]


def frame_of(centers):
    return pd.DataFrame(centers, columns=["a", "b"])


@BOTH
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # a single step of SBE
def test_points_and_weights_may_be_any_kind_of_array(kind, unbalanced):
    weights = np.random.default_rng(0).integers(1, 4, len(unbalanced))
    expected = quick(kind).fit(unbalanced, sample_weight=weights)
    padded = np.full((len(unbalanced), 5), np.nan)
    padded[:, ::3] = unbalanced
    ways = {
        "Fortran order": np.asfortranarray(unbalanced),
        "strided": padded[:, ::3],
        "big endian": unbalanced.astype(">f8"),
        "list": unbalanced.tolist(),
        "read only": np.frombuffer(unbalanced.tobytes()).reshape(unbalanced.shape),
    }
    kinds = [weights.tolist(), pd.Series(weights), weights.astype(">f4"), np.repeat(weights, 2)[::2]]
    for number, (way, points) in enumerate(ways.items()):
        of_points = kinds[number % len(kinds)]
        model = quick(kind).fit(points, sample_weight=of_points)
        np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_, err_msg=way)
        np.testing.assert_array_equal(model.predict(points), expected.labels_, err_msg=way)
        assert model.score(points, sample_weight=of_points) == -expected.inertia_
        quick(kind).partial_fit(points, sample_weight=of_points)


# Equal weights


@BOTH
@pytest.mark.parametrize("weight", [1.0, 0.3, 1e-9, 7.0])
def test_equal_weights_give_the_same_bits_as_none(kind, weight, unbalanced):
    plain, weights = quick(kind).fit(unbalanced), np.full(len(unbalanced), weight)
    model = quick(kind).fit(unbalanced, sample_weight=weights)
    for name in ("cluster_centers_", "labels_", "objective_", "n_iter_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))
    assert model.inertia_ == plain.inertia_ * weight == -model.score(unbalanced, sample_weight=weights)
    np.testing.assert_array_equal(model.cluster_weights_, plain.cluster_weights_ * weight)


@pytest.mark.parametrize("as_data", [csr_array, frame_of, lambda X: eulermeans.as_source(frame_of(X))])
def test_equal_weights_of_other_kinds_of_data(as_data, unbalanced):
    data, weights = as_data(unbalanced), np.full(len(unbalanced), 0.1)
    plain, model = quick(EulerMeans).fit(data), quick(EulerMeans).fit(data, sample_weight=weights)
    np.testing.assert_array_equal(model.cluster_centers_, plain.cluster_centers_)
    assert model.inertia_ == plain.inertia_ * 0.1
    with pytest.raises(ValueError, match="weight"):
        quick(EulerMeans).fit(data, sample_weight=weights[1:])


def test_equal_weights_count_in_sweeps_and_certificates(unbalanced):
    weights = np.full(len(unbalanced), 3.0)
    model = quick(EulerMeans, effort=1).fit(unbalanced, sample_weight=weights)
    found = eulermeans.sweep(unbalanced, [4], sample_weight=weights, random_state=0)
    assert found[4].inertia == pytest.approx(model.inertia_, rel=0.01)
    certificate = eulermeans.certify(unbalanced, model, sample_weight=weights, max_time=0.2)
    assert certificate.inertia == pytest.approx(model.inertia_)


@pytest.mark.parametrize("weights", [np.zeros(720), np.full(720, -1.0)])
def test_equal_weights_are_checked(weights, unbalanced):
    with pytest.raises(ValueError, match=r"[Nn]egative|non-zero|zero for every"):
        quick(EulerMeans).fit(unbalanced, sample_weight=weights)


# Numbers by size


@BOTH
@pytest.mark.parametrize("options", [{}, {"init": lambda X, k, random_state: X[:: len(X) // k][:k]}])
def test_the_largest_cluster_is_the_first(kind, options, unbalanced):
    model = quick(kind, **options).fit(unbalanced)
    sizes = np.bincount(model.labels_, minlength=4)
    assert (np.diff(sizes) <= 0).all()
    np.testing.assert_array_equal(model.cluster_weights_, sizes)
    np.testing.assert_array_equal(model.predict(unbalanced), model.labels_)
    assert -model.score(unbalanced) == model.inertia_


def test_sizes_are_weights(unbalanced):
    weights = np.where(np.arange(720) >= 630, 5.0, 1.0)  # the cluster of 90 points is the heaviest
    model = quick(EulerMeans).fit(unbalanced, sample_weight=weights)
    assert (np.diff(model.cluster_weights_) <= 0).all()
    assert (model.labels_[630:] == 0).mean() > 0.95


@pytest.mark.parametrize("options", [{"compute_labels": False}, {"memory_limit": "64KiB"}, {"metric": "cosine"}])
def test_sizes_in_order_where_labels_are_not_an_array(options, unbalanced):
    points = np.concatenate([unbalanced] * 20)
    model = quick(EulerMeans, **options).fit(lambda: iter(np.array_split(points, 20)))
    assert (np.diff(model.cluster_weights_) <= 0).all()
    labels = np.asarray(model.predict(points))
    assert (np.diff(np.bincount(labels, minlength=4)) <= 0.02 * len(points)).all()


@pytest.mark.parametrize("ties", [2, 3])
def test_points_between_two_centers_have_the_labels_of_predict(ties):
    points = np.repeat(np.arange(6 * ties, dtype=float), 3)[:, None]
    for seed in range(5):
        model = EulerMeans(ties, random_state=seed, effort=0.01).fit(points)
        np.testing.assert_array_equal(model.predict(points), model.labels_)


@BOTH
def test_given_centers_keep_their_numbers(kind, unbalanced):
    start = np.array([[9.0, 0], [0, 9], [9, 9], [0, 0]])  # from small to large, then the largest
    model = quick(kind, init=start).fit(unbalanced)
    np.testing.assert_array_equal(np.bincount(model.labels_), [30, 200, 90, 400])


def test_a_stream_starts_in_order_and_keeps_its_numbers(unbalanced):
    shuffled = np.random.default_rng(0).permutation(unbalanced)
    model = quick(EulerMeans).partial_fit(shuffled)
    assert (np.diff(model.cluster_weights_) <= 0).all()
    first = model.cluster_centers_.copy()
    small = unbalanced[400:430]  # now the smallest cluster grows
    for _ in range(20):
        model.partial_fit(small)
    assert np.argmax(model.cluster_weights_) > 0
    np.testing.assert_allclose(model.cluster_centers_, first, atol=1.5)


def test_saved_and_resumed_fits_have_the_same_numbers(tmp_path, unbalanced):
    model = quick(EulerMeans, n_init=3).fit(unbalanced, checkpoint=tmp_path / "fit")
    resumed = quick(EulerMeans, n_init=3, verbose=0).fit(unbalanced, checkpoint=tmp_path / "fit")
    np.testing.assert_array_equal(resumed.labels_, model.labels_)
    assert model.restarts_.min() == model.objective_
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(unbalanced), model.labels_)


# Names


def test_report_and_sweep_are_functions():
    from eulermeans.report import describe, measurements

    assert measurements
    assert callable(eulermeans.report)
    assert callable(eulermeans.sweep)
    assert eulermeans.report.describe is describe


def test_report_writes_a_page(tmp_path, unbalanced):
    pytest.importorskip("matplotlib")
    path = eulermeans.report(quick(EulerMeans).fit(unbalanced), unbalanced, tmp_path / "report.html")
    assert "<html" in path.read_text(encoding="utf-8")


def test_sweep_is_shown_as_a_table(unbalanced):
    found = eulermeans.sweep(unbalanced, [2, 4], random_state=0)
    shown = found._repr_html_()
    assert shown.count("<tr>") == 3
    assert f"<th>{found.recommended}</th>" in shown


def test_pickles_hold_plain_records(unbalanced):
    model = quick(EulerMeans).fit(unbalanced)
    state = model.__getstate__()
    assert all(type(record) is dict for record in state["history_"])
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.history_ == model.history_
    assert loaded.stop_reason_ is model.stop_reason_

"""Fitted attributes change all at once, at the end of a call that succeeds, or not at all."""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from eulermeans import EulerMeans, StochasticBackwardEuler
from eulermeans.oracles import MemoryOracle

both = pytest.mark.parametrize("Estimator", [EulerMeans, StochasticBackwardEuler])


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((120, 3)) + 8 * rng.integers(2, size=(120, 1))


def bad_calls(X: np.ndarray) -> list[tuple[object, np.ndarray | None]]:
    """Data and weights that are refused, for reasons that are found at different places."""
    return [
        (X[:1], None),
        (X, -np.ones(len(X))),
        (X, np.zeros(len(X))),
        (X, np.ones(3)),
        (np.full_like(X, np.nan), None),
        (X.astype(complex), None),
        (1e200 * X, None),
    ]


# The first call fails


@both
def test_a_failed_first_call_leaves_nothing(X, Estimator):
    for data, weights in bad_calls(X):
        for method in ("fit", "partial_fit"):
            if Estimator is EulerMeans and method == "partial_fit" and len(X[:1]) == len(np.asarray(data)):
                continue  # a stream may begin with few rows
            model = Estimator(2, random_state=0)
            before = dict(vars(model))
            with pytest.raises((ValueError, TypeError)):
                getattr(model, method)(data, sample_weight=weights)
            assert vars(model) == before


@both
def test_after_a_failed_first_call_a_stream_begins_as_usual(X, Estimator):
    usual = Estimator(2, random_state=0).partial_fit(X)
    for data, weights in bad_calls(X):
        model = Estimator(2, random_state=0)
        with pytest.raises((ValueError, TypeError)):
            model.fit(data, sample_weight=weights)
        model.partial_fit(X)
        np.testing.assert_array_equal(model.cluster_centers_, usual.cluster_centers_)
        assert model.n_iter_ == usual.n_iter_ == 1


def test_a_zero_row_under_cosine_is_refused_before_anything_changes(X):
    model = EulerMeans(2, metric="cosine", random_state=0)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="no direction"):
            method(np.zeros((60, 3)))
    assert not hasattr(model, "n_features_in_")
    assert model.partial_fit(X).n_features_in_ == 3


# A later call fails


def state(model: object) -> dict[str, object]:
    return dict(vars(model))


def assert_unchanged(model: object, before: dict[str, object]) -> None:
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@both
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_failed_call_leaves_a_fitted_model_as_it_was(X, Estimator, method):
    model = Estimator(2, random_state=0).fit(X).partial_fit(X[:40])
    before, history = state(model), list(model.history_)
    calls = bad_calls(X) if method == "fit" else bad_calls(X)[1:]
    for data, weights in calls:
        with pytest.raises((ValueError, TypeError)):
            getattr(model, method)(data, sample_weight=weights)
        assert_unchanged(model, before)
        assert model.history_ == history


@both
def test_a_stream_goes_on_to_the_same_bits_after_an_error_in_the_middle_of_a_step(X, Estimator, monkeypatch):
    options = {"random_state": 0, **({"forgetting": 0.1} if Estimator is EulerMeans else {"batch_size": 20})}
    usual, model = Estimator(2, **options), Estimator(2, **options)
    real = MemoryOracle.label

    def broken(*arguments, **options):
        raise MemoryError

    for first in range(0, 120, 20):
        usual.partial_fit(X[first : first + 20])
        monkeypatch.setattr(MemoryOracle, "label", broken)
        with pytest.raises(MemoryError):
            model.partial_fit(X[first : first + 20])
        monkeypatch.setattr(MemoryOracle, "label", real)
        model.partial_fit(X[first : first + 20])
        np.testing.assert_array_equal(model.cluster_centers_, usual.cluster_centers_)
        np.testing.assert_array_equal(model.cluster_weights_, usual.cluster_weights_)
    assert [record.objective for record in model.history_] == [record.objective for record in usual.history_]


@both
def test_a_warning_that_is_an_error_changes_nothing(Estimator):
    model = Estimator(3, init=np.zeros((3, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning):
            model.fit(np.ones((20, 2)))
    assert not [name for name in vars(model) if name.endswith("_")]


# Ctrl-C


class PressCtrlC:
    """Initial centers from a function that is interrupted when it is called."""

    def __call__(self, X, n_clusters, random_state):
        signal.raise_signal(signal.SIGINT)
        return X[:n_clusters]


@both
def test_ctrl_c_in_a_refit_keeps_the_first_fit_whole(X, Estimator):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = Estimator(2, random_state=0).fit(frame)
    before, labels = state(model), model.labels_.copy()
    model.set_params(init=PressCtrlC())
    with pytest.raises(KeyboardInterrupt):
        model.fit(pd.DataFrame(np.c_[X, X], columns=list("uvwxyz")))
    del before["init"]
    assert all(vars(model)[name] is value for name, value in before.items())
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.predict(frame), labels)


@both
def test_a_fit_on_data_without_names_forgets_the_names(X, Estimator):
    model = Estimator(2, random_state=0).fit(pd.DataFrame(X, columns=["a", "b", "c"])).fit(X[:, :2])
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2


# A stream keeps the wider dtype


@both
@pytest.mark.filterwarnings("ignore::eulermeans.estimators.stochastic_backward_euler.DivergenceWarning")
@pytest.mark.parametrize("first", ["fit", "partial_fit"])
def test_centers_stay_float64_after_a_float32_batch(Estimator, first):
    rng = np.random.default_rng(0)
    X = 1e40 * (1 + rng.integers(2, size=(300, 1)) + 0.01 * rng.standard_normal((300, 2)))
    model = getattr(Estimator(2, random_state=0), first)(X)
    model.partial_fit(rng.standard_normal((50, 2)).astype(np.float32))
    assert model.cluster_centers_.dtype == np.float64
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.inertia_)
    assert model.cluster_centers_.max() > 1e39


@both
def test_centers_become_float64_with_the_first_float64_batch(X, Estimator):
    model = Estimator(2, random_state=0).partial_fit(X.astype(np.float32))
    assert model.cluster_centers_.dtype == np.float32
    assert model.partial_fit(X).cluster_centers_.dtype == np.float64
    assert model.partial_fit(X.astype(np.float16)).cluster_centers_.dtype == np.float64


def test_a_buffer_keeps_the_wider_dtype(X):
    model = EulerMeans(2, random_state=0).partial_fit(1e40 * X[:5]).partial_fit(X[:40].astype(np.float32))
    assert model.cluster_centers_.dtype == np.float64
    assert np.abs(model.cluster_centers_).max() > 1e38

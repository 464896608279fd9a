"""Numbers near the ends of the floating-point range: a right answer, or an error that says what to do."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from eulermeans import EulerMeans, StochasticBackwardEuler, as_source
from eulermeans.estimators.stochastic_backward_euler import DivergenceWarning

QUICK = [partial(EulerMeans, effort=0.05), partial(StochasticBackwardEuler, n_outer=10)]
both = pytest.mark.parametrize("Estimator", QUICK, ids=["EulerMeans", "StochasticBackwardEuler"])


@pytest.fixture
def groups() -> np.ndarray:
    """Two groups of 30 points."""
    rng = np.random.default_rng(0)
    return np.repeat([[1.0, 2.0], [-2.0, 1.0]], 30, axis=0) + 0.01 * rng.standard_normal((60, 2))


def assert_finite(model: EulerMeans | StochasticBackwardEuler) -> None:
    for name in ("cluster_centers_", "cluster_weights_", "inertia_", "objective_", "labels_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert np.isfinite([record.objective for record in model.history_]).all()


def assert_groups(model: EulerMeans | StochasticBackwardEuler, data: object) -> None:
    labels = model.labels_
    assert (labels[:30] == labels[0]).all()
    assert (labels[30:] == labels[30]).all()
    assert labels[0] != labels[30]
    np.testing.assert_array_equal(model.predict(data), labels)
    assert_finite(model)


# Weights


@both
@pytest.mark.parametrize("weight", [1e-99, 1e-30, 1e30, 1e150])
def test_weights_of_any_scale(groups, Estimator, weight):
    start = groups[[0, 30]]
    usual = Estimator(2, init=start, random_state=0).fit(groups)
    model = Estimator(2, init=start, random_state=0).fit(groups, sample_weight=np.full(60, weight))
    assert_groups(model, groups)
    np.testing.assert_allclose(model.cluster_centers_, usual.cluster_centers_, atol=0.02)
    np.testing.assert_allclose(model.inertia_, usual.inertia_ * weight, rtol=0.2)


@both
@pytest.mark.parametrize(
    ("scale", "weight", "message"),
    [
        (1.0, 1e307, "adds up to"),
        (1.0, 1.7e308, "adds up to"),
        (1e100, 1e150, "divide X or sample_weight by a constant"),
        (1e80, 1e180, "divide X or sample_weight by a constant"),
        (1.0, 1e-101, "no weight above"),
        (1.0, 5e-324, "no weight above"),
    ],
)
def test_weights_whose_products_do_not_fit_are_refused(groups, Estimator, scale, weight, message):
    model = Estimator(2, random_state=0)
    weights = np.full(60, weight)
    with pytest.raises(ValueError, match=message):
        model.fit(scale * groups, sample_weight=weights)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(scale * groups, sample_weight=weights)
    model.fit(groups)
    with pytest.raises(ValueError, match=message):
        model.score(scale * groups, sample_weight=weights)


def test_integers_with_huge_weights(groups):
    integers = (1e18 * groups).astype(np.int64)
    assert_groups(EulerMeans(2, random_state=0).fit(integers, sample_weight=np.full(60, 1e198)), integers)


def test_a_few_weights_may_be_tiny(groups):
    weights = np.ones(60)
    weights[:5] = [0.0, 5e-324, 1e-310, 1e-200, 1e-101]
    assert_groups(EulerMeans(2, random_state=0).fit(groups, sample_weight=weights), groups)


def test_huge_weights_of_a_stream_are_refused(groups):
    weights = np.ones(60)
    weights[7] = 1e30
    with pytest.raises(ValueError, match=r"row 7 .* has weight 1e"):
        EulerMeans(2, random_state=0).fit(as_source(lambda: iter([groups])), sample_weight=weights)


# Values


@both
@pytest.mark.parametrize("scale", [1e-99, 1e-50, 1e-19, 1e-10, 1e10, 1e19, 1e30, 1e100, 1e150])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_of_any_scale(groups, Estimator, scale, dtype, form):
    if dtype == "float32" and not 1e-40 < scale < 1e37:
        pytest.skip("float32 has no such values")
    data = form((scale * groups).astype(dtype))
    model = Estimator(2, init=scale * groups[[0, 30]], random_state=0).fit(data)
    assert_groups(model, data)
    assert -model.score(data) == model.inertia_


@both
@pytest.mark.parametrize("scale", [1e-101, 1e-160, 1e-200, 1e-320])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_values_whose_squares_underflow_are_refused(groups, Estimator, scale, form):
    data = form(scale * groups)
    for method in (Estimator(2).fit, Estimator(2).partial_fit):
        with pytest.raises(ValueError, match="multiply X by a constant"):
            method(data)


def test_tiny_values_of_a_stream_are_refused(groups):
    model = EulerMeans(2, random_state=0)
    with pytest.raises(ValueError, match="multiply the data by a constant"):
        model.fit(as_source(lambda: iter([1e-160 * groups])))
    assert not hasattr(model, "cluster_centers_")


@both
def test_zeros_and_a_few_tiny_values_are_fine(Estimator):
    data = np.zeros((60, 2))
    data[30:] = 1.0
    data[3, 1] = 1e-200
    model = Estimator(2, init=data[[0, 30]], random_state=0).fit(data)
    assert_groups(model, data)


# Steps that are too large


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("step_size", [1e15, 1e20, 1e30, 1e38, 1e60, 1e300])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_large_steps_end_with_a_warning_and_finite_centers(groups, dtype, step_size, method):
    model = StochasticBackwardEuler(2, step_size=step_size, n_outer=20, random_state=0)
    with pytest.warns(DivergenceWarning):
        getattr(model, method)(groups.astype(dtype))
    assert_finite(model)
    assert model.stop_reason_.name == "DIVERGED"


# Directions


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e-200, 1e-100, 1e100, 1e150])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_only_directions_count(scale, form):
    rows = np.repeat([[1.0, 2.0, 0.0], [3.0, 0.0, 1.0]], 30, axis=0)
    usual = EulerMeans(2, metric="cosine", effort=0.05, random_state=0).fit(form(rows))
    data = form(scale * rows)
    model = EulerMeans(2, metric="cosine", effort=0.05, random_state=0).fit(data)
    assert_groups(model, data)
    np.testing.assert_allclose(model.cluster_centers_, usual.cluster_centers_, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(model.transform(data), usual.transform(form(rows)), atol=1e-12)


def test_rows_of_very_different_lengths():
    rng = np.random.default_rng(0)
    rows = np.repeat([[1.0, 2.0, 0.0], [3.0, 0.0, 1.0]], 30, axis=0) * 10.0 ** rng.integers(
        -322, 150, size=(60, 1)
    )
    rows = np.maximum(rows, 0)
    rows[rows.max(axis=1) < 1e-318] = [1.0, 2.0, 0.0]
    model = EulerMeans(2, metric="cosine", random_state=0).fit(rows)
    assert_finite(model)
    assert model.inertia_ < 1e-3

"""Bad input: scikit-learn's error class, and a message that names parameter, value and what is accepted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from eulermeans import EulerMeans, StochasticBackwardEuler

both = pytest.mark.parametrize("Estimator", [EulerMeans, StochasticBackwardEuler])
fitting = pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_predict", "fit_transform"])


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((20, 3))


def said(value):
    """How messages call a value that is not finite."""
    return "NaN" if np.isnan(value) else "infinity"


# The data


@both
@fitting
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_nan_and_infinity(X, Estimator, method, value, dtype):
    X[3, 1] = value
    with pytest.raises(ValueError, match=said(value)):
        getattr(Estimator(2), method)(X.astype(dtype))


@both
@pytest.mark.parametrize("method", ["predict", "transform", "score"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_after_the_fit(X, Estimator, method, value):
    model = Estimator(2, random_state=0).fit(X)
    X[3, 1] = value
    with pytest.raises(ValueError, match=f"X contains {said(value)}"):
        getattr(model, method)(X)


STORED_AFTER_THE_FIT = {
    "float16": lambda X: X.astype(np.float16),
    "float32": lambda X: X.astype(np.float32),
    "float64": lambda X: X,
    "longdouble": lambda X: X.astype(np.longdouble),
    "big-endian": lambda X: X.astype(">f4"),
    "Fortran order": np.asfortranarray,
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "CSR": sparse.csr_array,
    "CSR float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "CSC": sparse.csc_array,
}
served = pytest.mark.parametrize("method", ["predict", "transform", "score"])


@served
@pytest.mark.parametrize("stored", STORED_AFTER_THE_FIT)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_however_stored_after_the_fit(X, method, stored, metric, value):
    model = EulerMeans(2, metric=metric, random_state=0).fit(X)
    getattr(model, method)(STORED_AFTER_THE_FIT[stored](X))
    X[17, 2] = value
    with pytest.raises(ValueError, match=f"X contains {said(value)}"):
        getattr(model, method)(STORED_AFTER_THE_FIT[stored](X))


def test_nan_in_a_row_without_weight_after_the_fit(X):
    model = EulerMeans(2, random_state=0).fit(X)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        model.score(X, sample_weight=np.arange(20) != 3)


@served
@pytest.mark.parametrize("stored", ["float64", "longdouble", "CSR"])
@pytest.mark.parametrize("near", [False, True])
def test_values_too_large_to_be_squared_after_the_fit(X, method, stored, near):
    """Also where a center is as large, and so at no large distance."""
    largest = 1e152  # for 20 rows of 3 features; for more rows it is less
    model = EulerMeans(2, random_state=0).fit(X)
    if near:
        model.cluster_centers_[1] = 10 * largest
    X[17] = 10 * largest
    with pytest.raises(ValueError, match=r"above .* in magnitude, whose squared distances are too large"):
        getattr(model, method)(STORED_AFTER_THE_FIT[stored](X))
    X[17] = largest / 10
    assert np.all(np.isfinite(getattr(model, method)(STORED_AFTER_THE_FIT[stored](X))))


@served
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_largest_values_of_a_narrow_dtype_are_served(X, method, dtype):
    model = EulerMeans(2, random_state=0).fit(X)
    X = X.astype(dtype)
    X[17, 0] = np.finfo(dtype).max
    assert np.all(np.isfinite(getattr(model, method)(X)))


@served
def test_values_of_a_sparse_matrix_that_belong_to_no_row_after_the_fit(X, method):
    """The fit refuses them, so everything else does."""
    model = EulerMeans(2, random_state=0).fit(X)
    points = sparse.csr_array(X)
    points.data, points.indices = np.append(points.data, np.nan), np.append(points.indices, 0).astype(np.int32)
    with pytest.raises(ValueError, match="X contains NaN"):
        getattr(model, method)(points)


@both
@pytest.mark.parametrize(("shape", "missing"), [((0, 3), "sample"), ((5, 0), "feature")])
def test_empty(Estimator, shape, missing):
    with pytest.raises(ValueError, match=rf"0 {missing}\(s\)"):
        Estimator(2).fit(np.empty(shape))


@both
def test_more_clusters_than_points(X, Estimator):
    with pytest.raises(ValueError, match=r"n_samples=20.*n_clusters=21"):
        Estimator(21).fit(X)


def test_more_clusters_than_points_of_the_first_batch(X):
    with pytest.raises(ValueError, match=r"n_samples=20.*n_clusters=21"):
        StochasticBackwardEuler(21).partial_fit(X)


@both
def test_one_dimension(X, Estimator):
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        Estimator(2).fit(X[:, 0])
    model = Estimator(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.predict(X[0])


@both
def test_three_dimensions(Estimator):
    with pytest.raises(ValueError, match="dim 3"):
        Estimator(2).fit(np.zeros((4, 3, 2)))


@both
def test_complex(X, Estimator):
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        Estimator(2).fit(X + 1j)


@both
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([["a", "b"], ["c", "d"], ["e", "f"]], "strings.*[Cc]onvert"),
        (np.array([[{}], [{}], [{}]], dtype=object), "number.*dict"),
    ],
)
def test_not_numbers(Estimator, data, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Estimator(2).fit(data)


@both
def test_masked_values(X, Estimator):
    """What is behind a mask is never read as if it were data."""
    masked = np.ma.masked_array(X, mask=X > 1)
    n = int(masked.mask.sum())
    weights = np.ma.masked_array(np.ones(len(X)), mask=np.arange(len(X)) == 3)
    plain = Estimator(2, random_state=0).fit(np.ma.masked_array(X))  # nothing is masked
    np.testing.assert_array_equal(plain.labels_, Estimator(2, random_state=0).fit(X).labels_)
    calls = [
        lambda: Estimator(2).fit(masked),
        lambda: Estimator(2).partial_fit(masked),
        lambda: plain.predict(masked),
        lambda: plain.transform(masked),
        lambda: Estimator(2).fit(lambda: iter([masked])),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=f"{n} masked values"):
            call()
    with pytest.raises(ValueError, match="1 masked values"):
        Estimator(2).fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match="masked values"):
        Estimator(2, init=np.ma.masked_array(X[:2], mask=True)).fit(X)


@both
@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_assigned_centers_that_are_not_finite(X, Estimator, method):
    model = Estimator(2, random_state=0).fit(X)
    model.cluster_centers_ = np.full((2, 3), np.nan)
    with pytest.raises(ValueError, match="cluster_centers_ has values that are not finite"):
        getattr(model, method)(X)


@both
def test_dates(Estimator):
    dates = np.arange(12).astype("datetime64[D]").reshape(6, 2)
    with pytest.raises((ValueError, TypeError), match="datetime64"):
        Estimator(2).fit(dates)


@both
@fitting
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_sparse_values_that_are_not_finite(X, Estimator, method, make, value):
    X[3, 1] = value
    with pytest.raises(ValueError, match=said(value)):
        getattr(Estimator(2), method)(make(X))


@both
def test_sparse_with_indices_out_of_range(X, Estimator):
    broken = sparse.csr_array(X)
    broken.indices[7] = 3
    with pytest.raises(ValueError, match="indices"):
        Estimator(2).fit(broken)


@both
def test_sparse_complex(X, Estimator):
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        Estimator(2).fit(sparse.csr_array(X + 1j))


@both
@pytest.mark.parametrize("method", ["predict", "transform", "score", "partial_fit"])
@pytest.mark.parametrize("n_features", [2, 4])
def test_wrong_number_of_features(X, Estimator, method, n_features):
    model = Estimator(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match=rf"X has {n_features} features.*expecting 3 features"):
        getattr(model, method)(np.zeros((5, n_features)))


@both
def test_magnitudes_whose_squares_overflow(X, Estimator):
    with pytest.raises(ValueError, match=r"X .*too large"):
        Estimator(2).fit(1e200 * X)


@both
def test_fewer_distinct_points_than_clusters_is_a_warning(Estimator):
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\).*n_clusters \(3\)"):
        model = Estimator(3, init="random", random_state=0).fit(np.ones((10, 2)))
    assert model.cluster_centers_.shape == (3, 2)
    np.testing.assert_allclose(model.cluster_centers_, 1)


# Weights


@both
@fitting
def test_negative_weights(X, Estimator, method):
    weights = np.ones(20)
    weights[4] = -1
    with pytest.raises(ValueError, match=r"[Nn]egative.*sample_weight"):
        getattr(Estimator(2), method)(X, sample_weight=weights)


@both
@pytest.mark.parametrize("method", ["fit", "partial_fit", "score"])
def test_weights_that_are_all_zero(X, Estimator, method):
    model = Estimator(2, random_state=0)
    if method == "score":
        model.fit(X)
    with pytest.raises(ValueError, match=r"[Ss]ample.?weight.*zero"):
        getattr(model, method)(X, sample_weight=np.zeros(20))


@both
@pytest.mark.parametrize(
    ("weights", "words"),
    [(np.ones(19), r"weight.*\(19,\).*\(20,\)"), (np.ones((20, 2)), "weights must be 1D array or scalar")],
)
def test_weights_of_the_wrong_shape(X, Estimator, weights, words):
    with pytest.raises(ValueError, match=words):
        Estimator(2).fit(X, sample_weight=weights)


@both
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite(X, Estimator, value):
    weights = np.ones(20)
    weights[4] = value
    with pytest.raises(ValueError, match=f"sample_weight contains {said(value)}"):
        Estimator(2).fit(X, sample_weight=weights)


# Where centers start


@both
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (1, 3)])
def test_init_of_the_wrong_shape(X, Estimator, shape):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - what it says is looked at below
        Estimator(2, init=np.zeros(shape)).fit(X)
    assert "init" in str(raised.value)
    assert str(shape) in str(raised.value)
    assert "(2, 3)" in str(raised.value)


@both
def test_init_from_a_callable_of_the_wrong_shape(X, Estimator):
    with pytest.raises(ValueError, match=r"\(5, 3\).*\(2, 3\)"):
        Estimator(2, init=lambda X, n_clusters, random_state: X[:5]).fit(X)


@both
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_init_that_is_not_finite(X, Estimator, value):
    with pytest.raises(ValueError, match=f"init contains {said(value)}"):
        Estimator(2, init=np.full((2, 3), value)).fit(X)


# Parameters: the message names the parameter and the value, and says what is accepted

WRONG_FOR_BOTH = [
    ("n_clusters", 0),
    ("n_clusters", -3),
    ("n_clusters", 2.5),
    ("n_clusters", "two"),
    ("n_clusters", None),
    ("init", "kmeans"),
    ("init", 7),
    ("batch_size", 0),
    ("batch_size", -5),
    ("batch_size", 10.5),
    ("batch_size", "many"),
    ("random_state", "seed"),
    ("n_threads", 0),
    ("n_threads", -1),
    ("n_threads", 1.5),
    ("n_threads", 2**31),
]
WRONG_FOR_SBE = [
    ("step_size", 0),
    ("step_size", -1.0),
    ("step_size", "big"),
    ("step_size", float("nan")),
    ("step_size", float("inf")),
    ("averaging", -0.1),
    ("averaging", 1.0),
    ("averaging", None),
    ("decay", 0),
    ("decay", 1.5),
    ("n_outer", 0),
    ("n_outer", 2.5),
    ("n_inner", 0),
    ("n_inner", "five"),
    ("batch_size", "auto"),
]
WRONG_FOR_EULER_MEANS = [
    ("n_init", 0),
    ("n_init", 1.5),
    ("max_iter", 0),
    ("max_iter", "all"),
    ("tol", -1e-4),
    ("tol", None),
    ("tol", float("nan")),
    ("max_time", 0),
    ("max_time", -1),
    ("max_time", "soon"),
    ("batch_size", None),
]
WRONG = [
    *((Estimator, *wrong) for Estimator in (EulerMeans, StochasticBackwardEuler) for wrong in WRONG_FOR_BOTH),
    *((StochasticBackwardEuler, *wrong) for wrong in WRONG_FOR_SBE),
    *((EulerMeans, *wrong) for wrong in WRONG_FOR_EULER_MEANS),
]


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("Estimator", "name", "value"), WRONG)
def test_a_parameter_out_of_range(X, Estimator, name, value, method):
    with pytest.raises(ValueError, match=rf"'{name}' parameter of {Estimator.__name__} must be") as raised:
        getattr(Estimator(**{name: value}), method)(X)
    assert f"Got {value!r}" in str(raised.value)


@pytest.mark.parametrize("Estimator", [EulerMeans, StochasticBackwardEuler])
def test_numpy_numbers_are_accepted(X, Estimator):
    model = Estimator(np.int64(2), batch_size=np.int32(50), n_threads=np.int16(1), random_state=np.int64(0)).fit(X)
    usual = Estimator(2, batch_size=50, n_threads=1, random_state=0).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, usual.cluster_centers_)


def test_a_batch_may_be_larger_than_the_data(X):
    """Its points are drawn with replacement."""
    model = StochasticBackwardEuler(2, batch_size=1000, n_inner=3, random_state=0).fit(X)
    assert {record.points_read for record in model.history_} == {3 * 1000}
    means = [X[model.labels_ == j].mean(axis=0) for j in range(2)]
    np.testing.assert_allclose(model.cluster_centers_, means, atol=0.05)  # up to the noise of a batch


def test_a_batch_may_be_larger_than_the_data_that_are_searched(X):
    model = EulerMeans(2, batch_size=1000, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(EulerMeans(2, random_state=0).fit(X).inertia_, rel=1e-9)


@both
def test_a_failed_fit_leaves_the_model_unfitted(X, Estimator):
    model = Estimator(2, init=np.zeros((5, 3)))
    with pytest.raises(ValueError, match="shape"):
        model.fit(X)
    assert not [name for name in vars(model) if name.endswith("_") and name != "n_features_in_"]
    with pytest.raises(NotFittedError):
        model.predict(X)


@both
def test_a_failed_fit_leaves_a_fitted_model_as_it_was(X, Estimator):
    model = Estimator(2, random_state=0).fit(X)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(ValueError, match="shape"):
        model.set_params(init=np.zeros((5, 3))).fit(X[::2])
    assert {"cluster_centers_", "labels_", "inertia_", "history_"} <= before.keys()
    assert all(getattr(model, name) is value for name, value in before.items())
    np.testing.assert_array_equal(model.predict(X), before["labels_"])


@both
@pytest.mark.parametrize("name", ["n_clusters", "n_threads", "batch_size"])
@pytest.mark.parametrize("value", [True, np.True_])
def test_true_is_no_number(X, Estimator, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {Estimator.__name__} must be an int"):
        Estimator(**{name: value}).fit(X)

"""What the estimators accept: checked once, here; everything below assumes it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, check_array

from ..arrays import Array, FloatArray
from ..sources import Source, first_bad_value, is_dask, largest_value


def check_points(points: Any, estimator: str) -> None:
    """Real numbers, none of them NaN or infinite, and none whose square overflows."""
    if points.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {points.dtype}; accepted are floating point, integer and bool.")
    if points.dtype.kind == "f":
        _check_values(points.data if issparse(points) else points, points.shape, estimator)


def _check_values(values: Array, shape: tuple[int, int], estimator: str) -> None:
    largest = largest_value(*shape)
    bad = first_bad_value(values, largest)
    if bad is None:
        return
    assert_all_finite(values[bad[0] : bad[0] + 1], estimator_name=estimator, input_name="X")
    if np.abs(values.reshape(len(values), -1)[bad]) > largest:
        raise ValueError(
            f"X has values above {largest:.1e} in magnitude, whose squared distances are too large for float64; "
            "divide X by a constant."
        )


def checked_weights(sample_weight: ArrayLike | None, points: Any) -> FloatArray | None:
    """The weights of the points: not negative, and not all zero."""
    if sample_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; at least one must be positive.")
    return np.ascontiguousarray(weights)


def checked_stream_weights(sample_weight: ArrayLike) -> Any:
    """Weights for data that are read in chunks: who reads them knows whether they are as many as the rows.

    Those in a Dask collection are checked where they are.
    """
    if is_dask(sample_weight):
        return sample_weight
    weights: FloatArray = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, ensure_non_negative=True, input_name="sample_weight"
    )
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has {weights.ndim} dimensions; expected one weight for each row.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; at least one must be positive.")
    return weights


def check_features(estimator: Any, source: Source, *, reset: bool) -> None:
    """Set, or compare with, the number and the names of the features, as scikit-learn does for arrays."""
    names = source.feature_names
    if reset:
        estimator.n_features_in_ = source.n_features
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return
    if source.n_features != estimator.n_features_in_:
        raise ValueError(
            f"{source.name} has {source.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is not None and names is not None and list(fitted) != names:
        mine, its = next(pair for pair in zip(names, fitted, strict=True) if pair[0] != pair[1])
        raise ValueError(
            f"The feature names of {source.name} should match those that were passed during fit, in the same "
            f"order: it has {mine!r} instead of {its!r}."
        )

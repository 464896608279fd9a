"""Checks of what users pass to the estimators. Done once, here; all other modules rely on it."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_array

from ..arrays import Array, DType, FloatArray, aligned
from ..moments import Moments
from ..oracles import Unchecked
from ..sources import (
    SMALLEST,
    Source,
    all_too_small,
    as_source,
    first_bad_value,
    has_columns,
    is_dask,
    largest_value,
    unwrapped,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_TOTAL = 1e200  # of the weights: integers of any size may have them
SMALLEST_CENTER = 1e-150  # of the largest value of all centers: its square is still a normal number


class Integers(Interval):
    """An interval of integers, to which True and False do not belong."""

    def __init__(self, least: int, most: int | None = None) -> None:
        super().__init__(Integral, least, most, closed="left" if most is None else "both")

    def is_satisfied_by(self, val: object) -> bool:
        """Whether the value is such an integer."""
        return not isinstance(val, bool | np.bool_) and bool(super().is_satisfied_by(val))


def in_memory_array(data: object, ndim: int = 2) -> object:
    """Data for scikit-learn to check: what a wrapper holds, and numbers that NumPy does not know as float32."""
    array = unwrapped(data, ndim)
    return np.concatenate([chunk.points for chunk in array.chunks()]) if isinstance(array, Source) else array


def check_columns(data: object) -> None:
    """Raise an error that names the columns of a table that are not numbers, if there are any."""
    if has_columns(data):
        as_source(data)


def _check_finite(value: np.generic, estimator: str) -> None:
    """Raise scikit-learn's error unless the scalar is finite."""
    if not np.isfinite(value):
        # scikit-learn 1.6 takes big-endian and longdouble values for finite, whatever they are.
        dtype = value.dtype.newbyteorder("=") if value.dtype.itemsize <= 8 else np.dtype(np.float64)
        assert_all_finite(np.array([[value]], dtype), estimator_name=estimator, input_name="X")


def check_points(
    points: Any,  # (n_points, n_features) an array or a sparse matrix, IN
    estimator: str,
    weights: FloatArray | None = None,  # (n_points,), IN, checked
    *,
    directions: bool = False,  # only the directions of the rows count
) -> None:
    """Require real numbers that are finite and whose squared distances neither overflow nor underflow."""
    _check_dtype(points)
    values: Array = points.data if issparse(points) else points
    n_points, n_features = points.shape
    total = float(n_points if weights is None else max(n_points, weights.sum()))
    largest = largest_value(total, n_features)
    bad = first_bad_value(values, largest)
    bad_value = None if bad is None else values.reshape(len(values), -1)[bad]
    if bad_value is not None:
        _check_finite(bad_value, estimator)
    if bad_value is not None and abs(float(bad_value)) > largest:
        constant = "X" if total == n_points else "X or sample_weight"
        raise ValueError(
            f"X has values above {largest:.1e} in magnitude, whose squared distances are too large for float64; "
            f"divide {constant} by a constant."
        )
    if not directions and all_too_small(values):
        raise ValueError(
            f"X has no values above {SMALLEST:.0e} in magnitude, and the squares of such values are too small for "
            "float64; multiply X by a constant."
        )


def check_points_in_pass(
    points: Array | csr_array,
    centers: FloatArray,  # (n_clusters, n_features), IN
    estimator: str,
) -> Unchecked | None:
    """The same as `check_points`, by the pass that the points are for; None if they are checked already.

    A value above `largest` in magnitude is farther than half of that from every center whose values are at most
    half of it. A quarter leaves room for the rounding of distances.
    """
    _check_dtype(points)
    if points.dtype.kind != "f":
        return None
    largest = largest_value(*points.shape)
    if np.abs(centers).max() <= largest / 2 and not _has_spare_room(points):
        return Unchecked((largest / 4) ** 2, partial(check_points, points, estimator))
    check_points(points, estimator)
    return None


def _check_dtype(points: Array | csr_array) -> None:
    if points.dtype.kind in "mM":
        raise ValueError(f"X has dtype {points.dtype}; convert dates to numbers, for example X.astype('int64').")
    if points.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {points.dtype}; accepted are floating point, integer and bool.")


def _has_spare_room(points: Array | csr_array) -> bool:
    """Whether a sparse matrix holds values that belong to no row, which no pass reads."""
    return not isinstance(points, np.ndarray) and len(points.data) != int(points.indptr[-1])


def checked_weights(sample_weight: ArrayLike | None, points: Any) -> FloatArray | None:
    """The weights of the points, checked: none negative, not all zero."""
    if sample_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(
        in_memory_array(sample_weight, 1), points, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; at least one must be positive.")
    _check_weights(weights)
    return aligned(weights)


def common_weight(weights: object, n_points: int | None = None) -> float | None:
    """The weight of every point if all of them have the same, else None.

    Lazy weights are not looked at. Weights that are not `n_points` in number are left to the reader to refuse.
    """
    if not isinstance(weights, np.ndarray) or n_points not in (None, len(weights)):
        return None
    return float(weights[0]) if np.all(weights == weights[0]) else None


def checked_stream_weights(sample_weight: ArrayLike) -> Any:
    """The weights of data that is read in chunks, checked except for their number, which the reader checks.

    Dask collections are checked by the workers.
    """
    given = in_memory_array(sample_weight, 1)
    if is_dask(given):
        return given
    weights: FloatArray = check_array(
        given, dtype=np.float64, ensure_2d=False, ensure_non_negative=True, input_name="sample_weight"
    )
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has {weights.ndim} dimensions; expected one weight for each row.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; at least one must be positive.")
    _check_weights(weights)
    return weights


def _check_weights(weights: FloatArray) -> None:  # (n_points,), IN, finite
    """Require weights whose products with other numbers neither overflow nor underflow."""
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if total > LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight adds up to {total:.1e}, more than {LARGEST_TOTAL:.0e}: products with it are too large "
            "for float64; divide it by a constant."
        )
    if float(weights.max()) < SMALLEST:
        raise ValueError(
            f"sample_weight has no weight above {SMALLEST:.0e}: products with such weights are too small for "
            "float64; multiply it by a constant."
        )


def check_centers(centers: Array) -> None:  # (n_clusters, n_features), IN
    """Raise an error if centers that were found overflow their dtype, or if squares of their values underflow."""
    largest = float(np.abs(centers).max())
    if not np.isfinite(largest):
        raise ValueError(
            f"The centers have values that are too large for {centers.dtype}; divide the data by a constant"
            f"{' or give them as float64.' if centers.dtype == np.float32 else '.'}"
        )
    if 0 < largest < SMALLEST_CENTER:
        raise ValueError(
            f"The centers have no values above {SMALLEST_CENTER:.0e} in magnitude: the squares of such values are "
            "too small for float64; multiply the data by a constant."
        )


def check_moments(moments: Moments) -> None:
    """Raise an error if weights or squared distances overflowed when they were added up."""
    if not (np.isfinite(moments.cost) and np.isfinite(moments.counts).all()):
        raise ValueError(
            f"The weighted sum of squared distances, {moments.cost}, is too large for float64; divide the data or "
            "their weights by a constant."
        )


def largest_center(dtype: DType, n_features: int) -> float:
    """The largest coordinate that a center may have: it fits the dtype, and its square fits float64."""
    return min(float(np.finfo(dtype).max), largest_value(1, n_features))


def check_features(estimator: Any, source: Source, *, reset: bool) -> None:
    """Set the number and names of the features, or compare with those set, as scikit-learn does for arrays."""
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
        found, expected = next(pair for pair in zip(names, fitted, strict=True) if pair[0] != pair[1])
        raise ValueError(
            f"The feature names of {source.name} should match those that were passed during fit, in the same "
            f"order: it has {found!r} instead of {expected!r}."
        )

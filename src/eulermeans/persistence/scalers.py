"""scikit-learn's scalers as a header and arrays, and back: real ones, fitted, with all that they know."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..container import Contents
from ..estimators.packing import Unpackable

SCALERS = (StandardScaler, MinMaxScaler)
_PARAMETERS = {"StandardScaler": ("with_mean", "with_std"), "MinMaxScaler": ("feature_range", "clip")}
_ARRAYS = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
}


def pack_scaler(scaler: Any) -> Contents:
    """What `unpack_scaler` needs, with the names of the features."""
    check_is_fitted(scaler)
    kind = type(scaler).__name__
    header = {
        "class": kind,
        "parameters": {name: getattr(scaler, name) for name in _PARAMETERS[kind]},
        "n_samples_seen": int(np.max(scaler.n_samples_seen_)),
        "feature_names": [str(name) for name in getattr(scaler, "feature_names_in_", [])] or None,
    }
    arrays = {
        f"scaling/{name}": getattr(scaler, name) for name in _ARRAYS[kind] if getattr(scaler, name) is not None
    }
    return Contents(header, arrays)


def unpack_scaler(contents: Contents, n_features: int) -> Any:
    """The scaler that was packed."""
    kinds = {kind.__name__: kind for kind in SCALERS}
    match contents.header:
        case {"class": str(name), "parameters": dict(parameters), "n_samples_seen": int(seen), **others} if (
            name in kinds and parameters.keys() == set(_PARAMETERS[name]) and not others
        ):
            pass
        case _:
            raise Unpackable(f"holds a scaler that is not known; known are {' and '.join(kinds)}")
    if "feature_range" in parameters:
        parameters["feature_range"] = _range(parameters["feature_range"])
    scaler = kinds[name](**parameters)
    try:
        scaler._validate_params()
    except ValueError as error:
        raise Unpackable(
            f"holds a parameter of its scaler that is not allowed: {str(error).rstrip('.')}"
        ) from None
    arrays = {key.removeprefix("scaling/"): array for key, array in contents.arrays.items()}
    _check_arrays(scaler, arrays, n_features)
    for attribute in _ARRAYS[name]:
        setattr(scaler, attribute, arrays.get(attribute))
    scaler.n_samples_seen_, scaler.n_features_in_ = seen, n_features
    return scaler


def _check_arrays(scaler: Any, arrays: dict[str, Any], n_features: int) -> None:
    name = type(scaler).__name__
    needed = set(_ARRAYS[name])
    if name == "StandardScaler":
        optional = {"mean_"} if not scaler.with_mean else set()
        optional |= {"var_", "scale_"} if not scaler.with_std else set()
        needed -= optional
    if not needed <= arrays.keys() <= set(_ARRAYS[name]):
        raise Unpackable("holds a scaler that is not whole")
    for array in arrays.values():
        if array.shape != (n_features,) or array.dtype.kind != "f" or not np.isfinite(array).all():
            raise Unpackable(f"holds a scaler that is not of {n_features} finite numbers")
    if "scale_" in arrays and not (arrays["scale_"] > 0).all():
        raise Unpackable("holds a scaler that divides by zero")


def _range(values: Any) -> tuple[float, float]:
    match values:
        case [int() | float() as low, int() | float() as high] if low < high:
            return low, high
        case _:
            raise Unpackable("holds a scaler to a range that is none")

"""What an estimator is made of, as a header and arrays, and back: the inside of a model file.

Knows parameters and fitted attributes by name, and takes back only those. Does not know files.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..container import Contents
from ..driver import Record, StopReason

# Fitted attributes by how they are written. Those that an estimator does not have are left out. Labels are as many
# as the data, and predict makes them again.
NUMBERS: dict[str, type[int | float]] = {
    "inertia_": float,
    "objective_": float,
    "n_iter_": int,
    "n_features_in_": int,
    "_next_step": float,
}
ARRAYS = ("cluster_centers_", "cluster_weights_", "restarts_")
HISTORY = {  # the columns of history_, by the fields of a Record
    "phase": "|u1",  # an index into the header's list of phases
    "step": "<i8",
    "objective": "<f8",
    "exact": "|u1",
    "step_size": "<f8",  # NaN: it had none
    "seconds": "<f8",
    "points_read": "<i8",
    "n_distances": "<i8",
}


class Unpackable(ValueError):
    """Contents that are no estimator; the message says why, in words that follow a file's name."""


def pack(estimator: Any) -> Contents:
    """Everything that `unpack` needs for an estimator that predicts the same."""
    check_is_fitted(estimator)
    arrays: dict[str, Array] = {name: getattr(estimator, name) for name in ARRAYS if hasattr(estimator, name)}
    parameters = {}
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, np.ndarray | list | tuple):
            arrays[f"parameters/{name}"] = np.asarray(value, np.float64)
        elif _is_plain(value):
            parameters[name] = value.item() if isinstance(value, np.generic) else value
        else:
            warnings.warn(
                f"{name}={value!r} can't be held by a model file: the loaded model has the default instead.",
                stacklevel=3,
            )
    fitted = {name: kind(getattr(estimator, name)) for name, kind in NUMBERS.items() if hasattr(estimator, name)}
    phases = list(dict.fromkeys(record.phase for record in estimator.history_))
    for column, dtype in HISTORY.items():
        values = [getattr(record, column) for record in estimator.history_]
        if column == "phase":
            values = [phases.index(phase) for phase in values]
        arrays[f"history/{column}"] = np.array([math.nan if value is None else value for value in values], dtype)
    header = {
        "written_by": f"eulermeans {version('eulermeans')}",
        "class": type(estimator).__name__,
        "parameters": parameters,
        "fitted": fitted,
        "stop_reason": estimator.stop_reason_.name,
        "phases": phases,
        "feature_names": [str(name) for name in getattr(estimator, "feature_names_in_", [])] or None,
    }
    return Contents(header, arrays)


def unpack(contents: Contents, classes: Mapping[str, type]) -> Any:
    """The estimator that was packed, if it is one of the classes."""
    header, arrays = contents.header, dict(contents.arrays)
    kind = classes.get(str(header.get("class")))
    if kind is None:
        raise Unpackable(f"holds a model of class {header.get('class')!r}; known are {', '.join(classes)}")
    estimator = kind(**_parameters(kind, header, arrays))
    for name, value in _object(header, "fitted").items():
        if name not in NUMBERS:
            raise Unpackable(f"holds a fitted attribute {name!r}, which this eulermeans does not know")
        setattr(estimator, name, _number(value, name))
    estimator.history_ = _history(header, arrays)
    try:
        estimator.stop_reason_ = StopReason[str(header.get("stop_reason"))]
    except KeyError:
        raise Unpackable(
            f"gives {header.get('stop_reason')!r} as the reason to stop, which is not known"
        ) from None
    for name in ARRAYS:
        if name in arrays:
            setattr(estimator, name, arrays.pop(name))
    if arrays:
        raise Unpackable(f"holds an array {next(iter(arrays))!r}, which this eulermeans does not know")
    _check(estimator)
    names = feature_names(header, estimator.n_features_in_)
    if names is not None:
        estimator.feature_names_in_ = names
    return estimator


def feature_names(header: dict[str, Any], n_features: int) -> Array | None:
    """The names of the columns, if the model was fitted to named ones."""
    names = header.get("feature_names")
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(names) != n_features:
        raise Unpackable(f"does not name each of its {n_features} features")
    return np.array(names, dtype=object)


def _parameters(kind: Any, header: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    parameters = dict(_object(header, "parameters"))
    for name, value in parameters.items():
        if not _is_plain(value):
            raise Unpackable(f"holds a parameter {name} of a kind that is not known: {str(value)[:80]}")
    for name in [name for name in arrays if name.startswith("parameters/")]:
        parameters[name.removeprefix("parameters/")] = arrays.pop(name)
    unknown = parameters.keys() - set(kind._get_param_names())
    if unknown:
        raise Unpackable(
            f"holds parameters that this eulermeans does not know ({', '.join(sorted(unknown))}); upgrade it"
        )
    try:
        kind(**parameters)._validate_params()
    except ValueError as error:
        raise Unpackable(f"holds a parameter that is not allowed: {str(error).rstrip('.')}") from None
    return parameters


def _check(estimator: Any) -> None:
    """That the parts belong together."""
    centers = getattr(estimator, "cluster_centers_", None)
    if centers is None or centers.dtype.kind != "f" or not np.isfinite(centers).all():
        raise Unpackable("holds no centers, or some that are no finite numbers")
    expected = (estimator.n_clusters, getattr(estimator, "n_features_in_", None))
    if centers.shape != expected or 0 in expected:
        raise Unpackable(f"holds centers of shape {centers.shape}; expected (n_clusters, n_features) = {expected}")
    weights = getattr(estimator, "cluster_weights_", None)
    if weights is not None and weights.shape != (estimator.n_clusters,):
        raise Unpackable(f"holds weights of shape {weights.shape} for {estimator.n_clusters} clusters")
    if not hasattr(estimator, "n_iter_"):
        raise Unpackable("does not hold n_iter_")


def _history(header: dict[str, Any], arrays: dict[str, Array]) -> list[Record]:
    phases = header.get("phases")
    columns = {name: arrays.pop(f"history/{name}", np.empty((0, 0))) for name in HISTORY}
    length = len(columns["phase"])
    as_known = all(column.shape == (length,) and column.dtype == HISTORY[name] for name, column in columns.items())
    if not as_known or not isinstance(phases, list) or not all(isinstance(phase, str) for phase in phases):
        raise Unpackable("holds a history that is not whole")
    if length and columns["phase"].max() >= len(phases):
        raise Unpackable("holds a history of phases that it does not name")
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [_record(dict(zip(columns, row, strict=True)), phases) for row in rows]


def _record(row: dict[str, Any], phases: list[str]) -> Record:
    step_size = None if math.isnan(row["step_size"]) else row["step_size"]
    return Record(**row | {"phase": phases[row["phase"]], "exact": bool(row["exact"]), "step_size": step_size})


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | np.bool_ | np.integer | np.floating)


def _number(value: Any, name: str) -> float | int:
    kind = NUMBERS[name]
    if isinstance(value, bool) or not isinstance(value, int | kind):
        raise Unpackable(f"gives {str(value)[:80]} as {name}, which is no number of that kind")
    return kind(value)


def _object(header: dict[str, Any], key: str) -> dict[str, Any]:
    value = header.get(key)
    if not isinstance(value, dict):
        raise Unpackable(f"has no {key}")
    return value

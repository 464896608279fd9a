"""An estimator as the header and arrays of a model file, and back.

Knows parameters and fitted attributes by name, and loads only those. Does not know files.
"""

from __future__ import annotations

import math
import warnings
from importlib import import_module
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np

from ..arrays import Array
from ..history import Record, StopReason
from .container import Contents, Header, InvalidContents

# The classes that a model file may name, and the modules they live in. The modules import this one, so they are
# imported only when they are needed.
CLASSES = {"EulerMeans": "eulermeans.estimators", "StochasticBackwardEuler": "eulermeans.estimators"}

# Fitted attributes that are numbers. An estimator need not have all of them.
NUMBERS: dict[str, type[int | float]] = {
    "inertia_": float,
    "objective_": float,
    "n_iter_": int,
    "n_features_in_": int,
    "_next_step": float,
}
# Fitted attributes that are arrays. Labels are as long as the data, and `predict` computes them again.
ARRAYS = ("cluster_centers_", "cluster_weights_", "restarts_")
HISTORY = {  # the columns of history_: the fields of a Record, in their order
    "phase": "|u1",  # an index into the header's list of phases
    "step": "<i8",
    "objective": "<f8",
    "exact": "|u1",
    "step_size": "<f8",  # NaN stands for None
    "seconds": "<f8",
    "points_read": "<i8",
    "n_distances": "<i8",
}


class Estimator(Protocol):
    """What `storage` knows of the estimators; attributes that end in _ exist once they are fitted."""

    n_clusters: int
    n_threads: int | None
    n_features_in_: int
    feature_names_in_: Array  # (n_features,), only if the columns had names
    cluster_centers_: Array  # (n_clusters, n_features)
    labels_: Array  # (n_samples,)
    inertia_: float
    n_iter_: int
    history_: list[Record]
    stop_reason_: StopReason

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""

    def predict(self, X: Any) -> Any:
        """The labels of the rows of X."""

    def score(self, X: Any) -> float:
        """Minus the inertia of X."""


def pack(estimator: Estimator) -> Contents:
    """What `unpack` needs to rebuild a fitted estimator."""
    arrays: dict[str, Array] = {name: getattr(estimator, name) for name in ARRAYS if hasattr(estimator, name)}
    parameters = {}
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, np.ndarray | list | tuple):
            arrays[f"parameters/{name}"] = np.asarray(value, np.float64)
        elif _is_plain(value):
            parameters[name] = value.item() if isinstance(value, np.generic) else value
        else:
            warnings.warn(
                f"A model file can't hold {name}={value!r}: the loaded model will have the default instead.",
                stacklevel=3,
            )
    phases = list(dict.fromkeys(record.phase for record in estimator.history_))
    for column, dtype in HISTORY.items():
        values = [getattr(record, column) for record in estimator.history_]
        if column == "phase":
            values = [phases.index(phase) for phase in values]
        arrays[f"history/{column}"] = np.array([math.nan if value is None else value for value in values], dtype)
    header: Header = {
        "written_by": f"eulermeans {version('eulermeans')}",
        "class": type(estimator).__name__,
        "parameters": parameters,
        "fitted": {
            name: kind(getattr(estimator, name)) for name, kind in NUMBERS.items() if hasattr(estimator, name)
        },
        "stop_reason": estimator.stop_reason_.name,
        "phases": phases,
        "feature_names": feature_names(estimator),
    }
    return Contents(header, arrays)


def unpack(contents: Contents) -> Estimator:
    """The estimator that was packed."""
    header, arrays = contents.header, dict(contents.arrays)
    kind = estimator_classes().get(str(header.get("class")))
    if kind is None:
        raise InvalidContents(f"holds a model of class {header.get('class')!r}; known are {', '.join(CLASSES)}")
    match header:
        case {"parameters": dict(parameters), "fitted": dict(fitted)}:
            estimator: Estimator = with_parameters(kind, _known_parameters(kind, parameters, arrays))
        case _:
            raise InvalidContents("has no parameters or no fitted attributes")
    for name, value in fitted.items():
        number = NUMBERS.get(name)
        if number is None:
            raise InvalidContents(f"holds an unknown fitted attribute {name!r}; upgrade eulermeans")
        if isinstance(value, bool) or not isinstance(value, int | number):
            raise InvalidContents(f"has an invalid {name}: {str(value)[:80]}")
        setattr(estimator, name, number(value))
    estimator.history_ = _history(header, arrays)
    try:
        estimator.stop_reason_ = StopReason[str(header.get("stop_reason"))]
    except KeyError:
        raise InvalidContents(f"has an unknown stop reason {header.get('stop_reason')!r}") from None
    for name in ARRAYS:
        if name in arrays:
            setattr(estimator, name, arrays.pop(name))
    if arrays:
        raise InvalidContents(f"holds an unknown array {next(iter(arrays))!r}; upgrade eulermeans")
    _check(estimator)
    names, n_features = header.get("feature_names"), estimator.n_features_in_
    if names is None:
        return estimator
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(names) != n_features:
        raise InvalidContents(f"does not have a name for each of its {n_features} features")
    estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def feature_names(fitted: object) -> list[str] | None:
    """The names of the columns that an estimator or a scaler was fitted to; None if they had none."""
    return [str(name) for name in getattr(fitted, "feature_names_in_", [])] or None


def estimator_classes() -> dict[str, type[Any]]:
    """The classes of CLASSES by name."""
    return {name: getattr(import_module(module), name) for name, module in CLASSES.items()}


def with_parameters(kind: type[Any], parameters: dict[str, object]) -> Any:
    """An object of a class of scikit-learn's kind; InvalidContents if its parameters are not allowed."""
    created = kind(**parameters)
    try:
        created._validate_params()
    except ValueError as error:
        raise InvalidContents(f"holds an invalid parameter: {str(error).rstrip('.')}") from None
    return created


def _known_parameters(
    kind: type[Any], parameters: dict[str, object], arrays: dict[str, Array]
) -> dict[str, object]:
    """The parameters, with those that are arrays, which are taken out of `arrays`, INOUT."""
    for name, value in parameters.items():
        if not _is_plain(value):
            raise InvalidContents(f"holds a parameter {name} of an unknown kind: {str(value)[:80]}")
    for name in [name for name in arrays if name.startswith("parameters/")]:
        parameters[name.removeprefix("parameters/")] = arrays.pop(name)
    unknown = parameters.keys() - set(kind._get_param_names())
    if unknown:
        raise InvalidContents(f"holds unknown parameters ({', '.join(sorted(unknown))}); upgrade eulermeans")
    return parameters


def _check(estimator: Estimator) -> None:
    """Raise InvalidContents if the attributes do not fit together."""
    centers = getattr(estimator, "cluster_centers_", None)
    if centers is None or centers.dtype.kind != "f" or not np.isfinite(centers).all():
        raise InvalidContents("has no centers, or centers that are not finite")
    expected = (estimator.n_clusters, getattr(estimator, "n_features_in_", None))
    if centers.shape != expected or 0 in expected:
        raise InvalidContents(
            f"holds centers of shape {centers.shape}; expected (n_clusters, n_features) = {expected}"
        )
    weights = getattr(estimator, "cluster_weights_", None)
    if weights is not None and weights.shape != (estimator.n_clusters,):
        raise InvalidContents(f"holds weights of shape {weights.shape} for {estimator.n_clusters} clusters")
    if not hasattr(estimator, "n_iter_"):
        raise InvalidContents("does not hold n_iter_")


def _history(header: Header, arrays: dict[str, Array]) -> list[Record]:
    """The records of the fit; takes their columns out of `arrays`, INOUT."""
    phases = header.get("phases")
    columns = {name: arrays.pop(f"history/{name}", np.empty((0, 0))) for name in HISTORY}
    length = len(columns["phase"])
    complete = all(column.shape == (length,) and column.dtype == HISTORY[name] for name, column in columns.items())
    if not complete or not isinstance(phases, list) or not all(isinstance(phase, str) for phase in phases):
        raise InvalidContents("holds an incomplete history")
    if length and columns["phase"].max() >= len(phases):
        raise InvalidContents("has phases in its history that it does not name")
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        Record(phases[phase], step, objective, bool(exact), None if math.isnan(step_size) else step_size, *others)
        for phase, step, objective, exact, step_size, *others in rows
    ]


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | bool | int | float | np.bool_ | np.integer | np.floating)

"""An estimator as the header and arrays of a model file, and back.

Knows parameters and fitted attributes by name, and loads only those. Does not know files.
"""

from __future__ import annotations

import json
import warnings
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from ..arrays import Array
from ..byte_sizes import parse_bytes
from ..history import Record, StopReason
from .container import Contents, Header, InvalidContents
from .history_arrays import HISTORY, pack_records, phases_of, unpack_records

# The classes that a model file may name, and the modules they live in. The modules import this one, so they are
# imported only when they are needed.
CLASSES = dict.fromkeys(("EulerMeans", "SizedMeans", "StochasticBackwardEuler"), "eulermeans.estimators")

# Fitted attributes that are numbers. An estimator need not have all of them.
NUMBERS: dict[str, type[int | float]] = {
    "inertia_": float,
    "objective_": float,
    "unbounded_objective_": float,
    "n_iter_": int,
    "n_features_in_": int,
    "_next_step": float,
}
# Fitted attributes that are arrays. Labels are as long as the data, and `predict` computes them again.
ARRAYS = ("cluster_centers_", "cluster_weights_", "prices_", "restarts_", "size_bounds_")
MOST_IN_HEADER = 1 << 18  # characters of the names of features that the header holds; more are stored in arrays


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
    _columns: list[str] | None  # the columns that `fit` was told to use

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""

    def predict(self, X: Any) -> Any:
        """The labels of the rows of X."""

    def score(self, X: Any) -> float:
        """Minus the inertia of X."""


def pack(estimator: Estimator) -> Contents:
    """What `unpack` needs to rebuild a fitted estimator."""
    from importlib.metadata import version  # slow to import, and only needed to write

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
    arrays |= {f"history/{field}": array for field, array in pack_records(estimator.history_).items()}
    header: Header = {
        "written_by": f"eulermeans {version('eulermeans')}",
        "class": type(estimator).__name__,
        "parameters": parameters,
        "fitted": {
            name: kind(getattr(estimator, name)) for name, kind in NUMBERS.items() if hasattr(estimator, name)
        },
        "stop_reason": estimator.stop_reason_.name,
        "phases": phases_of(estimator.history_),
        "columns": estimator._columns,
    }
    store_names(feature_names(estimator), header, arrays)
    return Contents(header, arrays)


def unpack(contents: Contents) -> Estimator:
    """The estimator that was packed."""
    header, arrays = contents.header, dict(contents.arrays)
    kind = estimator_classes().get(str(header.get("class")))
    if kind is None:
        raise InvalidContents(
            f"holds a model of class {_shown(header.get('class'))}; known are {', '.join(CLASSES)}"
        )
    match header:
        case {"parameters": dict(parameters), "fitted": dict(fitted)}:
            estimator: Estimator = with_parameters(kind, _known_parameters(kind, parameters, arrays))
        case _:
            raise InvalidContents("has no parameters or no fitted attributes")
    for name, value in fitted.items():
        number = NUMBERS.get(name)
        if number is None:
            raise InvalidContents(f"holds an unknown fitted attribute {_shown(name)}; upgrade eulermeans")
        if isinstance(value, bool) or not isinstance(value, int | number) or value < 0:
            raise InvalidContents(f"has an invalid {name}: {_shown(value)}")
        setattr(estimator, name, number(value))
    history = {field: arrays.pop(f"history/{field}") for field in HISTORY if f"history/{field}" in arrays}
    estimator.history_ = unpack_records(header.get("phases"), history)
    try:
        estimator.stop_reason_ = StopReason[str(header.get("stop_reason"))]
    except KeyError:
        raise InvalidContents(f"has an unknown stop reason {_shown(header.get('stop_reason'))}") from None
    match header.get("columns"):
        case None:
            pass
        case [*columns] if columns and all(isinstance(column, str) for column in columns):
            estimator._columns = [str(column) for column in columns]
        case other:
            raise InvalidContents(f"holds columns that are not names: {_shown(other)}")
    names = stored_names(header, arrays)
    for name in ARRAYS:
        if name in arrays:
            setattr(estimator, name, arrays.pop(name))
    if arrays:
        raise InvalidContents(f"holds an unknown array {_shown(next(iter(arrays)))}; upgrade eulermeans")
    _check(estimator)
    if names is None:
        return estimator
    if len(names) != estimator.n_features_in_:
        raise InvalidContents(f"does not have a name for each of its {estimator.n_features_in_} features")
    estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def feature_names(fitted: object) -> list[str] | None:
    """The names of the columns that an estimator or a scaler was fitted to; None if they had none."""
    return [str(name) for name in getattr(fitted, "feature_names_in_", [])] or None


def store_names(names: list[str] | None, header: Header, arrays: dict[str, Array]) -> None:
    """Put the names of features into the header, or into arrays if they are long; both INOUT."""
    header["feature_names"] = names
    if len(json.dumps(names)) > MOST_IN_HEADER:
        encoded = [name.encode("utf-8", "surrogatepass") for name in names or ()]
        header["feature_names"] = None
        arrays["feature_names/text"] = np.frombuffer(b"".join(encoded), np.uint8)
        arrays["feature_names/ends"] = np.cumsum([len(name) for name in encoded])


def stored_names(header: Header, arrays: dict[str, Array]) -> list[str] | None:
    """The names that `store_names` stored; takes their arrays out of `arrays`, INOUT."""
    names = header.get("feature_names")
    text, ends = (arrays.pop(f"feature_names/{part}", None) for part in ("text", "ends"))
    if text is not None and ends is not None and names is None:
        if text.dtype != np.uint8 or ends.dtype != np.int64 or not text.ndim == ends.ndim == 1 or not len(ends):
            raise InvalidContents("holds names of features in arrays of another kind")
        starts = np.concatenate([[0], ends[:-1]])
        if np.any(starts > ends) or ends[-1] != len(text):
            raise InvalidContents("holds names of features that can't be told apart")
        try:
            return [
                bytes(text[start:end]).decode("utf-8", "surrogatepass")
                for start, end in zip(starts, ends, strict=True)
            ]
        except ValueError:
            raise InvalidContents("holds names of features that are not text") from None
    if text is not None or ends is not None or not isinstance(names, list | None):
        raise InvalidContents("holds names of features that do not belong together")
    if names is not None and not all(isinstance(name, str) for name in names):
        raise InvalidContents("does not have a name for each of its features")
    return names


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
        if not _is_plain(value) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
            raise InvalidContents(f"holds a parameter {_shown(name)} of an unknown kind: {_shown(value)}")
    if "parameters/init" in arrays:  # no other parameter is an array
        parameters["init"] = arrays.pop("parameters/init")
    unknown = parameters.keys() - set(kind._get_param_names())
    if unknown:
        raise InvalidContents(f"holds unknown parameters ({_shown(sorted(unknown))}); upgrade eulermeans")
    limit = parameters.get("memory_limit")
    if isinstance(limit, str):
        try:
            parse_bytes(limit)
        except ValueError:
            raise InvalidContents(f"holds an invalid memory_limit: {_shown(limit)}") from None
    return parameters


def _check(estimator: Estimator) -> None:
    """Raise InvalidContents if the attributes do not fit together."""
    centers, init = getattr(estimator, "cluster_centers_", None), getattr(estimator, "init", None)
    if centers is None or centers.dtype.kind != "f" or not np.isfinite(centers).all():
        raise InvalidContents("has no centers, or centers that are not finite")
    expected = (estimator.n_clusters, getattr(estimator, "n_features_in_", None))
    for name, array in (("centers", centers), ("initial centers", init)):
        if isinstance(array, np.ndarray) and (array.shape != expected or 0 in expected):
            raise InvalidContents(
                f"holds {name} of shape {array.shape}; expected (n_clusters, n_features) = {expected}"
            )
    if isinstance(init, np.ndarray) and (init.dtype.kind != "f" or not np.isfinite(init).all()):
        raise InvalidContents("holds initial centers that are not finite")
    weights, restarts = (getattr(estimator, name, None) for name in ("cluster_weights_", "restarts_"))
    if weights is not None and weights.shape != (estimator.n_clusters,):
        raise InvalidContents(f"holds weights of shape {weights.shape} for {estimator.n_clusters} clusters")
    prices = getattr(estimator, "prices_", None)
    if prices is not None and (
        prices.shape != (estimator.n_clusters,) or prices.dtype != np.float64 or not np.isfinite(prices).all()
    ):
        raise InvalidContents(f"holds prices that are not {estimator.n_clusters} finite numbers")
    bounds = getattr(estimator, "size_bounds_", None)
    if bounds is not None and not (bounds.shape == (2,) and 0 <= bounds[0] <= bounds[1] < np.inf):
        raise InvalidContents("holds bounds on sizes that are not two numbers >= 0 in order")
    if restarts is not None and (restarts.ndim != 1 or len(restarts) == 0):
        raise InvalidContents(f"holds restarts of shape {restarts.shape}; expected one objective for each")
    for name, array in (("weights", weights), ("restarts", restarts)):
        if array is not None and (array.dtype != np.float64 or not np.isfinite(array).all() or (array < 0).any()):
            raise InvalidContents(f"holds {name} that are not finite numbers >= 0")
    if not hasattr(estimator, "n_iter_"):
        raise InvalidContents("does not hold n_iter_")


def _shown(value: object) -> str:
    """A value of a file in a message: its beginning, in one line."""
    return repr(value)[:80]


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | bool | int | float | np.bool_ | np.integer | np.floating)

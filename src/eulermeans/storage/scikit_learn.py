"""The objects of scikit-learn that models are combined with or exported as: pipelines, scalers, KMeans.

No other module of `storage` imports scikit-learn.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from .container import Contents, Header, InvalidContents
from .packing import CLASSES, Estimator, estimator_classes, with_parameters

SCALING = "scaling/"  # the prefix of the arrays of a scaler
Scaler: TypeAlias = StandardScaler | MinMaxScaler
Model: TypeAlias = Estimator | Pipeline  # what can be saved; a Pipeline consists of a scaler and an estimator
SCALERS = {"StandardScaler": StandardScaler, "MinMaxScaler": MinMaxScaler}
_PARAMETERS = {"StandardScaler": ("with_mean", "with_std"), "MinMaxScaler": ("feature_range", "clip")}
_ARRAYS = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
}


def split_pipeline(model: Model) -> tuple[Estimator, Scaler | None]:
    """The fitted estimator, and the scaler before it if there is one."""
    steps = [model]
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")] or [None]
    *before, last = steps
    known = isinstance(last, tuple(estimator_classes().values()))
    if known and [type(step) for step in before] in [[], *([kind] for kind in SCALERS.values())]:
        check_is_fitted(last)
        return last, before[0] if before else None
    raise TypeError(
        f"can't save {model!r}: a model file holds {' or '.join(CLASSES)}, or a Pipeline of "
        f"{' or '.join(SCALERS)} and one of them."
    )


def as_pipeline(scaler: Scaler, estimator: Estimator) -> Pipeline:
    """The estimator behind the scaler."""
    return Pipeline([("scale", scaler), ("cluster", estimator)])


def as_sklearn(estimator: Estimator) -> KMeans:
    """A fitted KMeans with the estimator's centers, which are also its `init`: fitting it again starts there.

    For the cosine metric the labels are the same, since the centers have unit length; the distances are Euclidean.
    """
    check_is_fitted(estimator)
    centers = np.array(estimator.cluster_centers_, order="C")
    model = KMeans(n_clusters=len(centers), init=centers, n_init=1)
    model.cluster_centers_ = centers.copy()
    model._n_threads = _openmp_effective_n_threads(estimator.n_threads)
    model._n_features_out = len(centers)
    for name in ("labels_", "inertia_", "n_iter_", "n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(model, name, getattr(estimator, name))
    return model


def pack_scaler(scaler: Scaler) -> Contents:
    """What `unpack_scaler` needs, and the names of the features."""
    check_is_fitted(scaler)
    kind = type(scaler).__name__
    header: Header = {
        "class": kind,
        "parameters": {name: getattr(scaler, name) for name in _PARAMETERS[kind]},
        "n_samples_seen": int(np.max(scaler.n_samples_seen_)),
        "feature_names": [str(name) for name in getattr(scaler, "feature_names_in_", [])] or None,
    }
    arrays = {
        f"{SCALING}{name}": getattr(scaler, name) for name in _ARRAYS[kind] if getattr(scaler, name) is not None
    }
    return Contents(header, arrays)


def unpack_scaler(header: object, arrays: dict[str, Array], n_features: int) -> Scaler:
    """The scaler that was packed."""
    match header:
        case {"class": str(name), "parameters": dict(parameters), "n_samples_seen": int(seen), **others} if (
            name in SCALERS and parameters.keys() == set(_PARAMETERS[name]) and not others
        ):
            pass
        case _:
            raise InvalidContents(f"holds an unknown scaler; known scalers are {' and '.join(SCALERS)}")
    if "feature_range" in parameters:
        parameters["feature_range"] = _range(parameters["feature_range"])
    scaler = with_parameters(SCALERS[name], parameters)
    arrays = {key.removeprefix(SCALING): array for key, array in arrays.items()}
    _check_arrays(scaler, arrays, n_features)
    for attribute in _ARRAYS[name]:
        setattr(scaler, attribute, arrays.get(attribute))
    scaler.n_samples_seen_, scaler.n_features_in_ = seen, n_features
    return scaler


def _check_arrays(scaler: Scaler, arrays: dict[str, Array], n_features: int) -> None:
    name = type(scaler).__name__
    needed = set(_ARRAYS[name])
    if name == "StandardScaler":
        needed -= set() if scaler.with_mean else {"mean_"}
        needed -= set() if scaler.with_std else {"var_", "scale_"}
    if not needed <= arrays.keys() <= set(_ARRAYS[name]):
        raise InvalidContents("holds an incomplete scaler")
    for array in arrays.values():
        if array.shape != (n_features,) or array.dtype.kind != "f" or not np.isfinite(array).all():
            raise InvalidContents(f"holds a scaler whose arrays are not {n_features} finite numbers each")
    if "scale_" in arrays and not (arrays["scale_"] > 0).all():
        raise InvalidContents("holds a scaler with a scale that is not positive")


def _range(values: object) -> tuple[float, float]:
    match values:
        case [int() | float() as low, int() | float() as high] if low < high:
            return low, high
        case _:
            raise InvalidContents("holds a scaler with an invalid range")

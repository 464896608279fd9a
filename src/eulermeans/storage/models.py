"""Model files: a fitted estimator, alone or behind a scaler of scikit-learn, in one file without pickle.

Knows what a model may consist of, and exports it as scikit-learn's KMeans. `container` knows the bytes, `packing`
the attributes of an estimator. No other module of `storage` imports scikit-learn. See docs/model-format.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array
from ..features import Preparation
from .bounds_cost import cost_of_bounds
from .container import FORMAT, Contents, InvalidContents, read, write
from .model_summary import SCALING, ModelSummary
from .model_summary import ModelFileError as ModelFileError  # where users find it
from .packing import (
    CLASSES,
    Estimator,
    estimator_classes,
    feature_names,
    pack,
    store_names,
    unpack,
    with_parameters,
)
from .preparations import store_preparation, stored_preparation

Scaler: TypeAlias = StandardScaler | MinMaxScaler
Model: TypeAlias = Estimator | Pipeline  # what can be saved; a Pipeline consists of a scaler and an estimator
_SCALERS = {"StandardScaler": StandardScaler, "MinMaxScaler": MinMaxScaler}
_PARAMETERS = {"StandardScaler": ("with_mean", "with_std"), "MinMaxScaler": ("feature_range", "clip")}
_ARRAYS = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
}


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds."""

    estimator: Estimator  # fitted; has feature_names_in_ only if there is no scaler
    scaler: Scaler | None = None  # fitted
    notes: Mapping[str, object] = field(default_factory=dict)  # JSON that the writer added for people to read
    written_by: str = ""
    preparation: Preparation | None = None  # of the columns, before the scaler

    @property
    def whole(self) -> Model:
        """The estimator, or a Pipeline of the scaler and the estimator."""
        if self.scaler is None:
            return self.estimator
        return Pipeline([("scale", self.scaler), ("cluster", self.estimator)])

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns that the model was fitted to, if they had names."""
        return feature_names(self.estimator if self.scaler is None else self.scaler)

    @property
    def centers(self) -> Array:
        """The centers in the units of the data, (n_clusters, n_features)."""
        centers = self.estimator.cluster_centers_
        return centers if self.scaler is None else self.scaler.inverse_transform(centers)

    @property
    def summary(self) -> ModelSummary:
        """What people want to know of it."""
        estimator = self.estimator
        weights = getattr(estimator, "cluster_weights_", None)
        return ModelSummary(
            kind=type(estimator).__name__,
            n_clusters=estimator.n_clusters,
            n_features=estimator.n_features_in_,
            feature_names=self.feature_names,
            objective=getattr(estimator, "objective_", None),
            inertia=getattr(estimator, "inertia_", None),
            n_iter=estimator.n_iter_,
            stop_reason=estimator.stop_reason_,
            scaler=None if self.scaler is None else type(self.scaler).__name__,
            metric=str(getattr(estimator, "metric", "euclidean")),
            weights=weights,
            centers=self.centers,
            points=estimator.cluster_centers_,
            bounds=cost_of_bounds(
                getattr(estimator, "size_bounds_", None),
                getattr(estimator, "unbounded_objective_", None),
                getattr(estimator, "objective_", None),
            ),
            prices=getattr(estimator, "prices_", None),
            preparation=self.preparation,
            notes=self.notes,
            written_by=self.written_by,
        )


def save(
    model: Model,
    path: str | os.PathLike[str],
    *,
    notes: Mapping[str, object] | None = None,
    preparation: Preparation | None = None,
) -> None:
    """Write a fitted estimator, or a Pipeline of a scaler and one, to a file that `load` reads.

    Labels are not saved: `predict` computes them again.

    Parameters
    ----------
    model : estimator or Pipeline
        A Pipeline may consist of a StandardScaler or a MinMaxScaler, and an estimator of ours.
    path : str or Path
        The file. An existing one is replaced only once the new one is complete.
    notes : dict, default=None
        Anything that JSON can hold; `eulermeans info` shows it.
    preparation : Preparation, default=None
        What the command does to the columns of a table before they get to the model; `load` does not return it.

    Examples
    --------
    >>> import eulermeans
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = [[1.0, 200.0], [2.0, 100.0], [8.0, 900.0], [9.0, 800.0]]
    >>> model = make_pipeline(StandardScaler(), eulermeans.EulerMeans(2, random_state=0)).fit(X)
    >>> eulermeans.save(model, "scaled.eulermeans", notes={"by": "Ada"})
    >>> eulermeans.load("scaled.eulermeans").predict(X).tolist() == model.predict(X).tolist()
    True
    """
    estimator, scaler = _split(model)
    packed = pack(estimator)
    header = {**packed.header, "scaling": None, "notes": dict(notes or {})}
    arrays = dict(packed.arrays)
    if scaler is not None:
        check_is_fitted(scaler)
        kind = type(scaler).__name__
        header["scaling"] = {
            "class": kind,
            "parameters": {name: getattr(scaler, name) for name in _PARAMETERS[kind]},
            "n_samples_seen": int(np.max(scaler.n_samples_seen_)),
        }
        store_names(feature_names(scaler), header, arrays)
        fitted = {f"{SCALING}{name}": getattr(scaler, name) for name in _ARRAYS[kind]}
        arrays |= {name: array for name, array in fitted.items() if array is not None}
    if preparation is not None:
        store_preparation(preparation, header, arrays)
    write(path, Contents(header, arrays), FORMAT if preparation is not None else 1)


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file: an estimator, or a Pipeline of a scaler and an estimator.

    Parameters
    ----------
    path : str or Path
        A file that `save` or `eulermeans fit` wrote.

    Returns
    -------
    EulerMeans, SizedMeans, StochasticBackwardEuler or Pipeline
        Fitted, without `labels_`.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or needs a newer eulermeans.

    Examples
    --------
    >>> import eulermeans
    >>> model = eulermeans.EulerMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> model.save("model.eulermeans")
    >>> again = eulermeans.load("model.eulermeans")
    >>> again.predict([[0.4], [7.0]]).tolist()
    [0, 1]
    """
    return read_model(path).whole


def read_model(path: str | os.PathLike[str]) -> SavedModel:
    """The model in a file, its scaler and its notes. Raises ModelFileError."""
    try:
        return _unpack_model(read(path))
    except InvalidContents as error:
        raise ModelFileError(f"{os.fspath(path)} {error}.") from None


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


def _unpack_model(contents: Contents) -> SavedModel:
    header = dict(contents.header)
    scaling, notes = header.pop("scaling", None), header.pop("notes", None)
    described, fill = header.pop("preparation", None), {}
    arrays = dict(contents.arrays)
    if described is not None:
        fill = {name: arrays.pop(name) for name in contents.arrays if name.startswith("preparation/")}
    scaler_arrays = {name: arrays.pop(name) for name in contents.arrays if name.startswith(SCALING)}
    estimator = unpack(Contents(header, arrays))
    scaler = None
    if scaling is not None:
        scaler = _unpack_scaler(scaling, scaler_arrays, estimator.n_features_in_)
        if hasattr(estimator, "feature_names_in_"):  # in a Pipeline, only the first step sees the column names
            scaler.feature_names_in_ = estimator.__dict__.pop("feature_names_in_")
    elif scaler_arrays:
        raise InvalidContents("holds arrays of a scaler, but no scaler")
    preparation = None
    if described is not None:
        names = feature_names(estimator if scaler is None else scaler)
        preparation = stored_preparation(described, fill, estimator.n_features_in_, names)
    if fill:
        raise InvalidContents(f"holds an unknown array {next(iter(fill))[:80]!r}; upgrade eulermeans")
    written_by = str(header.get("written_by", ""))
    return SavedModel(estimator, scaler, notes if isinstance(notes, dict) else {}, written_by, preparation)


def _split(model: Model) -> tuple[Estimator, Scaler | None]:
    """The fitted estimator, and the scaler before it if there is one."""
    steps = [model]
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")] or [None]
    *before, last = steps
    known = isinstance(last, tuple(estimator_classes().values()))
    if known and [type(step) for step in before] in [[], *([kind] for kind in _SCALERS.values())]:
        check_is_fitted(last)
        return last, before[0] if before else None
    raise TypeError(
        f"can't save {model!r}: a model file holds {' or '.join(CLASSES)}, or a Pipeline of "
        f"{' or '.join(_SCALERS)} and one of them."
    )


def _unpack_scaler(header: object, arrays: dict[str, Array], n_features: int) -> Scaler:
    """The scaler that was saved."""
    match header:
        case {"class": str(name), "parameters": dict(parameters), "n_samples_seen": int(seen), **others} if (
            name in _SCALERS
            and parameters.keys() == set(_PARAMETERS[name])
            and not others
            and type(seen) is int
            and 0 < seen < 2**63
        ):
            pass
        case _:
            raise InvalidContents(f"holds an unknown scaler; known scalers are {' and '.join(_SCALERS)}")
    if "feature_range" in parameters:
        parameters["feature_range"] = _range(parameters["feature_range"])
    scaler = with_parameters(_SCALERS[name], parameters)
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

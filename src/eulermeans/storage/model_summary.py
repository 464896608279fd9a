"""What a model file says about itself, read without scikit-learn: it takes a second to import, and people wait.

Checks what it shows. `models.read_model` checks everything, and makes an estimator of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array, FloatArray
from ..features import Preparation
from ..history import StopReason
from .bounds_cost import BoundsCost, cost_of_bounds
from .container import Contents, Header, InvalidContents, read
from .packing import CLASSES, stored_names
from .preparations import stored_preparation

_ROUNDING = 1e-14  # of the largest value of a feature
SCALING = "scaling/"  # the prefix of the arrays of a scaler


class ModelFileError(ValueError):
    """The file is not a model, is damaged, or needs a newer eulermeans. The message names the file.

    Examples
    --------
    >>> import eulermeans
    >>> with open("notes.txt", "w") as file:
    ...     _ = file.write("not a model")
    >>> try:
    ...     eulermeans.load("notes.txt")
    ... except eulermeans.ModelFileError as error:
    ...     print(error)
    notes.txt is not an eulermeans model file; `eulermeans fit` and model.save() write them.
    """


@dataclass(frozen=True)
class ModelSummary:
    """What people want to know of a model."""

    kind: str  # the class of the estimator
    n_clusters: int
    n_features: int
    feature_names: list[str] | None
    objective: float | None
    inertia: float | None
    n_iter: int
    stop_reason: StopReason
    scaler: str | None  # its class
    metric: str
    weights: FloatArray | None  # (n_clusters,) of the points of each cluster
    centers: Array  # (n_clusters, n_features) in the units of the data
    points: Array  # (n_clusters, n_features) the centers in scaled units, in which distances are measured
    bounds: BoundsCost | None = None  # on the sizes of clusters
    prices: FloatArray | None = None  # (n_clusters,) that hold the bounds
    preparation: Preparation | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    notes: Mapping[str, object] = field(default_factory=dict)
    written_by: str = ""

    @property
    def rounded_centers(self) -> FloatArray:
        """The centers, with zeros in place of what is left over when a scaling is undone."""
        centers = np.asarray(self.centers, np.float64)
        return np.where(np.abs(centers) <= _ROUNDING * np.abs(centers).max(axis=0), 0.0, centers)

    @property
    def by_separation(self) -> list[int]:
        """The features, those first in which the clusters differ most, as distances measure it."""
        weights = np.ones(self.n_clusters) if self.weights is None else self.weights
        total = float(weights.sum()) or 1.0
        points = self.points.astype(np.float64)
        between = weights @ (points - weights @ points / total) ** 2 / total
        return [int(place) for place in np.argsort(-between, kind="stable")]


def read_summary(path: str | os.PathLike[str]) -> ModelSummary:
    """The summary of the model in a file. Raises ModelFileError."""
    try:
        return _summarized(read(path))
    except InvalidContents as error:
        raise ModelFileError(f"{os.fspath(path)} {error}.") from None


def _summarized(contents: Contents) -> ModelSummary:
    header, arrays = contents.header, dict(contents.arrays)
    match header:
        case {"class": str(kind), "parameters": dict(parameters), "fitted": dict(fitted)} if kind in CLASSES:
            pass
        case _:
            raise InvalidContents(f"does not hold a model of a known class ({', '.join(CLASSES)})")
    centers = arrays.get("cluster_centers_")
    if centers is None or centers.ndim != 2 or 0 in centers.shape or not np.isfinite(centers).all():
        raise InvalidContents("has no centers, or centers that are not finite")
    names = stored_names(header, arrays)
    if names is not None and len(names) != centers.shape[1]:
        raise InvalidContents(f"does not have a name for each of its {centers.shape[1]} features")
    weights = arrays.get("cluster_weights_")
    if weights is not None and (weights.shape != (len(centers),) or not np.isfinite(weights).all()):
        raise InvalidContents(f"holds weights of shape {weights.shape} for {len(centers)} clusters")
    try:
        reason = StopReason[str(header.get("stop_reason"))]
    except KeyError:
        raise InvalidContents("has an unknown stop reason") from None
    preparation = header.get("preparation")
    scaling, notes = header.get("scaling"), header.get("notes")
    for name in [name for name in arrays if name.startswith("parameters/")]:
        parameters = {**parameters, name.removeprefix("parameters/"): arrays[name].tolist()}
    return ModelSummary(
        kind=kind,
        n_clusters=len(centers),
        n_features=centers.shape[1],
        feature_names=names,
        objective=_number(fitted, "objective_"),
        inertia=_number(fitted, "inertia_"),
        n_iter=int(_number(fitted, "n_iter_") or 0),
        stop_reason=reason,
        scaler=str(scaling.get("class")) if isinstance(scaling, dict) else None,
        metric=str(parameters.get("metric", "euclidean")),
        weights=None if weights is None else weights.astype(np.float64),
        centers=_in_units_of_data(centers, scaling, arrays),
        points=centers,
        bounds=_bounds(fitted, arrays),
        prices=arrays.get("prices_"),
        preparation=None
        if preparation is None
        else stored_preparation(preparation, arrays, centers.shape[1], names),
        parameters=parameters,
        notes=notes if isinstance(notes, dict) else {},
        written_by=str(header.get("written_by", "")),
    )


def _bounds(fitted: Header, arrays: dict[str, Array]) -> BoundsCost | None:
    bounds = arrays.get("size_bounds_")
    if bounds is not None and (bounds.shape != (2,) or not np.isfinite(bounds).all()):
        raise InvalidContents("holds bounds on sizes that are not two numbers")
    return cost_of_bounds(bounds, _number(fitted, "unbounded_objective_"), _number(fitted, "objective_"))


def _number(fitted: Header, name: str) -> float | None:
    value = fitted.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InvalidContents(f"has an invalid {name}: {str(value)[:80]}")
    return value


def _in_units_of_data(centers: Array, scaling: object, arrays: dict[str, Array]) -> Array:
    """What the scaler's `inverse_transform` gives."""
    if scaling is None:
        return centers
    kind = scaling.get("class") if isinstance(scaling, dict) else None
    if kind not in ("StandardScaler", "MinMaxScaler"):
        raise InvalidContents("holds an unknown scaler")
    fitted = {name.removeprefix(SCALING): array for name, array in arrays.items() if name.startswith(SCALING)}
    shift = fitted.get("mean_" if kind == "StandardScaler" else "min_", np.zeros(1))
    scale = fitted.get("scale_", np.ones(1))
    shapes = [(1,), (centers.shape[1],)]
    if (
        shift.shape not in shapes
        or scale.shape not in shapes
        or not (scale > 0).all()
        or not np.isfinite(shift).all()
    ):
        raise InvalidContents("holds an incomplete scaler")
    return centers * scale + shift if kind == "StandardScaler" else (centers - shift) / scale

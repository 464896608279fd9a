"""Model files: a fitted estimator, alone or behind a scaler, in one file without pickle.

Knows which classes and scalers a model may be made of. The bytes are `container`'s, the inside of an estimator is
`estimators.packing`'s; docs/model-format.md describes both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.pipeline import Pipeline

from ..container import Contents, ModelFileError, read, write
from ..estimators import EulerMeans, StochasticBackwardEuler
from ..estimators.base import KMeansEstimator
from ..estimators.packing import Unpackable, pack, unpack
from .scalers import SCALERS, pack_scaler, unpack_scaler

CLASSES = {kind.__name__: kind for kind in (EulerMeans, StochasticBackwardEuler)}


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds."""

    estimator: Any  # fitted; knows the features' names only if there is no scaler
    scaler: Any = None  # a fitted StandardScaler or MinMaxScaler that its input goes through, or None
    notes: Mapping[str, Any] = field(default_factory=dict)  # what the writer added for people to read
    written_by: str = ""

    @property
    def whole(self) -> Any:
        """The estimator, or a Pipeline of the scaler and it."""
        return (
            self.estimator
            if self.scaler is None
            else Pipeline([("scale", self.scaler), ("cluster", self.estimator)])
        )

    @property
    def feature_names(self) -> list[str] | None:
        """The columns it was fitted to, if they had names."""
        first = self.estimator if self.scaler is None else self.scaler
        return list(getattr(first, "feature_names_in_", [])) or None

    @property
    def centers(self) -> Any:
        """The centers in the units of the data, (n_clusters, n_features)."""
        centers = self.estimator.cluster_centers_
        return centers if self.scaler is None else self.scaler.inverse_transform(centers)


def save(model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator, or a Pipeline of a scaler and one, to a file that `load` reads.

    Scalers are StandardScaler and MinMaxScaler. `notes` may be anything that JSON can write; `eulermeans info`
    shows it. Labels are not kept: `predict` makes them again.
    """
    estimator, scaler = _parts(model)
    packed = pack(estimator)
    header = {**packed.header, "scaling": None, "notes": dict(notes or {})}
    arrays = dict(packed.arrays)
    if scaler is not None:
        scaling = pack_scaler(scaler)
        header.update(scaling=scaling.header, feature_names=scaling.header.pop("feature_names"))
        arrays.update(scaling.arrays)
    write(path, Contents(header, arrays))


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file: the estimator, or a Pipeline of a fitted scaler and it. Raises ModelFileError."""
    return read_model(path).whole


def read_model(path: str | os.PathLike[str]) -> SavedModel:
    """The model in a file with all that is known of it."""
    contents = read(path)
    try:
        return _read(contents)
    except Unpackable as error:
        raise ModelFileError(f"{os.fspath(path)} {error}.") from None


def _parts(model: Any) -> tuple[Any, Any]:
    """The estimator, and the scaler before it or None."""
    if isinstance(model, KMeansEstimator):
        return model, None
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        *before, last = steps or [None]
        if isinstance(last, KMeansEstimator) and [type(step) for step in before] in [
            [],
            *([kind] for kind in SCALERS),
        ]:
            return last, before[0] if before else None
    names = " or ".join(kind.__name__ for kind in SCALERS)
    raise TypeError(
        f"can't save {model!r}: a model file holds {' or '.join(CLASSES)}, or a Pipeline of {names} and one."
    )


def _read(contents: Contents) -> SavedModel:
    header, arrays = dict(contents.header), dict(contents.arrays)
    scaling, notes = header.pop("scaling", None), header.pop("notes", None)
    of_scaler = {name: arrays.pop(name) for name in contents.arrays if name.startswith("scaling/")}
    estimator = unpack(Contents(header, arrays), CLASSES)
    if scaling is None:
        scaler = None
        if of_scaler:
            raise Unpackable("holds arrays of a scaler, but no scaler")
    else:
        scaler = unpack_scaler(Contents(scaling, of_scaler), estimator.n_features_in_)
        if hasattr(estimator, "feature_names_in_"):  # as in a Pipeline: the first step meets the named columns
            scaler.feature_names_in_ = estimator.__dict__.pop("feature_names_in_")
    return SavedModel(
        estimator, scaler, notes if isinstance(notes, dict) else {}, str(header.get("written_by", ""))
    )

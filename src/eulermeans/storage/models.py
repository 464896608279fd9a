"""Model files: a fitted estimator, alone or behind a scaler, in one file without pickle.

Knows what a model may consist of. `container` knows the bytes, `packing` the attributes of an estimator;
docs/model-format.md describes both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..arrays import Array
from .container import Contents, InvalidContents, read, write
from .packing import Estimator, pack, unpack
from .scikit_learn import SCALING, Model, Scaler, as_pipeline, pack_scaler, split_pipeline, unpack_scaler


class ModelFileError(ValueError):
    """The file is not a model, is damaged, or needs a newer eulermeans. The message names the file."""


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds."""

    estimator: Estimator  # fitted; has feature_names_in_ only if there is no scaler
    scaler: Scaler | None = None  # fitted
    notes: Mapping[str, Any] = field(default_factory=dict)  # JSON that the writer added for people to read
    written_by: str = ""

    @property
    def whole(self) -> Model:
        """The estimator, or a Pipeline of the scaler and the estimator."""
        return self.estimator if self.scaler is None else as_pipeline(self.scaler, self.estimator)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns that the model was fitted to, if they had names."""
        first = self.estimator if self.scaler is None else self.scaler
        return list(getattr(first, "feature_names_in_", [])) or None

    @property
    def centers(self) -> Array:
        """The centers in the units of the data, (n_clusters, n_features)."""
        centers = self.estimator.cluster_centers_
        return centers if self.scaler is None else self.scaler.inverse_transform(centers)


def save(model: Model, path: str | os.PathLike[str], *, notes: Mapping[str, object] | None = None) -> None:
    """Write a fitted estimator, or a Pipeline of a scaler and one, to a file that `load` reads.

    The scaler may be a StandardScaler or a MinMaxScaler. `notes` may be anything that JSON can hold; `eulermeans
    info` shows it. Labels are not saved: `predict` computes them again.
    """
    estimator, scaler = split_pipeline(model)
    packed = pack(estimator)
    header = {**packed.header, "scaling": None, "notes": dict(notes or {})}
    arrays = dict(packed.arrays)
    if scaler is not None:
        scaling = pack_scaler(scaler)
        header.update(scaling=scaling.header, feature_names=scaling.header.pop("feature_names"))
        arrays.update(scaling.arrays)
    write(path, Contents(header, arrays))


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file: an estimator, or a Pipeline of a scaler and an estimator. Raises ModelFileError."""
    return read_model(path).whole


def read_model(path: str | os.PathLike[str]) -> SavedModel:
    """The model in a file, its scaler and its notes. Raises ModelFileError."""
    try:
        return _unpack_model(read(path))
    except InvalidContents as error:
        raise ModelFileError(f"{os.fspath(path)} {error}.") from None


def _unpack_model(contents: Contents) -> SavedModel:
    header = dict(contents.header)
    scaling, notes = header.pop("scaling", None), header.pop("notes", None)
    arrays = dict(contents.arrays)
    scaler_arrays = {name: arrays.pop(name) for name in contents.arrays if name.startswith(SCALING)}
    estimator = unpack(Contents(header, arrays))
    scaler = None
    if scaling is not None:
        scaler = unpack_scaler(scaling, scaler_arrays, estimator.n_features_in_)
        if hasattr(estimator, "feature_names_in_"):  # in a Pipeline, only the first step sees the column names
            scaler.feature_names_in_ = estimator.__dict__.pop("feature_names_in_")
    elif scaler_arrays:
        raise InvalidContents("holds arrays of a scaler, but no scaler")
    return SavedModel(
        estimator, scaler, notes if isinstance(notes, dict) else {}, str(header.get("written_by", ""))
    )

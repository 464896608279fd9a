"""The --scale option: scikit-learn's scalers, fitted one chunk at a time to data that may not fit in memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ..arrays import arithmetic_dtype
from ..estimators import EulerMeans
from ..sources import Source, check_chunk, mapped
from ..storage.models import SavedModel, Scaler, save
from .input_data import InputData
from .options import Scale


def fit_scaler(scale: Scale, data: InputData) -> Scaler | None:
    """A scaler fitted in one pass; None if nothing is to be scaled. Constant features are only shifted."""
    if scale is Scale.none:
        return None
    data.progress.begin("computing the scale of the features")
    scaler = StandardScaler() if scale is Scale.standard else MinMaxScaler()
    for chunk in data.chunks():
        check_chunk(chunk, data.feature_names)
        points, weights = chunk.points.astype(arithmetic_dtype(data.dtype), copy=False), chunk.weights
        if weights is not None:
            points, weights = points[weights > 0], weights[weights > 0]
        if len(points):
            uses_weights = weights is not None and scale is Scale.standard
            scaler.partial_fit(points, **({"sample_weight": weights} if uses_weights else {}))
    if not hasattr(scaler, "scale_"):
        raise ValueError(f"{data.name} has no rows with a positive weight")
    if data.feature_names is not None:
        scaler.feature_names_in_ = np.array(data.feature_names, dtype=object)
    return scaler


def scaled(source: Source, scaler: Scaler | None) -> Source:
    """The source with scaled features."""
    if scaler is None:
        return source
    nameless = copy.copy(scaler)  # chunks have no column names; open_data has checked those of the source
    nameless.__dict__.pop("feature_names_in_", None)
    dtype = arithmetic_dtype(source.dtype)
    return mapped(source, lambda points: nameless.transform(points.astype(dtype, copy=False)), dtype=dtype)


def save_model(
    path: Path, estimator: EulerMeans, scaler: Scaler | None, notes: Mapping[str, object]
) -> SavedModel:
    """Save the estimator and its scaler. As in a Pipeline, only the first of the two knows the column names."""
    if scaler is not None:
        estimator.__dict__.pop("feature_names_in_", None)
    model = SavedModel(estimator, scaler, notes)
    save(model.whole, path, notes=notes)
    return model

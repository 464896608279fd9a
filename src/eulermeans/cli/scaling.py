"""Scaling of data that may not fit in memory: scikit-learn's own scalers, fitted a chunk at a time."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ..arrays import arithmetic_dtype
from ..sources import Source, check_chunk, mapped
from .options import Scale
from .progress import Progress


def fit_scaler(scale: Scale, source: Source, progress: Progress) -> Any:
    """A fitted scaler, after one pass; None if there is nothing to scale. Constant features are only shifted."""
    if scale is Scale.none:
        return None
    progress.begin("measuring the features")
    scaler = StandardScaler() if scale is Scale.standard else MinMaxScaler()
    for chunk in source.chunks():
        check_chunk(chunk, source.feature_names)
        points, weights = chunk.points.astype(arithmetic_dtype(source.dtype), copy=False), chunk.weights
        if weights is not None:
            points, weights = points[weights > 0], weights[weights > 0]
        if len(points):
            scaler.partial_fit(
                points, **{} if weights is None or scale is Scale.minmax else {"sample_weight": weights}
            )
    if not hasattr(scaler, "scale_"):
        raise ValueError(f"{source.name} has no rows, or none with a weight")
    if source.feature_names is not None:
        scaler.feature_names_in_ = np.array(source.feature_names, dtype=object)
    return scaler


def scaled(source: Source, scaler: Any) -> Source:
    """The source as the model sees it."""
    if scaler is None:
        return source
    nameless = copy.copy(scaler)  # chunks come without names; those of the source are compared when it is opened
    nameless.__dict__.pop("feature_names_in_", None)
    dtype = arithmetic_dtype(source.dtype)
    return mapped(source, lambda points: nameless.transform(points.astype(dtype, copy=False)), dtype=dtype)

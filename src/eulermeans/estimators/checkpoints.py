"""What a checkpoint says of an estimator and of its data, so that no fit goes on with another's state."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..checkpoint import Checkpoint
from ..oracles import Oracle

_FREE = {"n_threads", "max_time", "memory_limit", "compute_labels"}  # to be changed when a fit goes on


def checkpoint_of(
    estimator: BaseEstimator, path: str | os.PathLike[str] | None, rng: np.random.Generator
) -> Checkpoint | None:
    """The checkpoint at the path; `rng` takes the state that the fit in it began with."""
    if path is None:
        return None
    parameters = {name: _told(value) for name, value in estimator.get_params().items() if name not in _FREE}
    return Checkpoint(path, {"estimator": type(estimator).__name__, **parameters}, rng)


def identity_of(oracle: Oracle) -> dict[str, Any]:
    """The data as a checkpoint knows them."""
    return {
        "number of rows": oracle.n_points,
        "number of features": oracle.n_features,
        "dtype": oracle.dtype.name,
        "mean of the data": _told(oracle.mean()),
    }


def _told(value: Any) -> Any:
    """A parameter in JSON's types."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, np.random.RandomState):
        return "RandomState"
    array = np.ascontiguousarray(value)
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"

"""Answers about two parts of the data, put together to that about both."""

from __future__ import annotations

import numpy as np

from ..moments import Moments
from .base import Outliers


def both(one: Moments, other: Moments) -> Moments:
    """The moments over the points of both."""
    return Moments(
        one.counts + other.counts,
        one.sums + other.sums,
        one.cost + other.cost,
        None if one.errors is None or other.errors is None else one.errors + other.errors,
        None if one.utilities is None or other.utilities is None else one.utilities + other.utilities,
        one.n_distances + other.n_distances,
    )


def farther(one: Outliers, other: Outliers, size: int) -> Outliers:
    """The farthest of both."""
    distances = np.concatenate([one.distances, other.distances])
    rows = np.argsort(-distances, kind="stable")[:size]
    return Outliers(
        np.concatenate([one.points, other.points])[rows],
        np.concatenate([one.weights, other.weights])[rows],
        np.concatenate([one.labels, other.labels])[rows],
        distances[rows],
    )

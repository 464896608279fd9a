"""EM, which is Lloyd's algorithm: every center moves to the mean of its points."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray
from ..moments import Moments
from ..oracles import Oracle
from .base import Iterate, Solver


def em(
    oracle: Oracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
) -> Solver:
    """Assign all points, move every center to its mean; a center without points takes the farthest point.

    The objective of an iterate is that of the centers before the move, so it never rises.
    """
    while True:
        moments = oracle.full(centers)
        spread, points_read, n_distances = moments.spread(centers), oracle.n_points, moments.n_distances
        if not moments.counts.all():
            moments = fill_empty(oracle, centers, moments)
            points_read += oracle.n_points
            n_distances += oracle.n_points * len(centers)
        centers = moments.means(otherwise=centers)
        yield Iterate(centers, moments.objective, spread, points_read, exact=True, n_distances=n_distances)


def fill_empty(oracle: Oracle, centers: FloatArray, moments: Moments) -> Moments:
    """The moments after each empty center took one of the points that lie farthest from their centers."""
    counts, sums = moments.counts.copy(), moments.sums.copy()
    empty = np.flatnonzero(counts == 0)
    rounding = float(4 * np.finfo(oracle.dtype).eps) ** 2  # of squared distances, relative to squared norms
    outliers = oracle.farthest(centers, len(empty))
    for j, i in zip(empty, range(len(empty)), strict=True):
        point, weight, label = outliers.points[i], outliers.weights[i], outliers.labels[i]
        # No gain from a point that is a center already, to rounding, nor from the last of another center's points.
        if outliers.distances[i] <= rounding * (point @ point) or counts[label] <= weight:
            continue
        counts[j], sums[j] = weight, weight * point
        counts[label] -= weight
        sums[label] -= weight * point
    return Moments(counts=counts, sums=sums, cost=moments.cost)

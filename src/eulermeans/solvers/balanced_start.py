"""Centers that start with equal weight: the points are cut in two again and again.

The best centers without bounds are a poor start where bounds are narrow: they are sparse where points are dense.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..oracles import MemoryOracle

POINTS_PER_CLUSTER = 100  # that are cut, at most,
VALUES = 1 << 22  # and as many as have this many values,
FEWEST_PER_CLUSTER = 4  # but at least these
STEPS = 4  # of a cut


def balanced_start(oracle: MemoryOracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """The means of parts with about the same weight, (n_clusters, n_features). The result is random."""
    n, most = oracle.n_points, min(POINTS_PER_CLUSTER * n_clusters, VALUES // oracle.n_features)
    few = min(n, max(most, FEWEST_PER_CLUSTER * n_clusters))
    rows = np.arange(n) if few == n else np.sort(rng.choice(n, few, replace=False))
    points = oracle.points.dense(rows)
    weights = np.ones(few) if oracle.points.weights is None else oracle.points.weights[rows]
    parts, centers = [(np.arange(few), n_clusters)], list[FloatArray]()
    while parts:
        part, k = parts.pop()
        if k == 1:
            centers.append(_mean(points[part], weights[part]))
        else:
            order, n_low = _cut(points[part], weights[part], k // 2, k, rng)
            parts += [(part[order[n_low:]], k - k // 2), (part[order[:n_low]], k // 2)]
    return oracle.project(np.array(centers))


def _cut(
    points: FloatArray,  # (n, n_features), at least k points, IN
    weights: FloatArray,  # (n,), IN
    k_low: int,
    k: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], int]:
    """The points in an order whose first ones have k_low / k of the weight, and how many these are.

    2-means with parts of given weight: a step orders the points along the line between the means of both parts.
    """
    one, other = rng.choice(len(points), 2, replace=False)
    direction = points[other] - points[one]
    order, n_low = np.arange(len(points)), k_low
    for _ in range(STEPS):
        order = np.argsort(np.einsum("ij,j->i", points, direction))
        reached = np.cumsum(weights[order])
        n_low = int(np.searchsorted(reached, reached[-1] * k_low / k * (1 + 1e-12), side="right"))
        n_low = min(max(n_low, k_low), len(points) - (k - k_low))
        low, high = order[:n_low], order[n_low:]
        direction = _mean(points[high], weights[high]) - _mean(points[low], weights[low])
    return order, n_low


def _mean(points: FloatArray, weights: FloatArray) -> FloatArray:
    """The weighted mean; the first point if none has weight."""
    total = weights.sum()
    mean: FloatArray = np.einsum("i,ij->j", weights, points) / total if total > 0 else points[0]
    return mean

"""Criteria that judge one clustering by itself: are the clusters compact, and how far apart are they.

Knows rows in memory, centers and labels. Does not know where they come from, nor which K to recommend.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from ..arrays import Array, FloatArray
from ..oracles import MemoryOracle
from ..seeding import squared_distances

BLOCK_DISTANCES = 1 << 20  # distances held in memory at a time
WINDOW = 0.15  # half the width of a strip that density is counted in, relative to the distance of two centers


@dataclass(frozen=True)
class Compactness:
    """Computed exactly over all rows. The criteria are NaN if there are fewer than two clusters."""

    calinski_harabasz: float
    davies_bouldin: float
    smallest: float  # fraction of all rows in the smallest cluster


def compactness(rows: MemoryOracle, centers: FloatArray) -> Compactness:
    """The criteria for the clusters around these centers, measured about the clusters' means.

    Integer weights count like repeated rows.
    """
    labeling = rows.label(centers)
    filled = labeling.moments.counts > 0
    means = labeling.moments.means(otherwise=centers)[filled]
    labels = (np.cumsum(filled) - 1)[labeling.labels]
    distances = _distances_to_own_mean(rows, means, labels)
    weights = unit_mean_weights(rows)
    counts = np.bincount(labels, weights, len(means)).astype(np.float64)
    within = float(weights @ distances**2)
    between = float(counts @ np.sum((means - counts @ means / counts.sum()) ** 2, axis=1))
    return Compactness(
        _calinski_harabasz(within, between, len(means), counts.sum()),
        _davies_bouldin(means, np.bincount(labels, weights * distances, len(means)) / counts),
        float(labeling.moments.counts.min() / labeling.moments.total_weight),
    )


def _calinski_harabasz(within: float, between: float, n_clusters: int, n_points: float) -> float:
    """(B / (K − 1)) / (W / (N − K))."""
    if n_clusters < 2 or n_points <= n_clusters:
        return np.nan
    return between * (n_points - n_clusters) / (within * (n_clusters - 1)) if within > 0 else np.inf


def _davies_bouldin(
    means: FloatArray,  # (n_clusters, n_features), IN
    spread: FloatArray,  # (n_clusters,) mean distance of a cluster's rows to its mean, IN
) -> float:
    """The mean over clusters of the largest (s_i + s_j) / ‖m_i − m_j‖."""
    if len(means) < 2:
        return np.nan
    gaps = cdist(means, means)
    gaps[gaps == 0] = np.inf
    return float(np.mean(np.max((spread[:, None] + spread) / gaps, axis=1)))


def _distances_to_own_mean(rows: MemoryOracle, means: FloatArray, labels: Array) -> FloatArray:
    """The distance of each row to the mean of its cluster, (n_points,)."""
    distances = np.empty(rows.n_points)
    step = max(1, BLOCK_DISTANCES // len(means))
    for first in range(0, rows.n_points, step):
        part = np.arange(first, min(first + step, rows.n_points))
        distances[part] = rows.points.take(part).distances(means)[np.arange(len(part)), labels[part]]
    return distances


class Silhouettes:
    """The silhouette of any labeling of a sample; the distances within the sample are computed once."""

    def __init__(self, sample: MemoryOracle) -> None:
        # (n, n); single precision is far more than a mean of ratios needs
        self._distances = pairwise_distances(sample.points.stored.astype(np.float64)).astype(np.float32)
        self._weights = unit_mean_weights(sample)

    def mean(self, labels: Array, n_clusters: int) -> float:
        """The mean of (b − a) / max(a, b); a point alone in its cluster counts as 0."""
        weights, everyone = self._weights, np.arange(len(labels))
        member = np.zeros((len(labels), n_clusters), dtype=np.float32)
        member[everyone, labels] = weights
        sums = (self._distances @ member).astype(np.float64)  # of the distances of each point to each cluster
        totals = np.bincount(labels, weights, n_clusters)
        if np.count_nonzero(totals) < 2:
            return np.nan
        others = totals[labels] - weights
        own = np.divide(sums[everyone, labels], others, out=np.zeros(len(labels)), where=others > 0)
        means = np.divide(sums, totals, out=np.full(sums.shape, np.inf), where=totals > 0)
        means[everyone, labels] = np.inf
        nearest = means.min(axis=1)
        larger = np.maximum(own, nearest)
        values = np.divide(nearest - own, larger, out=np.zeros(len(labels)), where=(larger > 0) & (others > 0))
        return float(weights @ values / weights.sum())


def border_density(rows: MemoryOracle, centers: FloatArray) -> float:
    """Density at the border of two neighboring clusters over density at their centers, for the worst pair.

    Rows nearest to either center are counted in three strips across the line between the centers: one at the
    border and one at each center. A cluster cut in two has its peak at the border: the ratio is above 1. Two
    separate clusters have almost nothing between them: it is about 0.
    `rows` should not be those that the centers were fitted to, because centers follow the noise of their rows.
    """
    squares = squared_distances(rows, centers)
    everyone = np.arange(rows.n_points)
    # kth=1 puts the second smallest in its place, so the smallest is before it.
    own, second = np.argpartition(squares, 1, axis=1)[:, :2].T
    neighbors = np.zeros((len(centers), len(centers)), dtype=bool)
    neighbors[own, second] = True
    gaps = cdist(centers, centers, "sqeuclidean")
    with np.errstate(divide="ignore", invalid="ignore"):  # centers in the same place have no border
        # position along the line between two centers: 0 at the row's own center, 1 at the other
        along = 0.5 + (squares[everyone, own][:, None] - squares) / (2 * gaps[own])
    member = np.zeros((len(centers), rows.n_points))
    member[own, everyone] = unit_mean_weights(rows)
    # (own, other); each strip gets one row more, so that a handful of rows proves nothing
    near_center = member @ (np.abs(along) < WINDOW) + 1
    near_border = member @ (np.abs(along - 0.5) < WINDOW)
    emptier, fuller = np.minimum(near_center, near_center.T), np.maximum(near_center, near_center.T)
    # Comparing with the emptier center alone would be a test for one peak, but noise fails it where a flat cluster
    # lies next to a steep one. Equal weights would take the far part of a long tail for a cluster.
    ratios = (near_border + near_border.T + 1) / (emptier**0.75 * fuller**0.25)
    return float(np.max(ratios, where=neighbors | neighbors.T, initial=0.0))


def unit_mean_weights(rows: MemoryOracle) -> FloatArray:
    """The weights of the rows, scaled so that the mean of the nonzero weights is one, (n_points,)."""
    weights = rows.points.weights
    if weights is None:
        return np.ones(rows.n_points)
    scaled: FloatArray = weights * (np.count_nonzero(weights) / weights.sum())
    return scaled

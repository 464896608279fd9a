"""What speaks for one clustering by itself: compact clusters, far from each other.

Knows rows at hand, centers and labels. Does not know where they come from, nor which K is to be taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from ..arrays import Array, FloatArray
from ..oracles import MemoryOracle

BLOCK_DISTANCES = 1 << 20  # that are held at a time
WINDOW = 0.15  # half the width of the strips that density is counted in, of the distance of two centers


@dataclass(frozen=True)
class Compactness:
    """What all rows say, exactly. The criteria are NaN where there are not two clusters."""

    calinski_harabasz: float
    davies_bouldin: float
    smallest: float  # the part of all rows that is in it


def compactness(rows: MemoryOracle, centers: FloatArray) -> Compactness:
    """The criteria for the clusters around these centers, whose means are taken anew. Weights count as rows do."""
    labeling = rows.label(centers)
    filled = labeling.moments.counts > 0
    means = labeling.moments.means(otherwise=centers)[filled]
    labels = (np.cumsum(filled) - 1)[labeling.labels]
    spread = _spread(rows, means, labels)
    weights = even_weights(rows)
    counts = np.bincount(labels, weights, len(means)).astype(np.float64)
    within = float(weights @ spread**2)
    between = float(counts @ np.sum((means - counts @ means / counts.sum()) ** 2, axis=1))
    return Compactness(
        _calinski_harabasz(within, between, len(means), counts.sum()),
        _davies_bouldin(means, np.bincount(labels, weights * spread, len(means)) / counts),
        float(labeling.moments.counts.min() / labeling.moments.total_weight),
    )


def _calinski_harabasz(within: float, between: float, n_clusters: int, n_points: float) -> float:
    """(B / (K − 1)) / (W / (N − K))."""
    if n_clusters < 2 or n_points <= n_clusters:
        return np.nan
    return between * (n_points - n_clusters) / (within * (n_clusters - 1)) if within > 0 else np.inf


def _davies_bouldin(
    means: FloatArray,  # (n_clusters, n_features), IN
    spread: FloatArray,  # (n_clusters,) mean distances to them, IN
) -> float:
    """The mean over clusters of the largest (s_i + s_j) / ‖m_i − m_j‖."""
    if len(means) < 2:
        return np.nan
    gaps = cdist(means, means)
    gaps[gaps == 0] = np.inf
    return float(np.mean(np.max((spread[:, None] + spread) / gaps, axis=1)))


def _spread(rows: MemoryOracle, means: FloatArray, labels: Array) -> FloatArray:
    """The distance of each row to the mean of its cluster, (n_points,)."""
    spread = np.empty(rows.n_points)
    step = max(1, BLOCK_DISTANCES // len(means))
    for first in range(0, rows.n_points, step):
        block = taken(rows, np.s_[first : first + step])
        spread[first : first + step] = block.distances(means)[
            np.arange(block.n_points), labels[first : first + step]
        ]
    return spread


class Silhouettes:
    """The silhouette of any labeling of a sample, whose distances are computed once."""

    def __init__(self, sample: MemoryOracle) -> None:
        points = sample.points
        # (n, n); single precision is far more than a mean of ratios needs
        self._distances = pairwise_distances(points.astype(np.float64)).astype(np.float32)
        self._weights = even_weights(sample)

    def mean(self, labels: Array, n_clusters: int) -> float:
        """The mean of (b − a) / max(a, b); a point that is alone in its cluster counts as 0."""
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


def valley(rows: MemoryOracle, centers: FloatArray) -> float:
    """Density at the border of two neighboring clusters over that at their centers, where it is largest.

    Counted in three strips across the line from one center to the other, among the rows that are nearest to
    either: one around the border and one around each center. A cluster that is cut in two has its peak at the
    border: more than 1. Two clusters that stand apart have nearly nothing there: about 0.
    `rows` should not be those that the centers were fitted to, whose noise the centers follow.
    """
    squares = rows.distances(centers).astype(np.float64) ** 2
    everyone = np.arange(rows.n_points)
    two = np.argpartition(squares, 1, axis=1)[:, :2]
    own, second = two[everyone, 0], two[everyone, 1]  # argpartition puts the second in its place, so the first too
    neighbors = np.zeros((len(centers), len(centers)), dtype=bool)
    neighbors[own, second] = True
    gaps = cdist(centers, centers, "sqeuclidean")
    with np.errstate(divide="ignore", invalid="ignore"):  # of centers in the same place, which have no border
        along = 0.5 + (squares[everyone, own][:, None] - squares) / (2 * gaps[own])  # 0 at the own center, 1 there
    member = np.zeros((len(centers), rows.n_points))
    member[own, everyone] = even_weights(rows)
    near_center = member @ (np.abs(along) < WINDOW) + 1  # (own, other); one more in each strip: few prove nothing
    near_border = member @ (np.abs(along - 0.5) < WINDOW)
    emptier, fuller = np.minimum(near_center, near_center.T), np.maximum(near_center, near_center.T)
    # The emptier alone would be the test for one peak, which noise fails where a flat cluster is beside a steep
    # one; both alike would take the far part of a long tail for a cluster.
    ratios = (near_border + near_border.T + 1) / (emptier**0.75 * fuller**0.25)
    return float(np.max(ratios, where=neighbors | neighbors.T, initial=0.0))


def even_weights(rows: MemoryOracle) -> FloatArray:
    """The weights of the rows, scaled such that those that have any weigh one on average, (n_points,)."""
    if rows.weights is None:
        return np.ones(rows.n_points)
    scaled: FloatArray = rows.weights * (np.count_nonzero(rows.weights) / rows.weights.sum())
    return scaled


def taken(rows: MemoryOracle, which: Any) -> MemoryOracle:
    """Some of the rows: a slice, or their numbers."""
    weights = None if rows.weights is None else rows.weights[which]
    return type(rows)(rows.points[which], weights, n_threads=rows.n_threads)

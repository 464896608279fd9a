"""Moments: all that a k-means algorithm needs to know about the data, given the centers.

Knows the k-means objective and its gradient. Does not know where points are stored or how they are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrays import FloatArray


@dataclass(frozen=True)
class Moments:
    """Totals over the points nearest to each center.

    The paper's objective is φ = cost / (2 · total_weight). Its gradient needs only counts and sums.
    """

    counts: FloatArray  # (n_clusters,) weight of the points nearest to each center
    sums: FloatArray  # (n_clusters, n_features) weighted sum of those points
    cost: float  # weighted sum of squared distances to the nearest center (inertia)
    errors: FloatArray | None = None  # (n_clusters,) the part of the cost due to each center's points
    utilities: FloatArray | None = None  # (n_clusters,) by how much the cost would grow without the center
    n_distances: int = 0  # distances between a point and a center that were computed

    @property
    def total_weight(self) -> float:
        """Weight of all the points."""
        return float(self.counts.sum())

    @property
    def objective(self) -> float:
        """φ(x) = 1/(2N) Σ min_j ‖x_j − p_i‖²."""
        return self.cost / (2 * self.total_weight)

    @property
    def largest_first(self) -> NDArray[np.intp]:
        """The centers in the order of the weight of their points, (n_clusters,)."""
        return np.argsort(-self.counts, kind="stable")

    def reordered(self, order: NDArray[np.intp]) -> Moments:
        """The moments about the same centers in another order."""
        return Moments(self.counts[order], self.sums[order], self.cost, n_distances=self.n_distances)

    def gradient(self, centers: FloatArray) -> FloatArray:
        """∇φ with a row for each center: (|C_j| x_j − Σ_{i∈C_j} p_i) / N."""
        gradient: FloatArray = (self.counts[:, None] * centers - self.sums) / self.total_weight
        return gradient

    def limited(self, step_size: float, limit: float) -> FloatArray:
        """The step size of each center, (n_clusters, 1), such that step · n_j / N ≤ limit."""
        share = self.counts / self.total_weight
        largest = np.divide(limit, share, out=np.full(share.shape, np.inf), where=share > 0)
        steps: FloatArray = np.minimum(step_size, largest)[:, None]
        return steps

    def spread(self, centers: FloatArray) -> float:
        """φ of a single center at the mean of the same points."""
        total = self.cost + saving(self.counts, self.sums, centers)
        return max(0.0, total) / (2 * self.total_weight)

    def means(self, otherwise: FloatArray) -> FloatArray:
        """The mean of each center's points; the row of `otherwise` if it has none."""
        filled = self.counts > 0
        if filled.all():
            return self.sums / self.counts[:, None]
        means: FloatArray = otherwise.copy()
        means[filled] = self.sums[filled] / self.counts[filled, None]
        return means


def saving(counts: FloatArray, sums: FloatArray, centers: FloatArray) -> float:
    """How much lower the cost is than with a single center at the mean m: Σ n_j (2 y_j·(m_j − m) − ‖y_j‖²).

    Here y_j = x_j − m, and m_j is the mean of center j's points (Huygens). So the cost of an assignment follows
    from counts and sums once the cost of the single center is known.
    """
    mean = sums.sum(axis=0) / counts.sum()
    offsets = centers - mean
    drift = sums - counts[:, None] * mean
    return float(2 * np.sum(offsets * drift) - np.sum(counts[:, None] * offsets**2))

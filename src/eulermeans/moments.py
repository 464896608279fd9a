"""The moments of the data about given centers: all that any k-means algorithm needs to know of the data.

Knows the k-means objective and its gradient. Does not know where points are stored or how they are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from .arrays import FloatArray


@dataclass(frozen=True)
class Moments:
    """What falls to each center, added up over some points.

    The paper's objective is φ = cost / (2 · total_weight); its piecewise gradient needs counts and sums alone.
    """

    counts: FloatArray  # (n_clusters,) weight of the points nearest to each center
    sums: FloatArray  # (n_clusters, n_features) weighted sum of those points
    cost: float  # weighted sum of squared distances to the nearest center (inertia)
    errors: FloatArray | None = None  # (n_clusters,) the part of the cost that each center's points make
    utilities: FloatArray | None = None  # (n_clusters,) what the cost would grow by without the center
    n_distances: int = 0  # between a point and a center, that were computed for this

    @property
    def total_weight(self) -> float:
        """Weight of all the points."""
        return float(self.counts.sum())

    @property
    def objective(self) -> float:
        """φ(x) = 1/(2N) Σ min_j ‖x_j − p_i‖²."""
        return self.cost / (2 * self.total_weight)

    def gradient(self, centers: FloatArray) -> FloatArray:
        """∇φ, one row a center: (|C_j| x_j − Σ_{i∈C_j} p_i) / N."""
        gradient: FloatArray = (self.counts[:, None] * centers - self.sums) / self.total_weight
        return gradient

    def limited(self, step_size: float, limit: float) -> FloatArray:
        """The step size of each center, (n_clusters, 1), such that step · n_j / N ≤ limit."""
        share = self.counts / self.total_weight
        largest = np.divide(limit, share, out=np.full(share.shape, np.inf), where=share > 0)
        steps: FloatArray = np.minimum(step_size, largest)[:, None]
        return steps

    def spread(self, centers: FloatArray) -> float:
        """φ of a single center at the mean of the very same points."""
        total = self.cost + saving(self.counts, self.sums, centers)
        return max(0.0, total) / (2 * self.total_weight)

    def means(self, otherwise: FloatArray) -> FloatArray:
        """The mean of each center's points, and the row of `otherwise` where it has none."""
        filled = self.counts > 0
        means: FloatArray = otherwise.copy()
        means[filled] = self.sums[filled] / self.counts[filled, None]
        return means


def saving(counts: FloatArray, sums: FloatArray, centers: FloatArray) -> float:
    """What the cost is lower by than with a single center at the mean (Huygens): Σ n_j (2 x_j·(m_j − m) − ‖x_j‖²).

    Here x_j is taken relative to the mean m, and m_j is the mean of the points of center j; so the cost of an
    assignment follows from counts and sums alone once that of the single center is known.
    """
    mean = sums.sum(axis=0) / counts.sum()
    offsets = centers - mean
    drift = sums - counts[:, None] * mean
    return float(2 * np.sum(offsets * drift) - np.sum(counts[:, None] * offsets**2))


def naive_moments(
    points: NDArray[np.generic],  # (n_points, n_features), IN
    centers: NDArray[np.generic],  # (n_clusters, n_features), IN
    weights: FloatArray | None = None,  # (n_points,), IN
) -> tuple[Moments, NDArray[np.int32]]:
    """The moments and the labels by the definition: the slow twin of the compiled kernel, for tests to compare."""
    points64 = np.asarray(points, dtype=np.float64)
    n_points, n_clusters = len(points64), len(centers)
    weight = np.ones(n_points) if weights is None else weights
    distances = cdist(points64, np.asarray(centers, dtype=np.float64), "sqeuclidean")
    labels = distances.argmin(axis=1)
    in_order = np.sort(distances, axis=1)
    nearest = in_order[:, 0]
    second = in_order[:, 1] if n_clusters > 1 else np.full(n_points, np.inf)
    member = np.zeros((n_clusters, n_points))
    member[labels, np.arange(n_points)] = weight
    with np.errstate(invalid="ignore"):  # no weight times an infinite second distance
        utilities = np.nan_to_num(member @ (second - nearest), nan=0.0, posinf=np.inf)
    moments = Moments(
        counts=member.sum(axis=1),
        sums=member @ points64,
        cost=float(weight @ nearest),
        errors=member @ nearest,
        utilities=utilities,
    )
    return moments, labels.astype(np.int32)

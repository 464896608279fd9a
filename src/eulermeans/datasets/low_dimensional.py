"""Sec. 3.1 and 3.2: four Gaussian clusters in the plane, and Iris."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from ..arrays import FloatArray

_GAUSSIAN_MEANS = np.array([[-5.0, -3.0], [5.0, -3.0], [0.0, 5.0], [2.5, 4.0]])
_GAUSSIAN_COVARIANCES = np.array(
    [
        [[0.8, 0.1], [0.1, 0.8]],
        [[1.2, 0.6], [0.6, 0.7]],
        [[0.5, 0.05], [0.05, 1.6]],
        [[1.5, 0.05], [0.05, 0.6]],
    ]
)

# Where Sec. 3.1 starts EM and mini-batch EM; both end in a poor minimum from here.
GAUSSIAN_START = np.array([[-5.5989, -2.7090], [-4.4572, -4.0614], [-0.1082, 5.2889], [2.3485, 3.5286]])


def paper_gaussians(seed: int, per_cluster: int = 1000) -> FloatArray:
    """The four Gaussian clusters of Sec. 3.1, (4 · per_cluster, 2), one cluster after the other."""
    rng = np.random.default_rng(seed)
    clusters = [
        rng.multivariate_normal(mean, covariance, size=per_cluster)
        for mean, covariance in zip(_GAUSSIAN_MEANS, _GAUSSIAN_COVARIANCES, strict=True)
    ]
    return np.concatenate(clusters)


def iris() -> FloatArray:
    """The sepal and petal lengths and widths of 150 flowers in centimetres, (150, 4)."""
    return np.ascontiguousarray(load_iris().data, dtype=np.float64)

"""The mean and variance of each feature, over rows that are read once, block by block."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, FloatArray

_BLOCK_VALUES = 1 << 17  # values that are converted to float64 together


class RunningVariance:
    """Weighted mean and variance, by the update of Chan, Golub and LeVeque: sums of squares about block means."""

    def __init__(self, n_features: int) -> None:
        self._weight = 0.0
        self.mean: FloatArray = np.zeros(n_features)
        self._squares = np.zeros(n_features)

    @property
    def variance(self) -> FloatArray:
        """Of each feature, (n_features,)."""
        return self._squares / self._weight

    def add(
        self,
        points: Array,  # (n, n_features), IN
        weights: FloatArray | None,  # (n,), IN
    ) -> None:
        """Update with more rows."""
        step = max(1, _BLOCK_VALUES // points.shape[1])
        for first in range(0, len(points), step):
            block = points[first : first + step].astype(np.float64)
            of_rows = np.ones(len(block)) if weights is None else weights[first : first + step]
            weight = float(of_rows.sum())
            if weight == 0:
                continue
            mean = of_rows @ block / weight
            block -= mean
            total = self._weight + weight
            offset = mean - self.mean
            self.mean = self.mean + offset * (weight / total)
            self._squares += np.einsum("i,if,if->f", of_rows, block, block)
            self._squares += offset**2 * (self._weight * weight / total)
            self._weight = total

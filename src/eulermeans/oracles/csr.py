"""Sparse points: a SciPy matrix in CSR format. What is not stored is zero, costs nothing and is never filled in.

Validates the structure once and copies only what the kernels cannot read: the given matrix is never written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, FloatArray, arithmetic_dtype
from .memory import MemoryOracle
from .totals import Totals

_BLOCK_STORED = 1 << 20  # values that the variance looks at together


class CsrOracle(MemoryOracle):
    """An oracle over the rows of a CSR matrix of any real dtype, which is only read."""

    def __init__(
        self,
        points: Any,  # (n_points, n_features) sparse in CSR format, IN, finite
        weights: FloatArray | None = None,  # (n_points,), IN, not negative, not all zero
        *,
        n_threads: int | None = None,
        replace: bool = True,
    ) -> None:
        super().__init__(_canonical(points), weights, n_threads=n_threads, replace=replace)
        self._values = _readable(self.points.data, self.dtype)  # (n_stored,)
        self._indices = _readable_indices(self.points.indices)  # (n_stored,)
        self._starts = _readable(self.points.indptr, np.int64)  # (n_points + 1,)

    @property
    def row_bytes(self) -> float:
        """The memory that a point of a sample takes."""
        per_value = self._values.itemsize + self._indices.itemsize
        return float(self._starts[-1] * per_value / self.n_points + self._starts.itemsize)

    def rows(self, rows: Array) -> FloatArray:
        """Chosen points as a dense array, (len(rows), n_features)."""
        dense: FloatArray = self.points[rows].astype(np.float64).toarray()
        return dense

    def mean_of(self, rows: Array) -> FloatArray:
        """The weighted mean of chosen points, (n_features,)."""
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        mean: FloatArray = (self.points[rows].T @ weights) / weights.sum()
        return mean

    def distances(self, centers: FloatArray) -> Array:
        """The distance of every point to every center, (n_points, n_clusters)."""
        out = np.empty((self.n_points, len(centers)), dtype=self.dtype)
        _core.distances_csr(**self._stored, centers=centers.astype(self.dtype), out=out, n_threads=self.n_threads)
        return out

    def variance(self) -> FloatArray:
        """The weighted variance of each feature: Σ w (x − mean)² of what is stored, and w mean² of what is not."""
        mean = self.mean()
        squares, weight_stored = np.zeros(self.n_features), np.zeros(self.n_features)
        most_rows = max(1, int(max(_BLOCK_STORED, self.n_features) * self.n_points / max(1, self._starts[-1])))
        for first in range(0, self.n_points, most_rows):
            starts = self._starts[first : first + most_rows + 1]
            stored = slice(starts[0], starts[-1])
            features = self._indices[stored]
            of_rows = np.ones(len(starts) - 1) if self.weights is None else self.weights[first : first + most_rows]
            weights = np.repeat(of_rows, np.diff(starts))
            offsets = self._values[stored] - mean[features]
            squares += np.bincount(features, weights * offsets**2, minlength=self.n_features)
            weight_stored += np.bincount(features, weights, minlength=self.n_features)
        return (squares + np.maximum(0, self.total_weight - weight_stored) * mean**2) / self.total_weight

    def _located(self, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
        return self.rows(rows), np.arange(len(rows))

    @property
    def _stored(self) -> dict[str, Any]:
        return {"values": self._values, "indices": self._indices, "starts": self._starts}

    def _add(self, totals: Totals, centers: Array, per_row: dict[str, Any]) -> None:
        options = {"weights": self.weights, "n_threads": self.n_threads, **per_row}
        _core.accumulate_csr(**self._stored, centers=centers, **totals.arguments(), **options)

    def _add_rows(
        self, totals: Totals, centers: Array, rows: NDArray[np.int64], weights: FloatArray | None
    ) -> None:
        options: dict[str, Any] = {"rows": rows, "weights": weights, "n_threads": self.n_threads}
        _core.accumulate_csr(**self._stored, centers=centers, **totals.arguments(), **options)


def _canonical(points: Any) -> Any:
    """The matrix with each row's indices in order and none twice: itself, or a copy where they are not."""
    indices, starts = _readable_indices(points.indices), _readable(points.indptr, np.int64)
    # Not asked of the matrix itself, which would remember the answer, perhaps from before it was changed.
    if _core.check_csr(indices, starts, points.shape[1]):
        return points
    copy = points.astype(arithmetic_dtype(points.dtype), copy=True)
    copy.has_sorted_indices = copy.has_canonical_format = False
    copy.sum_duplicates()
    return copy


def _readable(array: Array, dtype: Any) -> Array:
    """The array as the kernels read it: itself where they can, converted where they can't."""
    return np.require(array, dtype=dtype, requirements=["C", "A"])


def _readable_indices(indices: Array) -> Array:
    return _readable(indices, indices.dtype if indices.dtype in (np.int32, np.int64) else np.int64)

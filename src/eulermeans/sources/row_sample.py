"""A uniform sample of rows that are seen once, one chunk after the other, however many they turn out to be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, DType, FloatArray
from .source import Chunk

_MOVED_TOGETHER = 4096  # rows, when half of them make room
_SPARE = 4.0  # standard deviations of how many rows are drawn: so much room is left, that none need be dropped


class RowSample:
    """Keeps each row with the same probability; all of them while there is room for all.

    Where the number of rows is known beforehand, the probability is such that they just fit. Where it is not, each
    is kept until there is no more room; then each is dropped with probability one half, and so is each that is
    seen from then on; and so on.
    """

    def __init__(
        self,
        capacity: int,
        n_features: int,
        dtype: DType,
        rng: np.random.Generator,
        *,
        n_points: int | None,
        weighted: bool,
    ) -> None:
        self._rng = rng
        self._rate = 1.0
        if n_points is not None and n_points > capacity:
            self._rate = max(capacity - _SPARE * np.sqrt(capacity), 0.5 * capacity) / n_points
        self._capacity = capacity if n_points is None else min(capacity, n_points)
        self._points = np.empty((self._capacity, n_features), dtype=dtype)
        self._weights = np.empty(self._capacity) if weighted else None
        self._size = 0

    @property
    def complete(self) -> bool:
        """Whether every row that was seen is in it."""
        return self._rate == 1.0

    @property
    def points(self) -> Array:
        """The rows that were kept, in the order that they were seen, (size, n_features)."""
        return self._points[: self._size]

    @property
    def weights(self) -> FloatArray | None:
        """Their weights, (size,), if they have any."""
        return None if self._weights is None else self._weights[: self._size]

    def add(self, chunk: Chunk) -> None:
        """Keep some of its rows."""
        rows = self._drawn(np.arange(len(chunk)), self._rate)
        while self._size + len(rows) > self._capacity:
            self._halve()
            rows = self._drawn(rows, 0.5)
        end = self._size + len(rows)
        self._points[self._size : end] = chunk.take(rows)
        if self._weights is not None:
            self._weights[self._size : end] = 1.0 if chunk.weights is None else chunk.weights[rows]
        self._size = end

    def _drawn(self, rows: NDArray[np.intp], rate: float) -> NDArray[np.intp]:
        return rows if rate == 1.0 else rows[self._rng.random(len(rows)) < rate]

    def _halve(self) -> None:
        kept = 0
        for first in range(0, self._size, _MOVED_TOGETHER):  # towards the front: nothing is overwritten too early
            block = slice(first, min(first + _MOVED_TOGETHER, self._size))
            rows = self._drawn(np.arange(block.start, block.stop), 0.5)
            self._points[kept : kept + len(rows)] = self._points[rows]
            if self._weights is not None:
                self._weights[kept : kept + len(rows)] = self._weights[rows]
            kept += len(rows)
        self._size = kept
        self._rate /= 2

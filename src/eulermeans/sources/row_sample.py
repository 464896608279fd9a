"""A uniform sample of rows that are read once, chunk by chunk, even if their number is unknown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, DType, FloatArray
from .source import Chunk

_ROWS_PER_MOVE = 4096  # rows that are moved together when the sample is halved
_SPARE_DEVIATIONS = 4.0  # room left for random variation of the sample's size, in standard deviations


class RowSample:
    """Keeps each row with the same probability, and all rows as long as there is room.

    If the number of rows is known, the probability is chosen so that the sample just fits. Otherwise every row is
    kept until there is no more room. Then each row of the sample is dropped with probability 1/2, rows that follow
    are kept half as often, and so on.
    """

    def __init__(
        self,
        capacity: int,  # rows
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
            self._rate = max(capacity - _SPARE_DEVIATIONS * np.sqrt(capacity), 0.5 * capacity) / n_points
        self._capacity = capacity if n_points is None else min(capacity, n_points)
        self._points = np.empty((self._capacity, n_features), dtype=dtype)
        self._weights = np.empty(self._capacity) if weighted else None
        self._size = 0

    @property
    def complete(self) -> bool:
        """Whether the sample contains every row that was added."""
        return self._rate == 1.0

    @property
    def points(self) -> Array:
        """The rows of the sample, in the order they were added, (size, n_features)."""
        return self._points[: self._size]

    @property
    def weights(self) -> FloatArray | None:
        """Their weights, (size,), if they have any."""
        return None if self._weights is None else self._weights[: self._size]

    def add(self, chunk: Chunk) -> None:
        """Keep some rows of a chunk."""
        rows = self._draw(np.arange(len(chunk)), self._rate)
        while self._size + len(rows) > self._capacity:
            self._halve()
            rows = self._draw(rows, 0.5)
        end = self._size + len(rows)
        self._points[self._size : end] = chunk.take(rows)
        if self._weights is not None:
            self._weights[self._size : end] = 1.0 if chunk.weights is None else chunk.weights[rows]
        self._size = end

    def _draw(self, rows: NDArray[np.intp], rate: float) -> NDArray[np.intp]:
        return rows if rate == 1.0 else rows[self._rng.random(len(rows)) < rate]

    def _halve(self) -> None:
        kept = 0
        for first in range(0, self._size, _ROWS_PER_MOVE):  # rows move to the front, over rows already handled
            rows = self._draw(np.arange(first, min(first + _ROWS_PER_MOVE, self._size)), 0.5)
            end = kept + len(rows)
            self._points[kept:end] = self._points[rows]
            if self._weights is not None:
                self._weights[kept:end] = self._weights[rows]
            kept = end
        self._size = kept
        self._rate /= 2

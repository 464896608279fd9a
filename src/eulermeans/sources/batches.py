"""Rows that the caller already has: an array, or a function that gives batches of rows from the beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..arrays import Array, FloatArray
from .source import CHUNK_BYTES, Chunk, SourceError, check_dtype, check_matrix, rows_in


class ArraySource:
    """The rows of an array or of a memory map."""

    at_hand = True
    feature_names: list[str] | None = None

    def __init__(self, points: Array, weights: FloatArray | None = None, *, name: str = "the array") -> None:
        check_matrix(points.shape, name)
        self.name = name
        self.n_points: int | None = points.shape[0]
        self.n_features: int = points.shape[1]
        self.dtype = check_dtype(points.dtype, name)
        self.weighted = weights is not None
        self._points, self._weights = points, weights

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        for first in range(0, len(self._points), step):
            rows = slice(first, first + step)
            weights = None if self._weights is None else self._weights[rows]
            yield Chunk((self._points[rows],), self.dtype, self.name, first, weights)


class BatchSource:
    """What a function returns each time that it is called: the same batches of rows, in the same order.

    A batch is an array, (n, n_features), or a pair of it and weights, (n,). The first says what the others are.
    """

    n_points: int | None = None
    feature_names: list[str] | None = None
    at_hand = False

    def __init__(self, function: Callable[[], Iterable[Any]], *, name: str = "the stream") -> None:
        self.name = name
        self._function = function
        self._last: Iterator[Any] | None = None
        first = next((batch for batch in map(self._batch, self._begin()) if len(batch[0])), None)
        if first is None:
            raise SourceError(f"{name} is empty: the function that was given returned no batch with rows.")
        points, weights = first
        self.n_features: int = points.shape[1]
        if self.n_features == 0:
            raise SourceError(f"{name} has batches of shape {points.shape}; at least one column is needed.")
        self.dtype = check_dtype(points.dtype, f"a batch of {name}")
        self.weighted = weights is not None

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        for number, batch in enumerate(self._begin()):
            where = f"batch {number} (from 0) of {self.name}"
            points, weights = self._checked(*self._batch(batch), where)
            for first in range(0, len(points), step):
                rows = slice(first, first + step)
                yield Chunk((points[rows],), self.dtype, where, first, None if weights is None else weights[rows])

    def _begin(self) -> Iterator[Any]:
        given = self._function()
        try:
            iterator = iter(given)
        except TypeError as error:
            raise SourceError(
                f"the function that was given as {self.name} returned {type(given).__name__}; it must return an "
                "iterator of batches (arrays of rows, or pairs of rows and weights)."
            ) from error
        if iterator is self._last:
            raise SourceError(
                f"the function that was given as {self.name} returned the same iterator again, which has no "
                "batches left; it must return a new one each time, because the data are read several times."
            )
        self._last = iterator
        return iterator

    def _batch(self, batch: Any) -> tuple[Array, FloatArray | None]:
        if isinstance(batch, tuple):
            if len(batch) != 2:
                raise SourceError(
                    f"a batch of {self.name} is a tuple of {len(batch)}; expected rows, or (rows, weights)."
                )
            points, weights = np.asarray(batch[0]), np.asarray(batch[1], dtype=np.float64)
            if weights.shape != points.shape[:1]:
                raise SourceError(
                    f"a batch of {self.name} has weights of shape {weights.shape} for rows of shape "
                    f"{points.shape}; expected one weight for each row."
                )
        else:
            points, weights = np.asarray(batch), None
        if points.ndim != 2:
            raise SourceError(
                f"a batch of {self.name} has shape {points.shape}; expected (n, n_features), one row a point."
            )
        return points, weights

    def _checked(self, points: Array, weights: FloatArray | None, where: str) -> tuple[Array, FloatArray | None]:
        if points.shape[1] != self.n_features:
            raise SourceError(f"{where} has {points.shape[1]} columns; the first batch has {self.n_features}.")
        if not np.can_cast(points.dtype, self.dtype, "safe"):
            raise SourceError(
                f"{where} has dtype {points.dtype}; the first batch has {self.dtype}, which does not hold all "
                "of its values; give all batches the same dtype."
            )
        if (weights is not None) != self.weighted:
            found, expected = ("without", "with") if self.weighted else ("with", "without")
            raise SourceError(f"{where} comes {found} weights; the first batch came {expected}.")
        return points, weights

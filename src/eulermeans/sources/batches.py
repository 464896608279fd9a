"""Rows that the caller provides: an array, or a function that returns batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, FloatArray
from .source import CHUNK_BYTES, Chunk, MatrixSource, Source, SourceError, native_dtype
from .wrapped_arrays import unmasked


class ArraySource(MatrixSource):
    """The rows of an array or of a memory map."""

    at_hand = True

    def __init__(self, points: Array) -> None:
        super().__init__("the array", points.shape, points.dtype)
        self._points = points

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        return self.split(self._points, None, self.name, most_bytes)


def _plain(given: object) -> Array:
    return unmasked(given) if isinstance(given, np.ma.MaskedArray) else np.asarray(given)


@dataclass(frozen=True)
class _Batch:
    points: Array  # (n, n_features)
    weights: FloatArray | None  # (n,)


class BatchSource(Source):
    """The batches of rows that a function returns, which must be the same each time that it is called.

    A batch is an array, (n, n_features), or a pair of it and weights, (n,). The first batch says how many features
    there are, of which dtype, and whether there are weights.
    """

    name = "the stream"

    def __init__(self, function: Callable[[], Iterable[object]]) -> None:
        self._function = function
        self._last: Iterator[object] | None = None
        first = next((batch for batch in map(self._as_batch, self._begin()) if len(batch.points)), None)
        if first is None:
            raise SourceError(f"{self.name} is empty: the function returned no batch with rows.")
        shape = first.points.shape
        if shape[1] == 0:
            raise SourceError(f"{self.name} has batches of shape {shape}; at least one column is needed.")
        self.n_features, self.weighted = shape[1], first.weights is not None
        self.dtype = native_dtype(first.points.dtype, f"a batch of {self.name}")

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        for number, given in enumerate(self._begin()):
            where = f"batch {number} (from 0) of {self.name}"
            batch = self._as_batch(given)
            self._check_like_first(batch, where)
            yield from self.split(batch.points, batch.weights, where, most_bytes)

    def _begin(self) -> Iterator[object]:
        given = self._function()
        try:
            iterator = iter(given)
        except TypeError as error:
            raise SourceError(
                f"the function given as data returned {type(given).__name__}; it must return an iterator of "
                "batches (arrays of rows, or pairs of rows and weights)."
            ) from error
        if iterator is self._last:
            raise SourceError(
                "the function given as data returned the same iterator again, which has no batches left; it must "
                "return a new one each time, because the data are read several times."
            )
        self._last = iterator
        return iterator

    def _as_batch(self, given: object) -> _Batch:
        weights: FloatArray | None = None
        if isinstance(given, tuple):
            if len(given) != 2:
                raise SourceError(f"a batch of {self.name} is a tuple of {len(given)}; expected (rows, weights).")
            points, weights = _plain(given[0]), np.asarray(_plain(given[1]), dtype=np.float64)
            if weights.shape != points.shape[:1]:
                shapes = f"weights of shape {weights.shape} for rows of shape {points.shape}"
                raise SourceError(f"a batch of {self.name} has {shapes}; expected one weight per row.")
        else:
            points = _plain(given)
        if points.ndim != 2:
            raise SourceError(f"a batch of {self.name} has shape {points.shape}; expected (n, n_features).")
        return _Batch(points, weights)

    def _check_like_first(self, batch: _Batch, where: str) -> None:
        n_features, dtype = batch.points.shape[1], batch.points.dtype
        if n_features != self.n_features:
            raise SourceError(f"{where} has {n_features} columns; the first batch has {self.n_features}.")
        if not np.can_cast(dtype, self.dtype, "safe"):
            raise SourceError(
                f"{where} has dtype {dtype}; the first batch has {self.dtype}, which can't hold its values. "
                "Use the same dtype for all batches."
            )
        if (batch.weights is not None) != self.weighted:
            found, expected = ("no weights", "weights") if self.weighted else ("weights", "none")
            raise SourceError(f"{where} has {found}; the first batch has {expected}.")

"""A source: rows that can be read from the beginning as often as they are wanted, a chunk at a time.

Knows how data are stored and what is wrong with them. Does not know what is done with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, DType, FloatArray

CHUNK_BYTES = 32 << 20  # of rows that are read together, unless the reader asks for less
_BLOCK_BYTES = 1 << 20  # of rows that columns are written to at a time: they stay in the cache until complete


class SourceError(ValueError):
    """Data that can't be read or can't be clustered; the message names the file and the place in it."""


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows, as they were read together: side by side lie the columns or matrices they consist of."""

    parts: Sequence[Array]  # each (n,) or (n, m) with the next features
    dtype: DType  # of `points`
    where: str  # the file or the part of it that they come from, for messages
    first: int = 0  # the number of the first row within `where`
    weights: FloatArray | None = None  # (n,); None means one each
    before: Chunk | None = None  # the rows before a function was applied to them, for messages

    def __len__(self) -> int:
        return len(self.parts[0])

    @property
    def points(self) -> Array:
        """The rows as one matrix in C order, (n, n_features); not a copy where they lie so already."""
        if len(self.parts) == 1 and self.parts[0].ndim == 2:
            return np.require(self.parts[0], dtype=self.dtype, requirements=["C", "A"])
        return self.take(np.arange(len(self)))

    def take(self, rows: NDArray[np.intp]) -> Array:
        """Chosen rows, (len(rows), n_features): no other rows are put together."""
        if len(self.parts) == 1 and self.parts[0].ndim == 2:
            return self.parts[0][rows].astype(self.dtype, copy=False)
        n_features = sum(1 if part.ndim == 1 else part.shape[1] for part in self.parts)
        taken = np.empty((len(rows), n_features), dtype=self.dtype)
        whole = len(rows) == len(self)
        step = max(64, _BLOCK_BYTES // max(1, n_features * self.dtype.itemsize))
        for first in range(0, len(rows), step):
            block = taken[first : first + step]
            chosen = slice(first, first + step) if whole else rows[first : first + step]
            column = 0
            for part in self.parts:
                width = 1 if part.ndim == 1 else part.shape[1]
                block[:, column : column + width] = part[chosen].reshape(-1, width)
                column += width
        return taken

    def assembled(self) -> Chunk:
        """The same rows, put together."""
        return replace(self, parts=(self.points,), before=None)


class Source(Protocol):
    """Rows to be read again and again, always in the same order."""

    name: str  # for messages: the path, or what it is
    n_points: int | None  # None: not known before they were read once
    n_features: int
    feature_names: list[str] | None
    dtype: DType  # of the points of every chunk
    weighted: bool  # whether chunks come with weights
    at_hand: bool  # whether the rows are in memory anyway, so that a result for each may be too

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order, so many together that their points take no more bytes than this (one row may)."""
        ...


def reader_bytes(source: Source, most_bytes: int) -> int:
    """About how much memory reading takes beside chunks of so many bytes; a source may say so by this name."""
    said = getattr(source, "reader_bytes", None)
    return 0 if said is None else int(said(most_bytes))


def rows_in(most_bytes: int, n_features: int, dtype: DType) -> int:
    """How many rows of points take at most so many bytes, one at least."""
    return max(1, most_bytes // max(1, n_features * dtype.itemsize))


def check_dtype(dtype: DType, name: str) -> DType:
    """The dtype in this machine's byte order, if its values are real numbers."""
    if dtype.kind not in "fiub":
        raise SourceError(f"{name} has dtype {dtype}; accepted are floating point, integer and bool.")
    native: DType = dtype.newbyteorder("=")
    return native


def check_matrix(shape: tuple[int, ...], name: str) -> None:
    """Whether a shape is that of rows of features, and there are any."""
    if len(shape) != 2:
        raise SourceError(f"{name} has shape {shape}; expected (n_points, n_features), one row for each point.")
    if 0 in shape:
        raise SourceError(f"{name} is empty: its shape is {shape}; at least one row and one column are needed.")

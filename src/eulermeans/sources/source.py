"""Sources: rows that can be read from first to last as often as needed, a chunk at a time.

Defines what every source offers. Knows no file format, and not what the rows are used for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import Array, DType, FloatArray

CHUNK_BYTES = 32 << 20  # default limit for the points of one chunk
PASS_BYTES = 4 << 20  # the same for passes that only count or copy, whatever the memory limit is
_BLOCK_BYTES = 1 << 20  # columns are copied into rows in blocks of this size, which stay in the cache


class SourceError(ValueError):
    """The data can't be read or can't be clustered. The message names the file and, if known, the row.

    Examples
    --------
    >>> from eulermeans import EulerMeans, SourceError
    >>> with open("ages.csv", "w") as file:
    ...     _ = file.write("age\\n31\\n42\\ninf\\n")
    >>> try:
    ...     EulerMeans(2).fit("ages.csv")
    ... except SourceError as error:
    ...     print(error)
    row 2 (from 0) of ages.csv has an infinite value in column 'age'; fill it in or drop the row.
    """


class MissingValueError(SourceError):
    """A value is missing."""


@contextmanager
def wrap_errors(name: str, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn I/O errors, and `errors`, into a `SourceError` that names the file and the format it was read as."""
    try:
        yield
    except Exception as error:
        if isinstance(error, SourceError) or not isinstance(error, (OSError, EOFError, *errors)):
            raise
        raise SourceError(f"can't read {name} as {kind}: {error}") from error


def row_name(row: int, where: str) -> str:
    """A row in an error message."""
    return f"row {row} (from 0) of {where}"


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows that were read together, stored as columns or matrices side by side."""

    parts: Sequence[Array]  # each (n,) or (n, m); their columns, in order, are the features
    dtype: DType  # of `points`
    where: str  # the file, batch or partition the rows come from, for messages
    first: int = 0  # position of the first row in `where`
    weights: FloatArray | None = None  # (n,); None: every weight is 1
    unmapped: Chunk | None = None  # the rows before a function was applied to them, for messages

    def __len__(self) -> int:
        return len(self.parts[0])

    @property
    def n_features(self) -> int:
        """Number of columns of all parts."""
        return sum(map(width_of, self.parts))

    @property
    def points(self) -> Array:
        """The rows as one matrix in C order, (n, n_features); a copy only if they are stored otherwise."""
        if len(self.parts) == 1 and self.parts[0].ndim == 2:
            return np.require(self.parts[0], dtype=self.dtype, requirements=["C", "A"])
        return self.take(np.arange(len(self)))

    def take(self, rows: NDArray[np.intp]) -> Array:
        """The rows at these positions, (len(rows), n_features). No other rows are copied."""
        if len(self.parts) == 1 and self.parts[0].ndim == 2:
            return self.parts[0][rows].astype(self.dtype, copy=False)
        taken = np.empty((len(rows), self.n_features), dtype=self.dtype)
        takes_all = len(rows) == len(self)
        step = max(64, _BLOCK_BYTES // max(1, self.n_features * self.dtype.itemsize))
        for first in range(0, len(rows), step):
            block = taken[first : first + step]
            chosen = slice(first, first + step) if takes_all else rows[first : first + step]
            column = 0
            for part in self.parts:
                width = width_of(part)
                block[:, column : column + width] = part[chosen].reshape(-1, width)
                column += width
        return taken

    def assembled(self) -> Chunk:
        """The same rows as one matrix."""
        return replace(self, parts=(self.points,), unmapped=None)


def width_of(part: Array) -> int:
    """Number of features in one part of a chunk."""
    return 1 if part.ndim == 1 else part.shape[1]


class Source(ABC):
    """Rows that come in the same order every time they are read."""

    name: str  # the path or a description, for messages
    n_points: int | None = None  # None: unknown until all rows have been read once
    n_features: int
    feature_names: list[str] | None = None
    dtype: DType  # of the points of every chunk
    weighted: bool = False  # whether chunks have weights
    files: Sequence[str] = ()  # paths of the files that the rows are read from, if all are known
    at_hand: bool = False  # whether the rows are in memory, so that a result for each row fits there too

    @abstractmethod
    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order. The points of a chunk take at most `most_bytes`, unless one row takes more."""

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory that reading takes besides chunks of `most_bytes`."""
        return 0

    @property
    def schema(self) -> list[tuple[str, str]]:
        """Name and type of each column, to compare with those of another file."""
        return [(f"{self.n_features} columns", str(self.dtype))]

    def mapped(self, function: Callable[[Array], Array], dtype: DType) -> Source:
        """The source with a function applied to its points. See `mapped`."""
        return MappedSource(self, function, dtype)

    def rows_per_chunk(self, most_bytes: int) -> int:
        """How many rows of points take at most `most_bytes`; at least 1."""
        return max(1, most_bytes // max(1, self.n_features * self.dtype.itemsize))

    def split(
        self,
        points: Array,  # (n, n_features), IN
        weights: FloatArray | None,  # (n,), IN
        where: str,
        most_bytes: int,
        first: int = 0,  # position of the first row in `where`
    ) -> Iterator[Chunk]:
        """Rows that are in memory, as chunks of at most `most_bytes`. Nothing is copied."""
        step = self.rows_per_chunk(most_bytes)
        for begin in range(0, len(points), step):
            rows = slice(begin, begin + step)
            of_rows = None if weights is None else weights[rows]
            yield Chunk((points[rows],), self.dtype, where, first + begin, of_rows)


class MatrixSource(Source):
    """A source that is stored as one matrix, so that its shape and dtype are known."""

    n_points: int

    def __init__(self, name: str, shape: tuple[int, ...], dtype: DType) -> None:
        check_matrix(shape, name)
        self.name, self.dtype = name, native_dtype(dtype, name)
        self.n_points, self.n_features = shape


class WrappedSource(Source):
    """A base for sources that pass on the rows of another one. What is known of the other is known of it too."""

    def __init__(self, source: Source) -> None:
        self.name, self.n_points, self.n_features = source.name, source.n_points, source.n_features
        self.feature_names, self.dtype, self.weighted = source.feature_names, source.dtype, source.weighted
        self.at_hand, self.files = source.at_hand, source.files
        self._source = source

    @property
    def schema(self) -> list[tuple[str, str]]:
        return self._source.schema

    def reader_bytes(self, most_bytes: int) -> int:
        return self._source.reader_bytes(most_bytes)


class MappedSource(WrappedSource):
    """The rows of another source with a function applied to them."""

    def __init__(self, source: Source, function: Callable[[Array], Array], dtype: DType) -> None:
        super().__init__(source)
        self.dtype = dtype
        self._function = function

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order. Chunks are within the limit before and after the function is applied."""
        before, after = self._source.dtype.itemsize, self.dtype.itemsize
        for chunk in self._source.chunks(max(1, most_bytes * before // max(before, after))):
            points = np.asarray(self._function(chunk.points))
            if points.shape != (expected := (len(chunk), self.n_features)):
                raise SourceError(
                    f"the function applied to {self.name} returned shape {points.shape}; expected {expected}."
                )
            yield replace(chunk, parts=(points,), dtype=self.dtype, unmapped=chunk)


def mapped(
    source: Source,
    function: Callable[[Array], Array],  # from (n, n_features) to (n, n_features); must treat each row by itself
    *,
    dtype: DTypeLike | None = None,  # of the result; None: that of the source
) -> Source:
    """The same source with a function applied to its points."""
    return source.mapped(function, np.dtype(source.dtype if dtype is None else dtype))


def native_dtype(dtype: DType, name: str) -> DType:
    """The dtype in the byte order of this machine. It must be one of real numbers."""
    if dtype.kind not in "fiub":
        raise SourceError(f"{name} has dtype {dtype}; expected floating point, integer or bool.")
    native: DType = dtype.newbyteorder("=")
    return native


def check_matrix(shape: tuple[int, ...], name: str) -> None:
    """Check that a shape has rows and features, and at least one of each."""
    if len(shape) != 2:
        raise SourceError(f"{name} has shape {shape}; expected (n_points, n_features), one row per point.")
    if 0 in shape:
        raise SourceError(f"{name} is empty: its shape is {shape}; at least one row and one column are needed.")


def check_not_empty(n_points: int | None, name: str) -> None:
    """Check that there are rows, if their number is known."""
    if n_points == 0:
        raise SourceError(f"{name} is empty: it has no rows.")


def check_no_columns(what: str, columns: Sequence[str] | None, weights: str | None) -> None:
    """Check that no columns are asked for by name, because the data have no column names."""
    if columns is not None or weights is not None:
        raise ValueError(f"columns= and weights= choose columns by name, but {what} has no column names.")

"""Which columns of an Arrow schema are the features, and how a batch of them becomes arrays.

A column is a number for each row, or a list of equally many: a matrix, as embeddings are stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, DType, FloatArray
from ..optional import optional
from .source import Chunk, SourceError, rows_in

_NAMED_AT_MOST = 5  # columns in a message


@dataclass(frozen=True)
class Column:
    """One column of a table that holds features."""

    name: str
    dtype: DType
    width: int | None = None  # the length of its lists; None: plain numbers

    @property
    def features(self) -> list[str]:
        """What its features are called."""
        return [self.name] if self.width is None else [f"{self.name}[{i}]" for i in range(self.width)]


@dataclass(frozen=True)
class Layout:
    """The columns that are read from a table."""

    columns: list[Column]
    weights: str | None  # the column that the weights are in

    @cached_property
    def names(self) -> list[str]:
        """All columns to be read."""
        return [column.name for column in self.columns] + ([] if self.weights is None else [self.weights])

    @cached_property
    def feature_names(self) -> list[str]:
        """One for each feature."""
        return [name for column in self.columns for name in column.features]

    @cached_property
    def dtype(self) -> DType:
        """The smallest that holds the values of all columns."""
        return np.result_type(*(column.dtype for column in self.columns))

    @property
    def schema(self) -> list[tuple[str, str]]:
        """The columns, to be compared with those of another file."""
        kinds = (str(c.dtype) if c.width is None else f"{c.width} x {c.dtype}" for c in self.columns)
        return list(zip((column.name for column in self.columns), kinds, strict=True))

    def chunk(self, batch: Any, where: str, first: int) -> Chunk:
        """A pyarrow RecordBatch with these columns, as a chunk; where nothing needs converting, without a copy."""
        parts = [_values(batch.column(c.name), c.name, c.width, where, first) for c in self.columns]
        weights: FloatArray | None = None
        if self.weights is not None:
            values = _values(batch.column(self.weights), self.weights, None, where, first)
            weights = np.ascontiguousarray(values, dtype=np.float64)
        return Chunk(parts, self.dtype, where, first, weights)


def layout(
    schema: Any,  # pyarrow.Schema
    name: str,
    columns: Sequence[str] | None,
    weights: str | None,
    peek: Callable[[str], Any],  # the first rows of a column as a pyarrow Array
) -> Layout:
    """The columns that were asked for, or all, which must then be numeric."""
    if duplicates := [n for n, times in Counter(schema.names).items() if times > 1]:
        raise SourceError(f"{name} has several columns of the name {listed(duplicates)}; rename them.")
    wanted = [n for n in schema.names if n != weights] if columns is None else list(columns)
    missing = [n for n in [*wanted, *([] if weights is None else [weights])] if n not in schema.names]
    if missing:
        raise SourceError(f"{name} has no column {listed(missing)}; it has {listed(schema.names)}.")
    if not wanted:
        raise SourceError(f"{name} is empty: it has no columns.")
    kinds = {n: numeric_type(schema.field(n).type) for n in [*wanted, *([] if weights is None else [weights])]}
    other = [f"{n} ({schema.field(n).type})" for n, kind in kinds.items() if kind is None]
    if other:
        raise SourceError(
            f"{name} has columns that are not numbers: {listed(other)}; name those to be clustered with columns=."
        )
    if weights is not None and kinds[weights][1]:  # type: ignore[index]
        raise SourceError(f"the weights column {weights!r} of {name} has lists; expected a number for each row.")
    found = []
    for n in wanted:
        dtype, is_list = kinds[n]  # type: ignore[misc]
        found.append(Column(n, dtype, _width(schema.field(n).type, peek, n, name) if is_list else None))
    return Layout(found, weights)


def numeric_type(arrow_type: Any) -> tuple[DType, bool] | None:
    """The NumPy dtype and whether it is of lists; None if it is not of numbers."""
    types = optional("pyarrow", "io").types
    if types.is_list(arrow_type) or types.is_large_list(arrow_type) or types.is_fixed_size_list(arrow_type):
        inner = numeric_type(arrow_type.value_type)
        return None if inner is None or inner[1] else (inner[0], True)
    if types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_boolean(arrow_type):
        return np.dtype(arrow_type.to_pandas_dtype()), False
    return None


def _width(arrow_type: Any, peek: Callable[[str], Any], column: str, name: str) -> int:
    width = getattr(arrow_type, "list_size", None)  # of a fixed-size list
    if width is None:
        first = peek(column)
        width = first[0].as_py() if len(first) else None
        width = 0 if width is None else len(width)
    if width < 1:
        raise SourceError(f"{name} has no values in the lists of column {column!r}.")
    return int(width)


def _values(array: Any, column: str, width: int | None, where: str, first: int) -> Array:
    """The values of a pyarrow Array: (n,), or (n, width) if they are lists."""
    _check_nulls(array, column, where, first)
    if width is None:
        values: Array = array.to_numpy(zero_copy_only=False)
        return values
    n_rows = len(array)
    if not hasattr(array.type, "list_size"):
        lengths = np.diff(array.offsets.to_numpy())
        other = np.flatnonzero(lengths != width)
        if len(other):
            raise SourceError(
                f"row {first + int(other[0])} (from 0) of {where} has {lengths[other[0]]} values in column "
                f"{column!r}; the first row has {width}."
            )
    flat = array.flatten()
    if flat.null_count:
        row = int(np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))[0]) // width
        raise SourceError(f"row {first + row} (from 0) of {where} has a missing value in column {column!r}.")
    matrix: Array = flat.to_numpy(zero_copy_only=False).reshape(n_rows, width)
    return matrix


def _check_nulls(array: Any, column: str, where: str, first: int) -> None:
    if array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise SourceError(
            f"row {first + row} (from 0) of {where} has a missing value in column {column!r}; "
            "fill it or leave the row out."
        )


def listed(names: Sequence[Any]) -> str:
    """The first of the names, for a message."""
    shown = ", ".join(map(str, names[:_NAMED_AT_MOST]))
    more = len(names) - _NAMED_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown


class TabularSource:
    """Rows of named columns, some of which are the features."""

    n_points: int | None
    at_hand = False

    def __init__(self, name: str, columns: Layout) -> None:
        self.name = name
        self.layout = columns
        self.feature_names: list[str] | None = columns.feature_names
        self.n_features = len(columns.feature_names)
        self.dtype = columns.dtype
        self.weighted = columns.weights is not None

    @property
    def schema(self) -> list[tuple[str, str]]:
        """The columns, to be compared with those of another file."""
        return self.layout.schema

    def sliced(self, batch: Any, where: str, first: int, most_bytes: int) -> Iterator[Chunk]:
        """A record batch with the columns of the layout, and perhaps others, as chunks."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        for begin in range(0, batch.num_rows, step):
            yield self.layout.chunk(batch.slice(begin, step), where, first + begin)

"""Named columns: which of them to cluster, and how those of an Arrow table become the parts of a chunk.

An Arrow column holds one number per row, or a list of numbers of the same length in every row, as embeddings are
stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..arrays import Array, DType, FloatArray
from ..optional import optional
from .source import Chunk, MissingValueError, Source, SourceError, row_name, wrap_errors

if TYPE_CHECKING:
    import pyarrow as pa


_MOST_LISTED = 5  # names in a message

Name = TypeVar("Name", bound=Hashable)
Type = TypeVar("Type")
Numeric = TypeVar("Numeric")


def choose_columns(
    table: str,  # what to call it in messages
    available: Sequence[tuple[Name, Type]],
    columns: Sequence[Name] | None,  # in this order; None: all but the weights
    weights: Name | None,
    numeric: Callable[[Type], Numeric | None],  # what is known of a numeric type; None if it is not one
) -> tuple[list[Name], dict[Name, Numeric]]:
    """The feature columns, and what is known of their types and of that of the weights."""
    types = dict(available)
    if len(types) < len(available):
        duplicates = [name for name, times in Counter(name for name, _ in available).items() if times > 1]
        raise SourceError(f"{table} has several columns named {listed(duplicates)}; rename them.")
    features = [name for name in types if name != weights] if columns is None else list(columns)
    used = [*features, *([] if weights is None else [weights])]
    if missing := [name for name in used if name not in types]:
        raise SourceError(f"{table} has no column {listed(missing)}; it has {listed(list(types))}.")
    if not features:
        raise SourceError(f"{table} is empty: it has no columns.")
    found = {name: numeric(types[name]) for name in used}
    if other := [f"{name} ({types[name]})" for name, kind in found.items() if kind is None]:
        rest = [name for name in features if found[name] is not None]
        such_as = f", such as {rest}" if 0 < len(rest) <= _MOST_LISTED else ""
        raise SourceError(
            f"{table} has non-numeric columns: {listed(other)}; choose the features with columns={such_as}."
        )
    return features, {name: kind for name, kind in found.items() if kind is not None}


def listed(names: Sequence[object]) -> str:
    """The first few names, separated by commas, for a message."""
    shown = ", ".join(map(str, names[:_MOST_LISTED]))
    more = len(names) - _MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


@dataclass(frozen=True)
class Column:
    """An Arrow column that holds features."""

    name: str
    dtype: DType
    width: int | None = None  # length of its lists; None: it holds plain numbers

    @property
    def features(self) -> list[str]:
        """The names of its features."""
        return [self.name] if self.width is None else [f"{self.name}[{i}]" for i in range(self.width)]


class TabularSource(Source):
    """A source that is read as Arrow record batches with named columns."""

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        columns: Sequence[str] | None,  # the feature columns, in this order; None: all but the weights
        weights: str | None,  # the column of the weights
        first_values: Callable[[str], pa.Array] | None = None,  # of a column of lists; None: there are no lists
    ) -> None:
        available = [(field.name, field.type) for field in schema]
        chosen, kinds = choose_columns(name, available, columns, weights, numeric_type)
        if weights is not None and kinds[weights][1]:
            raise SourceError(f"the weights column {weights!r} of {name} has lists; expected one number per row.")
        self.columns: list[Column] = []
        for column in chosen:
            dtype, has_lists = kinds[column]
            width = list_width(schema.field(column).type, first_values, column, name) if has_lists else None
            self.columns.append(Column(column, dtype, width))
        self.name, self.weights_column, self.weighted = name, weights, weights is not None
        self.column_names = [*chosen, *([] if weights is None else [weights])]  # all that are read
        self.feature_names = [feature for column in self.columns for feature in column.features]
        self.n_features = len(self.feature_names)
        self.dtype = np.result_type(*(column.dtype for column in self.columns))

    @property
    def schema(self) -> list[tuple[str, str]]:
        return [(c.name, f"{c.dtype}" if c.width is None else f"{c.width} x {c.dtype}") for c in self.columns]

    def chunk(self, batch: pa.RecordBatch, where: str, first: int) -> Chunk:
        """A batch that has these columns, and perhaps others. Values that need no conversion are not copied."""
        parts = [column_values(batch.column(c.name), c.name, c.width, where, first) for c in self.columns]
        weights: FloatArray | None = None
        if self.weights_column is not None:
            values = column_values(batch.column(self.weights_column), self.weights_column, None, where, first)
            weights = np.ascontiguousarray(values, dtype=np.float64)
        return Chunk(parts, self.dtype, where, first, weights)

    def split_batch(self, batch: pa.RecordBatch, where: str, first: int, most_bytes: int) -> Iterator[Chunk]:
        """A batch as chunks of at most `most_bytes`."""
        step = self.rows_per_chunk(most_bytes)
        for begin in range(0, batch.num_rows, step):
            yield self.chunk(batch.slice(begin, step), where, first + begin)


def wrap_arrow_errors(name: str, kind: str) -> AbstractContextManager[None]:
    """`wrap_errors` that includes the errors of pyarrow."""
    return wrap_errors(name, kind, optional("pyarrow", "io").ArrowException, ValueError)


# Arrow's names where NumPy has others. `to_pandas_dtype` knows them too, but some releases need pandas for it.
ARROW_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}


def numeric_type(arrow_type: pa.DataType) -> tuple[DType, bool] | None:
    """The NumPy dtype of the numbers, and whether they are in lists; None if the type is not numeric."""
    types = optional("pyarrow", "io").types
    if types.is_list(arrow_type) or types.is_large_list(arrow_type) or types.is_fixed_size_list(arrow_type):
        inner = numeric_type(arrow_type.value_type)
        return None if inner is None or inner[1] else (inner[0], True)
    if types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_boolean(arrow_type):
        name = str(arrow_type)
        return np.dtype(ARROW_FLOATS.get(name, name)), False
    if types.is_decimal(arrow_type):
        return np.dtype(np.float64), False
    return None


def list_width(
    arrow_type: pa.DataType, first_values: Callable[[str], pa.Array] | None, column: str, name: str
) -> int:
    """The length of the lists of a column, if necessary by its first values."""
    width = getattr(arrow_type, "list_size", None)  # of lists of fixed size
    if width is None:
        values = [] if first_values is None else first_values(column)
        first = values[0].as_py() if len(values) else None
        width = 0 if first is None else len(first)
    if width < 1:
        raise SourceError(f"the first list in column {column!r} of {name} is empty or missing.")
    return int(width)


def column_values(array: pa.Array, column: str, width: int | None, where: str, first: int) -> Array:
    """The values of an Arrow array: (n,), or (n, width) if they are lists."""
    _check_no_nulls(array, column, 1, where, first)
    if width is None:
        pyarrow = optional("pyarrow", "io")
        plain = array.cast(pyarrow.float64()) if pyarrow.types.is_decimal(array.type) else array
        values: Array = plain.to_numpy(zero_copy_only=False)
        return values
    if not hasattr(array.type, "list_size"):
        lengths = np.diff(array.offsets.to_numpy())
        other = np.flatnonzero(lengths != width)
        if len(other):
            raise SourceError(
                f"{row_name(first + int(other[0]), where)} has {lengths[other[0]]} values in column {column!r}; "
                f"the first row has {width}."
            )
    flat = array.flatten()
    _check_no_nulls(flat, column, width, where, first)
    matrix: Array = flat.to_numpy(zero_copy_only=False).reshape(len(array), width)
    return matrix


def _check_no_nulls(array: pa.Array, column: str, per_row: int, where: str, first: int) -> None:
    if array.null_count:
        row = first + int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0]) // per_row
        raise MissingValueError(
            f"{row_name(row, where)} has a missing value in column {column!r}; fill it in or drop the row."
        )

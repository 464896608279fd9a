"""Data frames: pandas by its columns, polars as the Arrow table that it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..arrays import Array, DType
from .arrow_columns import listed
from .arrow_tables import TableSource
from .source import CHUNK_BYTES, Chunk, SourceError, rows_in


class PandasSource:
    """The rows of a pandas DataFrame, whose columns have NumPy's, pandas' or Arrow's types."""

    at_hand = True
    name = "the frame"

    def __init__(self, frame: Any, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        wanted, dtypes = numeric_columns(frame, columns, weights, self.name)
        if len(frame) == 0:
            raise SourceError(f"{self.name} is empty: its shape is {(len(frame), len(wanted))}.")
        self.n_points: int | None = len(frame)
        self.n_features = len(wanted)
        self.feature_names = wanted if all(isinstance(c, str) for c in wanted) else None
        self.dtype = np.result_type(*(dtypes[c] for c in wanted))
        self.weighted = weights is not None
        self._frame, self._wanted, self._weights, self._dtypes = frame, wanted, weights, dtypes

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        for first in range(0, len(self._frame), step):
            rows = self._frame.iloc[first : first + step]
            parts = [self._values(rows, column, first) for column in self._wanted]
            weights = None
            if self._weights is not None:
                weights = self._values(rows, self._weights, first).astype(np.float64)
            yield Chunk(parts, self.dtype, self.name, first, weights)

    def _values(self, rows: Any, column: Any, first: int) -> Array:
        return column_values(
            rows, column, self._dtypes[column], lambda row: f"row {first + row} (from 0) of {self.name}"
        )


def from_polars(frame: Any, columns: Sequence[str] | None = None, weights: str | None = None) -> TableSource:
    """The source of a polars DataFrame."""
    return TableSource(frame.to_arrow(), columns, weights, name="the frame")


def numeric_columns(
    frame: Any, columns: Sequence[str] | None, weights: str | None, name: str
) -> tuple[list[Any], dict[Any, DType]]:
    """The columns of the features, and the dtypes of their numbers and of the weights."""
    wanted = [c for c in frame.columns if c != weights] if columns is None else list(columns)
    asked = [*wanted, *([] if weights is None else [weights])]
    if not frame.columns.is_unique:
        raise SourceError(f"{name} has several columns of the same name; rename them.")
    if missing := [c for c in asked if c not in frame.columns]:
        raise SourceError(f"{name} has no column {listed(missing)}; it has {listed(list(frame.columns))}.")
    if not wanted:
        raise SourceError(f"{name} is empty: it has no columns.")
    dtypes = {c: _numpy_dtype(frame.dtypes[c]) for c in asked}
    if other := [f"{c} ({frame.dtypes[c]})" for c in asked if dtypes[c] is None]:
        raise SourceError(
            f"{name} has columns that are not numbers: {listed(other)}; name those to be clustered with columns=."
        )
    return wanted, {column: dtype for column, dtype in dtypes.items() if dtype is not None}


def column_values(rows: Any, column: Any, dtype: DType, place: Callable[[int], str]) -> Array:
    """The numbers of one column; an error that says in which row one is missing."""
    series = rows[column]
    if not isinstance(series.dtype, np.dtype) and series.isna().any():
        row = int(np.flatnonzero(series.isna())[0])
        raise SourceError(f"{place(row)} has a missing value in column {column!r}.")
    values: Array = series.to_numpy(dtype=dtype)
    return values


def _numpy_dtype(dtype: Any) -> DType | None:
    """Of the numbers that a column holds; None if it does not."""
    found = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", None)
    return np.dtype(found) if found is not None and np.dtype(found).kind in "fiub" else None

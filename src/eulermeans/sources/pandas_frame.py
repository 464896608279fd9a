"""pandas DataFrames, read by columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, DType
from .columns import choose_columns
from .source import CHUNK_BYTES, Chunk, Source, SourceError

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd
    from pandas.api.extensions import ExtensionDtype


class PandasSource(Source):
    """The rows of a DataFrame whose columns have NumPy, pandas or Arrow types."""

    at_hand = True
    name = "the frame"

    def __init__(
        self, frame: pd.DataFrame, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> None:
        self._features, self._dtypes = numeric_columns(frame, columns, weights, self.name)
        self.n_points, self.n_features = len(frame), len(self._features)
        if self.n_points == 0:
            raise SourceError(f"{self.name} is empty: its shape is {(0, self.n_features)}.")
        self.feature_names = string_names(self._features)
        self.dtype = np.result_type(*(self._dtypes[column] for column in self._features))
        self._frame, self._weights, self.weighted = frame, weights, weights is not None

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        step = self.rows_per_chunk(most_bytes)
        for first in range(0, len(self._frame), step):
            rows = self._frame.iloc[first : first + step]
            parts = [self._values(rows, column, first) for column in self._features]
            weights = None
            if self._weights is not None:
                weights = self._values(rows, self._weights, first).astype(np.float64)
            yield Chunk(parts, self.dtype, self.name, first, weights)

    def _values(self, rows: pd.DataFrame, column: Hashable, first: int) -> Array:
        return column_values(rows, column, self._dtypes[column], first, f" of {self.name}")


def numeric_columns(
    frame: pd.DataFrame | dd.DataFrame, columns: Sequence[str] | None, weights: str | None, name: str
) -> tuple[list[Hashable], dict[Hashable, DType]]:
    """The feature columns, and the dtypes of their numbers and of the weights."""
    return choose_columns(name, list(frame.dtypes.items()), columns, weights, _numpy_dtype)


def string_names(columns: list[Hashable]) -> list[str] | None:
    """The names of the features, if all of them are strings."""
    names = [column for column in columns if isinstance(column, str)]
    return names if len(names) == len(columns) else None


def column_values(rows: pd.DataFrame, column: Hashable, dtype: DType, first: int = 0, where: str = "") -> Array:
    """The numbers in a column, (n,). The error for a missing one names its row, counted from `first`."""
    series = rows[column]
    if not isinstance(series.dtype, np.dtype) and series.isna().any():
        row = first + int(np.flatnonzero(series.isna())[0])
        raise SourceError(f"row {row} (from 0){where} has a missing value in column {column!r}.")
    values: Array = series.to_numpy(dtype=dtype)
    return values


def _numpy_dtype(dtype: DType | ExtensionDtype) -> DType | None:
    """The dtype of the numbers in a column; None if it is not numeric."""
    found = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", None)
    return np.dtype(found) if found is not None and np.dtype(found).kind in "fiub" else None

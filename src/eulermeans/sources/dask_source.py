"""A Dask array or dataframe: rows in partitions, which Dask computes when it is asked to.

Read as a source, the partitions are computed one at a time, by local threads; an oracle over a cluster takes the
collection itself. Nothing imports Dask before it has seen a collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, DType, FloatArray
from ..optional import optional
from .pandas_frame import column_values, numeric_columns
from .source import CHUNK_BYTES, Chunk, SourceError, check_dtype, check_matrix, rows_in


def is_dask(data: Any) -> bool:
    """Whether this is a Dask collection, found out without importing Dask."""
    return hasattr(type(data), "__dask_graph__")


class DaskSource:
    """A Dask collection as rows of points, and their weights."""

    at_hand = False

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.name, self.feature_names = parts.name, parts.feature_names
        n_points, n_features = parts.rows.shape
        self.n_points: int | None = None if np.isnan(n_points) else int(n_points)
        self.n_features = int(n_features)
        self.dtype: DType = parts.rows.dtype.newbyteorder("=")
        self.weighted = parts.weights is not None

    def weighted_by(self, weights: Any) -> DaskSource:
        """The same rows with these weights: a Dask array or series, or an array, (n_points,)."""
        if self.weighted:
            raise ValueError(f"{self.name} has weights of its own; give no others.")
        return DaskSource(replace(self.parts, weights=weights_like(weights, self.parts.rows)))

    def mapped(
        self,
        function: Callable[[Array], Array],
        n_features: int,
        feature_names: list[str] | None,
        dtype: DType,
    ) -> DaskSource:
        """The same collection with a function applied to the points of each partition, where they are."""
        rows = self.parts.rows.map_blocks(
            function,
            chunks=(self.parts.rows.chunks[0], (n_features,)),
            dtype=dtype,
            meta=np.empty((0, n_features), dtype=dtype),
        )
        return DaskSource(replace(self.parts, rows=rows, feature_names=feature_names))

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order: each partition is computed when it is asked for."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        for number in range(self.parts.rows.numblocks[0]):
            points = _computed(self.parts.rows, number)
            weights = None if self.parts.weights is None else _computed(self.parts.weights, number)
            whole = partition_chunk(points, weights, number, self.n_features, self.name)
            for first in range(0, len(points), step):
                rows = slice(first, first + step)
                of_rows = None if weights is None else weights[rows]
                yield Chunk((points[rows],), self.dtype, whole.where, first, of_rows)

    def reader_bytes(self, most_bytes: int) -> int:
        """About how much memory computing takes: a partition and the next one. Unknown ones count as small."""
        largest = max((n for n in self.parts.rows.chunks[0] if not np.isnan(n)), default=0)
        return int(2 * largest * self.n_features * self.dtype.itemsize)


def dask_source(collection: Any, columns: Sequence[str] | None = None, weights: str | None = None) -> DaskSource:
    """The source of a Dask array or dataframe."""
    return DaskSource(parts_of(collection, columns, weights))


def _computed(array: Any, number: int) -> Any:
    try:
        return array.blocks[number].compute(scheduler="threads")
    except Exception as error:  # whatever the graph of the caller raises
        raise partition_error(number, error) from error


@dataclass(frozen=True)
class Parts:
    """Lazy rows and weights."""

    rows: Any  # Dask array (n_points, n_features) whose chunks hold whole rows
    weights: Any  # Dask array (n_points,) of float64 with a chunk for each of those, or None
    feature_names: list[str] | None
    name: str  # for messages


def parts_of(collection: Any, columns: Sequence[str] | None, weights: str | None) -> Parts:
    """The parts of an array or a dataframe. Columns are chosen by their names."""
    if isinstance(collection, optional("dask.array", "dask").Array):
        if columns is not None or weights is not None:
            raise ValueError("columns= and weights= name columns, but a Dask array has none that have names.")
        return _parts_of_array(collection)
    if _is_frame(collection):
        return _parts_of_frame(collection, columns, weights)
    raise TypeError(
        f"can't read a Dask {type(collection).__name__}: accepted are Dask dataframes, and arrays with two "
        "dimensions and one row for each point."
    )


def weights_like(weights: Any, rows: Any) -> Any:
    """Weights, a Dask array or series or an array, as a Dask array of float64 with the partitions of the rows."""
    array = optional("dask.array", "dask")
    known = not np.isnan(rows.shape[0])
    if hasattr(weights, "to_dask_array"):
        weights = weights.to_dask_array()
    if not isinstance(weights, array.Array):
        if not known:
            raise ValueError(
                "sample_weight is no Dask collection, but X has partitions of unknown length; give a Dask array "
                "or series of weights with the partitions of X, or X with known chunks (compute_chunk_sizes)."
            )
        weights = array.from_array(np.asarray(weights, dtype=np.float64), chunks=-1)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has {weights.ndim} dimensions; expected one weight for each row.")
    if known and not np.isnan(weights.shape[0]):
        if weights.shape[0] != rows.shape[0]:
            raise ValueError(f"sample_weight has {weights.shape[0]} elements, but X has {rows.shape[0]} rows.")
        weights = weights.rechunk((rows.chunks[0],))
    elif weights.numblocks != rows.numblocks[:1]:
        raise ValueError(
            f"sample_weight has {weights.numblocks[0]} partitions, X has {rows.numblocks[0]}; give it those of X."
        )
    return weights.astype(np.float64)


def partition_chunk(points: Any, weights: FloatArray | None, number: int, n_features: int, name: str) -> Chunk:
    """What was computed as a partition, if it has the form that the collection says."""
    where = f"partition {number} of {name}"
    if not isinstance(points, np.ndarray):
        raise SourceError(f"{where} is a {type(points).__name__}; only NumPy arrays can be clustered.")
    if points.ndim != 2 or points.shape[1] != n_features:
        raise SourceError(f"{where} has shape {points.shape}; expected {n_features} columns.")
    if weights is not None and weights.shape != points.shape[:1]:
        raise SourceError(f"{where} has {len(points)} rows, but {len(weights)} weights.")
    return Chunk((points,), points.dtype, where, weights=weights)


def partition_error(number: int, error: BaseException | None, what: str = "computed") -> SourceError:
    """The error for a partition that Dask could not compute."""
    if isinstance(error, SourceError):
        return error
    reason = f"{type(error).__name__}: {error}" if error else "Dask does not know how it was made"
    failure = SourceError(f"partition {number} could not be {what} ({reason}).")
    failure.__cause__ = error
    return failure


def _parts_of_array(collection: Any) -> Parts:
    name = "the Dask array"
    check_matrix(collection.shape, name)
    check_dtype(collection.dtype, name)
    if np.isnan(collection.shape[1]):
        raise SourceError(f"{name} has an unknown number of columns; call compute_chunk_sizes on it first.")
    rows = collection if collection.numblocks[1] == 1 else collection.rechunk({1: -1})
    return Parts(rows, None, None, name)


def _parts_of_frame(collection: Any, columns: Sequence[str] | None, weights: str | None) -> Parts:
    name = "the Dask dataframe"
    wanted, dtypes = numeric_columns(collection, columns, weights, name)
    dtype = np.result_type(*(dtypes[column] for column in wanted))
    meta = np.empty((0, len(wanted)), dtype=dtype)
    rows = collection.map_partitions(_frame_rows, columns=wanted, dtype=dtype, meta=meta)
    of_rows = None
    if weights is not None:
        meta = np.empty(0, dtype=np.float64)
        of_rows = collection.map_partitions(_frame_weights, column=weights, meta=meta)
    return Parts(rows, of_rows, wanted if all(isinstance(column, str) for column in wanted) else None, name)


def _frame_rows(frame: Any, *, columns: list[Any], dtype: DType) -> Array:
    """The rows of one pandas frame in C order, as the kernels read them."""
    rows = np.empty((len(frame), len(columns)), dtype=dtype)
    for number, column in enumerate(columns):
        rows[:, number] = _column(frame, column, dtype)
    return rows


def _frame_weights(frame: Any, *, column: Any) -> FloatArray:
    return _column(frame, column, np.dtype(np.float64))


def _column(frame: Any, column: Any, dtype: DType) -> Array:
    try:
        return column_values(frame, column, dtype, lambda row: f"row {row} (from 0)")
    except SourceError as error:  # which does not name the partition; who knows its number does
        raise ValueError(str(error)) from None


def _is_frame(collection: Any) -> bool:
    of_dask = type(collection).__module__.startswith(("dask.dataframe", "dask_expr"))
    return of_dask and getattr(collection, "ndim", None) == 2

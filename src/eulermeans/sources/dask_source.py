"""Dask arrays and dataframes: rows in partitions that Dask computes on demand.

As a source, the partitions are computed one at a time by local threads. An oracle on a cluster takes the lazy
arrays. Dask is imported only after a Dask collection has been seen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, DType, FloatArray
from ..optional import optional
from .pandas_frame import column_values, numeric_columns, string_names
from .source import CHUNK_BYTES, Chunk, Source, SourceError, check_matrix, check_no_columns, native_dtype

if TYPE_CHECKING:
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd


def is_dask(data: object) -> bool:
    """Whether this is a Dask collection. Does not import Dask."""
    return hasattr(type(data), "__dask_graph__")


class DaskSource(Source):
    """The rows of a Dask collection and their weights, as lazy arrays with one chunk per partition."""

    def __init__(
        self,
        name: str,
        rows: da.Array,  # (n_points, n_features), whose chunks hold whole rows
        weights: da.Array | None,  # (n_points,) of float64
        feature_names: list[str] | None,
    ) -> None:
        self.name, self.rows, self.weights, self.feature_names = name, rows, weights, feature_names
        n_points, n_features = rows.shape
        self.n_points = None if np.isnan(n_points) else int(n_points)
        self.n_features, self.weighted = int(n_features), weights is not None
        self.dtype: DType = rows.dtype.newbyteorder("=")

    def weighted_by(self, weights: da.Array | dd.Series | FloatArray) -> DaskSource:
        """The same rows with these weights, (n_points,)."""
        if self.weighted:
            raise ValueError(f"{self.name} already has weights; do not pass others.")
        return DaskSource(self.name, self.rows, _weights_like(weights, self.rows), self.feature_names)

    def mapped(self, function: Callable[[Array], Array], dtype: DType) -> DaskSource:
        """The same collection with a function applied to the points, wherever Dask computes them."""
        meta = np.empty((0, self.n_features), dtype=dtype)
        rows = self.rows.map_blocks(function, chunks=self.rows.chunks, dtype=dtype, meta=meta)
        return DaskSource(self.name, rows, self.weights, self.feature_names)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order. A partition is computed when its first chunk is read."""
        for number in range(self.rows.numblocks[0]):
            points = _compute(self.rows, number)
            weights = None if self.weights is None else _compute(self.weights, number)
            whole = partition_chunk(points, weights, number, self.n_features, self.name)
            yield from self.split(points, weights, whole.where, most_bytes)

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks: two partitions. Those of unknown size count as small."""
        largest = max((n for n in self.rows.chunks[0] if not np.isnan(n)), default=0)
        return int(2 * largest * self.n_features * self.dtype.itemsize)


def dask_source(
    collection: object, columns: Sequence[str] | None = None, weights: str | None = None
) -> DaskSource:
    """The source of a Dask array or dataframe. Nothing is computed yet."""
    if isinstance(collection, optional("dask.array", "dask").Array):
        check_no_columns("a Dask array", columns, weights)
        return _from_array(collection)
    is_of_frames = type(collection).__module__.startswith(("dask.dataframe", "dask_expr"))
    if is_of_frames and getattr(collection, "ndim", None) == 2:
        return _from_frame(collection, columns, weights)
    raise TypeError(f"can't read a Dask {type(collection).__name__}; pass a dataframe or a two-dimensional array.")


def partition_chunk(
    points: object,
    weights: FloatArray | None,  # (n,), IN
    number: int,
    n_features: int,
    name: str,
) -> Chunk:
    """A partition that was computed, as a chunk, if its type and shape are those that the collection claims."""
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
    reason = f"{type(error).__name__}: {error}" if error else "Dask does not know how to compute it again"
    failure = SourceError(f"partition {number} could not be {what} ({reason}).")
    failure.__cause__ = error
    return failure


def _compute(array: da.Array, number: int) -> Array:
    try:
        computed: Array = array.blocks[number].compute(scheduler="threads")
        return computed
    except Exception as error:  # the caller's graph may raise anything
        raise partition_error(number, error) from error


def _weights_like(weights: da.Array | dd.Series | FloatArray, rows: da.Array) -> da.Array:
    """Weights as a Dask array of float64 with the partitions of the rows."""
    array = optional("dask.array", "dask")
    has_known_length = not np.isnan(rows.shape[0])
    if hasattr(weights, "to_dask_array"):
        weights = weights.to_dask_array()
    if not isinstance(weights, array.Array):
        if not has_known_length:
            raise ValueError(
                "sample_weight is not a Dask collection, but X has partitions of unknown length; pass a Dask "
                "array or series with the partitions of X, or call compute_chunk_sizes on X."
            )
        weights = array.from_array(np.asarray(weights, dtype=np.float64), chunks=-1)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has {weights.ndim} dimensions; expected one weight per row.")
    if has_known_length and not np.isnan(weights.shape[0]):
        if weights.shape[0] != rows.shape[0]:
            raise ValueError(f"sample_weight has {weights.shape[0]} elements, but X has {rows.shape[0]} rows.")
        weights = weights.rechunk((rows.chunks[0],))
    elif weights.numblocks != rows.numblocks[:1]:
        raise ValueError(
            f"sample_weight has {weights.numblocks[0]} partitions, but X has {rows.numblocks[0]}; they must match."
        )
    return weights.astype(np.float64)


def _from_array(collection: da.Array) -> DaskSource:
    name = "the Dask array"
    check_matrix(collection.shape, name)
    native_dtype(collection.dtype, name)
    if np.isnan(collection.shape[1]):
        raise SourceError(f"{name} has an unknown number of columns; call compute_chunk_sizes on it first.")
    rows = collection if collection.numblocks[1] == 1 else collection.rechunk({1: -1})
    return DaskSource(name, rows, None, None)


def _from_frame(collection: dd.DataFrame, columns: Sequence[str] | None, weights: str | None) -> DaskSource:
    name = "the Dask dataframe"
    features, dtypes = numeric_columns(collection, columns, weights, name)
    dtype = np.result_type(*(dtypes[column] for column in features))
    meta = np.empty((0, len(features)), dtype=dtype)
    rows = collection.map_partitions(_frame_rows, columns=features, dtype=dtype, meta=meta)
    of_rows = None
    if weights is not None:
        meta = np.empty(0, dtype=np.float64)
        of_rows = collection.map_partitions(_frame_column, column=weights, dtype=meta.dtype, meta=meta)
    return DaskSource(name, rows, of_rows, string_names(features))


def _frame_rows(frame: pd.DataFrame, *, columns: list[Hashable], dtype: DType) -> Array:
    """The rows of one partition as a matrix in C order."""
    rows = np.empty((len(frame), len(columns)), dtype=dtype)
    for number, column in enumerate(columns):
        rows[:, number] = _frame_column(frame, column=column, dtype=dtype)
    return rows


def _frame_column(frame: pd.DataFrame, *, column: Hashable, dtype: DType) -> Array:
    try:
        return column_values(frame, column, dtype)
    except SourceError as error:  # `partition_error` will add the number of the partition
        raise ValueError(str(error)) from None

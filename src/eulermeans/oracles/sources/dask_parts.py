"""The parts of a Dask collection: its rows and its weights, as Dask arrays with a chunk for each partition.

Nothing is computed here; what is wrong with a partition shows when Dask computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, DType, FloatArray
from ...optional import optional
from .base import Chunk, SourceError, check_dtype, check_matrix
from .frames import column_values, numeric_columns


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


def partition(points: Any, weights: FloatArray | None, number: int, n_features: int, name: str) -> Chunk:
    """What was computed as a partition, if it has the form that the collection says."""
    where = f"partition {number} of {name}"
    if not isinstance(points, np.ndarray):
        raise SourceError(f"{where} is a {type(points).__name__}; only NumPy arrays can be clustered.")
    if points.ndim != 2 or points.shape[1] != n_features:
        raise SourceError(f"{where} has shape {points.shape}; expected {n_features} columns.")
    if weights is not None and weights.shape != points.shape[:1]:
        raise SourceError(f"{where} has {len(points)} rows, but {len(weights)} weights.")
    return Chunk((points,), points.dtype, where, weights=weights)


def failed(number: int, error: BaseException | None, what: str = "computed") -> SourceError:
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

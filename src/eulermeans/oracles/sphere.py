"""The unit sphere, for spherical k-means: rows and centers as directions, compared by their cosine.

On the sphere ‖x − c‖² = 2 (1 − cos), so Euclidean kernels over unit rows and unit centers measure cosines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array, DType, FloatArray, arithmetic_dtype
from .csr_structure import canonical

_BLOCK_VALUES = 1 << 20  # values that are normalised together
_IMPRECISE = 1e-290  # norms below have fewer digits, or none
_LARGE = 2.0**200


def unit_centers(centers: FloatArray) -> FloatArray:
    """The centers projected onto the unit sphere, (n_clusters, n_features).

    For a center at zero every direction is equally good: it is put on the first axis.
    """
    norms = _norms(centers)
    unit: FloatArray = _divided(centers, np.where(norms > 0, norms, 1.0))
    unit[norms == 0, 0] = 1.0
    return unit


def unit_rows(points: Any) -> Any:  # (n_points, n_features) an array, or a sparse matrix in CSR format, IN, finite
    """The rows divided by their norms, in the format of the points and in float32 or float64.

    Points that are unit rows already are returned as they are, without a copy.
    """
    if issparse(points):
        return _unit_csr(points)
    points = np.asarray(points)
    dtype = arithmetic_dtype(points.dtype)
    if points.dtype == dtype and all(_is_unit(_norms(block), dtype) for _, block in _blocks(points)):
        return points
    unit = np.empty(points.shape, dtype=dtype)
    for start, block in _blocks(points):
        norms = _norms(block)
        _check(norms, start)
        unit[start : start + len(block)] = _divided(block, norms)
    return unit


def _unit_csr(points: Any) -> Any:
    points = canonical(points)
    dtype = arithmetic_dtype(points.dtype)
    data = np.empty(len(points.data), dtype=dtype)
    changed = points.dtype != dtype
    per_row = max(1, len(points.data) // max(1, points.shape[0]))
    step = max(1, _BLOCK_VALUES // per_row)
    for start in range(0, points.shape[0], step):
        starts = points.indptr[start : start + step + 1]
        values = points.data[starts[0] : starts[-1]].astype(np.float64)
        row_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        largest = np.zeros(len(starts) - 1)
        np.maximum.at(largest, row_of, np.abs(values))
        _check(largest, start)
        tiny = largest < _IMPRECISE
        if tiny.any():
            values *= np.where(tiny, _LARGE, 1.0)[row_of]
            largest[tiny] *= _LARGE
        squares = (values / largest[row_of]) ** 2
        norms = largest * np.sqrt(np.bincount(row_of, squares, minlength=len(largest)))
        changed = changed or not _is_unit(norms, dtype)
        data[starts[0] : starts[-1]] = values / norms[row_of]
    return type(points)((data, points.indices, points.indptr), shape=points.shape) if changed else points


def _divided(rows: Array, norms: FloatArray) -> FloatArray:
    """Rows divided by their norms. Norms near the smallest numbers are imprecise: such rows are enlarged first."""
    divided: FloatArray = rows / norms[:, None]
    tiny = norms < _IMPRECISE
    if tiny.any():
        enlarged = rows[tiny].astype(np.float64) * _LARGE
        divided[tiny] = enlarged / _norms(enlarged)[:, None]
    return divided


def _blocks(points: Array) -> list[tuple[int, Array]]:
    step = max(1, _BLOCK_VALUES // max(1, points.shape[1]))
    return [(start, points[start : start + step]) for start in range(0, len(points), step)]


def _norms(block: Array) -> FloatArray:
    """The Euclidean norms of rows of any finite values; no square overflows or underflows."""
    rows = np.abs(block.astype(np.float64))
    largest = rows.max(axis=1)
    rows /= np.where(largest > 0, largest, 1.0)[:, None]
    norms: FloatArray = largest * np.sqrt(np.einsum("if,if->i", rows, rows))
    return norms


def _is_unit(norms: FloatArray, dtype: DType) -> bool:
    return bool(np.all(np.abs(norms - 1) <= 8 * np.finfo(dtype).eps))


def _check(norms: FloatArray, first: int) -> None:
    """Raise an error if a row is zero."""
    zero = np.flatnonzero(norms == 0)
    if len(zero):
        raise ValueError(
            f"Row {first + zero[0]} of X is zero in every feature, so it has no direction and no cosine; "
            'leave such rows out, or use metric="euclidean".'
        )

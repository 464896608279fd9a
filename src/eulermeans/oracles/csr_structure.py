"""The arrays of a CSR matrix: checked before anything reads them, in the form that the kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..arrays import Array, DType, arithmetic_dtype

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def canonical(points: csr_array) -> csr_array:
    """The matrix with sorted, unique indices in each row: itself, or a copy if they are not."""
    indices, starts = readable_indices(points.indices), readable(points.indptr, np.dtype(np.int64))
    if len(starts) != points.shape[0] + 1 or len(points.data) < starts[-1]:
        raise ValueError(
            f"The CSR matrix of shape {points.shape} has {len(starts)} values in indptr and {len(points.data)} in "
            f"data; expected {points.shape[0] + 1} and as many as indptr says."
        )
    # The matrix's own flag may be stale: SciPy remembers it from before the arrays were changed.
    if _core.check_csr(indices, starts, points.shape[1]):
        return points
    copy: csr_array = points.astype(arithmetic_dtype(points.dtype), copy=True)
    copy.has_sorted_indices = copy.has_canonical_format = False
    copy.sum_duplicates()
    return copy


def readable(array: Array, dtype: DType) -> Array:
    """The array in this dtype, contiguous and aligned; a copy only where conversion is needed."""
    return np.require(array, dtype=dtype, requirements=["C", "A"])


def readable_indices(indices: Array) -> Array:
    """The indices as int32 or int64."""
    return readable(indices, indices.dtype if indices.dtype in (np.int32, np.int64) else np.dtype(np.int64))

"""The arrays of a CSR matrix: checked before anything reads them, in the form that the kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from .. import _core
from ..arrays import Array, DType, arithmetic_dtype

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class CsrArguments(TypedDict):
    """What all kernels for sparse points read."""

    values: Array  # (n_stored,)
    indices: Array  # (n_stored,)
    starts: Array  # (n_points + 1,)
    checked: _core.CheckedCsr


@dataclass(frozen=True)
class Structure:
    """Where the values of a CSR matrix belong, as the kernels read it."""

    indices: Array  # (n_stored,) int32 or int64
    starts: Array  # (n_points + 1,) int64
    checked: _core.CheckedCsr

    @classmethod
    def of(cls, points: csr_array) -> Structure:
        """The structure of the matrix; a ValueError if a kernel would read out of bounds."""
        indices = points.indices.dtype if points.indices.dtype in (np.int32, np.int64) else np.dtype(np.int64)
        of_values, starts = readable(points.indices, indices), readable(points.indptr, np.dtype(np.int64))
        if len(starts) != points.shape[0] + 1 or len(points.data) < starts[-1]:
            raise ValueError(
                f"The CSR matrix of shape {points.shape} has {len(starts)} values in indptr and "
                f"{len(points.data)} in data; expected {points.shape[0] + 1} and as many as indptr says."
            )
        return cls(of_values, starts, _core.CheckedCsr(of_values, starts, points.shape[1]))


def canonical(points: csr_array) -> csr_array:
    """The matrix with sorted, unique indices in each row: itself, or a copy if they are not."""
    # The matrix's own flag may be stale: SciPy remembers it from before the arrays were changed.
    if Structure.of(points).checked.in_order:
        return points
    copy: csr_array = points.astype(arithmetic_dtype(points.dtype), copy=True)
    copy.has_sorted_indices = copy.has_canonical_format = False
    copy.sum_duplicates()
    return copy


def readable(array: Array, dtype: DType) -> Array:
    """The array in this dtype, contiguous and aligned; a copy only where conversion is needed."""
    return np.require(array, dtype=dtype, requirements=["C", "A"])

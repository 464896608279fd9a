"""Checks of the values that are read: every one must be finite and small enough to be squared.

A check costs one look at the values while they are in the cache.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .source import Chunk, MissingValueError, SourceError, row_name, width_of

SMALLEST = 1e-100  # values and weights must not all be smaller: products of theirs would underflow
_MOST_WEIGHT = 1e40  # that all rows of a source may have together: no more than 10^15 rows
_LARGEST_WEIGHT = 1e25  # of one of them
_BLOCK_VALUES = 1 << 20  # values that are searched together


def check_chunk(chunk: Chunk, feature_names: list[str] | None = None) -> None:
    """Raise a `SourceError` that names the first bad value or weight of the chunk, if there is one."""
    largest = largest_value(_MOST_WEIGHT, chunk.n_features)
    column = 0
    for part in chunk.parts:
        if (bad := first_bad_value(part, largest)) is not None:
            if chunk.unmapped is not None:  # report the value as stored, not the result of the function
                check_chunk(chunk.unmapped)
            row, feature = bad
            value, number = part.reshape(len(part), -1)[bad], column + feature
            named = f"column {number if feature_names is None else repr(feature_names[number])}"
            kind = MissingValueError if np.isnan(value) else SourceError
            raise kind(f"{row_name(chunk.first + row, chunk.where)} has {_problem(float(value), named)}")
        column += width_of(part)
    if chunk.weights is not None:
        wrong = np.flatnonzero(~((chunk.weights >= 0) & (chunk.weights <= _LARGEST_WEIGHT)))
        if len(wrong):
            row = int(wrong[0])
            raise SourceError(
                f"{row_name(chunk.first + row, chunk.where)} has weight {chunk.weights[row]}; "
                f"weights must be finite, >= 0 and at most {_LARGEST_WEIGHT:.0e}."
            )


def largest_value(total_weight: float, n_features: int) -> float:
    """The largest magnitude for which no sum of squared distances overflows float64: √(max / (4 w d))."""
    return float(np.sqrt(np.finfo(np.float64).max / 4.0 / n_features / total_weight))


def all_too_small(values: Array) -> bool:  # of any shape, IN, finite
    """Whether squares of the values underflow float64. Values that are all zero do not."""
    if values.dtype.kind != "f" or values.itemsize < 8 or values.size == 0:
        return False
    step = max(1, _BLOCK_VALUES // max(1, values[:1].size))
    largest = 0.0
    for first in range(0, len(values), step):  # the first block is nearly always enough
        largest = max(largest, float(np.abs(values[first : first + step]).max()))
        if largest >= SMALLEST:
            return False
    return largest > 0


def first_bad_value(
    values: Array,  # (n,) or (n, m), IN
    largest: float,
) -> tuple[int, int] | None:
    """Row and column of the first value that is NaN, infinite or larger than `largest`; None if there is none.

    No copy or mask of all values is made.
    """
    if values.dtype.kind != "f" or values.size == 0:
        return None
    is_flat = (values.flags.c_contiguous or values.flags.f_contiguous) and values.dtype != np.float16
    if is_flat and _are_all_small(values, largest):  # makes no copy
        return None
    matrix = values.reshape(len(values), -1)
    step = max(1, _BLOCK_VALUES // max(1, matrix.shape[1]))
    for first in range(0, len(matrix), step):
        block = matrix[first : first + step]
        if not is_flat and _are_all_small(block, largest):
            continue
        with np.errstate(all="ignore"):
            bad = ~np.isfinite(block)
            if block.itemsize >= 8:
                bad |= np.abs(block) > largest
        if bad.any():
            row, column = np.argwhere(bad)[0]
            return first + int(row), int(column)
    return None


def _are_all_small(values: Array, largest: float) -> bool:
    """A quick test: whether the sum of all squares is finite and below that of `largest`. False proves nothing."""
    if values.dtype == np.float16:  # test the exponents: NumPy's sums of float16 are far slower
        return not np.any((values.view(np.uint16) & 0x7C00) == 0x7C00)
    flat = values.reshape(-1) if values.flags.c_contiguous else values.ravel(order="K")
    with np.errstate(all="ignore"):
        squares = float(np.dot(flat, flat))
    return squares < largest**2  # false for NaN, too


def _problem(value: float, column: str) -> str:
    if np.isfinite(value):
        return (
            f"the value {value:.3g} in {column}: squared distances of such values overflow float64; "
            "divide the data by a constant."
        )
    return f"{'NaN' if np.isnan(value) else 'an infinite value'} in {column}; fill it in or drop the row."

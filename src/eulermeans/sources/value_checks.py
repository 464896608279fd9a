"""What must hold of every value that is read: a number, finite, and not too large to be squared.

One place for all sources. Costs one look at the values, which are in the cache.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .source import Chunk, SourceError

# √(max / (4 n d)) for more rows than there will be: no sum of n squared distances in d dimensions overflows.
_MOST_ROWS = 2.0**62


def check_chunk(chunk: Chunk, feature_names: list[str] | None = None) -> None:
    """Raise the error that names the first row that can't be clustered, if there is one."""
    column = 0
    n_features = sum(1 if part.ndim == 1 else part.shape[1] for part in chunk.parts)
    largest = float(np.sqrt(np.finfo(np.float64).max / (4 * _MOST_ROWS * n_features)))
    for part in chunk.parts:
        if not _plainly_fine(part, largest):
            if chunk.before is not None:  # rather what was stored than what became of it
                check_chunk(chunk.before)
            _check_closely(part, largest, chunk, column, feature_names)
        column += 1 if part.ndim == 1 else part.shape[1]
    if chunk.weights is not None:
        bad = np.flatnonzero(~(np.isfinite(chunk.weights) & (chunk.weights >= 0)))
        if len(bad):
            row = int(bad[0])
            raise SourceError(
                f"{place(chunk, row)} has the weight {chunk.weights[row]}; weights must be finite and >= 0."
            )


def place(chunk: Chunk, row: int) -> str:
    """Where a row of the chunk is, for messages."""
    return f"row {chunk.first + row} (from 0) of {chunk.where}"


def _plainly_fine(part: Array, largest: float) -> bool:
    """Whether it is sure at a glance that all values are good: the sum of their squares is finite, and small."""
    if part.dtype.kind != "f":
        return True
    if part.dtype == np.float16:  # finite by its exponents; NumPy's sums of halves take far longer to say so
        return not np.any((part.view(np.uint16) & 0x7C00) == 0x7C00)
    flat = part.reshape(-1) if part.flags.c_contiguous else part.ravel(order="K")
    with np.errstate(all="ignore"):
        squares = float(np.dot(flat, flat))
    return bool(squares < largest**2)  # false for NaN too


def _check_closely(
    part: Array, largest: float, chunk: Chunk, column: int, feature_names: list[str] | None
) -> None:
    values = part.reshape(len(part), -1)
    step = max(1, (1 << 20) // values.shape[1])
    for first in range(0, len(values), step):
        block = values[first : first + step]
        with np.errstate(all="ignore"):
            bad = ~np.isfinite(block)
            if block.itemsize >= 8:
                bad |= np.abs(block) > largest
        if not bad.any():
            continue
        row, feature = (int(i) for i in np.argwhere(bad)[0])
        value = block[row, feature]
        which = column + feature
        named = f"column {which if feature_names is None else repr(feature_names[which])}"
        if np.isfinite(value):
            raise SourceError(
                f"{place(chunk, first + row)} has the value {value:.3g} in {named}, whose squared distances are "
                "too large for float64; divide the data by a constant."
            )
        kind = "NaN" if np.isnan(value) else "an infinite value"
        raise SourceError(f"{place(chunk, first + row)} has {kind} in {named}; fill it or leave the row out.")

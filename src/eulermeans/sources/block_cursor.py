"""Arrays that come in blocks, taken in pieces of other lengths."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..arrays import Array


class BlockCursor:
    """Reads the elements of some blocks from first to last."""

    def __init__(self, blocks: Iterable[Array]) -> None:
        self._blocks = iter(blocks)
        self._rest: Array | None = None  # what is left of the blocks read so far

    def take(self, length: int) -> Array:
        """The next elements, (length,); fewer if there are no more."""
        parts, missing = [], length
        if self._rest is not None:
            parts, missing = [self._rest], length - len(self._rest)
        while missing > 0 and (block := next(self._blocks, None)) is not None:
            parts.append(block)
            missing -= len(block)
        joined = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)
        self._rest = joined[length:]
        return joined[:length]

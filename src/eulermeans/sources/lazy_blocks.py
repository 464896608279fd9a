"""Results for data that do not fit in memory: arrays that are computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array, DType


class Blocks:
    """An array that exists a block of rows at a time. Each iteration reads the data again.

    `np.asarray(blocks)` puts all of it in memory. It has no length, which would be of rows where an iteration
    is over blocks; `shape[0]` is the number of rows, or None while nobody has counted them.
    """

    def __init__(
        self,
        make: Callable[[], Iterator[Array]],  # the blocks, from the first row
        count: Callable[[], int | None],  # the number of rows, if known
        dtype: Any,
        *,
        columns: tuple[int, ...] = (),  # the shape of a row
    ) -> None:
        self._make, self._count = make, count
        self.dtype: DType = np.dtype(dtype)
        self._columns = columns

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape of all blocks together."""
        return (self._count(), *self._columns)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return 1 + len(self._columns)

    def __iter__(self) -> Iterator[Array]:
        return self._make()

    def map(self, function: Callable[[Array], Array]) -> Blocks:
        """The blocks after a function that keeps their shape and dtype."""
        return Blocks(partial(_mapped, function, self), self._count, self.dtype, columns=self._columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("the blocks are computed when they are asked for: an array of them is always new.")
        n_rows = self._count()
        if n_rows is None:
            whole = np.concatenate([*self._make(), np.empty((0, *self._columns), self.dtype)])
        else:
            whole, filled = np.empty((n_rows, *self._columns), dtype=self.dtype), 0
            for block in self._make():
                whole[filled : filled + len(block)] = block
                filled += len(block)
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"Blocks(shape={self.shape}, dtype={self.dtype})"


def _mapped(function: Callable[[Array], Array], blocks: Blocks) -> Iterator[Array]:
    return map(function, blocks)

"""Results that may not fit in memory: arrays that are computed when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import Array, DType


class Blocks:
    """An array that is computed one block of rows at a time. Each iteration reads the data again.

    `np.asarray(blocks)` puts all of it in memory. `shape[0]` is the number of rows, or None while it is unknown.
    There is no `len`: it would count rows, while iteration is over blocks.
    """

    def __init__(
        self,
        make: Callable[[], Iterator[Array]],  # the blocks, from the first row
        count: Callable[[], int | None],  # the number of rows, if known
        dtype: DTypeLike,
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
        """The blocks with a function applied to each that keeps its shape and dtype."""
        return Blocks(partial(map, function, self), self._count, self.dtype, columns=self._columns)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("Blocks are computed when they are read, so an array of them is always a copy.")
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

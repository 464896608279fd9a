"""Dense points: a NumPy array of any real dtype and order, in memory or in a memory map.

Never copies the data whole: rows that the kernels cannot read in place are converted a block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, FloatArray, arithmetic_dtype
from .points import Accumulator, Located, Points, RowOutputs, StepRun, Unchecked

BLOCK_BYTES = 4 << 20  # rows that need conversion are converted this much at a time
COPIED_SAMPLE_BYTES = 16 << 20  # a sample up to this size is copied, which makes it faster to read
_IN_PLACE = tuple(np.dtype(name) for name in ("float32", "float64", "float16", "uint8", "int8"))


def readable(block: Array) -> Array:
    """The rows in a dtype and order that the kernels read; a copy only where conversion is needed."""
    dtype = block.dtype if block.dtype in _IN_PLACE else arithmetic_dtype(block.dtype)
    return np.require(block, dtype=dtype, requirements=["C", "A"])


class DensePoints(Points):
    """The rows of an array, which is only read."""

    def __init__(
        self,
        stored: Array,  # (n_points, n_features), IN, finite
        weights: FloatArray | None = None,
        *,
        n_threads: int | None = None,
        block: int = 0,
        unchecked: Unchecked | None = None,
    ) -> None:
        super().__init__(
            stored.shape, stored.dtype, weights, n_threads=n_threads, block=block, unchecked=unchecked
        )
        self.stored: Array = stored
        self.stored_bytes = stored.nbytes

    @property
    def row_bytes(self) -> float:
        return float(self.n_features * self.dtype.itemsize)

    def accumulate(
        self, into: Accumulator, centers: Array, outputs: RowOutputs, prices: FloatArray | None = None
    ) -> None:
        for rows, block in self.readable_blocks():
            weights = None if self.weights is None else self.weights[rows]
            farthest = _core.accumulate(
                block,
                centers,
                **vars(into),
                weights=weights,
                **vars(outputs[rows]),
                prices=prices,
                n_threads=self.n_threads,
            )
            self._check(farthest)

    def assign(self, centers: Array, outputs: RowOutputs, prices: FloatArray | None = None) -> None:
        for rows, block in self.readable_blocks():
            farthest = _core.assign(block, centers, **vars(outputs[rows]), prices=prices, n_threads=self.n_threads)
            self._check(farthest)

    def accumulate_rows(self, into: Accumulator, centers: Array, rows: NDArray[np.int64]) -> None:
        array, rows = self.located(rows)
        _core.accumulate(array, centers, **vars(into), rows=rows, n_threads=self.n_threads)

    def distances(self, centers: FloatArray) -> Array:
        out = np.empty((self.n_points, len(centers)), dtype=self.dtype)
        rounded = centers.astype(self.dtype)
        for rows, block in self._blocks():
            _core.distances(block, rounded, out[rows], n_threads=self.n_threads)
        farthest = float(np.max(out[:, 0], initial=0))  # any center will do
        self._check(farthest * farthest)
        return out

    def squares(self, mean: FloatArray) -> FloatArray:
        squares = np.zeros(self.n_features)
        for rows, block in self._blocks():
            offsets = block - mean
            if self.weights is None:
                squares += np.einsum("if,if->f", offsets, offsets)
            else:
                squares += np.einsum("i,if,if->f", self.weights[rows], offsets, offsets)
        return squares

    def content(self) -> Iterator[Array]:
        return (block for _, block in self.readable_blocks(self._block_rows))

    def dense(self, rows: Array) -> FloatArray:
        return self._readable_rows(rows).astype(np.float64)

    def mean_of(self, rows: Array) -> FloatArray:
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        mean: FloatArray = np.average(self.dense(rows), axis=0, weights=weights)
        return mean

    def view(self, rows: Array, weights: FloatArray | None = None) -> DensePoints:
        if len(rows) * self.row_bytes > COPIED_SAMPLE_BYTES and self.in_place and not self._on_disk:
            return self._chosen(rows, weights)
        return self.take(rows, weights)

    def take(self, rows: Array, weights: FloatArray | None = None) -> DensePoints:
        if weights is None and self.weights is not None:
            weights = self.weights[rows]
        return DensePoints(self._readable_rows(rows), weights, n_threads=self.n_threads)

    def located(self, rows: NDArray[np.int64]) -> Located:
        if self.in_place:
            return Located(self.stored, rows)
        return Located(self._readable_rows(rows), np.arange(len(rows)))

    def in_array(self) -> tuple[Array, NDArray[np.int64], FloatArray | None]:
        """An array that the kernels read in place, which of its rows are the points, and all its weights."""
        array = self.stored if self.in_place else self._readable_rows(slice(None))
        return array, np.arange(self.n_points), self.weights

    def take_steps(self, centers: FloatArray, run: StepRun, rng: np.random.Generator) -> FloatArray | None:
        rows = self.draw(run.n_steps * run.n_inner * run.batch_size, rng)
        moved: FloatArray = centers.copy()
        _core.implicit_steps(
            *self.located(rows),
            moved,
            n_outer=run.n_steps,
            n_inner=run.n_inner,
            step_size=run.step_size,
            decay=run.decay,
            averaging=run.averaging,
            limit=run.limit,
            n_threads=self.n_threads,
        )
        return moved

    def seed_greedily(
        self, centers: FloatArray, labels: NDArray[np.int32], nearest: FloatArray, numbers: FloatArray
    ) -> FloatArray | None:
        array, rows, weights = self.in_array()
        chosen = np.full(len(numbers), -1)
        with suppress(_core.OutOfTime):
            _core.seed_greedily(
                array,
                centers.astype(self.dtype),
                labels,
                nearest,
                numbers,
                chosen,
                rows=rows,
                weights=weights,
                n_threads=self.n_threads,
            )
        added: FloatArray = array[chosen[chosen >= 0]].astype(np.float64)
        return added

    def readable_blocks(self, n_rows: int | None = None) -> Iterator[tuple[slice, Array]]:
        """All rows as the kernels read them.

        Rows that need no copy come in blocks of `n_rows`, or in one. Others come a few MiB at a time.
        """
        if not self.in_place:
            return self._blocks()
        step = max(1, n_rows or self.n_points)
        slices = (slice(first, min(first + step, self.n_points)) for first in range(0, self.n_points, step))
        return ((rows, self.stored[rows]) for rows in slices)

    @property
    def in_place(self) -> bool:
        """Whether the kernels read the rows where they are stored."""
        return self.stored.dtype in _IN_PLACE and self.stored.flags.c_contiguous and self.stored.flags.aligned

    @property
    def _on_disk(self) -> bool:
        """Whether reading a row again may read a disk again."""
        return isinstance(self.stored, np.memmap)

    @property
    def _block_rows(self) -> int:
        row_bytes = max(1, self.n_features * self.dtype.itemsize)
        return max(1, BLOCK_BYTES // row_bytes // _core.BLOCK_ROWS) * _core.BLOCK_ROWS

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        for first in range(0, self.n_points, self._block_rows):
            rows = slice(first, min(first + self._block_rows, self.n_points))
            yield rows, self._readable_rows(rows)

    def _readable_rows(self, rows: Array | slice) -> Array:
        return readable(self.stored[rows])

    def _chosen(self, rows: Array, weights: FloatArray | None) -> ChosenRows:
        of_all = self.weights if weights is None else _spread(weights, rows, len(self.stored))
        return ChosenRows(self.stored, of_all, rows, n_threads=self.n_threads)


class ChosenRows(DensePoints):
    """Some rows of an array that the kernels read in place: a large sample that is not copied."""

    def __init__(
        self,
        array: Array,  # (n, n_features), the chosen rows and others, IN
        array_weights: FloatArray | None,  # (n,), IN
        chosen: Array,  # (n_points,) which rows of the array, IN
        *,
        n_threads: int | None,
    ) -> None:
        self._array, self._array_weights, self._indices = array, array_weights, chosen
        weights = None if array_weights is None else array_weights[chosen]
        Points.__init__(self, (len(chosen), array.shape[1]), array.dtype, weights, n_threads=n_threads, block=0)
        self.stored_bytes = self.n_points * self.n_features * array.itemsize

    @property
    def stored(self) -> Array:  # type: ignore[override]
        """The chosen rows, copied."""
        return self._array[self._indices]

    def accumulate(
        self, into: Accumulator, centers: Array, outputs: RowOutputs, prices: FloatArray | None = None
    ) -> None:
        _core.accumulate(
            self._array,
            centers,
            **vars(into),
            rows=self._indices,
            weights=self._array_weights,
            **vars(outputs),
            prices=prices,
            n_threads=self.n_threads,
        )

    def assign(self, centers: Array, outputs: RowOutputs, prices: FloatArray | None = None) -> None:
        _core.assign(
            self._array,
            centers,
            rows=self._indices,
            **vars(outputs),
            prices=prices,
            n_threads=self.n_threads,
        )

    def distances(self, centers: FloatArray) -> Array:
        out = np.empty((self.n_points, len(centers)), dtype=self.dtype)
        rounded = centers.astype(self.dtype)
        _core.distances(self._array, rounded, out, rows=self._indices, n_threads=self.n_threads)
        return out

    def located(self, rows: NDArray[np.int64]) -> Located:
        return Located(self._array, self._indices[rows])

    def in_array(self) -> tuple[Array, NDArray[np.int64], FloatArray | None]:
        return self._array, self._indices, self._array_weights

    def readable_blocks(self, n_rows: int | None = None) -> Iterator[tuple[slice, Array]]:
        return self._blocks()

    @property
    def in_place(self) -> bool:
        return True

    @property
    def _on_disk(self) -> bool:
        return False

    def _readable_rows(self, rows: Array | slice) -> Array:
        return self._array[self._indices[rows]]

    def _chosen(self, rows: Array, weights: FloatArray | None) -> ChosenRows:
        chosen = self._indices[rows]
        of_all = self._array_weights if weights is None else _spread(weights, chosen, len(self._array))
        return ChosenRows(self._array, of_all, chosen, n_threads=self.n_threads)


def _spread(weights: FloatArray, rows: Array, n: int) -> FloatArray:
    """The weights of n rows: these of the chosen ones, none of the others."""
    of_all = np.zeros(n)
    of_all[rows] = weights
    return of_all

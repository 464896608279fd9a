"""Points in memory or in a memory map, as a NumPy array of any real dtype and order.

Never copies the data whole: rows that the kernel cannot read in place are converted a block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, FloatArray, arithmetic_dtype
from .base import ImplicitSteps
from .memory import MemoryOracle
from .totals import Totals
from .tracked import Tracked

_IN_PLACE = tuple(np.dtype(name) for name in ("float32", "float64", "float16", "uint8", "int8"))
_BLOCK_BYTES = 4 << 20
_SAMPLE_BYTES = 16 << 20  # of a sample that may be copied, to be read faster


def readable(block: Array) -> Array:
    """The rows as the kernels read them: themselves where they can, converted where they can't."""
    dtype = block.dtype if block.dtype in _IN_PLACE else arithmetic_dtype(block.dtype)
    return np.require(block, dtype=dtype, requirements=["C", "A"])


class ArrayOracle(MemoryOracle):
    """An oracle over the rows of a two-dimensional array, which is only read."""

    def sample(self, size: int, rng: np.random.Generator) -> ArrayOracle:
        """`size` distinct points drawn uniformly from those with weight (all of them if there are fewer).

        A copy if it is small; else the points where they are.
        """
        rows = self._distinct(size, rng)
        if len(rows) * self.row_bytes > _SAMPLE_BYTES and self._in_place and not self._on_disk:
            return self._chosen_rows(rows)
        weights = None if self.weights is None else self.weights[rows]
        return ArrayOracle(self._taken(rows), weights, n_threads=self.n_threads)

    def rows(self, rows: Array) -> FloatArray:
        """Chosen points as a dense array, (len(rows), n_features)."""
        return self.points[rows].astype(np.float64)  # type: ignore[no-any-return]

    def mean_of(self, rows: Array) -> FloatArray:
        """The weighted mean of chosen points, (n_features,)."""
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        mean: FloatArray = np.average(self.rows(rows), axis=0, weights=weights)
        return mean

    def distances(self, centers: FloatArray) -> Array:
        """The distance of every point to every center, (n_points, n_clusters)."""
        out = np.empty((self.n_points, len(centers)), dtype=self.dtype)
        for first, block in self._blocks():
            rows = slice(first, first + len(block))
            _core.distances(block, centers.astype(self.dtype), out[rows], n_threads=self.n_threads)
        return out

    def variance(self) -> FloatArray:
        """The weighted variance of each feature, (n_features,)."""
        return self.squares(self.mean()) / self.total_weight

    def squares(self, mean: FloatArray) -> FloatArray:
        """The weighted sum of squared offsets from there, for each feature, (n_features,)."""
        squares = np.zeros(self.n_features)
        for first, block in self._blocks():
            offsets = block - mean
            weights = None if self.weights is None else self.weights[first : first + len(block)]
            squares += (
                np.einsum("if,if->f", offsets, offsets)
                if weights is None
                else np.einsum("i,if,if->f", weights, offsets, offsets)
            )
        return squares

    def implicit_steps(self, centers: FloatArray, steps: ImplicitSteps, rng: np.random.Generator) -> FloatArray:
        """Where the centers are after these steps, in one call of a kernel."""
        if not self._replace:
            return super().implicit_steps(centers, steps, rng)
        rows = self._draw(steps.n_steps * steps.n_inner * steps.batch_size, rng)
        points, rows = self._located(rows)
        moved: FloatArray = centers.copy()
        _core.implicit_steps(
            points,
            rows,
            moved,
            n_outer=steps.n_steps,
            n_inner=steps.n_inner,
            step_size=steps.step_size,
            decay=steps.decay,
            averaging=steps.averaging,
            limit=steps.limit,
            n_threads=self.n_threads,
        )
        return moved

    @property
    def _in_place(self) -> bool:
        return self.points.dtype in _IN_PLACE and self.points.flags.c_contiguous and self.points.flags.aligned

    @property
    def _on_disk(self) -> bool:
        """Whether to read the points again may be to read them from a disk again."""
        return isinstance(self.points, np.memmap)

    def readable_blocks(self, n_rows: int | None = None) -> Iterator[tuple[int, Array]]:
        """The points as the kernels read them, each block with its first row.

        If none need a copy, one block, or blocks of `n_rows`; else blocks of a few MiB, which are fewer rows.
        """
        if not self._in_place:
            return self._blocks()
        step = max(1, n_rows or self.n_points)
        return ((first, self.points[first : first + step]) for first in range(0, self.n_points, step))

    def tracked(self) -> Tracked:
        """An oracle for centers that move a little from pass to pass; it remembers bounds on the distances."""
        return Tracked(self)

    def _blocks(self) -> Iterator[tuple[int, Array]]:
        step = self._block_rows
        for first in range(0, self.n_points, step):
            yield first, readable(self.points[first : first + step])

    @property
    def _block_rows(self) -> int:
        row_bytes = max(1, self.n_features * self.dtype.itemsize)
        rows: int = max(1, _BLOCK_BYTES // row_bytes // _core.BLOCK_ROWS) * _core.BLOCK_ROWS
        return rows

    def _located(self, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
        return (self.points, rows) if self._in_place else (self._taken(rows), np.arange(len(rows)))

    def _chosen_rows(self, rows: NDArray[np.int64]) -> _ChosenRows:
        return _ChosenRows(self.points, self.weights, rows, n_threads=self.n_threads)

    def _taken(self, rows: Array) -> Array:
        return readable(self.points[rows])

    def _add(self, totals: Totals, centers: Array, per_row: dict[str, Any]) -> None:
        for first, block in self.readable_blocks():
            rows = slice(first, first + len(block))
            _core.accumulate(
                block,
                centers,
                **totals.arguments(),
                weights=None if self.weights is None else self.weights[rows],
                **{name: array[rows] for name, array in per_row.items()},
                n_threads=self.n_threads,
            )

    def _add_rows(
        self, totals: Totals, centers: Array, rows: NDArray[np.int64], weights: FloatArray | None
    ) -> None:
        options: dict[str, Any] = {**totals.arguments(), "n_threads": self.n_threads}
        if self._in_place:
            _core.accumulate(self.points, centers, **options, rows=rows, weights=weights)
        else:
            batch_weights = None if weights is None else weights[rows]
            _core.accumulate(self._taken(rows), centers, **options, weights=batch_weights)


class _ChosenRows(ArrayOracle):
    """Some rows of an array that the kernels read in place: its points are the chosen ones, numbered anew."""

    def __init__(
        self,
        array: Array,  # (n, n_features), chosen rows and others, IN
        weights: FloatArray | None,  # (n,), IN
        chosen: NDArray[np.int64],  # (n_points,), IN
        *,
        n_threads: int | None,
    ) -> None:
        self._array, self._weights_of_all, self._chosen = array, weights, chosen
        super().__init__(array, None if weights is None else weights[chosen], n_threads=n_threads)
        self.n_points = len(chosen)
        self.total_weight = float(self.n_points if self.weights is None else self.weights.sum())

    @property
    def points(self) -> Array:
        """The chosen points, copied."""
        return self._array[self._chosen]

    @points.setter
    def points(self, array: Array) -> None:
        assert array is self._array

    def rows(self, rows: Array) -> FloatArray:
        """Chosen points as a dense array, (len(rows), n_features)."""
        return self._taken(rows).astype(np.float64)

    def distances(self, centers: FloatArray) -> Array:
        """The distance of every point to every center, (n_points, n_clusters)."""
        out = np.empty((self.n_points, len(centers)), dtype=self.dtype)
        rounded = centers.astype(self.dtype)
        _core.distances(self._array, rounded, out, rows=self._chosen, n_threads=self.n_threads)
        return out

    def readable_blocks(self, n_rows: int | None = None) -> Iterator[tuple[int, Array]]:
        """The points as the kernels read them, a few MiB at a time, each block with its first row."""
        return self._blocks()

    @property
    def _in_place(self) -> bool:
        return True

    @property
    def _on_disk(self) -> bool:
        return False

    def _blocks(self) -> Iterator[tuple[int, Array]]:
        for first in range(0, self.n_points, self._block_rows):
            yield first, self._array[self._chosen[first : first + self._block_rows]]

    def _located(self, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
        return self._array, self._chosen[rows]

    def _chosen_rows(self, rows: NDArray[np.int64]) -> _ChosenRows:
        return _ChosenRows(self._array, self._weights_of_all, self._chosen[rows], n_threads=self.n_threads)

    def _taken(self, rows: Array) -> Array:
        taken: Array = self._array[self._chosen[rows]]
        return taken

    def _add(self, totals: Totals, centers: Array, per_row: dict[str, Any]) -> None:
        self._add_chosen(totals, centers, self._chosen, self._weights_of_all, per_row)

    def _add_rows(
        self, totals: Totals, centers: Array, rows: NDArray[np.int64], weights: FloatArray | None
    ) -> None:
        of_all = None if weights is None else self._weights_of_all
        self._add_chosen(totals, centers, self._chosen[rows], of_all, {})

    def _add_chosen(
        self,
        totals: Totals,
        centers: Array,
        rows: NDArray[np.int64],
        weights: FloatArray | None,
        per_row: dict[str, Any],
    ) -> None:
        options: dict[str, Any] = {"rows": rows, "weights": weights, "n_threads": self.n_threads, **per_row}
        _core.accumulate(self._array, centers, **totals.arguments(), **options)

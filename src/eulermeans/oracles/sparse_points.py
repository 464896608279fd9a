"""Sparse points: a SciPy matrix in CSR format. Values that are not stored are zero and cost nothing.

Validates the structure once, and copies only what the kernels cannot read. The given matrix is never written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, FloatArray
from ..moments import Moments
from .csr_structure import CsrArguments, Structure, canonical, readable
from .points import Accumulator, Located, Partition, Points, RowOutputs, Unchecked

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FEW_MOVED = 3e-3  # of the points: a sweep that moves no more is the last
SWEPT_TOGETHER = 64  # rows that a sweep reads one after the other, as they lie in memory
BLOCK_STORED = 1 << 20  # stored values that `squares` looks at together


class CsrPoints(Points):
    """The rows of a CSR matrix of any real dtype."""

    def __init__(
        self,
        stored: csr_array,  # (n_points, n_features), IN, finite
        weights: FloatArray | None = None,
        *,
        n_threads: int | None = None,
        unchecked: Unchecked | None = None,
    ) -> None:
        structure = Structure.of(stored)
        self.stored: csr_array = stored if structure.checked.in_order else canonical(stored)
        super().__init__(stored.shape, stored.dtype, weights, n_threads=n_threads, block=0, unchecked=unchecked)
        self._values = readable(self.stored.data, self.dtype)  # (n_stored,)
        self._set_structure(structure if self.stored is stored else Structure.of(self.stored))

    def _set_structure(self, structure: Structure) -> None:
        self._indices, self._starts = structure.indices, structure.starts
        self._arguments = CsrArguments(
            values=readable(self._values, self.dtype),
            indices=structure.indices,
            starts=structure.starts,
            checked=structure.checked,
        )

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        del state["_arguments"]  # arrays are checked again where they arrive
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._set_structure(Structure.of(self.stored))

    @property
    def row_bytes(self) -> float:
        per_value = self._values.itemsize + self._indices.itemsize
        return float(self._starts[-1] * per_value / self.n_points + self._starts.itemsize)

    def accumulate(
        self, into: Accumulator, centers: Array, outputs: RowOutputs, prices: FloatArray | None = None
    ) -> None:
        farthest = _core.accumulate_csr(
            **self._arguments,
            centers=centers,
            **vars(into),
            weights=self.weights,
            **vars(outputs),
            prices=prices,
            n_threads=self.n_threads,
        )
        self._check(farthest)

    def assign(self, centers: Array, outputs: RowOutputs, prices: FloatArray | None = None) -> None:
        farthest = _core.assign_csr(
            **self._arguments, centers=centers, **vars(outputs), prices=prices, n_threads=self.n_threads
        )
        self._check(farthest)

    def accumulate_rows(self, into: Accumulator, centers: Array, rows: NDArray[np.int64]) -> None:
        _core.accumulate_csr(**self._arguments, centers=centers, **vars(into), rows=rows, n_threads=self.n_threads)

    def distances(self, centers: FloatArray) -> Array:
        out = np.empty((self.n_points, len(centers)), dtype=self.dtype)
        _core.distances_csr(
            **self._arguments, centers=centers.astype(self.dtype), out=out, n_threads=self.n_threads
        )
        farthest = float(np.max(out[:, 0], initial=0))  # any center will do
        self._check(farthest * farthest)
        return out

    def squares(self, mean: FloatArray) -> FloatArray:
        # Σ w (x − mean)²: over stored values, plus w mean² for the zeros that are not stored.
        squares, weight_stored = np.zeros(self.n_features), np.zeros(self.n_features)
        most_rows = max(1, int(max(BLOCK_STORED, self.n_features) * self.n_points / max(1, self._starts[-1])))
        for first in range(0, self.n_points, most_rows):
            starts = self._starts[first : first + most_rows + 1]
            stored = slice(starts[0], starts[-1])
            features = self._indices[stored]
            of_rows = np.ones(len(starts) - 1) if self.weights is None else self.weights[first : first + most_rows]
            weights = np.repeat(of_rows, np.diff(starts))
            offsets = self._values[stored] - mean[features]
            squares += np.bincount(features, weights * offsets**2, minlength=self.n_features)
            weight_stored += np.bincount(features, weights, minlength=self.n_features)
        return squares + np.maximum(0, self.total_weight - weight_stored) * mean**2

    def partition(self, centers: FloatArray) -> Partition:
        found = Partition(np.empty(self.n_points, dtype=np.int32), np.zeros(len(centers)), np.zeros(centers.shape))
        _core.accumulate_csr(
            **self._arguments,
            centers=centers.astype(self.dtype),
            **vars(found),
            cost=np.zeros(1),
            weights=self.weights,
            n_threads=self.n_threads,
        )
        return found

    def sweep(self, partition: Partition, n_sweeps: int, rng: np.random.Generator) -> Moments:
        n, k, weights = self.n_points, len(partition.counts), self.weights
        errors, extra = np.empty(k), np.empty(n)
        made = _core.sweep_csr(
            **self._arguments,
            order=_block_order(n, rng),
            **vars(partition),
            errors=errors,
            extra=extra,
            n_sweeps=n_sweeps,
            few=int(FEW_MOVED * n),
            weights=weights,
            n_threads=self.n_threads,
        )
        if weights is not None:
            extra *= weights
        utilities = np.bincount(partition.labels, extra, minlength=k).astype(np.float64)
        counts, sums = partition.counts, partition.sums
        return Moments(counts, sums, float(errors.sum()), errors, utilities, n_distances=made * n * k)

    def content(self) -> Iterator[Array]:
        for array in (self._values, self._indices, self._starts):
            yield from (array[first : first + BLOCK_STORED] for first in range(0, len(array), BLOCK_STORED))

    def dense(self, rows: Array) -> FloatArray:
        dense: FloatArray = self.stored[rows].astype(np.float64).toarray()
        return dense

    def mean_of(self, rows: Array) -> FloatArray:
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        mean: FloatArray = (self.stored[rows].T @ weights) / weights.sum()
        return mean

    def take(self, rows: Array, weights: FloatArray | None = None) -> CsrPoints:
        if weights is None and self.weights is not None:
            weights = self.weights[rows]
        return CsrPoints(self.stored[rows], weights, n_threads=self.n_threads)

    def located(self, rows: NDArray[np.int64]) -> Located:
        return Located(self.dense(rows), np.arange(len(rows)))


def _block_order(n_points: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All rows, in blocks that follow each other at random: single rows in random order are slow to read."""
    firsts = SWEPT_TOGETHER * rng.permutation(-(-n_points // SWEPT_TOGETHER))
    rows = (firsts[:, None] + np.arange(SWEPT_TOGETHER)).reshape(-1)
    order: NDArray[np.int64] = rows[rows < n_points]
    return order

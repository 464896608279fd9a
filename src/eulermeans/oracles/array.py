"""Points in memory or in a memory map, as a NumPy array of any real dtype and order.

Never copies the data whole: rows that the kernel cannot read in place are converted a block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..moments import FloatArray, Moments
from .base import Labeling, Outliers

_IN_PLACE = tuple(np.dtype(name) for name in ("float32", "float64", "float16", "uint8", "int8"))
_BLOCK_BYTES = 4 << 20


def arithmetic_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32 where it holds every value of `dtype` (small integers, half and single precision), else float64."""
    return np.dtype(np.float32 if np.can_cast(dtype, np.float32) else np.float64)


def draw(cumulative: FloatArray, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`size` indices, each as likely as its part of the cumulative sum, with replacement."""
    positions = np.minimum(rng.random(size) * cumulative[-1], np.nextafter(cumulative[-1], 0))
    indices: NDArray[np.int64] = np.searchsorted(cumulative, positions, side="right").astype(np.int64)
    return indices


class ArrayOracle:
    """An oracle over the rows of a two-dimensional array, which is only read."""

    def __init__(
        self,
        points: NDArray[Any],  # (n_points, n_features), IN, finite
        weights: FloatArray | None = None,  # (n_points,), IN, not negative, not all zero
        *,
        n_threads: int | None = None,
        replace: bool = True,
    ) -> None:
        self.points = points
        self.weights = weights
        self.n_points, self.n_features = points.shape
        self.total_weight = float(self.n_points if weights is None else weights.sum())
        self.unweighted = weights is None
        self.dtype = arithmetic_dtype(points.dtype)
        self._n_threads = n_threads
        self._replace = replace
        self._epoch = np.empty(0, dtype=np.int64)  # rows that this epoch has yet to draw

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; with `detail` also errors and utilities."""
        return self._pass(centers, detail=detail).moments()

    def minibatch(self, centers: FloatArray, size: int, rng: np.random.Generator) -> Moments:
        """The moments over `size` points drawn at random, each as likely as its weight says.

        With `replace=False` an epoch draws every point once, in random order, and weights it.
        """
        rows = self._draw(size, rng) if self._replace else self._draw_from_epoch(size, rng)
        weights = None if self._replace else self.weights
        totals = _Totals(len(centers), self.n_features)
        if self._in_place:
            totals.add(self.points, centers.astype(self.dtype), weights, rows=rows, n_threads=self._n_threads)
        else:
            batch = self._readable(self.points[rows])
            batch_weights = None if weights is None else weights[rows]
            totals.add(batch, centers.astype(self.dtype), batch_weights, n_threads=self._n_threads)
        return totals.moments()

    def sample(self, size: int, rng: np.random.Generator) -> ArrayOracle:
        """`size` distinct points drawn uniformly from those with weight (all of them if there are fewer)."""
        rows: NDArray[np.intp]
        if self.weights is None or (size < self.n_points // 2 and bool(np.all(self.weights))):
            rows = rng.choice(self.n_points, size=min(size, self.n_points), replace=False)
        else:
            candidates = np.flatnonzero(self.weights)
            rows = rng.choice(candidates, size=min(size, len(candidates)), replace=False)
        rows.sort()  # a memory map is read forwards
        weights = None if self.weights is None else self.weights[rows]
        return ArrayOracle(self._readable(self.points[rows]), weights, n_threads=self._n_threads)

    def farthest(self, centers: FloatArray, size: int) -> Outliers:
        """The `size` points that lie farthest from their nearest centers."""
        labels = np.empty(self.n_points, dtype=np.int32)
        nearest = np.empty(self.n_points)
        self._pass(centers, labels=labels, nearest=nearest)
        if self.weights is not None:
            nearest[self.weights == 0] = -1
        rows = np.argpartition(nearest, -size)[-size:]
        rows = rows[np.argsort(-nearest[rows], kind="stable")]
        weights = np.ones(size) if self.weights is None else self.weights[rows]
        return Outliers(self.points[rows].astype(np.float64), weights, labels[rows], nearest[rows])

    def label(self, centers: FloatArray) -> Labeling:
        """The nearest center of every point."""
        labels = np.empty(self.n_points, dtype=np.int32)
        return Labeling(labels=labels, moments=self._pass(centers, labels=labels).moments())

    def distances(self, centers: FloatArray) -> NDArray[Any]:
        """The distance of every point to every center, (n_points, n_clusters)."""
        out = np.empty((self.n_points, len(centers)), dtype=self.dtype)
        for first, block in self._blocks():
            rows = slice(first, first + len(block))
            _core.distances(block, centers.astype(self.dtype), out[rows], n_threads=self._n_threads)
        return out

    def mean(self) -> FloatArray:
        """The weighted mean of the points, (n_features,)."""
        mean: FloatArray = self._about_origin.sums[0] / self.total_weight
        return mean

    def variance(self) -> FloatArray:
        """The weighted variance of each feature, (n_features,)."""
        mean = self.mean()
        squares = np.zeros(self.n_features)
        for first, block in self._blocks():
            offsets = block - mean
            weights = None if self.weights is None else self.weights[first : first + len(block)]
            squares += (
                np.einsum("if,if->f", offsets, offsets)
                if weights is None
                else np.einsum("i,if,if->f", weights, offsets, offsets)
            )
        return squares / self.total_weight

    @cached_property
    def _about_origin(self) -> Moments:
        return self.full(np.zeros((1, self.n_features)))

    @property
    def _in_place(self) -> bool:
        return self.points.dtype in _IN_PLACE and self.points.flags.c_contiguous and self.points.flags.aligned

    def _readable(self, block: NDArray[Any]) -> NDArray[Any]:
        """The rows as the kernel reads them: themselves where it can, converted where it can't."""
        dtype = block.dtype if block.dtype in _IN_PLACE else self.dtype
        return np.require(block, dtype=dtype, requirements=["C", "A"])

    def _blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        row_bytes = max(1, self.n_features * self.dtype.itemsize)
        step = max(1, _BLOCK_BYTES // row_bytes // _core.BLOCK_ROWS) * _core.BLOCK_ROWS
        for first in range(0, self.n_points, step):
            yield first, self._readable(self.points[first : first + step])

    def _pass(
        self,
        centers: FloatArray,
        *,
        detail: bool = False,
        labels: NDArray[np.int32] | None = None,
        nearest: FloatArray | None = None,
    ) -> _Totals:
        totals = _Totals(len(centers), self.n_features, detail=detail)
        rounded = centers.astype(self.dtype)
        blocks = iter([(0, self.points)]) if self._in_place else self._blocks()
        for first, block in blocks:
            rows = slice(first, first + len(block))
            totals.add(
                block,
                rounded,
                None if self.weights is None else self.weights[rows],
                labels=None if labels is None else labels[rows],
                nearest=None if nearest is None else nearest[rows],
                n_threads=self._n_threads,
            )
        return totals

    @cached_property
    def _cumulative_weights(self) -> FloatArray:
        assert self.weights is not None
        return np.cumsum(self.weights)

    def _draw(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        if self.weights is None:
            return rng.integers(self.n_points, size=size)
        return draw(self._cumulative_weights, size, rng)

    def _draw_from_epoch(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        rows, self._epoch = self._epoch[:size], self._epoch[size:]
        while len(rows) < size:
            epoch = rng.permutation(self.n_points)
            missing = size - len(rows)
            rows, self._epoch = np.concatenate([rows, epoch[:missing]]), epoch[missing:]
        return rows


class _Totals:
    """The arrays that passes over blocks of rows add into."""

    def __init__(self, n_clusters: int, n_features: int, *, detail: bool = False) -> None:
        self._counts = np.zeros(n_clusters)
        self._sums = np.zeros((n_clusters, n_features))
        self._cost = np.zeros(1)
        self._errors = np.zeros(n_clusters) if detail else None
        self._utilities = np.zeros(n_clusters) if detail else None

    def add(self, points: NDArray[Any], centers: NDArray[Any], weights: FloatArray | None, **options: Any) -> None:
        _core.accumulate(
            points,
            centers,
            self._counts,
            self._sums,
            self._cost,
            weights=weights,
            errors=self._errors,
            utilities=self._utilities,
            **options,
        )

    def moments(self) -> Moments:
        return Moments(
            self._counts, self._sums, float(self._cost[0]), errors=self._errors, utilities=self._utilities
        )

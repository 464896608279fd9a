"""What oracles over points at hand share: weights, drawing, sampling, and what a pass over the points can tell.

Does not know how the points are stored: its subclasses do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, FloatArray, arithmetic_dtype
from ..moments import Moments
from .base import Contested, ImplicitSteps, Labeling, Oracle, Outliers
from .totals import Totals

DENSE_BYTES = 128 << 20  # that contested points may take: those with most to gain are enough


def draw(cumulative: FloatArray, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`size` indices, each as likely as its part of the cumulative sum, with replacement."""
    positions = np.minimum(rng.random(size) * cumulative[-1], np.nextafter(cumulative[-1], 0))
    indices: NDArray[np.int64] = np.searchsorted(cumulative, positions, side="right").astype(np.int64)
    return indices


class MemoryOracle(ABC):
    """An oracle over the rows of a matrix, which is only read."""

    def __init__(
        self,
        points: Any,  # (n_points, n_features), IN, finite
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
        self.n_threads = n_threads
        self._replace = replace
        self._epoch = np.empty(0, dtype=np.int64)  # rows that this epoch has yet to draw

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; with `detail` also errors and utilities."""
        return self._pass(centers, detail=detail)

    def minibatch(self, centers: FloatArray, size: int, rng: np.random.Generator) -> Moments:
        """The moments over `size` points drawn at random, each as likely as its weight says.

        With `replace=False` an epoch draws every point once, in random order, and weights it.
        """
        rows = self._draw(size, rng) if self._replace else self._draw_from_epoch(size, rng)
        weights = None if self._replace else self.weights
        totals = Totals(len(rows), len(centers), self.n_features)
        self._add_rows(totals, centers.astype(self.dtype), rows, weights)
        return totals.moments()

    def implicit_steps(self, centers: FloatArray, steps: ImplicitSteps, rng: np.random.Generator) -> FloatArray:
        """Where the centers are after these steps, each of mini-batches drawn as `minibatch` draws them."""
        anchor, step_size = centers, steps.step_size
        for _ in range(steps.n_steps):
            iterate = average = anchor
            for _ in range(steps.n_inner):
                moments = self.minibatch(iterate, steps.batch_size, rng)
                iterate = anchor - moments.limited(step_size, steps.limit) * moments.gradient(iterate)
                average = steps.averaging * average + (1 - steps.averaging) * iterate
            anchor, step_size = average, steps.decay * step_size
        return anchor

    def sample(self, size: int, rng: np.random.Generator) -> MemoryOracle:
        """`size` distinct points drawn uniformly from those with weight (all of them if there are fewer)."""
        rows = self._distinct(size, rng)
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(self._taken(rows), weights, n_threads=self.n_threads)

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
        return Outliers(self.rows(rows), weights, labels[rows], nearest[rows])

    def contested(self, centers: FloatArray, *, detail: bool = False) -> Contested:
        """The moments over all points, and the points that another center might serve better than their own."""
        labels = np.empty(self.n_points, dtype=np.int32)
        nearest, second = np.empty(self.n_points), np.empty(self.n_points)
        moments = self._pass(centers, detail=detail, labels=labels, nearest=nearest, second=second)
        # A point of weight w is better off with b than with its a if d_b² n_b / (n_b + w) < d_a² n_a / (n_a − w).
        # Which center is its second is not known here: the mean n stands for n_b.
        counts = moments.counts
        usual = moments.total_weight / np.count_nonzero(counts)
        leaving: FloatArray
        joining: FloatArray | float
        if self.weights is None:
            leaving, joining = _ratio(counts, counts - 1)[labels], usual / (usual + 1)
        else:
            own = counts[labels]
            leaving, joining = _ratio(own, own - self.weights), usual / (usual + self.weights)
        gain = nearest * leaving - second * joining
        rows = np.flatnonzero(gain > 0)
        most = max(1, DENSE_BYTES // (8 * self.n_features))
        if len(rows) > most:
            rows = np.sort(rows[np.argpartition(-gain[rows], most)[:most]])
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        return Contested(*self._located(rows), weights, labels[rows], moments)

    def label(self, centers: FloatArray, *, nearest: bool = False) -> Labeling:
        """The nearest center of every point; with `nearest` also the squared distance to it."""
        labels = np.empty(self.n_points, dtype=np.int32)
        if not nearest:
            return Labeling(labels, self._pass(centers, labels=labels))
        squares = np.empty(self.n_points)
        return Labeling(labels, self._pass(centers, labels=labels, nearest=squares), squares)

    def labels(self, centers: FloatArray) -> NDArray[np.int32]:
        """The nearest center of every point, (n_points,)."""
        labels: NDArray[np.int32] = self.label(centers).labels
        return labels

    def tracked(self) -> Oracle:
        """An oracle whose `full` may remember what it learned of the last centers; itself if it can't."""
        return self

    def memory(self) -> dict[str, Array]:
        """What a tracked oracle has learned so far; nothing for others."""
        return {}

    def remember(self, memory: dict[str, Array]) -> None:
        """Go on with what an oracle over the same points had learned: nothing."""
        assert not memory

    def mean(self) -> FloatArray:
        """The weighted mean of the points, (n_features,)."""
        mean: FloatArray = self._about_origin.sums[0] / self.total_weight
        return mean

    @property
    def at_hand(self) -> MemoryOracle:
        """All of the points."""
        return self

    @property
    def row_bytes(self) -> float:
        """The memory that a point of a sample takes."""
        return float(self.n_features * self.dtype.itemsize)

    @abstractmethod
    def rows(self, rows: Array) -> FloatArray:
        """Chosen points as a dense array, (len(rows), n_features)."""

    @abstractmethod
    def mean_of(self, rows: Array) -> FloatArray:
        """The weighted mean of chosen points, (n_features,)."""

    @abstractmethod
    def distances(self, centers: FloatArray) -> Array:
        """The distance of every point to every center, (n_points, n_clusters)."""

    @abstractmethod
    def variance(self) -> FloatArray:
        """The weighted variance of each feature, (n_features,)."""

    @abstractmethod
    def _add(self, totals: Totals, centers: Array, per_row: dict[str, Any]) -> None:
        """Add all points to the totals, and fill the arrays that have an element for each."""

    @abstractmethod
    def _add_rows(
        self, totals: Totals, centers: Array, rows: NDArray[np.int64], weights: FloatArray | None
    ) -> None:
        """Add chosen points to the totals. `weights` has one for each of all points."""

    @abstractmethod
    def _located(self, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
        """An array that the kernels read in place, and in which of its rows chosen points are."""

    def _taken(self, rows: Array) -> Any:
        """Chosen points, stored as the kernels read them."""
        return self.points[rows]

    def _pass(self, centers: FloatArray, *, detail: bool = False, **per_row: Array) -> Moments:
        totals = Totals(self.n_points, len(centers), self.n_features, detail=detail)
        self._add(totals, centers.astype(self.dtype), per_row)
        return totals.moments()

    @cached_property
    def _about_origin(self) -> Moments:
        return self.full(np.zeros((1, self.n_features)))

    @cached_property
    def _cumulative_weights(self) -> FloatArray:
        assert self.weights is not None
        return np.cumsum(self.weights)

    def _distinct(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """`size` rows with weight, or all of those, in order: a memory map is read forwards."""
        rows: NDArray[np.int64]
        if self.weights is None or (size < self.n_points // 2 and bool(np.all(self.weights))):
            rows = rng.choice(self.n_points, size=min(size, self.n_points), replace=False)
        else:
            candidates = np.flatnonzero(self.weights)
            rows = rng.choice(candidates, size=min(size, len(candidates)), replace=False)
        rows.sort()
        return rows

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


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """part / whole, and 0 where the whole is not positive."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)

"""Points at hand: rows that the kernels read, with their weights.

Everything that the kernels are asked to do with rows in memory goes through `Points`: adding up moments, measuring
distances, taking chosen rows. Knows how rows are stored. Does not know what the answers are for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, FloatArray, aligned, arithmetic_dtype
from ..moments import Moments

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Accumulator:
    """The arrays that kernels add moments to, over one or several calls."""

    def __init__(
        self, n_clusters: int, n_features: int, *, detail: bool = False, count_ties: bool = False
    ) -> None:
        self.counts = np.zeros(n_clusters)
        self.sums = np.zeros((n_clusters, n_features))
        self.cost = np.zeros(1)
        self.errors = np.zeros(n_clusters) if detail else None
        self.utilities = np.zeros(n_clusters) if detail else None
        self.n_tied = np.zeros(1) if count_ties else None

    def moments(self, n_rows: int) -> Moments:
        """What was added up, over `n_rows` rows."""
        n_distances = n_rows * len(self.counts)
        return Moments(self.counts, self.sums, float(self.cost[0]), self.errors, self.utilities, n_distances)


@dataclass(frozen=True)
class RowOutputs:
    """Arrays that a pass fills with one element for each row read, OUT."""

    labels: NDArray[np.int32] | None = None  # (n_rows,)
    nearest: FloatArray | None = None  # (n_rows,) squared distance to the nearest center
    second: FloatArray | None = None  # (n_rows,) squared distance to the second nearest center

    def __getitem__(self, rows: slice) -> RowOutputs:
        return RowOutputs(*(None if array is None else array[rows] for array in vars(self).values()))


@dataclass(frozen=True)
class Unchecked:
    """Values that have not been checked. A pass reads all of them, so it says whether a check is needed.

    A bad value lies at a squared distance of at least `limit` from every center, or at none that is finite.
    """

    limit: float
    check: Callable[[], None]  # looks at all values, and raises an error if one is bad


@dataclass(frozen=True)
class StepRun:
    """A run of stochastic backward Euler steps; see `solvers.backward_euler`."""

    n_steps: int
    n_inner: int
    batch_size: int
    step_size: float
    decay: float
    averaging: float
    limit: float  # on step · count / batch_size, for each center


@dataclass(frozen=True)
class Partition:
    """Which cluster each point is in. Sweeps change it in place."""

    labels: NDArray[np.int32]  # (n_points,) -1: in no cluster yet
    counts: FloatArray  # (n_clusters,)
    sums: FloatArray  # (n_clusters, n_features)

    def without(self, removed: NDArray[np.bool_]) -> Partition:  # (n_clusters,), IN
        """A copy without some clusters, whose points are then in none."""
        numbers = np.where(removed, -1, np.cumsum(~removed) - 1).astype(np.int32)
        return Partition(numbers[self.labels], self.counts[~removed], self.sums[~removed])


class Located(NamedTuple):
    """Chosen rows as the kernels take them."""

    array: Array  # (n, n_features), holds the chosen rows and perhaps others
    rows: NDArray[np.int64]  # (n_chosen,) where in the array each chosen row is


class Points(ABC):
    """Rows with weights, which are only read."""

    stored: Array | csr_array  # (n_points, n_features) as it was given

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: np.dtype[np.generic],
        weights: FloatArray | None,  # (n_points,), IN, not negative, not all zero
        *,
        n_threads: int | None,
        block: int,
        unchecked: Unchecked | None = None,
    ) -> None:
        self.n_points, self.n_features = shape
        self.dtype = arithmetic_dtype(dtype)
        self.weights = None if weights is None else aligned(weights)
        self.total_weight = float(self.n_points if weights is None else weights.sum())
        self.n_threads = n_threads
        self.block = block  # which block of all data this is, from 0
        self._unchecked = unchecked
        self._cumulative_weights: FloatArray | None = None

    @property
    @abstractmethod
    def row_bytes(self) -> float:
        """The memory that a row of a sample takes."""

    @abstractmethod
    def accumulate(
        self,
        into: Accumulator,  # INOUT
        centers: Array,  # (n_clusters, n_features) of `dtype`, IN
        outputs: RowOutputs,  # OUT
        prices: FloatArray | None = None,  # (n_clusters,) added to squared distances, IN
    ) -> None:
        """Add the moments of all points, weighted."""

    @abstractmethod
    def assign(
        self,
        centers: Array,  # (n_clusters, n_features) of `dtype`, IN
        outputs: RowOutputs,  # OUT
        prices: FloatArray | None = None,  # (n_clusters,) added to squared distances, IN
    ) -> None:
        """Find the nearest centers of all points, without adding anything up."""

    @abstractmethod
    def accumulate_rows(self, into: Accumulator, centers: Array, rows: NDArray[np.int64]) -> None:
        """Add the moments of chosen rows, each counted once whatever its weight."""

    @abstractmethod
    def distances(self, centers: FloatArray) -> Array:
        """The Euclidean distance of every point to every center, (n_points, n_clusters)."""

    @abstractmethod
    def squares(self, mean: FloatArray) -> FloatArray:
        """The weighted sum of squared offsets from `mean` of each feature, (n_features,)."""

    @abstractmethod
    def content(self) -> Iterator[Array]:
        """All that the rows consist of, as contiguous arrays in a fixed order, some MiB at a time."""

    @abstractmethod
    def dense(self, rows: Array) -> FloatArray:
        """Chosen rows as a dense array, (len(rows), n_features)."""

    @abstractmethod
    def mean_of(self, rows: Array) -> FloatArray:
        """The weighted mean of chosen rows, (n_features,)."""

    @abstractmethod
    def take(self, rows: Array, weights: FloatArray | None = None) -> Points:
        """Chosen rows with these weights or their own, copied."""

    def view(self, rows: Array, weights: FloatArray | None = None) -> Points:
        """Chosen rows with these weights or their own, copied or read where they are, whichever is cheaper."""
        return self.take(rows, weights)

    @abstractmethod
    def located(self, rows: NDArray[np.int64]) -> Located:
        """Chosen rows in an array that the kernels read in place."""

    def take_steps(self, centers: FloatArray, run: StepRun, rng: np.random.Generator) -> FloatArray | None:
        """The centers after a run of steps taken by a compiled kernel; None where there is no such kernel."""
        return None

    def seed_greedily(
        self,
        centers: FloatArray,  # (n_centers, n_features), IN
        labels: NDArray[np.int32],  # (n_points,) the nearest of these centers, IN
        nearest: FloatArray,  # (n_points,) its squared distance, IN
        numbers: FloatArray,  # (n_new, n_candidates) from 0 up to 1, which draw the candidates, IN
    ) -> FloatArray | None:
        """New centers by a compiled greedy k-means++, (n_new, n_features), or fewer when the time is over.

        None where there is no such kernel.
        """
        return None

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw rows with replacement, each in proportion to its weight."""
        return self.rows_at(self.draw_positions(size, rng))

    def draw_positions(self, size: int, rng: np.random.Generator) -> Array:
        """Draw where to find rows: row numbers, or for weighted points positions among the cumulative weights."""
        if self.weights is None:
            return rng.integers(self.n_points, size=size)
        positions: FloatArray = rng.random(size) * self.cumulative_weights[-1]
        return positions

    def rows_at(self, positions: Array) -> NDArray[np.int64]:
        """The rows at positions that `draw_positions` gave."""
        # Positions that came to a worker of Dask may not be aligned.
        return aligned(positions) if self.weights is None else indices_at(positions, self.cumulative_weights)

    def partition(self, centers: FloatArray) -> Partition | None:
        """Every point in the cluster of its nearest center; None where points cannot be swept."""
        return None

    def sweep(self, partition: Partition, n_sweeps: int, rng: np.random.Generator) -> Moments:
        """Sweep up to `n_sweeps` times, until few points move. The moments have errors and utilities.

        In a sweep every point in turn goes to the cluster where it raises the cost least (after Hartigan).
        """
        raise NotImplementedError

    def draw_distinct(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `size` distinct rows with weight uniformly; in ascending order, to read a memory map forwards."""
        rows: NDArray[np.int64]
        if self.weights is None or (size < self.n_points // 2 and bool(np.all(self.weights))):
            rows = rng.choice(self.n_points, size=min(size, self.n_points), replace=False)
        else:
            candidates = np.flatnonzero(self.weights)
            rows = rng.choice(candidates, size=min(size, len(candidates)), replace=False)
        rows.sort()
        return rows

    def _check(self, farthest: float) -> None:
        """Check values that have not been, if a pass met this squared distance, which a bad one may explain."""
        if self._unchecked is not None and not farthest < self._unchecked.limit:
            self._unchecked.check()

    @property
    def cumulative_weights(self) -> FloatArray:
        """Sums of the weights up to each row, (n_points,)."""
        # Not functools.cached_property: before Python 3.12 it holds a lock, which a forked child would wait for.
        if self._cumulative_weights is None:
            assert self.weights is not None
            self._cumulative_weights = np.cumsum(self.weights)
        return self._cumulative_weights

    @cumulative_weights.setter
    def cumulative_weights(self, known: FloatArray) -> None:
        self._cumulative_weights = known


def indices_at(positions: Array, cumulative: FloatArray) -> NDArray[np.int64]:
    """Where positions fall among cumulative sums; a position at the very end belongs to the last index."""
    inside = np.minimum(positions, np.nextafter(cumulative[-1], 0))
    indices: NDArray[np.int64] = np.searchsorted(cumulative, inside, side="right").astype(np.int64)
    return indices

"""What runs in a Dask worker: the kernels, next to the partitions that the worker holds.

An engine knows the keys of its partitions and asks the worker for them each time, one after the other, so that the
worker stays free to keep some of them on disk. Only moments and chosen rows leave. Does not know of other workers.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, FloatArray
from ..sources import check_chunk
from ..sources import partition_chunk as partition
from .array import ArrayOracle, readable
from .base import Outliers
from .exact import Digits, Grid, Scale, added


class Weighted(NamedTuple):
    """A partition with weights; a tuple, so that Dask sees its size. Without them a partition is its array."""

    points: Array  # (n, n_features)
    weights: FloatArray  # (n,)
    cumulative: FloatArray  # (n,) sums of the weights, to draw by


@dataclass(frozen=True)
class Facts:
    """What has to be known of a partition before the first question."""

    n_points: int
    n_with_weight: int
    total_weight: float
    largest: float  # magnitude of a value


@dataclass(frozen=True)
class Far:
    """Points far from their centers, and which partition each is from."""

    outliers: Outliers
    partitions: NDArray[np.int64]  # (n,)


_Parts = tuple[Array, FloatArray | None, FloatArray | None]  # as in Weighted
Rows = Mapping[int, Array]  # by partition: indices of rows, or positions among its weight, (n,)


def weighted(points: Array, weights: FloatArray) -> Weighted:
    """A partition of points and their weights."""
    return Weighted(points, np.ascontiguousarray(weights), np.cumsum(weights))


def facts(held: Array | Weighted, number: int, n_features: int, name: str, names: list[str] | None) -> Facts:
    """Check a partition, and say what it is."""
    points, weights, _ = _parts(held)
    check_chunk(partition(points, weights, number, n_features, name), names)
    largest = max(float(points.max()), -float(points.min())) if points.size else 0.0
    n_with_weight = len(points) if weights is None else int(np.count_nonzero(weights))
    total = float(len(points)) if weights is None else float(weights.sum())
    return Facts(len(points), n_with_weight, total, largest)


class Engine:
    """Answers for partitions of its worker: those that the question names, by their numbers or by rows of them."""

    def __init__(self, keys: dict[int, Hashable], n_threads: int | None) -> None:
        from distributed import get_worker

        self._keys = keys
        self._worker: Any = get_worker()
        self._n_threads = self._worker.state.nthreads if n_threads is None else n_threads

    def moments(self, numbers: Collection[int], centers: Array, scale: Scale, *, detail: bool) -> Digits:
        """The moments over all rows."""
        centers = centers.astype(np.float64)
        return added(
            scale.digits(self._oracle(points, weights).full(centers, detail=detail))
            for _, (points, weights, _) in self._partitions(numbers)
        )

    def batch(self, rows: Rows, centers: Array, scale: Scale) -> Digits:
        """The moments over some rows, without weights: they were drawn by them."""
        centers = centers.astype(np.float64)
        return added(
            scale.digits(self._oracle(points[_drawn(rows[number], cumulative)]).full(centers))
            for number, (points, _, cumulative) in self._partitions(rows)
        )

    def squares(self, numbers: Collection[int], mean: FloatArray, grid: Grid) -> Digits:
        """The weighted sum of squared offsets from the mean, for each feature."""
        return added(
            {"squares": grid.digits(self._oracle(points, weights).squares(mean))}
            for _, (points, weights, _) in self._partitions(numbers)
        )

    def farthest(self, numbers: Collection[int], centers: Array, size: int) -> Far:
        """The points that lie farthest from their nearest centers; fewer if there are no more with weight."""
        centers = centers.astype(np.float64)
        found = []
        for number, (points, weights, _) in self._partitions(numbers):
            n = min(size, len(points) if weights is None else int(np.count_nonzero(weights)))
            outliers = self._oracle(points, weights).farthest(centers, n)
            found.append(Far(outliers, np.full(n, number)))
        return farthest_of(found, size)

    def take(self, rows: Rows) -> dict[int, tuple[Array, FloatArray | None]]:
        """Some points and their weights; rows without weight do not count in the numbering."""
        taken = {}
        for number, (points, weights, _) in self._partitions(rows):
            chosen = rows[number] if weights is None else np.flatnonzero(weights)[rows[number]]
            taken[number] = (readable(points[chosen]), None if weights is None else weights[chosen])
        return taken

    def _partitions(self, numbers: Iterable[int]) -> Iterator[tuple[int, _Parts]]:
        """One partition after the other; a KeyError if the worker does not hold it any more."""
        for number in numbers:
            yield number, _parts(self._worker.data[self._keys[number]])

    def _oracle(self, points: Array, weights: FloatArray | None = None) -> ArrayOracle:
        return ArrayOracle(points, weights, n_threads=self._n_threads)


def farthest_of(found: list[Far], size: int) -> Far:
    """The farthest of all that were found; among equals those of the first partition, in its order."""
    assert found
    every = [far.outliers for far in found]
    partitions = np.concatenate([far.partitions for far in found])
    distances = np.concatenate([outliers.distances for outliers in every])
    order = np.lexsort((partitions, -distances))[:size]  # stable: the order within a partition stays
    return Far(
        Outliers(
            np.concatenate([outliers.points for outliers in every])[order],
            np.concatenate([outliers.weights for outliers in every])[order],
            np.concatenate([outliers.labels for outliers in every])[order],
            distances[order],
        ),
        partitions[order],
    )


def _parts(held: Array | Weighted) -> _Parts:
    return held if isinstance(held, Weighted) else (held, None, None)


def _drawn(rows: Array, cumulative: FloatArray | None) -> NDArray[np.int64]:
    """The rows that were drawn: as they are, or where positions among the weight fall."""
    if cumulative is None:
        return rows
    inside = np.minimum(rows, np.nextafter(cumulative[-1], 0))
    drawn: NDArray[np.int64] = np.searchsorted(cumulative, inside, side="right").astype(np.int64)
    return drawn

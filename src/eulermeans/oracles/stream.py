"""Points that are read from a source a chunk at a time, and need not fit in memory.

Questions about all points take one pass over the source. Questions about points drawn at random are answered from
the pool, a uniform sample of all rows that is drawn once: so it does not matter how the rows are sorted, and
a search reads nothing. Does not know how the data are stored: the source does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..moments import FloatArray, Moments
from .ahead import ahead
from .array import ArrayOracle
from .base import Contested, ImplicitSteps, Labeling, Outliers
from .blocks import Blocks
from .memory import MemoryOracle, arithmetic_dtype
from .pool import Pool
from .sizes import parse_bytes
from .sources.base import CHUNK_BYTES, Chunk, Source, SourceError
from .sources.checks import check_chunk
from .spread import Spread

MEMORY_LIMIT = 1 << 30
POOL_PART = 2  # of the limit: the pool may take 1 / 2,
CHUNK_PART = 32  # and a chunk 1 / 32, of which a few are held at a time, once as stored and once as rows
ROW_OVERHEAD = 32  # bytes that a pass needs for a row beside the row: distances, a label, a weight
FEWEST_ROWS = 1024  # that must fit in the limit


class StreamOracle:
    """An oracle over the rows of a source, which are first read, and checked, when it is first asked something."""

    def __init__(
        self,
        source: Source,
        weights: FloatArray | None = None,  # (n_points,), IN
        *,
        memory_limit: int | str = MEMORY_LIMIT,
        n_threads: int | None = None,
        rng: np.random.Generator | None = None,  # for the pool; None: who first needs it brings one
    ) -> None:
        if weights is not None and source.weighted:
            raise ValueError(f"{source.name} has weights of its own; give no others.")
        self.n_features = source.n_features
        self.feature_names = source.feature_names
        self.unweighted = weights is None and not source.weighted
        self.dtype = arithmetic_dtype(source.dtype)
        self.n_threads = n_threads
        self._source, self._weights = source, weights
        self._n_points: int | None = None  # once they were counted
        self._total_weight = 0.0
        self._pool: Pool | None = None
        self._spread: Spread | None = None
        self._seed = None if rng is None else _seed(rng)
        self._set_sizes(parse_bytes(memory_limit))

    def _set_sizes(self, limit: int) -> None:
        row = self.n_features * self._source.dtype.itemsize
        if limit < FEWEST_ROWS * (row + ROW_OVERHEAD):
            raise ValueError(
                f"memory_limit={limit} bytes is too small for rows of {row} bytes; give at least "
                f"{FEWEST_ROWS * (row + ROW_OVERHEAD)} bytes."
            )
        self._capacity = limit // POOL_PART // (row + ROW_OVERHEAD)
        self._chunk_bytes = int(min(CHUNK_BYTES, limit // CHUNK_PART) * row / (row + ROW_OVERHEAD))

    # What is known of the data.

    @property
    def n_points(self) -> int:
        """The number of rows. Where the source does not know it, this reads them all once."""
        if self._n_points is None and self._source.n_points is not None:
            return self._source.n_points
        self._survey()
        assert self._n_points is not None
        return self._n_points

    @property
    def total_weight(self) -> float:
        """The weight of all rows, which are read once for it if they have weights."""
        if self.unweighted:
            return float(self.n_points)
        self._survey()
        return self._total_weight

    @property
    def at_hand(self) -> ArrayOracle:
        """The pool, which stands for all points."""
        return self.pool()

    @property
    def row_bytes(self) -> float:
        """The memory that a point of a sample takes."""
        return float(self.n_features * self.dtype.itemsize)

    # Questions about all points: a pass each.

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; with `detail` also errors and utilities."""
        return _sum(chunk.full(centers, detail=detail) for chunk in self._oracles())

    def label(self, centers: FloatArray) -> Labeling:
        """The nearest center of every point. Their moments are computed now, the labels when they are read."""
        return Labeling(labels=self.labels(centers), moments=self.full(centers))

    def labels(self, centers: FloatArray) -> Any:
        """The nearest center of every point: an array where the rows are at hand, or `Blocks`, one for a chunk."""

        def blocks() -> Iterator[NDArray[Any]]:
            for chunk in self._oracles():
                yield chunk.label(centers).labels

        return self._in_kind(Blocks(blocks, self._count, np.int32))

    def distances(self, centers: FloatArray) -> Any:
        """The distance of every point to every center, (n_points, n_clusters): an array, or `Blocks`, as above."""

        def blocks() -> Iterator[NDArray[Any]]:
            for chunk in self._oracles():
                yield chunk.distances(centers)

        return self._in_kind(Blocks(blocks, self._count, self.dtype, columns=(len(centers),)))

    def farthest(self, centers: FloatArray, size: int) -> Outliers:
        """The `size` points that lie farthest from their nearest centers."""
        best: Outliers | None = None
        for chunk in self._oracles():
            found = chunk.farthest(centers, min(size, chunk.n_points))
            best = found if best is None else _farther(best, found, size)
        assert best is not None
        return best

    def mean(self) -> FloatArray:
        """The weighted mean of the points, (n_features,)."""
        return self._spread_of_all.mean

    def variance(self) -> FloatArray:
        """The weighted variance of each feature, (n_features,)."""
        return self._spread_of_all.variance

    def tracked(self) -> StreamOracle:
        """Itself: bounds for every point would not fit in memory either."""
        return self

    def memory(self) -> dict[str, NDArray[Any]]:
        """Nothing is learned from pass to pass."""
        return {}

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        """There is nothing to go on with."""
        assert not memory

    # Questions about some points: the pool's.

    def minibatch(self, centers: FloatArray, size: int, rng: np.random.Generator) -> Moments:
        """The moments over `size` points of the pool drawn at random, each as likely as its weight says."""
        return self.pool(rng).minibatch(centers, size, rng)

    def sample(self, size: int, rng: np.random.Generator) -> MemoryOracle:
        """`size` distinct points of the pool drawn uniformly from those with weight (all if there are fewer)."""
        return self.pool(rng).sample(size, rng)

    def implicit_steps(self, centers: FloatArray, steps: ImplicitSteps, rng: np.random.Generator) -> FloatArray:
        """Where the centers are after these steps, each of mini-batches of the pool."""
        return self.pool(rng).implicit_steps(centers, steps, rng)

    def contested(self, centers: FloatArray, *, detail: bool = False) -> Contested:
        """The moments over the pool, and its points that another center might serve better than their own."""
        return self.pool().contested(centers, detail=detail)

    def pool(self, rng: np.random.Generator | None = None) -> ArrayOracle:
        """A uniform sample of all rows, which takes up to half of the memory limit; all rows if they fit in it."""
        if self._pool is None:
            if self._seed is None:
                if rng is None:
                    raise ValueError("a stream needs a random number generator before a sample of it is drawn.")
                self._seed = _seed(rng)
            pool = Pool(
                self._capacity,
                self.n_features,
                self._source.dtype,
                np.random.default_rng(self._seed),
                n_points=self._source.n_points,  # not what was counted since: the seed alone decides
                weighted=not self.unweighted,
            )
            for chunk in self._read(assembled=False):
                pool.see(chunk)
            self._pool = pool
        return ArrayOracle(self._pool.points, self._pool.weights, n_threads=self.n_threads)

    def in_memory(self) -> ArrayOracle | None:
        """An oracle that has read all rows, if they fit in half of the memory limit."""
        if self._count() is not None and self.n_points > self._capacity:
            return None
        pool = self.pool()
        assert self._pool is not None
        return pool if self._pool.complete else None

    # Passes.

    def _in_kind(self, blocks: Blocks) -> Any:
        return np.asarray(blocks) if self._source.at_hand else blocks

    def _count(self) -> int | None:
        return self._source.n_points if self._n_points is None else self._n_points

    def _survey(self) -> None:
        """Count the rows, if that has not been done."""
        if self._n_points is None:
            for _ in self._read(assembled=False):
                pass

    @property
    def _spread_of_all(self) -> Spread:
        if self._spread is None:
            spread = Spread(self.n_features)
            for chunk in self._read():
                spread.see(chunk.points, chunk.weights)
            self._spread = spread
        return self._spread

    def _oracles(self) -> Iterator[ArrayOracle]:
        """All rows, a chunk at a time."""
        for chunk in self._read():
            yield ArrayOracle(chunk.points, chunk.weights, n_threads=self.n_threads)

    def _read(self, *, assembled: bool = True) -> Iterator[Chunk]:
        """All chunks, read by another thread. The first time that all are read, every value is checked."""
        n_points, total_weight = 0, 0.0
        with closing(ahead(lambda: self._chunks(assembled))) as chunks:
            for chunk in chunks:
                n_points += len(chunk)
                if chunk.weights is not None:
                    total_weight += float(chunk.weights.sum())
                yield chunk
                del chunk  # not held while the next one is waited for
        self._finished(n_points, total_weight)

    def _chunks(self, assembled: bool) -> Iterator[Chunk]:
        unchecked, seen = self._n_points is None, 0
        for chunk in self._source.chunks(self._chunk_bytes):
            if self._weights is not None:
                chunk = replace(chunk, weights=self._weights[seen : seen + len(chunk)])
                self._check_length(seen + len(chunk), at_end=False)
            seen += len(chunk)
            if unchecked:
                check_chunk(chunk, self.feature_names)
            yield chunk.assembled() if assembled else chunk
        self._check_length(seen, at_end=True)

    def _check_length(self, n_points: int, *, at_end: bool) -> None:
        if self._weights is None or n_points == len(self._weights):
            return
        if n_points < len(self._weights) and not at_end:
            return
        rows = f"{n_points} rows" if at_end else "more rows"
        raise ValueError(f"sample_weight has {len(self._weights)} elements, but {self._source.name} has {rows}.")

    def _finished(self, n_points: int, total_weight: float) -> None:
        expected = self._count()
        name = self._source.name
        if expected is not None and n_points != expected:
            raise SourceError(
                f"{name} has {n_points} rows now, but had {expected} before; it must give the same rows each time "
                "that it is read."
            )
        if n_points == 0:
            raise SourceError(f"{name} is empty: it has no rows.")
        if not self.unweighted and total_weight == 0:
            raise SourceError(f"the weights of {name} are zero for every row; at least one must be positive.")
        self._n_points, self._total_weight = n_points, total_weight


def _seed(rng: np.random.Generator) -> list[int]:
    """For a generator of its own, which does not depend on what others draw from this one later."""
    return [int(word) for word in rng.integers(2**63, size=4)]


def _sum(parts: Iterator[Moments]) -> Moments:
    """The moments over all parts of the data."""
    return reduce(_both, parts)


def _both(one: Moments, other: Moments) -> Moments:
    return Moments(
        one.counts + other.counts,
        one.sums + other.sums,
        one.cost + other.cost,
        None if one.errors is None or other.errors is None else one.errors + other.errors,
        None if one.utilities is None or other.utilities is None else one.utilities + other.utilities,
        one.n_distances + other.n_distances,
    )


def _farther(one: Outliers, other: Outliers, size: int) -> Outliers:
    """The farthest of both."""
    distances = np.concatenate([one.distances, other.distances])
    rows = np.argsort(-distances, kind="stable")[:size]
    return Outliers(
        np.concatenate([one.points, other.points])[rows],
        np.concatenate([one.weights, other.weights])[rows],
        np.concatenate([one.labels, other.labels])[rows],
        distances[rows],
    )

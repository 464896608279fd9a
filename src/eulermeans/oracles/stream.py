"""Points that are read from a source a chunk at a time, and need not fit in memory.

Questions about all points take one pass over the source. Questions about points drawn at random are answered from
the pool, a uniform sample of all rows that is drawn once: so it does not matter how the rows are sorted, and
a search reads nothing. Does not know how the data are stored: the source does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import Any

import numpy as np

from ..arrays import Array, FloatArray, arithmetic_dtype
from ..moments import Moments
from ..sources import CHUNK_BYTES, Blocks, Source, parse_bytes
from ..sources import RowSample as Pool
from ..sources import RunningVariance as Spread
from ..sources import SourceReader as Passes
from .adding import both, farther
from .array import ArrayOracle
from .base import Contested, ImplicitSteps, Labeling, Outliers
from .memory import MemoryOracle

MEMORY_LIMIT = 1 << 30
POOL_PART = 2  # of the limit: the pool may take 1 / 2,
READER_PART = 2  # what the source needs to read 1 / 2, at the pool's cost,
FREE = 16 << 20  # but for what libraries take whatever the limit is;
CHUNKS_PART = 4  # chunks may take 1 / 4: of
CHUNK_PART = 32  # 1 / 32 each, a few are held at a time, once as stored and once as rows
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
        self._source = source
        row, limit = self.n_features * source.dtype.itemsize, parse_bytes(memory_limit)
        chunk_bytes = int(min(CHUNK_BYTES, limit // CHUNK_PART) * row / (row + ROW_OVERHEAD))
        reader = max(0, source.reader_bytes(chunk_bytes) - FREE)
        least = max(FEWEST_ROWS * (row + ROW_OVERHEAD), READER_PART * reader)
        if limit < least:
            raise ValueError(
                f"memory_limit={limit} bytes is too small for {source.name}: its rows take {row} bytes each and "
                f"its reader about {reader}; give at least {least} bytes."
            )
        self._passes = Passes(source, weights, chunk_bytes)
        self._capacity = min(limit // POOL_PART, limit - limit // CHUNKS_PART - reader) // (row + ROW_OVERHEAD)
        self._pool: Pool | None = None
        self._spread: Spread | None = None
        self._seed = None if rng is None else _seed(rng)

    # What is known of the data.

    @property
    def n_points(self) -> int:
        """The number of rows. Where the source does not know it, this reads them all once."""
        if self._passes.count() is None:
            self._survey()
        return self._passes.n_points()

    @property
    def total_weight(self) -> float:
        """The weight of all rows, which are read once for it if they have weights."""
        if not self.unweighted:
            self._survey()
        return self._passes.total_weight()

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
        return reduce(both, (chunk.full(centers, detail=detail) for chunk in self._oracles(merged=True)))

    def label(self, centers: FloatArray) -> Labeling:
        """The nearest center of every point. Where the rows are not at hand, the labels are computed when read."""
        if not self._source.at_hand:
            return Labeling(labels=self.labels(centers), moments=self.full(centers))
        labelings = [chunk.label(centers) for chunk in self._oracles(merged=True)]
        labels = np.concatenate([labeling.labels for labeling in labelings])
        return Labeling(labels=labels, moments=reduce(both, (labeling.moments for labeling in labelings)))

    def labels(self, centers: FloatArray) -> Any:
        """The nearest center of every point: an array where the rows are at hand, or `Blocks`, one for a chunk."""
        make = partial(_labels, self._passes, centers, self.n_threads)
        return self._in_kind(Blocks(make, self._passes.count, np.int32))

    def distances(self, centers: FloatArray) -> Any:
        """The distance of every point to every center, (n_points, n_clusters): an array, or `Blocks`, as above."""
        make = partial(_distances, self._passes, centers, self.n_threads)
        return self._in_kind(Blocks(make, self._passes.count, self.dtype, columns=(len(centers),)))

    def farthest(self, centers: FloatArray, size: int) -> Outliers:
        """The `size` points that lie farthest from their nearest centers."""
        best: Outliers | None = None
        for chunk in self._oracles(merged=True):
            found = chunk.farthest(centers, min(size, chunk.n_points))
            best = found if best is None else farther(best, found, size)
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

    def memory(self) -> dict[str, Array]:
        """Nothing is learned from pass to pass."""
        return {}

    def remember(self, memory: dict[str, Array]) -> None:
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
            for chunk in self._passes.stored():
                pool.add(chunk)
            self._pool = pool
        return ArrayOracle(self._pool.points, self._pool.weights, n_threads=self.n_threads)

    def in_memory(self) -> ArrayOracle | None:
        """An oracle that has read all rows, if they fit in half of the memory limit."""
        if (self._passes.count() or 0) > self._capacity:
            return None
        pool = self.pool()
        assert self._pool is not None
        return pool if self._pool.complete else None

    def _survey(self) -> None:
        """Draw the pool, if that can be done: it takes the pass that counts the rows as well."""
        if self._seed is not None:
            self.pool()

    def _oracles(self, *, merged: bool = False) -> Iterator[ArrayOracle]:
        return _oracles(self._passes, self.n_threads, merged=merged)

    def _in_kind(self, blocks: Blocks) -> Any:
        return np.asarray(blocks) if self._source.at_hand else blocks

    @property
    def _spread_of_all(self) -> Spread:
        if self._spread is None:
            spread = Spread(self.n_features)
            for chunk in self._passes.rows():
                spread.add(chunk.points, chunk.weights)
            self._spread = spread
        return self._spread


def _seed(rng: np.random.Generator) -> list[int]:
    """For a generator of its own, which does not depend on what others draw from this one later."""
    return [int(word) for word in rng.integers(2**63, size=4)]


def _oracles(passes: Passes, n_threads: int | None, *, merged: bool = False) -> Iterator[ArrayOracle]:
    """All rows, a chunk at a time."""
    for chunk in passes.rows(merged=merged):
        yield ArrayOracle(chunk.points, chunk.weights, n_threads=n_threads)
        del chunk


# Results hold on to these functions: they can be pickled, and do not keep the pool.


def _labels(passes: Passes, centers: FloatArray, n_threads: int | None) -> Iterator[Array]:
    for chunk in _oracles(passes, n_threads):
        yield chunk.label(centers).labels


def _distances(passes: Passes, centers: FloatArray, n_threads: int | None) -> Iterator[Array]:
    for chunk in _oracles(passes, n_threads):
        yield chunk.distances(centers)

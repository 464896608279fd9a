"""The executor over a source that is read a chunk at a time and need not fit in memory.

Questions about all points take one pass over the source. Questions about points drawn at random are answered from
the pool, a uniform sample of all rows that is drawn once, so the order of the rows does not matter and a search
reads nothing. Does not know how the data are stored: the source does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, FloatArray, arithmetic_dtype
from ..byte_sizes import parse_bytes
from ..moments import Moments
from ..sources import (
    CHUNK_BYTES,
    Blocks,
    RowSample,
    RunningVariance,
    Source,
    SourceReader,
)
from .dense_points import DensePoints
from .memory import MemoryOracle
from .oracle import Oracle
from .points import Points
from .question import Answer, Question, RowQuestion, RowsByBlock

if TYPE_CHECKING:
    from .questions import RowAnswers

MEMORY_LIMIT = 1 << 30  # bytes
POOL_SHARE = 1 / 2  # of the limit, for the pool
READER_SHARE = 1 / 2  # of the limit, for what the source needs to read; taken from the pool
CHUNKS_SHARE = 1 / 4  # of the limit, for chunks: a few are held at a time, as stored and as rows
CHUNK_SHARE = 1 / 32  # of the limit, for one chunk
FREE_BYTES = 16 << 20  # what a source needs to read up to this is not counted: libraries take it anyway
ROW_OVERHEAD = 32  # bytes that a pass needs for each row besides the row: distances, a label, a weight
FEWEST_ROWS = 1024  # the limit must have room for this many rows


class StreamOracle(Oracle):
    """An oracle over the rows of a source, which are first read, and checked, when the first question is asked."""

    remembers = True

    def __init__(
        self,
        source: Source,
        weights: FloatArray | None = None,  # (n_points,), IN
        *,
        spherical: bool = False,
        memory_limit: int | str = MEMORY_LIMIT,
        n_threads: int | None = None,
        rng: np.random.Generator | None = None,  # for the pool; None: the first call that needs it brings one
        by_row: Callable[[RowQuestion], RowAnswers] | None = None,  # for data that are not an array
    ) -> None:
        if weights is not None and source.weighted:
            raise ValueError(f"{source.name} has weights of its own; leave sample_weight out.")
        super().__init__(
            source.n_features,
            arithmetic_dtype(source.dtype),
            unweighted=weights is None and not source.weighted,
            spherical=spherical,
            n_threads=n_threads,
        )
        self._source = source
        self._by_row = by_row
        self.rows_in_memory = source.at_hand and by_row is None
        row, limit = self.n_features * source.dtype.itemsize, parse_bytes(memory_limit)
        chunk_bytes = int(min(CHUNK_BYTES, int(limit * CHUNK_SHARE)) * row / (row + ROW_OVERHEAD))
        reader = max(0, source.reader_bytes(chunk_bytes) - FREE_BYTES)
        least = max(FEWEST_ROWS * (row + ROW_OVERHEAD), int(reader / READER_SHARE))
        if limit < least:
            raise ValueError(
                f"memory_limit={limit} bytes is too small for {source.name}: its rows take {row} bytes each and "
                f"its reader about {reader}; give at least {least} bytes."
            )
        self._reader = SourceReader(source, weights, chunk_bytes)
        pool_bytes = min(int(limit * POOL_SHARE), limit - int(limit * CHUNKS_SHARE) - reader)
        self._capacity = pool_bytes // (row + ROW_OVERHEAD)
        self._pool: MemoryOracle | None = None
        self._pool_is_complete = False
        self._spread: RunningVariance | None = None
        self._seed = None if rng is None else _seed(rng)
        self._measured: tuple[Array, Moments] | None = None  # the centers that `full` was last asked about

    @property
    def n_points(self) -> int:
        if self._reader.count() is None:
            self._survey()
        return self._reader.n_points()

    @property
    def total_weight(self) -> float:
        if not self.unweighted:
            self._survey()
        return self._reader.total_weight()

    def mean(self) -> FloatArray:
        return self._running_variance().mean

    def variance(self) -> FloatArray:
        return self._running_variance().variance

    # Questions about points drawn at random are the pool's.

    @property
    def at_hand(self) -> MemoryOracle:
        return self.pool()

    def sample(self, size: int, rng: np.random.Generator) -> MemoryOracle:
        return self.pool(rng).sample(size, rng)

    def pool(self, rng: np.random.Generator | None = None) -> MemoryOracle:
        """A uniform sample of all rows within half of the memory limit; all rows if they fit."""
        if self._pool is None:
            if self._seed is None:
                if rng is None:
                    raise ValueError("a stream needs a random number generator to draw its sample; give rng=.")
                self._seed = _seed(rng)
            sample = RowSample(
                self._capacity,
                self.n_features,
                self._source.dtype,
                np.random.default_rng(self._seed),
                n_points=self._source.n_points,  # not the count of an earlier pass: the seed alone decides
                weighted=not self.unweighted,
            )
            for chunk in self._reader.stored():
                sample.add(chunk)
            points = DensePoints(sample.points, sample.weights, n_threads=self.n_threads)
            self._pool = MemoryOracle(points, spherical=self.spherical)
            self._pool_is_complete = sample.complete
        return self._pool

    def in_memory(self) -> MemoryOracle | None:
        """An oracle that has read all rows, if they fit in half of the memory limit."""
        if (self._reader.count() or 0) > self._capacity:
            return None
        points = self.pool().points
        return (
            MemoryOracle(points, spherical=self.spherical, by_row=self._by_row) if self._pool_is_complete else None
        )

    # Questions about all points take a pass.

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; those of the last pass, if it was about the same centers."""
        compared = self.project(centers).astype(self.dtype)  # as the kernels read them
        if self._measured is not None and np.array_equal(self._measured[0], compared) and not detail:
            return self._measured[1]
        moments = super().full(centers, detail=detail)
        self._measured = compared, moments
        return moments

    def _execute(self, question: Question[Answer]) -> Answer:
        if question.blocks is not None:  # rows that were drawn are the pool's
            return question.answer(self.pool().points)
        blocks = _blocks(self._reader, self.n_threads, merged=True)
        return question.merge_all(question.answer(points) for points in blocks)

    def _execute_by_row(self, question: RowQuestion) -> RowAnswers:
        if self._by_row is not None:
            return self._by_row(question)
        make = partial(_answers, self._reader, question, self.n_threads)
        blocks = Blocks(make, self._reader.count, question.dtype(self.dtype), columns=question.columns)
        return np.asarray(blocks) if self._source.at_hand else blocks

    def _draw(self, size: int, rng: np.random.Generator) -> RowsByBlock:
        return self.pool(rng)._draw(size, rng)

    def _survey(self) -> None:
        """Draw the pool if there is a seed for it: that pass counts the rows as well."""
        if self._seed is not None:
            self.pool()

    def _running_variance(self) -> RunningVariance:
        if self._spread is None:
            spread = RunningVariance(self.n_features)
            for chunk in self._reader.rows():
                spread.add(chunk.points, chunk.weights)
            self._spread = spread
        return self._spread


def _seed(rng: np.random.Generator) -> list[int]:
    """A seed for a generator that does not depend on what others draw from this one later."""
    return [int(word) for word in rng.integers(2**63, size=4)]


def _blocks(reader: SourceReader, n_threads: int | None, *, merged: bool = False) -> Iterator[Points]:
    """All rows, a chunk at a time."""
    for number, chunk in enumerate(reader.rows(merged=merged)):
        yield DensePoints(chunk.points, chunk.weights, n_threads=n_threads, block=number)
        del chunk  # not held while the next one is waited for


def _answers(reader: SourceReader, question: RowQuestion, n_threads: int | None) -> Iterator[Array]:
    """The answers chunk by chunk. Not a method: results can be pickled, and do not keep the pool."""
    for points in _blocks(reader, n_threads):
        yield question.answer(points)

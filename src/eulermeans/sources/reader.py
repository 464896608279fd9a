"""Passes over all rows of a source: prefetches, checks every value the first time, counts the rows each time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from numbers import Integral

import numpy as np

from ..arrays import FloatArray
from .prefetch import prefetch
from .source import Chunk, Source, SourceError
from .value_checks import check_chunk

_FEW_BYTES = 1 << 20  # of points: smaller chunks are put together, so that a kernel has something to do
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


class SourceReader:
    """The rows of a source, as often as they are wanted, and what is known of them since the first time."""

    def __init__(
        self,
        source: Source,
        weights: FloatArray | None,  # (n_points,), IN; None: those of the source
        chunk_bytes: int,  # of points that are read together
    ) -> None:
        self._source, self._weights, self._chunk_bytes = source, weights, chunk_bytes
        self._unweighted = weights is None and not source.weighted
        self._n_points: int | None = None  # that were read
        self._total_weight = 0.0

    def count(self) -> int | None:
        """The number of rows, if the source says it or they have been counted."""
        return self._source.n_points if self._n_points is None else self._n_points

    def n_points(self) -> int:
        """The number of rows. Where it is not known, this reads them all once."""
        if (known := self.count()) is not None:
            return known
        self._survey()
        assert self._n_points is not None
        return self._n_points

    def total_weight(self) -> float:
        """The weight of all rows, which are read once for it if they have weights."""
        if self._unweighted:
            return float(self.n_points())
        if self._n_points is None:
            self._survey()
        return self._total_weight

    def stored(self) -> Iterator[Chunk]:
        """All chunks as they were read, with columns apart if they are so."""
        return self._read(assembled=False)

    def rows(self, *, merged: bool = False) -> Iterator[Chunk]:
        """All chunks as matrices of rows; if `merged`, none of them small."""
        return self._read(assembled=True, merged=merged)

    def _survey(self) -> None:
        for _ in self.stored():
            pass

    def _read(self, *, assembled: bool, merged: bool = False) -> Iterator[Chunk]:
        """All chunks, read and prepared by another thread."""
        n_points, total_weight = 0, 0.0

        def prepared() -> Iterator[Chunk]:
            chunks = self._checked(assembled)
            return _merged(chunks, min(_FEW_BYTES, self._chunk_bytes // 2)) if merged else chunks

        with closing(prefetch(prepared)) as chunks:
            for chunk in chunks:
                n_points += len(chunk)
                if chunk.weights is not None:
                    total_weight += float(chunk.weights.sum())
                yield chunk
                del chunk  # not held while the next one is waited for
        self._finished(n_points, total_weight)

    def _checked(self, assembled: bool) -> Iterator[Chunk]:
        """All chunks with their weights. The first time that all are read, every value is looked at."""
        first_time, seen = self._n_points is None, 0
        for chunk in self._source.chunks(self._chunk_bytes):
            if self._weights is not None:
                chunk = replace(chunk, weights=self._weights[seen : seen + len(chunk)])
                self._check_length(seen + len(chunk), at_end=False)
            seen += len(chunk)
            if first_time:
                check_chunk(chunk, self._source.feature_names)
            chunk = chunk.assembled() if assembled else replace(chunk, before=None)
            yield chunk
            del chunk
        self._check_length(seen, at_end=True)

    def _check_length(self, n_points: int, *, at_end: bool) -> None:
        if self._weights is None or n_points == len(self._weights):
            return
        if n_points < len(self._weights) and not at_end:
            return
        rows = f"{n_points} rows" if at_end else "more rows"
        raise ValueError(f"sample_weight has {len(self._weights)} elements, but {self._source.name} has {rows}.")

    def _finished(self, n_points: int, total_weight: float) -> None:
        name = self._source.name
        if (known := self.count()) is not None and n_points != known:
            raise SourceError(
                f"{name} has {n_points} rows now, but had {known} before; it must give the same rows each "
                "time that it is read."
            )
        if n_points == 0:
            raise SourceError(f"{name} is empty: it has no rows.")
        if not self._unweighted and total_weight == 0:
            raise SourceError(f"the weights of {name} are zero for every row; at least one must be positive.")
        self._n_points, self._total_weight = n_points, total_weight


def _merged(chunks: Iterable[Chunk], fewest_bytes: int) -> Iterator[Chunk]:
    """The chunks, of which small ones are put together. Where they are from is that of the first."""
    held: list[Chunk] = []
    for chunk in chunks:
        held.append(chunk)
        if sum(each.parts[0].nbytes for each in held) >= fewest_bytes:
            yield _together(held)
            held = []
        del chunk
    if held:
        yield _together(held)


def _together(chunks: list[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    weights = [chunk.weights for chunk in chunks if chunk.weights is not None]
    return replace(
        chunks[0],
        parts=(np.concatenate([chunk.points for chunk in chunks]),),
        weights=np.concatenate(weights) if weights else None,
    )


def parse_bytes(size: int | str) -> int:
    """The number of bytes that is meant."""
    if isinstance(size, Integral) and not isinstance(size, bool):
        n_bytes = int(size)
    else:
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", size.lower()) if isinstance(size, str) else None
        if found is None or found[2] not in UNITS:
            raise ValueError(
                f'{size!r} is no amount of memory; give a number of bytes or a string such as "512MB".'
            )
        n_bytes = int(float(found[1]) * UNITS[found[2]])
    if n_bytes <= 0:
        raise ValueError(f"{size!r} is no amount of memory: it must be positive.")
    return n_bytes

"""Passes over all rows of a source: prefetches, checks every value the first time, counts the rows each time."""

from __future__ import annotations

import os
import queue
import sys
import threading
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias, TypeVar

import numpy as np

from ..arrays import FloatArray
from .source import Chunk, Source, SourceError, check_not_empty, wrap_errors
from .value_checks import check_chunk

_SMALL_BYTES = 1 << 20  # chunks with fewer bytes of points may be merged, to give the kernels enough work
_SAME_ROWS = "it must return the same rows every time that it is read."


class SourceReader:
    """Reads the rows of a source as often as needed, and remembers their number and total weight."""

    def __init__(
        self,
        source: Source,
        weights: FloatArray | None,  # (n_points,), IN; None: those of the source
        chunk_bytes: int,  # limit for the points of one chunk
    ) -> None:
        self._source, self._weights, self._chunk_bytes = source, weights, chunk_bytes
        self._unweighted = weights is None and not source.weighted
        self._n_points: int | None = None  # None: not all rows have been read yet
        self._total_weight = 0.0
        self._checksums: list[int] = []  # of all stored values and weights, by column; empty: not read yet
        self._versions = _versions(source.files)

    def count(self) -> int | None:
        """The number of rows, if the source knows it or they have been counted."""
        return self._source.n_points if self._n_points is None else self._n_points

    def n_points(self) -> int:
        """The number of rows. If it is unknown, they are all read once."""
        if (known := self.count()) is not None:
            return known
        self._read_all()
        assert self._n_points is not None
        return self._n_points

    def total_weight(self) -> float:
        """The weight of all rows. If they have weights, they are all read once."""
        if self._unweighted:
            return float(self.n_points())
        if self._n_points is None:
            self._read_all()
        return self._total_weight

    def stored(self) -> Iterator[Chunk]:
        """All chunks as they are stored, perhaps as separate columns."""
        return self._read(assembled=False)

    def rows(self, *, merged: bool = False) -> Iterator[Chunk]:
        """All chunks as matrices of rows. If `merged`, small chunks are merged."""
        return self._read(assembled=True, merged=merged)

    def _read_all(self) -> None:
        for _ in self.stored():
            pass

    def _read(self, *, assembled: bool, merged: bool = False) -> Iterator[Chunk]:
        """All chunks, read and prepared by another thread."""
        n_points, total_weight = 0, 0.0
        self._check_versions()

        def prepare() -> Iterator[Chunk]:
            # Answers for rows must be for the rows of the first pass: only sums do without the checksum.
            chunks = self._checked(assembled, verified=not merged or not self._checksums)
            return _merge_small(chunks, min(_SMALL_BYTES, self._chunk_bytes // 2)) if merged else chunks

        with closing(prefetch(prepare)) as chunks:
            for chunk in chunks:
                n_points += len(chunk)
                if chunk.weights is not None:
                    total_weight += float(chunk.weights.sum())
                yield chunk
                del chunk  # do not hold it while waiting for the next one
        self._finish(n_points, total_weight)

    def _checked(self, assembled: bool, verified: bool) -> Iterator[Chunk]:
        """All chunks with their weights. Values are checked until all rows have been read once.

        If `verified`, an error at the end says if they are not the rows of the first pass.
        """
        is_first_pass, n_read = self._n_points is None, 0
        checksums: list[int] = []
        for chunk in self._source.chunks(self._chunk_bytes):
            begin, n_read = n_read, n_read + len(chunk)
            if self._weights is not None:
                chunk = replace(chunk, weights=self._weights[begin:n_read])
                if n_read > len(self._weights):
                    raise self._wrong_length("more")
            if is_first_pass:
                check_chunk(chunk, self._source.feature_names)
            if verified:
                checksums = _checksums(chunk if chunk.unmapped is None else chunk.unmapped, checksums)
            chunk = chunk.assembled() if assembled else replace(chunk, unmapped=None)
            yield chunk
            del chunk
        if self._weights is not None and n_read != len(self._weights):
            raise self._wrong_length(str(n_read))
        self._check_versions()
        self._check_same_rows(n_read, checksums)

    def _check_versions(self) -> None:
        """Raise an error if a file was changed since the source was opened."""
        for file, now in _versions(self._source.files).items():
            if now != self._versions[file]:
                raise SourceError(f"{file} has changed since it was opened; open it again, or fit again.")

    def _check_same_rows(self, n_points: int, checksums: list[int]) -> None:
        """Raise an error if the rows of this pass are not those of the first one."""
        if (known := self.count()) is not None and n_points != known:
            raise SourceError(f"{self._source.name} has {n_points} rows now, but had {known} before; {_SAME_ROWS}")
        if self._checksums and checksums and checksums != self._checksums:
            raise SourceError(
                f"{self._source.name} has other values now than when it was first read; {_SAME_ROWS}"
            )
        self._checksums = self._checksums or checksums

    def _wrong_length(self, n_rows: str) -> ValueError:
        given, name = len(self._weights if self._weights is not None else ()), self._source.name
        return ValueError(f"sample_weight has {given} elements, but {name} has {n_rows} rows.")

    def _finish(self, n_points: int, total_weight: float) -> None:
        name = self._source.name
        check_not_empty(n_points, name)
        if not self._unweighted and total_weight == 0:
            raise SourceError(f"all weights of {name} are zero; at least one must be positive.")
        self._n_points, self._total_weight = n_points, total_weight


def _versions(files: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Size and time of the last change of each file."""
    found = {}
    for file in files:
        with wrap_errors(file, "a file"):
            status = os.stat(file)
        found[file] = (status.st_size, status.st_mtime_ns)
    return found


def _checksums(chunk: Chunk, before: list[int]) -> list[int]:
    """The checksum of each part of a chunk, and of the weights, given those of the chunks before it.

    It does not matter how the rows are divided into chunks. A checksum costs less than reading the values.
    """
    arrays = [*chunk.parts, *([] if chunk.weights is None else [chunk.weights])]
    values = (np.ascontiguousarray(array).reshape(-1).view(np.uint8).data for array in arrays)
    return [zlib.crc32(each, start) for each, start in zip(values, before or [0] * len(arrays), strict=True)]


def _merge_small(chunks: Iterable[Chunk], fewest_bytes: int) -> Iterator[Chunk]:
    """The chunks, with small ones merged into larger ones, which keep the position of the first."""
    held: list[Chunk] = []
    for chunk in chunks:
        held.append(chunk)
        if sum(each.parts[0].nbytes for each in held) >= fewest_bytes:
            yield _merge(held)
            held = []
        del chunk
    if held:
        yield _merge(held)


def _merge(chunks: list[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    weights = [chunk.weights for chunk in chunks if chunk.weights is not None]
    return replace(
        chunks[0],
        parts=(np.concatenate([chunk.points for chunk in chunks]),),
        weights=np.concatenate(weights) if weights else None,
    )


Element = TypeVar("Element")
Item: TypeAlias = tuple[Element] | BaseException | None  # an element, or what ended the iterator: an error or not
_POLL_SECONDS = 0.05  # how often a thread that waits for room checks whether the caller has stopped


def prefetch(make: Callable[[], Iterator[Element]], depth: int = 1) -> Generator[Element, None, None]:
    """The elements of the iterator that `make` returns. Up to `depth` elements wait while one more is made.

    `make` and the iterator run in the thread. Their errors are raised here. If the caller closes this generator
    early, the thread ends before `close` returns.
    """
    waiting: queue.Queue[Item[Element]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()
    thread = threading.Thread(target=_work, args=(make, waiting, stopped), name="eulermeans-reader", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item[0]
            del item  # do not hold it while waiting for the next one
    finally:
        stopped.set()
        if not sys.is_finalizing():  # daemon threads are gone by then
            thread.join()


def _work(
    make: Callable[[], Iterator[Element]], waiting: queue.Queue[Item[Element]], stopped: threading.Event
) -> None:
    def put(item: Item[Element]) -> None:
        while not stopped.is_set():
            try:
                return waiting.put(item, timeout=_POLL_SECONDS)
            except queue.Full:
                continue

    try:
        elements = make()
        try:
            while not stopped.is_set():
                try:
                    element = next(elements)
                except StopIteration:
                    break
                put((element,))
                del element
        finally:
            if hasattr(elements, "close"):
                elements.close()
    except BaseException as error:  # any error belongs to the caller
        put(error)
    else:
        put(None)

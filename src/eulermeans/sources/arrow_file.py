"""Files in Arrow's own format, which are mapped."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from ..optional import optional
from .arrow_columns import TabularSource, layout
from .numpy_files import wrap_errors
from .source import CHUNK_BYTES, Chunk, SourceError

_COLUMNS_TOGETHER = 4  # that are copied from a mapped file before its pages are let go


class ArrowFileSource(TabularSource):
    """A file in Arrow's format, which Feather is too, or a file with a stream of its record batches.

    A record batch of a compressed file is unpacked whole.
    """

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        self.path = path
        with self._reading():
            reader, pages = self._open()
            super().__init__(path, layout(reader.schema, path, columns, weights, self._peek))
            self._packed, self._batch_bytes = False, 0
            self.n_points = self._count(reader, _content(pages))
            if self.n_points == 0:
                raise SourceError(f"{path} is empty: it has no rows.")

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        first = 0
        with self._reading():
            reader, pages = self._open(self.layout.names if self._packed else None)
            for batch in _batches(reader):
                for chunk in self.sliced(batch, self.path, first, most_bytes):
                    yield _copied(chunk, pages)
                first += batch.num_rows
                del batch, chunk  # before the next one takes memory too
                optional("pyarrow", "io").default_memory_pool().release_unused()

    def reader_bytes(self, most_bytes: int) -> int:
        """About how much memory reading takes beside the chunks: a record batch, if it is to be unpacked."""
        return 2 * self._batch_bytes if self._packed else 0

    def _open(self, names: list[str] | None = None) -> tuple[Any, mmap.mmap]:
        """A reader of these columns of the file, and the pages of the file that it reads.

        Without names it reads all columns: those that are not compressed as views of the pages.
        """
        ipc = optional("pyarrow.ipc", "io")
        with open(self.path, "rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        content = _content(pages)
        try:
            reader, begin = ipc.open_file(content), ipc.open_file
        except ValueError:  # not a file with a footer: perhaps a stream
            reader, begin = ipc.open_stream(content), ipc.open_stream
        if names is None:
            return reader, pages
        fields = sorted(reader.schema.get_field_index(name) for name in names)
        return begin(content, options=ipc.IpcReadOptions(included_fields=fields)), pages

    def _count(self, reader: Any, content: Any) -> int | None:
        if not hasattr(reader, "num_record_batches"):
            return None
        n_points = 0
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            values = [buffer.address for buffer in batch.column(0).buffers() if buffer is not None]
            self._packed = not all(0 <= address - content.address <= content.size for address in values)
            self._batch_bytes = max(self._batch_bytes, batch.nbytes)
            if self._packed:  # what was unpacked is not where the file is; one column is enough to count by
                return sum(int(batch.num_rows) for batch in _batches(self._open(self.layout.names[:1])[0]))
            n_points += batch.num_rows
        return n_points

    def _peek(self, column: str) -> Any:
        reader, _ = self._open()
        return next(batch for batch in _batches(reader) if batch.num_rows).column(column)

    def _reading(self) -> AbstractContextManager[None]:
        return wrap_errors(self.path, "Arrow or Feather", optional("pyarrow", "io").ArrowException, ValueError)


def _content(pages: mmap.mmap) -> Any:
    """The mapped file as a pyarrow Buffer."""
    return optional("pyarrow", "io").py_buffer(pages)


def _batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(i) for i in range(reader.num_record_batches))
    return iter(reader)


def _copied(chunk: Chunk, pages: mmap.mmap) -> Chunk:
    """The chunk in memory of its own. Pages of the file count as memory in use until they are let go."""
    parts = []
    for number, part in enumerate(chunk.parts):
        parts.append(part.copy())
        if number % _COLUMNS_TOGETHER == 0:
            _let_go(pages)
    _let_go(pages)
    return replace(chunk, parts=parts)


def _let_go(pages: mmap.mmap) -> None:
    if hasattr(pages, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)

"""Files in the Arrow format, which are memory-mapped."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..optional import optional
from .columns import TabularSource, wrap_arrow_errors
from .source import CHUNK_BYTES, Chunk, check_not_empty

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS_PER_RELEASE = 4  # columns that are copied from the mapped file before its pages are released


class ArrowFileSource(TabularSource):
    """An Arrow or Feather file, or a file that holds a stream of record batches.

    A compressed file is decompressed one whole record batch at a time.
    """

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        self._is_compressed, self._batch_bytes = False, 0
        with wrap_arrow_errors(path, "Arrow or Feather"):
            reader, pages = open_arrow(path)
            super().__init__(path, reader.schema, columns, weights, lambda column: _first_values(path, column))
            self.n_points = self._count(reader, _as_buffer(pages))
            check_not_empty(self.n_points, path)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        first = 0
        with wrap_arrow_errors(self.name, "Arrow or Feather"):
            reader, pages = open_arrow(self.name, self.column_names if self._is_compressed else None)
            for batch in record_batches(reader):
                chunks = self.split_batch(batch, self.name, first, most_bytes)
                yield from (_copied(chunk, pages) for chunk in chunks)
                first += batch.num_rows
                del batch, chunks  # free them before the next batch takes memory
                optional("pyarrow", "io").default_memory_pool().release_unused()

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks: two record batches of a compressed file."""
        return 2 * self._batch_bytes if self._is_compressed else 0

    def _count(self, reader: pa.RecordBatchReader, content: pa.Buffer) -> int | None:
        """The number of rows, or None for a stream. Also finds out whether the file is compressed."""
        if not hasattr(reader, "num_record_batches"):
            return None
        n_points = 0
        for batch in record_batches(reader):
            values = [buffer.address for buffer in batch.column(0).buffers() if buffer is not None]
            self._is_compressed = not all(0 <= address - content.address <= content.size for address in values)
            self._batch_bytes = max(self._batch_bytes, batch.nbytes)
            if self._is_compressed:  # decompressed values are not in the file; count by one column
                reader, _ = open_arrow(self.name, self.column_names[:1])
                return sum(int(batch.num_rows) for batch in record_batches(reader))
            n_points += batch.num_rows
        return n_points


def open_arrow(path: str, names: list[str] | None = None) -> tuple[pa.RecordBatchReader, mmap.mmap]:
    """A reader of these columns, and the mapped file that it reads.

    Without names it reads all columns. Columns that are not compressed are views of the mapped file.
    """
    ipc = optional("pyarrow.ipc", "io")
    with open(path, "rb") as file:
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    content = _as_buffer(pages)
    try:
        reader, begin = ipc.open_file(content), ipc.open_file
    except ValueError:  # it has no footer: try to read it as a stream
        reader, begin = ipc.open_stream(content), ipc.open_stream
    if names is None:
        return reader, pages
    fields = sorted(reader.schema.get_field_index(name) for name in names)
    return begin(content, options=ipc.IpcReadOptions(included_fields=fields)), pages


def _as_buffer(pages: mmap.mmap) -> pa.Buffer:
    return optional("pyarrow", "io").py_buffer(pages)


def record_batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches of a file or a stream."""
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(i) for i in range(reader.num_record_batches))
    return iter(reader)


def _first_values(path: str, column: str) -> pa.Array:
    return next(batch for batch in record_batches(open_arrow(path)[0]) if batch.num_rows).column(column)


def _copied(chunk: Chunk, pages: mmap.mmap) -> Chunk:
    """The chunk in its own memory. Pages of the file count as memory in use until they are released."""
    parts = []
    for number, part in enumerate(chunk.parts):
        parts.append(part.copy())
        if number % _COLUMNS_PER_RELEASE == 0:
            _release(pages)
    _release(pages)
    return replace(chunk, parts=parts)


def _release(pages: mmap.mmap) -> None:
    if hasattr(pages, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)

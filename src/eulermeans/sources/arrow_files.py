"""Files of pyarrow's formats: Arrow and Feather files, which are memory-mapped, and Parquet files."""

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
    import pyarrow.parquet as pq

_COLUMNS_PER_RELEASE = 4  # columns that are copied from the mapped file before its pages are released
_PAGE_BYTES = 1 << 18  # assumed size of the page of a column that is being decompressed
_MEASURED_GROUPS = 2  # row groups of a file whose columns are looked at
_BATCHES_IN_DECODER = 3  # a batch that is decoded, in buffers that grow by half, and what was freed just before
_LARGEST_BUFFER = 1 << 20  # bytes of a column chunk that are read from disk together, at most
_SMALLEST_BUFFER = 1 << 13  # and at least


class ArrowFileSource(TabularSource):
    """An Arrow or Feather file, or a file that holds a stream of record batches.

    A compressed file is decompressed one whole record batch at a time.
    """

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        self._is_compressed, self._batch_bytes, self.files = False, 0, [path]
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
                release_unused()

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


def release_unused() -> None:
    """Return memory that pyarrow has freed to the system; its allocator would keep it for each of its threads."""
    optional("pyarrow", "io").default_memory_pool().release_unused()


def _release(pages: mmap.mmap) -> None:
    if hasattr(pages, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


class ParquetSource(TabularSource):
    """One Parquet file."""

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        with wrap_arrow_errors(path, "Parquet"), _opened_parquet(path) as file:
            self.n_points = file.metadata.num_rows
            check_not_empty(self.n_points, path)
            super().__init__(
                path,
                file.schema_arrow,
                columns,
                weights,
                lambda column: next(file.iter_batches(batch_size=1, columns=[column])).column(0),
            )
            self._decoder_bytes = _decoder_bytes(file, set(self.column_names))
            self.files = [path]

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        with wrap_arrow_errors(self.name, "Parquet"):
            yield from read_row_groups(self, self.name, self.name, most_bytes)

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks: a dictionary and a page of each column, and batches."""
        return self._decoder_bytes + _BATCHES_IN_DECODER * most_bytes


def _opened_parquet(file: str | pa.NativeFile, buffer: int = _SMALLEST_BUFFER) -> pq.ParquetFile:
    """A Parquet file of which at most `buffer` bytes of a column are read ahead, not whole row groups."""
    options = {"buffer_size": buffer, "pre_buffer": False, "page_checksum_verification": True}
    return optional("pyarrow.parquet", "io").ParquetFile(file, **options)


def _decoder_bytes(file: pq.ParquetFile, names: set[str]) -> int:
    """What a reader of these columns holds at most: each dictionary, as stored and as values, and one page.

    Looks at the largest row groups. A row of each is read first, which raises an error if its metadata are
    damaged: pyarrow ends the process if they are looked at before.
    """
    paths = [file.schema.column(j).path for j in range(len(file.schema))]
    columns = [j for j, path in enumerate(paths) if path in names or path.partition(".")[0] in names]
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    largest = sorted(range(len(groups)), key=lambda i: -groups[i].total_byte_size)[:_MEASURED_GROUPS]
    most = 0
    for i in largest:
        next(file.iter_batches(batch_size=1, row_groups=[i], columns=list(names)), None)
        release_unused()
        total = 0
        for column in (groups[i].column(j) for j in columns):
            dictionary = 0
            if column.has_dictionary_page and column.dictionary_page_offset is not None:
                packed = column.data_page_offset - column.dictionary_page_offset
                dictionary = packed * column.total_uncompressed_size // max(1, column.total_compressed_size)
            total += 2 * dictionary + min(_PAGE_BYTES, column.total_uncompressed_size)
        most = max(most, total)
    return most


def read_row_groups(
    source: TabularSource,
    file: str | pa.NativeFile,
    where: str,
    most_bytes: int,
    row_groups: list[int] | None = None,  # None: all
) -> Iterator[Chunk]:
    """The rows of a Parquet file that has the columns of the source. Large row groups take no more memory."""
    buffer = max(_SMALLEST_BUFFER, min(_LARGEST_BUFFER, most_bytes // len(source.column_names)))
    step, first = source.rows_per_chunk(most_bytes), 0
    with _opened_parquet(file, buffer) as opened:
        for batch in opened.iter_batches(batch_size=step, columns=source.column_names, row_groups=row_groups):
            n_rows, chunk = batch.num_rows, source.chunk(batch, where, first) if batch.num_rows else None
            del batch  # the chunk alone keeps its values
            if chunk is not None:
                yield chunk
            del chunk
            first += n_rows
            release_unused()

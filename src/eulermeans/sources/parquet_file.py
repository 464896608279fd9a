"""Parquet files, read a slice of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..optional import optional
from .columns import TabularSource, wrap_arrow_errors
from .source import CHUNK_BYTES, Chunk, check_not_empty

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_PAGE_BYTES = 1 << 18  # assumed size of the page of a column that is being decompressed
_LARGEST_BUFFER = 1 << 20  # bytes of a column chunk that are read from disk together, at most
_SMALLEST_BUFFER = 1 << 13  # and at least


class ParquetSource(TabularSource):
    """One Parquet file."""

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        with wrap_arrow_errors(path, "Parquet"), optional("pyarrow.parquet", "io").ParquetFile(path) as file:
            self.n_points = file.metadata.num_rows
            check_not_empty(self.n_points, path)
            super().__init__(
                path,
                file.schema_arrow,
                columns,
                weights,
                lambda column: next(file.iter_batches(batch_size=1, columns=[column])).column(0),
            )
            self._decoder_bytes = _decoder_bytes(file.metadata, set(self.column_names))

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        with wrap_arrow_errors(self.name, "Parquet"):
            yield from read_row_groups(self, self.name, self.name, most_bytes)

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks: the dictionary and a page of each column, and a batch."""
        return self._decoder_bytes + most_bytes


def _decoder_bytes(metadata: pq.FileMetaData, names: set[str]) -> int:
    """What a reader of these columns holds at most: each dictionary, as stored and as values, and one page."""
    most = 0
    for group in (metadata.row_group(i) for i in range(metadata.num_row_groups)):
        total = 0
        for column in (group.column(j) for j in range(group.num_columns)):
            if column.path_in_schema.partition(".")[0] not in names and column.path_in_schema not in names:
                continue
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
    options = {"buffer_size": buffer, "pre_buffer": False, "page_checksum_verification": True}
    step, first = source.rows_per_chunk(most_bytes), 0
    with optional("pyarrow.parquet", "io").ParquetFile(file, **options) as opened:
        for batch in opened.iter_batches(batch_size=step, columns=source.column_names, row_groups=row_groups):
            if batch.num_rows:
                yield source.chunk(batch, where, first)
            first += batch.num_rows

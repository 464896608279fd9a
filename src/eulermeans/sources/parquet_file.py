"""Parquet files, each read a slice of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..optional import optional
from .arrow_columns import Layout, TabularSource, layout
from .numpy_files import wrap_errors
from .source import CHUNK_BYTES, Chunk, SourceError, rows_in

_PAGE_BYTES = 1 << 18  # of a column are unpacked together, or what its writer chose; dictionaries come twice
_LARGEST_BUFFER, _SMALLEST_BUFFER = 1 << 20, 1 << 13  # bytes of a column of a file that are read together


class ParquetSource(TabularSource):
    """One Parquet file."""

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        self.path = path
        with self._reading(), optional("pyarrow.parquet", "io").ParquetFile(path) as file:
            self.n_points = file.metadata.num_rows
            metadata = file.metadata
            if self.n_points == 0:
                raise SourceError(f"{path} is empty: it has no rows.")
            found = layout(
                file.schema_arrow,
                path,
                columns,
                weights,
                lambda column: next(file.iter_batches(batch_size=1, columns=[column])).column(0),
            )
            self._unpacked = unpacked_bytes(metadata, set(found.names))
        super().__init__(path, found)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        with self._reading():
            yield from slices(self.path, self.layout, self.path, most_bytes)

    def reader_bytes(self, most_bytes: int) -> int:
        """About how much memory reading takes beside the chunks: a dictionary and a page of each column."""
        return self._unpacked + most_bytes

    def _reading(self) -> AbstractContextManager[None]:
        return wrap_errors(self.path, "Parquet", optional("pyarrow", "io").ArrowException)


def unpacked_bytes(metadata: Any, names: set[str]) -> int:
    """What a reader of the row groups holds of these columns: dictionaries as stored and as values, and pages."""
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


def slices(
    opened: Any,  # a path, or what pyarrow has opened
    columns: Layout,
    where: str,
    most_bytes: int,
    row_groups: list[int] | None = None,
) -> Iterator[Chunk]:
    """The rows of a Parquet file, or of some of its row groups: large ones take no more memory than small ones."""
    step = rows_in(most_bytes, len(columns.feature_names), columns.dtype)
    buffer = max(_SMALLEST_BUFFER, min(_LARGEST_BUFFER, most_bytes // len(columns.names)))
    options = {"buffer_size": buffer, "pre_buffer": False, "page_checksum_verification": True}
    first = 0
    with optional("pyarrow.parquet", "io").ParquetFile(opened, **options) as file:
        for batch in file.iter_batches(batch_size=step, columns=columns.names, row_groups=row_groups):
            if batch.num_rows:
                yield columns.chunk(batch, where, first)
            first += batch.num_rows

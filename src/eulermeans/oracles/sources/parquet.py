"""Parquet files, each read a slice of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ...optional import optional
from .base import CHUNK_BYTES, Chunk, SourceError, rows_in
from .columns import Layout, layout
from .files import reading
from .tabular import Tabular

_LARGEST_BUFFER, _SMALLEST_BUFFER = 1 << 20, 1 << 13  # bytes of a column of a file that are read together


class ParquetSource(Tabular):
    """One Parquet file."""

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        self.path = path
        with self._reading(), optional("pyarrow.parquet", "io").ParquetFile(path) as file:
            self.n_points = file.metadata.num_rows
            if self.n_points == 0:
                raise SourceError(f"{path} is empty: it has no rows.")
            found = layout(
                file.schema_arrow,
                path,
                columns,
                weights,
                lambda column: next(file.iter_batches(batch_size=1, columns=[column])).column(0),
            )
        super().__init__(path, found)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        with self._reading():
            yield from slices(self.path, self.layout, self.path, most_bytes)

    def _reading(self) -> AbstractContextManager[None]:
        return reading(self.path, "Parquet", optional("pyarrow", "io").ArrowException)


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

"""Parquet files, each read a slice of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ...optional import optional
from .arrow import Tabular
from .base import CHUNK_BYTES, Chunk, SourceError, rows_in
from .columns import layout
from .files import reading

_BUFFER_BYTES = 1 << 20  # of a column of a file that are read together
_BUFFERS_BYTES = 32 << 20  # and of all its columns


class ParquetSource(Tabular):
    """One Parquet file. Row groups are read a slice at a time, so that large ones take no more memory."""

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        self.path = path
        with self._open() as file:
            schema = file.schema_arrow
            self.n_points = file.metadata.num_rows
            if self.n_points == 0:
                raise SourceError(f"{path} is empty: it has no rows.")
            super().__init__(path, layout(schema, path, columns, weights, self._peek))

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        first = 0
        with self._open(len(self.layout.names)) as file, self._reading():
            for batch in file.iter_batches(batch_size=step, columns=self.layout.names):
                if batch.num_rows:
                    yield self.layout.chunk(batch, self.path, first)
                first += batch.num_rows

    def _open(self, n_columns: int = 1) -> Any:
        parquet = optional("pyarrow.parquet", "io")
        buffer = max(1 << 14, min(_BUFFER_BYTES, _BUFFERS_BYTES // n_columns))
        with self._reading():
            return parquet.ParquetFile(
                self.path, buffer_size=buffer, pre_buffer=False, page_checksum_verification=True
            )

    def _reading(self) -> AbstractContextManager[None]:
        return reading(self.path, "Parquet", optional("pyarrow", "io").ArrowException)

    def _peek(self, column: str) -> Any:
        with self._open() as file, self._reading():
            return next(file.iter_batches(batch_size=1, columns=[column])).column(0)

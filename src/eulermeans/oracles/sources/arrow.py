"""Tables as Apache Arrow reads them: Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...optional import optional
from .base import CHUNK_BYTES, Chunk, SourceError, rows_in
from .columns import Layout, layout
from .files import reading

_BUFFER_BYTES = 1 << 20  # of a column of a file that are read together
_BUFFERS_BYTES = 32 << 20  # and of all its columns


class Tabular:
    """What sources with named columns share."""

    n_points: int | None

    def __init__(self, name: str, columns: Layout) -> None:
        self.name = name
        self.layout = columns
        self.feature_names: list[str] | None = columns.feature_names
        self.n_features = len(columns.feature_names)
        self.dtype = columns.dtype
        self.weighted = columns.weights is not None

    @property
    def schema(self) -> list[tuple[str, str]]:
        """The columns, to be compared with those of another file."""
        return self.layout.schema


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
            return parquet.ParquetFile(self.path, buffer_size=buffer, pre_buffer=False)

    def _reading(self) -> Any:
        return reading(self.path, "Parquet", optional("pyarrow", "io").ArrowException)

    def _peek(self, column: str) -> Any:
        with self._open() as file, self._reading():
            return next(file.iter_batches(batch_size=1, columns=[column])).column(0)

"""What pyarrow has in memory, or finds by itself: tables, record batches and data sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..optional import optional
from .arrow_columns import TabularSource, layout
from .numpy_files import wrap_errors
from .parquet_file import slices
from .source import CHUNK_BYTES, Chunk, SourceError, rows_in


class TableSource(TabularSource):
    """A pyarrow Table or RecordBatch, or what can be had as one without a copy, such as a polars frame."""

    at_hand = True

    def __init__(
        self,
        table: Any,
        columns: Sequence[str] | None = None,
        weights: str | None = None,
        *,
        name: str = "the table",
    ) -> None:
        pyarrow = optional("pyarrow", "io")
        self._table = pyarrow.Table.from_batches([table]) if isinstance(table, pyarrow.RecordBatch) else table
        self.n_points = self._table.num_rows
        if self.n_points == 0:
            raise SourceError(f"{name} is empty: it has no rows.")
        found = layout(table.schema, name, columns, weights, lambda column: self._table.column(column).chunk(0))
        super().__init__(name, found)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        step, first = rows_in(most_bytes, self.n_features, self.dtype), 0
        for batch in self._table.select(self.layout.names).to_batches(max_chunksize=step):
            if batch.num_rows:
                yield self.layout.chunk(batch, self.name, first)
            first += batch.num_rows


class DatasetSource(TabularSource):
    """A pyarrow Dataset, which may be filtered.

    Whole Parquet files of it are read a slice at a time. What else there may be is scanned by pyarrow, which takes
    memory for a few row groups.
    """

    def __init__(self, dataset: Any, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        self._dataset = dataset
        name = "the data set"
        with self._reading(name):
            self.n_points = dataset.count_rows()
            if self.n_points == 0:
                raise SourceError(f"{name} is empty: it has no rows.")
            found = layout(
                dataset.schema, name, columns, weights, lambda column: dataset.head(1, columns=[column]).column(0)
            )
        super().__init__(name, found)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        with self._reading(self.name):
            fragments = self._whole_files()
            if fragments is None:
                yield from self._scanned(most_bytes)
                return
            for fragment in fragments:
                groups = [group.id for group in fragment.row_groups]
                yield from slices(fragment.open(), self.layout, fragment.path, most_bytes, groups)

    def _whole_files(self) -> list[Any] | None:
        """The Parquet files, if they are all, and have the columns as they are wanted."""
        wanted = {name: self._dataset.schema.field(name).type for name in self.layout.names}
        try:
            fragments = list(self._dataset.get_fragments())
        except ValueError:  # filtered
            return None
        for fragment in fragments:
            if not isinstance(fragment, optional("pyarrow.dataset", "io").ParquetFileFragment):
                return None
            schema = fragment.physical_schema
            if {name: schema.field(name).type for name in wanted if name in schema.names} != wanted:
                return None
        return fragments

    def _scanned(self, most_bytes: int) -> Iterator[Chunk]:
        step = rows_in(most_bytes, self.n_features, self.dtype)
        scanner = self._dataset.scanner(
            columns=self.layout.names, batch_size=step, batch_readahead=1, fragment_readahead=1
        )
        where, first = "", 0
        for tagged in scanner.scan_batches():
            path = getattr(tagged.fragment, "path", self.name)  # of one in memory there is none
            where, first = (where, first) if path == where else (path, 0)
            yield from self.sliced(tagged.record_batch, where, first, most_bytes)
            first += tagged.record_batch.num_rows

    def _reading(self, name: str) -> AbstractContextManager[None]:
        return wrap_errors(name, "a data set", optional("pyarrow", "io").ArrowException)

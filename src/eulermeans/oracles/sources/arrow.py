"""What pyarrow has in memory or finds itself: tables, record batches and data sets; and Arrow's own files."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ...optional import optional
from .base import CHUNK_BYTES, Chunk, SourceError, rows_in
from .columns import Layout, layout
from .files import reading


class Tabular:
    """What sources with named columns share."""

    n_points: int | None
    at_hand = False

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

    def sliced(self, batch: Any, where: str, first: int, most_bytes: int) -> Iterator[Chunk]:
        """A record batch with the columns of the layout, and perhaps others, as chunks."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        for begin in range(0, batch.num_rows, step):
            yield self.layout.chunk(batch.slice(begin, step), where, first + begin)


class TableSource(Tabular):
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


class DatasetSource(Tabular):
    """A pyarrow Dataset, which may be filtered. It is scanned a few batches at a time."""

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
        step = rows_in(most_bytes, self.n_features, self.dtype)
        scanner = self._dataset.scanner(
            columns=self.layout.names, batch_size=step, batch_readahead=1, fragment_readahead=1
        )
        where, first = "", 0
        with self._reading(self.name):
            for tagged in scanner.scan_batches():
                path = getattr(tagged.fragment, "path", self.name)  # of one in memory there is none
                where, first = (where, first) if path == where else (path, 0)
                yield from self.sliced(tagged.record_batch, where, first, most_bytes)
                first += tagged.record_batch.num_rows

    def _reading(self, name: str) -> AbstractContextManager[None]:
        return reading(name, "a data set", optional("pyarrow", "io").ArrowException)


class ArrowFileSource(Tabular):
    """A file in Arrow's format, which Feather is too, or a file with a stream of its record batches."""

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        self.path = path
        with self._reading():
            reader, _ = self._open()
            self.n_points = self._count(reader)
            if self.n_points == 0:
                raise SourceError(f"{path} is empty: it has no rows.")
            super().__init__(path, layout(reader.schema, path, columns, weights, self._peek))

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        first = 0
        with self._reading():
            reader, pages = self._open()
            for batch in _batches(reader):
                for chunk in self.sliced(batch, self.path, first, most_bytes):
                    yield chunk
                    _let_go(pages)
                first += batch.num_rows

    def _open(self) -> tuple[Any, mmap.mmap]:
        """A reader of the file, and the pages of the file that it reads."""
        ipc = optional("pyarrow.ipc", "io")
        with open(self.path, "rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            return ipc.open_file(pages), pages
        except ValueError:  # not a file with a footer: perhaps a stream
            return ipc.open_stream(pages), pages

    def _count(self, reader: Any) -> int | None:
        if not hasattr(reader, "num_record_batches"):
            return None
        return int(optional("pyarrow.dataset", "io").dataset(self.path, format="ipc").count_rows())

    def _peek(self, column: str) -> Any:
        reader, _ = self._open()
        return next(batch for batch in _batches(reader) if batch.num_rows).column(column)

    def _reading(self) -> AbstractContextManager[None]:
        return reading(self.path, "Arrow or Feather", optional("pyarrow", "io").ArrowException, ValueError)


def _batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(i) for i in range(reader.num_record_batches))
    return iter(reader)


def _let_go(pages: mmap.mmap) -> None:
    """Pages that were read count as memory in use until they are let go; they are read again if need be."""
    if hasattr(pages, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)

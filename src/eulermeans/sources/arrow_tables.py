"""Tables that pyarrow has in memory or can find, and what other libraries offer as a stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from ..optional import optional
from .arrow_files import read_row_groups
from .columns import TabularSource, wrap_arrow_errors
from .source import CHUNK_BYTES, Chunk, check_not_empty

if TYPE_CHECKING:
    import datasets
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds


class TableSource(TabularSource):
    """A pyarrow Table or RecordBatch."""

    at_hand = True

    def __init__(
        self,
        table: pa.Table | pa.RecordBatch,
        columns: Sequence[str] | None = None,
        weights: str | None = None,
        *,
        name: str = "the table",
    ) -> None:
        pyarrow = optional("pyarrow", "io")
        self._table = pyarrow.Table.from_batches([table]) if isinstance(table, pyarrow.RecordBatch) else table
        self.n_points = self._table.num_rows
        check_not_empty(self.n_points, name)
        super().__init__(name, table.schema, columns, weights, lambda column: self._table.column(column).chunk(0))

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        first = 0
        for batch in self._table.select(self.column_names).to_batches(self.rows_per_chunk(most_bytes)):
            if batch.num_rows:
                yield self.chunk(batch, self.name, first)
            first += batch.num_rows


def from_polars(
    frame: pl.DataFrame, columns: Sequence[str] | None = None, weights: str | None = None
) -> TableSource:
    """The source of a polars DataFrame, which is an Arrow table without a copy."""
    return TableSource(frame.to_arrow(), columns, weights, name="the frame")


def from_lazy_polars(
    frame: pl.LazyFrame, columns: Sequence[str] | None = None, weights: str | None = None
) -> TableSource:
    """The source of a polars LazyFrame, which polars collects now, if `columns` are given only those."""
    if columns is not None:
        known = frame.collect_schema().names()
        wanted = [
            name for name in dict.fromkeys([*columns, *([] if weights is None else [weights])]) if name in known
        ]
        frame = frame.select(wanted) if wanted else frame
    return from_polars(frame.collect(), columns, weights)


class ArrowStream(Protocol):
    """Gives its rows through Arrow's PyCapsule interface: DuckDB relations and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with a new stream of all rows."""


class ArrowStreamSource(TabularSource):
    """An object of any library that gives a new Arrow stream of its rows whenever it is asked for one."""

    def __init__(
        self, stream: ArrowStream, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> None:
        self._stream = stream
        name = f"the {type(stream).__name__}"
        with wrap_arrow_errors(name, "an Arrow stream"):
            schema = self._begin().schema
        super().__init__(name, schema, columns, weights, self._first_values)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        first = 0
        with wrap_arrow_errors(self.name, "an Arrow stream"):
            for batch in self._begin():
                yield from self.split_batch(batch, self.name, first, most_bytes)
                first += batch.num_rows
        check_not_empty(first, self.name)

    def _begin(self) -> pa.RecordBatchReader:
        return optional("pyarrow", "io").RecordBatchReader.from_stream(self._stream)

    def _first_values(self, column: str) -> Sequence[pa.Scalar]:
        batches = (batch.column(column) for batch in self._begin() if batch.num_rows)
        return next(batches, ())


class HuggingFaceSource(TabularSource):
    """A Dataset of Hugging Face, which reads its rows from Arrow files."""

    def __init__(
        self, dataset: datasets.Dataset, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> None:
        self._dataset, name = dataset.with_format("arrow"), "the dataset"
        self.n_points = len(dataset)
        check_not_empty(self.n_points, name)
        super().__init__(name, dataset.features.arrow_schema, columns, weights, self._first_values)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        first = 0
        with wrap_arrow_errors(self.name, "a dataset"):
            for table in self._dataset.select_columns(self.column_names).iter(self.rows_per_chunk(most_bytes)):
                for batch in table.to_batches():
                    yield from self.split_batch(batch, self.name, first, most_bytes)
                    first += batch.num_rows

    def _first_values(self, column: str) -> Sequence[pa.Scalar]:
        values: Sequence[pa.Scalar] = next(self._dataset.select_columns([column]).iter(1)).column(0)
        return values


class DatasetSource(TabularSource):
    """A pyarrow Dataset, which may be filtered, or one of Lance.

    If it consists of whole Parquet files, they are read a slice at a time. Otherwise pyarrow scans it, which takes
    memory for a few row groups.
    """

    def __init__(
        self, dataset: ds.Dataset, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> None:
        self._dataset, name = dataset, "the dataset"
        with wrap_arrow_errors(name, "a dataset"):
            self.n_points = dataset.count_rows()
            check_not_empty(self.n_points, name)
            super().__init__(
                name,
                dataset.schema,
                columns,
                weights,
                lambda column: dataset.head(1, columns=[column]).column(0),
            )

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        with wrap_arrow_errors(self.name, "a dataset"):
            fragments = self._whole_files()
            if fragments is None:
                yield from self._scan(most_bytes)
                return
            for fragment in fragments:
                groups = [group.id for group in fragment.row_groups]
                yield from read_row_groups(self, fragment.open(), fragment.path, most_bytes, groups)

    def _whole_files(self) -> list[ds.ParquetFileFragment] | None:
        """The files, if all are Parquet files that have the columns in the types of the schema; else None."""
        wanted = {name: self._dataset.schema.field(name).type for name in self.column_names}
        try:
            fragments = list(self._dataset.get_fragments())
        except ValueError:  # the dataset is filtered
            return None
        for fragment in fragments:
            if not isinstance(fragment, optional("pyarrow.dataset", "io").ParquetFileFragment):
                return None
            schema = fragment.physical_schema
            if {name: schema.field(name).type for name in wanted if name in schema.names} != wanted:
                return None
        return fragments

    def _scan(self, most_bytes: int) -> Iterator[Chunk]:
        scanner = self._dataset.scanner(
            columns=self.column_names,
            batch_size=self.rows_per_chunk(most_bytes),
            batch_readahead=1,
            fragment_readahead=1,
        )
        where, first = "", 0
        if not type(self._dataset).__module__.startswith("pyarrow"):  # Lance has fragments of its own
            for batch in scanner.to_reader():
                yield from self.split_batch(batch, self.name, first, most_bytes)
                first += batch.num_rows
            return
        for tagged in scanner.scan_batches():
            path = getattr(tagged.fragment, "path", self.name)  # a fragment in memory has no path
            where, first = (where, first) if path == where else (path, 0)
            yield from self.split_batch(tagged.record_batch, where, first, most_bytes)
            first += tagged.record_batch.num_rows

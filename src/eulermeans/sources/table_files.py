"""Files with named columns: their columns before any are chosen, and any of their columns as Arrow batches.

For callers that let a person choose columns. `source` passes on the table of a CSV file, so that the file is not
opened again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ..optional import optional
from .arrow_files import open_arrow, record_batches, release_unused
from .columns import numeric_type
from .csv_dialect import CsvOptions
from .csv_file import DELIMITERS, CsvTable, error_with_row
from .excel_file import SUFFIXES, read_excel
from .identifiers import looks_like_identifier
from .preparation import find_date_format
from .registry import find_files, open_path, suffix_of
from .source import PASS_BYTES, Source, SourceError, wrap_errors

if TYPE_CHECKING:
    import pyarrow as pa

    Types: TypeAlias = Mapping[str, "pa.DataType | None"]  # of the columns to read; None: the type of the schema

_FORMATS = {".parquet": "Parquet", ".pq": "Parquet"}
_FORMATS |= dict.fromkeys((".arrow", ".feather", ".ipc"), "Arrow or Feather")
_FORMATS |= dict.fromkeys(DELIMITERS, "delimited text")
_FORMATS |= dict.fromkeys(SUFFIXES, "an Excel file")
_INSPECTED_ROWS = 10_000  # in which identifiers are looked for
_DATES_TRIED = 100  # rows in which a column of text must have dates
_BYTES_PER_FIELD = 16  # assumed, to limit the rows of a batch


@dataclass(frozen=True)
class TableColumn:
    """A column of a table."""

    name: str
    type: str  # Arrow's name for it
    numeric: bool
    is_date: bool = False  # a date, or a date with a time


@dataclass(frozen=True)
class TableBatch:
    """Some rows of a table."""

    rows: pa.RecordBatch
    where: str  # the file
    first: int  # position of the first row in the file


class TableFiles:
    """The files that a path names. Only the first is opened."""

    def __init__(self, path: str, options: CsvOptions | None = None) -> None:
        self.path, self._options = path, options or CsvOptions()
        self.files = find_files(path)
        with _wrap_errors(self.files[0]):
            self._first = _open(self.files[0], self._options, keep_rows=True)
        self.columns: list[TableColumn] | None = None  # of the first file; None: the format has no named columns
        if self._first is not None:
            written = _written_dates(self._first)
            self.columns = [_described(field, written) for field in self._first.schema]

    @property
    def has_header(self) -> bool:
        """Whether the names are in the file. Columns of a CSV file without a header are called f0, f1, ..."""
        return self._first is None or self._first.csv is None or self._first.csv.named

    @property
    def estimated_rows(self) -> int | None:
        """Rows of all files, estimated from the first lines of text; None for other formats."""
        if self._first is None or self._first.csv is None:
            return None
        return round(sum(map(os.path.getsize, self.files)) * self._first.csv.lines_per_byte) or None

    def identifiers(self) -> list[str]:
        """The names of columns that seem to number or name the rows, by the first rows."""
        if self._first is None:
            return []
        with _wrap_errors(self.files[0]):
            rows = self._first.first_rows()
        numbers = {column.name for column in self.columns or () if column.numeric}
        found = []
        for name, values in zip(
            [] if rows is None else rows.schema.names, [] if rows is None else rows, strict=True
        ):
            is_number = optional("pyarrow", "io").types.is_integer(values.type)
            if is_number == (name in numbers) and looks_like_identifier(name, values):
                found.append(name)
        return found

    def type_of(self, name: str) -> pa.DataType:
        """The Arrow type of a column of the first file."""
        assert self._first is not None
        return self._first.schema.field(name).type

    def source(self, columns: Sequence[str] | None, weights: str | None) -> Source:
        """The source that reads these columns."""
        return open_path(self.path, columns, weights, None if self._first is None else self._first.csv)

    def column(self, name: str) -> Iterator[pa.Array]:
        """The values of one column over all files, in blocks; columns of text files are read as strings."""
        string = optional("pyarrow", "io").string()  # keeps the leading zeros of ids
        for batch in self.batches({name: string}):
            yield batch.rows.column(name)

    def batches(
        self,
        types: Types,  # types are for text files; columns of other files have the types that they are stored in
        *,
        most_bytes: int = PASS_BYTES,
        nulls_in_text: bool = False,  # whether a field of a text file that is empty or "NA" is missing
    ) -> Iterator[TableBatch]:
        """Columns of all rows of all files."""
        for place, file in enumerate(self.files):
            with _wrap_errors(file):
                table = self._first if place == 0 else _open(file, self._options)
                if table is None or (missing := [name for name in types if name not in table.schema.names]):
                    raise SourceError(f"{file} has no column {'' if table is None else missing[0]}.")
                read = {name: kind or table.schema.field(name).type for name, kind in types.items()}
                first = 0
                for rows in table.batches(read, most_bytes, nulls_in_text):
                    yield TableBatch(rows, file, first)
                    first += rows.num_rows
                    del rows  # free them before the next batch takes memory


@dataclass(frozen=True)
class _Table:
    """One file with named columns."""

    schema: pa.Schema
    batches: Callable[[Mapping[str, pa.DataType], int, bool], Iterable[pa.RecordBatch]]
    first_rows: Callable[[], pa.RecordBatch | None]  # columns that may be identifiers, with inferred types
    csv: CsvTable | None = None


def _written_dates(table: _Table) -> set[str]:
    """The columns of a text file that are dates in a format which pyarrow takes for text, by the first rows."""
    rows = None if table.csv is None else table.csv.first_rows
    types = optional("pyarrow", "io").types
    if rows is None:
        return set()
    texts = [field.name for field in rows.schema if types.is_string(field.type)]
    return {name for name in texts if find_date_format(rows.column(name).slice(0, _DATES_TRIED)) is not None}


def _described(field: pa.Field, written_dates: set[str]) -> TableColumn:
    types = optional("pyarrow", "io").types
    is_date = types.is_date(field.type) or types.is_timestamp(field.type) or field.name in written_dates
    return TableColumn(field.name, str(field.type), numeric_type(field.type) is not None, is_date)


def _open(path: str, options: CsvOptions, *, keep_rows: bool = False) -> _Table | None:
    suffix = suffix_of(path)
    if suffix in DELIMITERS:
        return _open_csv(CsvTable(path, DELIMITERS[suffix], options, keep_rows=keep_rows))
    if suffix not in _FORMATS:
        return None
    if suffix in SUFFIXES:
        sheet = read_excel(path)
        return _Table(
            sheet.schema,
            lambda types, most_bytes, _: sheet.select(list(types)).to_batches(_rows_per_batch(most_bytes, types)),
            lambda: next(iter(sheet.slice(0, _INSPECTED_ROWS).combine_chunks().to_batches()), None),
        )
    if _FORMATS[suffix] == "Parquet":
        return _open_parquet(path)
    reader, _ = open_arrow(path)
    return _Table(
        reader.schema,
        lambda types, most_bytes, _: _arrow_batches(path, list(types), _rows_per_batch(most_bytes, types)),
        lambda: next((batch.slice(0, _INSPECTED_ROWS) for batch in record_batches(open_arrow(path)[0])), None),
    )


def _open_parquet(path: str) -> _Table:
    pq = optional("pyarrow.parquet", "io")
    schema = pq.read_schema(path)

    def batches(types: Mapping[str, pa.DataType], most_bytes: int, _: bool) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
            for batch in file.iter_batches(batch_size=_rows_per_batch(most_bytes, types), columns=list(types)):
                yield batch
                del batch
                release_unused()

    def first_rows() -> pa.RecordBatch | None:
        types = optional("pyarrow", "io").types
        names = [field.name for field in schema if types.is_integer(field.type) or types.is_string(field.type)]
        with pq.ParquetFile(path, pre_buffer=False) as file:
            return next(file.iter_batches(batch_size=_INSPECTED_ROWS, columns=names), None) if names else None

    return _Table(schema, batches, first_rows)


def _arrow_batches(path: str, names: list[str], step: int) -> Iterator[pa.RecordBatch]:
    reader, _ = open_arrow(path, names)
    for batch in record_batches(reader):
        for first in range(0, batch.num_rows, step):
            yield batch.slice(first, step)


def _open_csv(table: CsvTable) -> _Table:
    def batches(types: Mapping[str, pa.DataType], most_bytes: int, nulls: bool) -> Iterator[pa.RecordBatch]:
        invalid = optional("pyarrow", "io").ArrowInvalid
        try:
            yield from table.batches(types, most_bytes=most_bytes, nulls_in_text=nulls)
        except invalid as error:
            raise error_with_row(error, table, types) from error

    return _Table(table.schema, batches, lambda: table.first_rows, table)


def _rows_per_batch(most_bytes: int, types: Mapping[str, object]) -> int:
    return max(1, most_bytes // (_BYTES_PER_FIELD * max(1, len(types))))


def _wrap_errors(path: str) -> AbstractContextManager[None]:
    # pyarrow may be missing here; its errors are ValueErrors or OSErrors.
    return wrap_errors(path, _FORMATS.get(suffix_of(path), "a table"), ValueError)

"""Files with named columns: their columns before any are chosen, and single columns of any type.

For callers that let a person choose columns. `source` passes on the table of a CSV file, so that the file is not
opened again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..optional import optional
from .arrow_files import open_arrow, record_batches
from .columns import numeric_type
from .csv_file import DELIMITERS, CsvTable
from .registry import find_files, open_path, suffix_of
from .source import Source, SourceError, wrap_errors

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS = {".parquet": "Parquet", ".pq": "Parquet"}
_FORMATS |= dict.fromkeys((".arrow", ".feather", ".ipc"), "Arrow or Feather")
_FORMATS |= dict.fromkeys(DELIMITERS, "delimited text")


@dataclass(frozen=True)
class TableColumn:
    """A column of a table."""

    name: str
    type: str  # Arrow's name for it
    numeric: bool


class TableFiles:
    """The files that a path names. Only the first is opened."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._files = find_files(path)
        with _wrap_errors(self._files[0]):
            first = _open(self._files[0])
        self._csv = None if first is None else first.csv
        self.columns: list[TableColumn] | None = None  # of the first file; None: the format has no named columns
        if first is not None:
            self.columns = [
                TableColumn(field.name, str(field.type), numeric_type(field.type) is not None)
                for field in first.schema
            ]

    @property
    def has_header(self) -> bool:
        """Whether the names are in the file. Columns of a CSV file without a header are called f0, f1, ..."""
        return self._csv is None or self._csv.named

    @property
    def estimated_rows(self) -> int | None:
        """Rows of all files, estimated from the first lines of text; None for other formats."""
        if self._csv is None:
            return None
        return round(sum(map(os.path.getsize, self._files)) * self._csv.lines_per_byte) or None

    def source(self, columns: Sequence[str] | None, weights: str | None) -> Source:
        """The source that reads these columns."""
        return open_path(self.path, columns, weights, self._csv)

    def column(self, name: str) -> Iterator[pa.Array]:
        """The values of one column over all files, in blocks; columns of text files are read as strings."""
        for file in self._files:
            with _wrap_errors(file):
                table = _open(file)
                if table is None or name not in table.schema.names:
                    raise SourceError(f"{file} has no column {name}.")
                for batch in table.batches(name):
                    yield batch.column(name)


@dataclass(frozen=True)
class _Table:
    """One file with named columns."""

    schema: pa.Schema
    batches: Callable[[str], Iterable[pa.RecordBatch]]  # that contain the column of this name
    csv: CsvTable | None = None


def _open(path: str) -> _Table | None:
    suffix = suffix_of(path)
    if suffix in DELIMITERS:
        return _open_csv(path, DELIMITERS[suffix])
    if suffix not in _FORMATS:
        return None
    if _FORMATS[suffix] == "Parquet":
        file = optional("pyarrow.parquet", "io").ParquetFile(path)
        return _Table(file.schema_arrow, lambda name: file.iter_batches(columns=[name]))
    reader, _ = open_arrow(path)
    return _Table(reader.schema, lambda name: record_batches(reader))


def _open_csv(path: str, delimiter: str) -> _Table:
    table = CsvTable(path, delimiter)
    other = next((sign for sign in ";\t|," if sign in table.first_line and sign != delimiter), None)
    if other is not None and delimiter not in table.first_line:
        raise SourceError(
            f"the first line of {path} contains {other!r} but no {delimiter!r}; fields must be separated by "
            "commas in a .csv file and by tabs in a .tsv file."
        )
    string = optional("pyarrow", "io").string()  # keeps the leading zeros of ids
    return _Table(table.schema, lambda name: table.open({name: string}), table)


def _wrap_errors(path: str) -> AbstractContextManager[None]:
    # pyarrow may be missing here; its errors are ValueErrors or OSErrors.
    return wrap_errors(path, _FORMATS.get(suffix_of(path), "a table"), ValueError)

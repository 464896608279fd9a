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
from .columns import numeric_type
from .csv_file import CsvTable
from .registry import find_files, open_path, suffix_of
from .source import Source, SourceError, wrap_errors

if TYPE_CHECKING:
    import pyarrow as pa

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")


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
        self._text = None if first is None else first.text
        self.columns: list[TableColumn] | None = None  # of the first file; None: the format has no named columns
        if first is not None:
            self.columns = [
                TableColumn(field.name, str(field.type), numeric_type(field.type) is not None)
                for field in first.schema
            ]

    @property
    def has_header(self) -> bool:
        """Whether the names are in the file. Columns of a CSV file without a header are called f0, f1, ..."""
        return self._text is None or self._text.named

    @property
    def estimated_rows(self) -> int | None:
        """Rows of all files, estimated from the first lines of text; None for other formats."""
        if self._text is None:
            return None
        return round(sum(map(os.path.getsize, self._files)) * self._text.lines_per_byte) or None

    def source(self, columns: Sequence[str] | None, weights: str | None) -> Source:
        """The source that reads these columns."""
        return open_path(self.path, columns, weights, self._text)

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
    text: CsvTable | None = None


def _open(path: str) -> _Table | None:
    suffix = suffix_of(path)
    if suffix in _DELIMITERS:
        return _open_text(path, _DELIMITERS[suffix])
    if suffix in _PARQUET:
        file = optional("pyarrow.parquet", "io").ParquetFile(path)
        return _Table(file.schema_arrow, lambda name: file.iter_batches(columns=[name]))
    return _open_arrow(path) if suffix in _ARROW else None


def _open_text(path: str, delimiter: str) -> _Table:
    table = CsvTable(path, delimiter)
    other = next((sign for sign in ";\t|," if sign in table.first_line and sign != delimiter), None)
    if other is not None and delimiter not in table.first_line:
        raise SourceError(
            f"the first line of {path} contains {other!r} but no {delimiter!r}; fields of a .csv file are "
            "separated by commas, those of a .tsv file by tabs."
        )
    string = optional("pyarrow", "io").string()  # keeps the leading zeros of ids
    return _Table(table.schema, lambda name: table.open({name: string}), table)


def _open_arrow(path: str) -> _Table:
    pyarrow, ipc = optional("pyarrow", "io"), optional("pyarrow.ipc", "io")
    try:
        file = ipc.open_file(pyarrow.memory_map(path))
    except ValueError:  # no footer: perhaps a stream
        stream = ipc.open_stream(pyarrow.memory_map(path))
        return _Table(stream.schema, lambda name: stream)
    return _Table(file.schema, lambda name: map(file.get_batch, range(file.num_record_batches)))


def _wrap_errors(path: str) -> AbstractContextManager[None]:
    suffix = suffix_of(path)
    kind = "text" if suffix in _DELIMITERS else "Parquet" if suffix in _PARQUET else "Arrow or Feather"
    return wrap_errors(path, kind, ValueError)  # pyarrow's errors are ValueErrors or OSErrors

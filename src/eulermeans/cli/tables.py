"""Files with named columns: what their columns are, and one column by itself, which need not be of numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..optional import optional
from ..oracles.sources import SourceError
from ..oracles.sources.columns import kind_of
from ..oracles.sources.files import reading
from ..oracles.sources.opening import ending_of, files_of
from ..oracles.sources.text import TextTable

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
_GLANCE = 1 << 18  # bytes of text from which the number of lines is guessed


@dataclass(frozen=True)
class TableColumn:
    """A column of a table."""

    name: str
    type: str  # as Arrow calls it
    numeric: bool
    given: bool = True  # whether the file gives its name; otherwise it is called f0, f1 and so on


def table_columns(path: str) -> list[TableColumn] | None:
    """The columns of the first file that a path means; None if files of its kind have none with names."""
    first = files_of(path)[0]
    with _reading(first):
        table = _open(first)
    if table is None:
        return None
    return [
        TableColumn(field.name, str(field.type), kind_of(field.type) is not None, table.named)
        for field in table.schema
    ]


def column_blocks(path: str, name: str) -> Iterator[Any]:
    """The values of one column over all files that a path means, as pyarrow Arrays; text as it stands there."""
    for file in files_of(path):
        with _reading(file):
            table = _open(file)
            if table is None or name not in table.schema.names:
                raise SourceError(f"{file} has no column {name}.")
            for batch in table.batches(name):
                yield batch.column(name)


def expected_rows(path: str) -> int | None:
    """A guess at the number of rows of text, by its first lines; None if there is nothing to guess by."""
    files = files_of(path)
    if ending_of(files[0]) not in _DELIMITERS:
        return None
    with open(files[0], "rb") as file:
        glance = file.read(_GLANCE)
    lines = glance.count(b"\n")
    return round(sum(map(os.path.getsize, files)) * lines / len(glance)) if lines else None


@dataclass(frozen=True)
class _Table:
    """A file with named columns."""

    schema: Any  # pyarrow.Schema
    batches: Callable[[str], Iterable[Any]]  # pyarrow RecordBatches that have the column of this name
    named: bool = True


def _open(path: str) -> _Table | None:
    ending = ending_of(path)
    if ending in _DELIMITERS:
        return _text(path, _DELIMITERS[ending])
    if ending in _PARQUET:
        file = optional("pyarrow.parquet", "io").ParquetFile(path)
        return _Table(file.schema_arrow, lambda name: file.iter_batches(columns=[name]))
    return _arrow(path) if ending in _ARROW else None


def _text(path: str, delimiter: str) -> _Table:
    table = TextTable(path, delimiter)
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        line = file.readline()
    other = next((sign for sign in ";\t|," if sign in line and sign != delimiter), None)
    if other is not None and delimiter not in line:
        raise SourceError(
            f"the first line of {path} has {other!r} but no {delimiter!r} between its fields; a .csv file must be "
            "separated by commas, a .tsv file by tabs."
        )
    text = optional("pyarrow", "io").string()  # an id of digits may begin with zeros, and the next be no number
    return _Table(table.schema, lambda name: table.open({name: text}), table.named)


def _arrow(path: str) -> _Table:
    pyarrow, ipc = optional("pyarrow", "io"), optional("pyarrow.ipc", "io")
    pages = pyarrow.memory_map(path)
    try:
        file = ipc.open_file(pages)
    except ValueError:  # no footer: perhaps a stream
        stream = ipc.open_stream(pyarrow.memory_map(path))
        return _Table(stream.schema, lambda name: stream)
    return _Table(file.schema, lambda name: map(file.get_batch, range(file.num_record_batches)))


def _reading(path: str) -> AbstractContextManager[None]:
    ending = ending_of(path)
    kind = "text" if ending in _DELIMITERS else "Parquet" if ending in _PARQUET else "Arrow or Feather"
    return reading(path, kind, ValueError)  # pyarrow's own errors are ValueErrors or OSErrors

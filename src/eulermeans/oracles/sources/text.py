"""Numbers as text: .csv and .tsv files, with a first line of names or without."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

from ...optional import optional
from .base import CHUNK_BYTES, Chunk, SourceError
from .columns import layout
from .files import reading
from .tabular import Tabular

_BLOCK_BYTES = 1 << 20  # of text that are read together, where there is memory for
_BLOCKS_AHEAD = 32  # of them, which pyarrow reads ahead
_MISSING = {"", "na", "n/a", "null", "none", "#n/a"}  # no names of columns


class TextTable:
    """A file of rows of fields. Its first line is one of names if any field of it is no number."""

    def __init__(self, path: str, delimiter: str) -> None:
        self.path, self._delimiter = path, delimiter
        with open(path, "rb") as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            lines = [text.readline(), text.readline()]
            self._smallest_block = 8 * max(map(len, lines))  # a line must fit in it
            file.seek(0)
            # One byte more than a block tells pyarrow that the file goes on.
            self._first_block = file.read(max(self._smallest_block, _BLOCK_BYTES) + 1)
        if not lines[0].strip():
            raise SourceError(f"{path} is empty: its first line has nothing in it.")
        self.first_line = lines[0]
        self.lines_per_byte = self._first_block.count(b"\n") / len(self._first_block)
        first, second = ([_is_number(field) for field in fields] for fields in _split(lines, delimiter))
        self.named = not all(first)
        self._numbers = second if self.named else first

    @cached_property
    def schema(self) -> Any:
        """The types of the columns, of which all that begin with a number are read as float64.

        Types are inferred from the first block of a pass, which was read when the file was opened.
        """
        pyarrow = optional("pyarrow", "io")
        kinds = pyarrow.types
        fields = []
        reader = self.open({}, use_threads=False, file=pyarrow.BufferReader(self._first_block))
        self._first_block = b""  # there may be thousands of files
        for i, field in enumerate(reader.schema):
            number = i < len(self._numbers) and self._numbers[i]
            number = number or any(is_one(field.type) for is_one in (kinds.is_floating, kinds.is_null))
            fields.append(field.with_type(pyarrow.float64()) if number else field)
        return pyarrow.schema(fields)

    def open(
        self,
        types: dict[str, Any],
        *,
        use_threads: bool = True,
        most_bytes: int = _BLOCKS_AHEAD * _BLOCK_BYTES,
        file: Any = None,  # what to read; None: the whole file
    ) -> Any:
        """A reader of the columns of these types, or of all columns, whose types are then guessed."""
        pyarrow_csv = optional("pyarrow.csv", "io")
        block = max(self._smallest_block, min(_BLOCK_BYTES, most_bytes // _BLOCKS_AHEAD))
        return pyarrow_csv.open_csv(
            self.path if file is None else file,
            read_options=pyarrow_csv.ReadOptions(
                block_size=block, autogenerate_column_names=not self.named, use_threads=use_threads
            ),
            parse_options=pyarrow_csv.ParseOptions(delimiter=self._delimiter),
            convert_options=pyarrow_csv.ConvertOptions(column_types=types, include_columns=list(types)),
        )


class TextSource(Tabular):
    """A file of rows of numbers."""

    n_points: int | None = None

    def __init__(
        self,
        path: str | TextTable,
        columns: Sequence[str] | None = None,
        weights: str | None = None,
        *,
        delimiter: str = ",",
    ) -> None:
        self.path = path.path if isinstance(path, TextTable) else path
        with self._reading():
            self._table = path if isinstance(path, TextTable) else TextTable(path, delimiter)
            super().__init__(self.path, layout(self._table.schema, self.path, columns, weights, lambda _: None))
        if not self._table.named:
            self.feature_names = None

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        pyarrow = optional("pyarrow", "io")
        types = {c.name: pyarrow.from_numpy_dtype(c.dtype) for c in self.layout.columns}
        if self.layout.weights is not None:
            types[self.layout.weights] = pyarrow.float64()
        first = 0
        with self._reading():
            try:
                for batch in self._table.open(types, most_bytes=most_bytes):
                    yield from self.sliced(batch, self.path, first, most_bytes)
                    first += batch.num_rows
            except pyarrow.ArrowInvalid as error:
                raise self._with_row(error, types) from error

    def _with_row(self, error: Exception, types: dict[str, Any]) -> Exception:
        """The same error with the number of the row, which only a reader without threads knows."""
        try:
            for _ in self._table.open(types, use_threads=False):
                pass
        except type(error) as better:
            return better
        return error

    def _reading(self) -> AbstractContextManager[None]:
        return reading(self.path, "a table of text", optional("pyarrow", "io").ArrowException, ValueError)


def _split(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    return (next(csv.reader([line], delimiter=delimiter), []) for line in lines)


def _is_number(field: str) -> bool:
    if field.strip().lower() in _MISSING:
        return True
    try:
        float(field)
    except ValueError:
        return False
    return True

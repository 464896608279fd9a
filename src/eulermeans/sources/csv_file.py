"""Numbers as text: .csv and .tsv files, with a first line of names or without."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..optional import optional
from .arrow_columns import TabularSource, layout
from .numpy_files import wrap_errors
from .source import CHUNK_BYTES, Chunk, SourceError

_BLOCK_BYTES = 1 << 20  # of text that are read together, where there is memory for
_BLOCKS_AHEAD = 32  # of them, which pyarrow reads ahead
_MISSING = {"", "na", "n/a", "null", "none", "#n/a"}  # no names of columns


class CsvTable:
    """A file of rows of fields. Its first line is one of names if any field of it is no number."""

    def __init__(self, path: str, delimiter: str) -> None:
        self.path, self._delimiter = path, delimiter
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = [file.readline(), file.readline()]
        if not lines[0].strip():
            raise SourceError(f"{path} is empty: its first line has nothing in it.")
        self._smallest_block = 8 * max(map(len, lines))  # a line must fit in it
        first, second = ([_is_number(field) for field in fields] for fields in _split(lines, delimiter))
        self.named = not all(first)
        self._numbers = second if self.named else first

    def schema(self) -> Any:
        """The types of the columns, of which all that begin with a number are read as float64."""
        pyarrow = optional("pyarrow", "io")
        kinds = pyarrow.types
        fields = []
        for i, field in enumerate(self.open({}, use_threads=False).schema):
            number = i < len(self._numbers) and self._numbers[i]
            number = number or any(is_one(field.type) for is_one in (kinds.is_floating, kinds.is_null))
            fields.append(field.with_type(pyarrow.float64()) if number else field)
        return pyarrow.schema(fields)

    def open(
        self, types: dict[str, Any], *, use_threads: bool = True, most_bytes: int = _BLOCKS_AHEAD * _BLOCK_BYTES
    ) -> Any:
        """A reader of the columns of these types, or of all columns, whose types are then guessed."""
        pyarrow_csv = optional("pyarrow.csv", "io")
        block = max(self._smallest_block, min(_BLOCK_BYTES, most_bytes // _BLOCKS_AHEAD))
        return pyarrow_csv.open_csv(
            self.path,
            read_options=pyarrow_csv.ReadOptions(
                block_size=block, autogenerate_column_names=not self.named, use_threads=use_threads
            ),
            parse_options=pyarrow_csv.ParseOptions(delimiter=self._delimiter),
            convert_options=pyarrow_csv.ConvertOptions(column_types=types, include_columns=list(types)),
        )


class CsvSource(TabularSource):
    """A file of rows of numbers."""

    n_points: int | None = None

    def __init__(
        self,
        path: str,
        columns: Sequence[str] | None = None,
        weights: str | None = None,
        *,
        delimiter: str = ",",
    ) -> None:
        self.path = path
        with self._reading():
            self._table = CsvTable(path, delimiter)
            super().__init__(path, layout(self._table.schema(), path, columns, weights, lambda _: None))
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
        return wrap_errors(self.path, "a table of text", optional("pyarrow", "io").ArrowException, ValueError)


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

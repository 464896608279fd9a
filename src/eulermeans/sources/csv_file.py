"""Delimited text: .csv and .tsv files, with a header or without.

`CsvTable` inspects the beginning of a file. `CsvSource` reads the rows of a file that has been inspected.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..optional import optional
from .columns import TabularSource, wrap_arrow_errors
from .source import CHUNK_BYTES, Chunk, SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.csv as pc

_BLOCK_BYTES = 1 << 20  # text that is parsed together, if the memory limit allows
_BLOCKS_AHEAD = 32  # blocks that pyarrow reads ahead
_LONGEST_LINE = 1 << 25  # characters of the first lines: a million columns of numbers have fewer
DELIMITERS = {".csv": ",", ".tsv": "\t"}  # by suffix
_MISSING = {"", "na", "n/a", "null", "none", "#n/a"}  # fields that stand for a missing number


class CsvTable:
    """The columns of a text file, and readers of them. The first line is a header if any field is not a number.

    The file is opened once to inspect it.
    """

    def __init__(self, path: str, delimiter: str = ",") -> None:
        self.path, self._delimiter = path, delimiter
        with open(path, "rb") as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            lines = [text.readline(_LONGEST_LINE), text.readline(_LONGEST_LINE)]
            if max(map(len, lines)) >= _LONGEST_LINE:
                raise SourceError(f"{path} has a line of more than {_LONGEST_LINE} characters at its beginning.")
            self._smallest_block = 8 * max(map(len, lines))  # pyarrow needs a whole line in a block
            file.seek(0)
            # One byte more than a block tells pyarrow that the file goes on.
            self._first_block = file.read(max(self._smallest_block, _BLOCK_BYTES) + 1)
        if not lines[0].strip():
            raise SourceError(f"{path} is empty: its first line is blank.")
        self.first_line = lines[0]
        self.lines_per_byte = self._first_block.count(b"\n") / len(self._first_block)
        try:
            first, second = ([_is_number(field) for field in fields] for fields in _split(lines, delimiter))
        except csv.Error as error:  # the module's limit for a field
            raise SourceError(f"can't read the first lines of {path} as delimited text: {error}.") from error
        self.named = not all(first)
        self._numbers = second if self.named else first
        self._schema: pa.Schema | None = None

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns. Those whose first value is a number are float64.

        Other types are inferred from the first block, as pyarrow does when it reads the file.
        """
        if self._schema is None:  # not functools.cached_property, whose lock a forked child might wait for
            self._schema = self._inferred_schema()
        return self._schema

    def _inferred_schema(self) -> pa.Schema:
        pyarrow = optional("pyarrow", "io")
        kinds = pyarrow.types
        reader = self.open({}, use_threads=False, file=pyarrow.BufferReader(self._first_block))
        self._first_block = b""  # there may be thousands of files
        fields = []
        for i, field in enumerate(reader.schema):
            number = i < len(self._numbers) and self._numbers[i]
            number = number or kinds.is_floating(field.type) or kinds.is_null(field.type)
            fields.append(field.with_type(pyarrow.float64()) if number else field)
        return pyarrow.schema(fields)

    def block_bytes(self, most_bytes: int) -> int:
        """The text that is parsed together if blocks that are read ahead take `most_bytes`; a line must fit."""
        return max(self._smallest_block, min(_BLOCK_BYTES, most_bytes // _BLOCKS_AHEAD))

    def open(
        self,
        types: dict[str, pa.DataType],  # of the columns to read; empty: all columns, whose types are inferred
        *,
        use_threads: bool = True,
        most_bytes: int = _BLOCKS_AHEAD * _BLOCK_BYTES,
        file: pa.NativeFile | None = None,  # what to read; None: the file at `path`
    ) -> pc.CSVStreamingReader:
        """A reader of record batches."""
        pyarrow_csv = optional("pyarrow.csv", "io")
        block = self.block_bytes(most_bytes)
        return pyarrow_csv.open_csv(
            self.path if file is None else file,
            read_options=pyarrow_csv.ReadOptions(
                block_size=block, autogenerate_column_names=not self.named, use_threads=use_threads
            ),
            parse_options=pyarrow_csv.ParseOptions(delimiter=self._delimiter),
            convert_options=pyarrow_csv.ConvertOptions(column_types=types, include_columns=list(types)),
        )


class CsvSource(TabularSource):
    """The rows of a text file."""

    def __init__(
        self,
        table: str | CsvTable,  # a path, or a file that has been inspected
        columns: Sequence[str] | None = None,
        weights: str | None = None,
        *,
        delimiter: str = ",",
    ) -> None:
        path = table if isinstance(table, str) else table.path
        with wrap_arrow_errors(path, "delimited text"):
            self._table = CsvTable(table, delimiter) if isinstance(table, str) else table
            super().__init__(path, self._table.schema, columns, weights)
            self.files = [path]
        if not self._table.named:
            self.feature_names = None

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        pyarrow = optional("pyarrow", "io")
        types = {column.name: pyarrow.from_numpy_dtype(column.dtype) for column in self.columns}
        if self.weights_column is not None:
            types[self.weights_column] = pyarrow.float64()
        first = 0
        with wrap_arrow_errors(self.name, "delimited text"):
            try:
                for batch in self._table.open(types, most_bytes=most_bytes):
                    yield from self.split_batch(batch, self.name, first, most_bytes)
                    first += batch.num_rows
            except pyarrow.ArrowInvalid as error:
                raise self._error_with_row(error, types) from error

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks: blocks that are read ahead, as text and as numbers."""
        return 2 * _BLOCKS_AHEAD * self._table.block_bytes(most_bytes)

    def _error_with_row(self, error: Exception, types: dict[str, pa.DataType]) -> Exception:
        """The same error with the number of the row, which pyarrow gives only if it reads without threads."""
        try:
            for _ in self._table.open(types, use_threads=False):
                pass
        except type(error) as better:
            return better
        return error


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

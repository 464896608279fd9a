"""Delimited text: .csv and .tsv files, with a header or without, perhaps compressed.

`CsvTable` inspects the beginning of a file. `CsvSource` reads the rows of a file that has been inspected.
"""

from __future__ import annotations

import codecs
import csv
import lzma
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from ..optional import optional
from .columns import TabularSource, wrap_arrow_errors
from .csv_dialect import (
    MISSING,
    CsvOptions,
    Dialect,
    decoded,
    find_compression,
    find_dialect,
    find_encoding,
    find_preamble,
    is_missing,
    without_lines,
)
from .source import CHUNK_BYTES, Chunk, SourceError, row_name

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.csv as pc

_BLOCK_BYTES = 1 << 20  # text that is parsed together, if the memory limit allows
_BLOCKS_AHEAD = 32  # blocks that pyarrow reads ahead
_LONGEST_LINE = 1 << 25  # characters of the first lines: a million columns of numbers have fewer
_MOSTLY = 0.9  # a column with this share of numbers in the first lines is one of numbers with mistakes
DELIMITERS = {".csv": ",", ".tsv": "\t"}  # by suffix
# In fields of numbers, dates and categories; text that is only passed on is left as it is.
_NULLS = {form for each in MISSING for form in (each, each.upper(), each.capitalize())} | {"NaN", "-nan", "-NaN"}


class CsvTable:
    """The columns of a text file, and readers of them. The first line is a header if any field is not a number.

    The file is opened once to inspect it.
    """

    def __init__(
        self, path: str, delimiter: str = ",", options: CsvOptions | None = None, *, keep_rows: bool = False
    ) -> None:
        self.path, self.options = path, options or CsvOptions()
        with open(path, "rb") as file:
            self.compression = find_compression(file.read(4))
            file.seek(0)
            start, is_whole = self._read_start(file)
        if not start.strip():
            raise SourceError(f"{path} is empty: its first line is blank.")
        self.encoding = self.options.encoding or find_encoding(start, is_whole)
        self.dialect, text = self._find_dialect(start, is_whole, delimiter)
        self.encoding = "utf8" if codecs.lookup(self.encoding).name.startswith("utf-8") else self.encoding
        self._first_block, self._is_whole = start if self.encoding == "utf8" else text.encode(), is_whole
        self.lines_per_byte = 0.0 if self.compression else start.count(b"\n") / len(start)  # 0: unknown
        header, *others = lines = self.dialect.lines
        self._has_line_breaks = any("\n" in field for line in lines for field in line)
        self.named = not all(self.dialect.is_number(field) or is_missing(field) for field in header)
        self._numbers = self._number_columns(others if self.named else lines, len(header))
        self.dialect = replace(self.dialect, lines=[])  # there may be thousands of files
        self._keep_rows = keep_rows
        self._schema: pa.Schema | None = None
        self.first_rows: pa.RecordBatch | None = None  # with inferred types; only if they are to be kept

    def _find_dialect(self, start: bytes, is_whole: bool, delimiter: str) -> tuple[Dialect, str]:
        """The dialect, and the text that it was found from."""
        try:
            text = decoded(start, self.encoding, is_whole)
            table = without_lines(text, self.options.skip_rows)
            if (n_lines := find_preamble(table, is_whole)) > 0:
                first = next((line.strip() for line in table.splitlines() if line.strip()), "")
                raise SourceError(
                    f"{self.path} has {n_lines} line{'s' if n_lines > 1 else ''} before the table, such as "
                    f"{first[:40]!r}; leave them out with --skip-rows {self.options.skip_rows + n_lines}."
                )
            if not re.split("[\r\n]", table, maxsplit=1)[0].strip():
                skipped = f" after {self.options.skip_rows} skipped" if self.options.skip_rows else ""
                raise SourceError(f"{self.path} is empty: its first line{skipped} is blank.")
            return find_dialect(table, is_whole, delimiter, self.options), text
        except UnicodeError as error:
            raise SourceError(f"can't read {self.path} as delimited text: {error}.") from error
        except csv.Error as error:  # the module's limit for a field
            raise SourceError(f"can't read the first lines of {self.path} as delimited text: {error}.") from error

    def _read_start(self, file: BinaryIO) -> tuple[bytes, bool]:
        """The first lines of the file, decompressed, at least a block; and whether that is all of it."""
        if self.compression is not None:
            file = self._decompressed(file)
        # One byte more than a block tells pyarrow that the file goes on.
        parts = [file.read(_BLOCK_BYTES + 1)]
        while parts[-1] and sum(part.count(b"\n") + part.count(b"\r") for part in parts) < 2:
            if sum(map(len, parts)) >= _LONGEST_LINE:
                break
            parts.append(file.read(_BLOCK_BYTES))
        start = b"".join(parts)
        longest = max(map(len, re.split(rb"[\r\n]+", start, maxsplit=2)[:2]))
        if longest >= _LONGEST_LINE:
            raise SourceError(f"{self.path} has a line of more than {_LONGEST_LINE} characters at its beginning.")
        self._smallest_block = 8 * longest  # pyarrow needs a whole line in a block
        if len(start) <= self._smallest_block:
            start += file.read(self._smallest_block + 1 - len(start))
        return start, not file.read(1)

    def _decompressed(self, file: BinaryIO) -> BinaryIO | pa.NativeFile:
        if self.compression == "xz":
            return lzma.LZMAFile(file)
        pyarrow = optional("pyarrow", "io")
        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, "r"), self.compression)

    def _number_columns(self, lines: Sequence[Sequence[str]], n_columns: int) -> list[bool]:
        """Which columns have numbers in most of these lines."""
        found = []
        for column in range(n_columns):
            filled = [line[column] for line in lines if column < len(line) and not is_missing(line[column])]
            found.append(bool(filled) and sum(map(self.dialect.is_number, filled)) >= _MOSTLY * len(filled))
        return found

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns. Columns of numbers are float64.

        Other types are inferred from the first block, as pyarrow does when it reads the file.
        """
        if self._schema is None:  # not functools.cached_property, whose lock a forked child might wait for
            self._schema = self._inferred_schema()
        return self._schema

    def _inferred_schema(self) -> pa.Schema:
        pyarrow = optional("pyarrow", "io")
        kinds = pyarrow.types
        block = self.block_bytes(_BLOCKS_AHEAD * _BLOCK_BYTES)
        if not self._is_whole:  # pyarrow must not take the end of the block for the end of the file
            block = min(block, len(self._first_block) - 1)
        start = pyarrow.BufferReader(self._first_block)
        reader = self._open(start, "utf8", {}, block, use_threads=False)
        if self._keep_rows:
            self.first_rows = next(iter(reader), None)
        self._first_block = b""
        fields = []
        for i, field in enumerate(reader.schema):
            number = i < len(self._numbers) and self._numbers[i]
            number = number or kinds.is_integer(field.type) or kinds.is_floating(field.type)
            number = number or kinds.is_null(field.type)
            fields.append(field.with_type(pyarrow.float64()) if number else field)
        return pyarrow.schema(fields)

    def block_bytes(self, most_bytes: int) -> int:
        """The text that is parsed together if blocks that are read ahead take `most_bytes`; a line must fit."""
        return max(self._smallest_block, min(_BLOCK_BYTES, most_bytes // _BLOCKS_AHEAD))

    def batches(
        self,
        types: Mapping[str, pa.DataType],  # of the columns to read
        *,
        use_threads: bool = True,
        most_bytes: int = _BLOCKS_AHEAD * _BLOCK_BYTES,
        nulls_in_text: bool = False,  # whether fields of text can be missing, rather than be empty or "NA"
    ) -> Iterator[pa.RecordBatch]:
        """The columns of all rows."""
        pyarrow = optional("pyarrow", "io")
        grouped = [
            name for name, kind in types.items() if self.dialect.numbers.thousands and kind == pyarrow.float64()
        ]
        read = {**types, **dict.fromkeys(grouped, pyarrow.string())}
        file: str | pa.NativeFile = self.path
        if self.compression == "xz":
            file = pyarrow.PythonFile(lzma.LZMAFile(self.path), "r")  # noqa: SIM115 - the reader closes it
        elif self.compression is not None:
            file = pyarrow.input_stream(self.path, compression=self.compression)
        block, first = self.block_bytes(most_bytes), 0
        for batch in self._open(file, self.encoding, read, block, use_threads=use_threads, nulls=nulls_in_text):
            for name in grouped:
                place = batch.schema.get_field_index(name)
                batch = batch.set_column(place, name, self._parsed(batch.column(place), name, first))
            yield batch
            first += batch.num_rows

    def _open(
        self,
        file: str | pa.NativeFile,
        encoding: str,
        types: dict[str, pa.DataType],  # of the columns to read; empty: all columns, whose types are inferred
        block: int,  # bytes
        *,
        use_threads: bool,
        nulls: bool = False,
    ) -> pc.CSVStreamingReader:
        """A reader of record batches."""
        pyarrow_csv = optional("pyarrow.csv", "io")
        return pyarrow_csv.open_csv(
            file,
            read_options=pyarrow_csv.ReadOptions(
                block_size=block,
                skip_rows=self.options.skip_rows,
                autogenerate_column_names=not self.named,
                use_threads=use_threads,
                encoding=encoding,
            ),
            parse_options=pyarrow_csv.ParseOptions(
                delimiter=self.dialect.delimiter, newlines_in_values=self._has_line_breaks
            ),
            convert_options=pyarrow_csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=sorted(_NULLS),
                strings_can_be_null=nulls,
                decimal_point=self.dialect.numbers.decimal,
            ),
        )

    def _parsed(self, texts: pa.Array, column: str, first: int) -> pa.Array:
        """Numbers with separated thousands."""
        pyarrow, compute = optional("pyarrow", "io"), optional("pyarrow.compute", "io")
        style = self.dialect.numbers
        is_null = compute.is_in(compute.utf8_trim_whitespace(texts), value_set=pyarrow.array(sorted(_NULLS)))
        texts = compute.if_else(is_null, pyarrow.scalar(None, pyarrow.string()), texts)
        wrong = compute.invert(compute.match_substring_regex(texts, f"^({style.pattern})$"))
        if (row := compute.index(wrong, True).as_py()) >= 0:
            name = row_name(first + row, self.path)
            raise SourceError(f"{name} has {texts[row].as_py()!r} in column {column!r}, which is not a number.")
        plain = compute.replace_substring(compute.utf8_trim_whitespace(texts), style.thousands, "")
        return compute.replace_substring(plain, style.decimal, ".").cast(pyarrow.float64())


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
                for batch in self._table.batches(types, most_bytes=most_bytes):
                    yield from self.split_batch(batch, self.name, first, most_bytes)
                    first += batch.num_rows
            except pyarrow.ArrowInvalid as error:
                raise error_with_row(error, self._table, types) from error

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks: blocks that are read ahead, as text and as numbers."""
        return 2 * _BLOCKS_AHEAD * self._table.block_bytes(most_bytes)


def error_with_row(error: Exception, table: CsvTable, types: Mapping[str, pa.DataType]) -> Exception:
    """The same error with the number of the row, which pyarrow gives only if it reads without threads."""
    try:
        for _ in table.batches(types, use_threads=False):
            pass
    except type(error) as better:
        return better
    return error

"""How a text file is written: its compression, its encoding, what separates fields, and how numbers look.

All are found from the beginning of the file. `CsvOptions` says them instead. Reads no rows: pyarrow does that.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

MISSING = {
    "",
    "na",
    "n/a",
    "n.a.",
    "null",
    "none",
    "nan",
    "#n/a",
    "?",
    "-",
}  # fields without a value, in lower case
# By the first bytes, as pyarrow calls them.
_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\xfd7zX": "xz",  # which pyarrow does not read, but Python does
}
_MARKS = {  # byte order marks; that of UTF-16 is the beginning of one of UTF-32
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8",
}
_DELIMITERS = "\t;|,"
_SPACES = (" ", "\u00a0", "\u202f", "'")  # between thousands, besides comma and point
_SAMPLE_LINES = 1000
_SAMPLE_FIELDS = 100_000  # in all lines of the sample
_FEWEST_LINES = 20  # of the sample, however many fields they have
_LONGEST_PREAMBLE = 50  # lines


@dataclass(frozen=True)
class CsvOptions:
    """What a person says about text files. None: it is found from the file."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    skip_rows: int = 0  # lines before the header

    def __post_init__(self) -> None:
        if self.skip_rows < 0:
            raise ValueError(f"skip_rows={self.skip_rows} is not a number of lines.")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter={self.delimiter!r} is not one character, such as ',' or ';'.")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal={self.decimal!r} is not a decimal sign; it must be '.' or ','.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise ValueError(
                f"encoding={self.encoding!r} is not an encoding of text; try utf-8, utf-16, latin-1 or cp1252."
            ) from None


@dataclass(frozen=True)
class NumberStyle:
    """How numbers are written."""

    decimal: str = "."
    thousands: str = ""  # what separates groups of three digits; empty: nothing

    @property
    def pattern(self) -> str:
        """A regular expression for the whole of a field."""
        point, comma = re.escape(self.decimal), re.escape(self.thousands)
        digits = r"\d+" if not comma else rf"([1-9]\d{{0,2}}({comma}\d{{3}})+|\d+)"
        return rf"\s*[+-]?({digits}({point}\d*)?|{point}\d+)([eE][+-]?\d+)?\s*"


@dataclass(frozen=True)
class Dialect:
    """How the fields of a text file are written, and the first of its lines."""

    delimiter: str
    numbers: NumberStyle
    lines: list[list[str]]  # the fields of the first lines, blank lines left out

    def is_number(self, field: str) -> bool:
        """Whether a field is a number in this file, or `inf`."""
        if re.fullmatch(self.numbers.pattern, field, re.ASCII):
            return True
        return field.strip().lower().lstrip("+-") in ("inf", "infinity")


def is_missing(field: str) -> bool:
    """Whether a field stands for a missing value."""
    return field.strip().lower() in MISSING


def find_compression(start: bytes) -> str | None:
    """How a file with these first bytes is compressed; None: it is not."""
    return next((name for magic, name in _COMPRESSIONS.items() if start.startswith(magic)), None)


def find_encoding(start: bytes, is_whole: bool) -> str:
    """The encoding of a text with these first bytes: by its mark, or UTF-8, or else that of western Windows."""
    for mark, name in _MARKS.items():
        if start.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=is_whole)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def decoded(start: bytes, encoding: str, is_whole: bool) -> str:
    """The text that begins with these bytes, without a mark and without a character that is cut at its end."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start, final=is_whole)
    except UnicodeDecodeError as error:
        reason = f"it is not text in {encoding} ({error.reason}); give its encoding with --encoding"
        raise UnicodeError(reason) from error
    if "\0" in text:
        raise UnicodeError("it contains null characters; if it is text, give its encoding with --encoding")
    return text.removeprefix("\ufeff")


def find_dialect(text: str, is_whole: bool, usual: str, options: CsvOptions) -> Dialect:
    """The dialect of a file that begins with this text. `usual` is the delimiter that its name suggests."""
    delimiter = options.delimiter or _find_delimiter(text, is_whole, usual)
    lines = _fields(text, is_whole, delimiter)
    return Dialect(delimiter, _find_numbers(lines, delimiter, options.decimal), lines)


def without_lines(text: str, n_lines: int) -> str:
    """The text after this many lines; empty if it has no more."""
    return text if n_lines == 0 else (re.split(r"\r\n|\n|\r", text, maxsplit=n_lines)[n_lines:] or [""])[0]


def find_preamble(text: str, is_whole: bool) -> int:
    """How many lines stand before a table. They have fewer fields than all lines after them.

    None do if another delimiter divides the first two lines alike: these are a header and a row.
    """
    lines = re.split(r"\r\n|\n|\r", text, maxsplit=_SAMPLE_LINES)[:_SAMPLE_LINES]
    lines = lines if is_whole else lines[:-1]
    while lines and not lines[-1].strip():
        lines.pop()
    found: dict[str, int] = {}
    divides_two: set[str] = set()
    for sign in _DELIMITERS:
        with suppress(csv.Error):  # a line without this sign is one field, which may be too long for the module
            n_fields = [len(next(csv.reader([line], delimiter=sign), [])) for line in lines]
            if len(n_fields) > 1 and n_fields[0] == n_fields[1] > 1:
                divides_two.add(sign)
            if (n_lines := _lines_before(n_fields)) is not None:
                found[sign] = n_lines
    return min((n_lines for sign, n_lines in found.items() if not divides_two - {sign}), default=0)


def _lines_before(n_fields: list[int]) -> int | None:
    """Where lines begin that all have as many fields, more than those before; None if they are not a table."""
    most = n_fields[-1] if n_fields else 0
    first = n_fields.index(most) if n_fields else 0
    if most < 2 or len(n_fields) - first < 2 or set(n_fields[first:]) != {most}:
        return None
    if first > _LONGEST_PREAMBLE or any(number >= most for number in n_fields[:first]):
        return None
    if most > 2 and n_fields[:first] == [most - 1]:  # a header that does not name the index
        return None
    return first


def _find_delimiter(text: str, is_whole: bool, usual: str) -> str:
    """The sign that divides every line into as many fields; of several, the one that leaves most numbers."""
    best, most = "", -1.0
    for sign in (usual, *_DELIMITERS.replace(usual, "")):
        try:
            lines = _fields(text, is_whole, sign)
        except csv.Error:  # a line without this sign is one field, which may be too long for the module
            continue
        if len({len(fields) for fields in lines}) == 1 and len(lines[0]) > 1:
            filled = [field for fields in lines for field in fields if not is_missing(field)]
            share = sum(_is_any_number(field) for field in filled) / max(1, len(filled))
            best, most = (sign, share) if share > most else (best, most)
    first_line = re.split(r"[\r\n]", text, maxsplit=1)[0]
    return best or max((usual, *_DELIMITERS), key=first_line.count)  # the first of the largest: the usual one


def _is_any_number(field: str) -> bool:
    return re.fullmatch(r"\s*[+-]?\d[\d.,' \u00a0\u202f]*([eE][+-]?\d+)?\s*", field, re.ASCII) is not None


def _fields(text: str, is_whole: bool, delimiter: str) -> list[list[str]]:
    """The fields of the first lines. The last line of a text that goes on may be cut, so it is left out."""
    lines: list[list[str]] = []
    n_fields = 0
    for fields in islice(_records(text, delimiter), _SAMPLE_LINES + 1):
        lines.append(fields)
        n_fields += len(fields)
        if n_fields > _SAMPLE_FIELDS and len(lines) > _FEWEST_LINES:
            break
    return lines if is_whole or len(lines) < 2 else lines[:-1]


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    return (fields for fields in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if fields)


def _find_numbers(lines: Sequence[Sequence[str]], delimiter: str, decimal: str | None) -> NumberStyle:
    """The style in which most fields are numbers; of several, the first of `_styles`."""
    fields = [field for line in lines for field in line if re.search(r"\d[.,' \u00a0\u202f]\d|^[.,]\d", field)]
    styles = [style for style in _styles(delimiter) if decimal in (None, style.decimal)]
    counts = {
        style: sum(bool(re.fullmatch(style.pattern, field, re.ASCII)) for field in fields) for style in styles
    }
    return max(styles, key=lambda style: counts[style])


def _styles(delimiter: str) -> list[NumberStyle]:
    """All styles, the likelier ones first: who separates fields by semicolons needs the comma for decimals."""
    doubtful = [NumberStyle(".", ","), NumberStyle(",")]  # 1,234
    others = [NumberStyle(decimal, space) for space in _SPACES for decimal in ".,"]
    return [NumberStyle("."), *(doubtful[::-1] if delimiter == ";" else doubtful), NumberStyle(",", "."), *others]

"""Text files as people have them: separators, decimal signs, thousands, encodings, compression."""

from __future__ import annotations

import bz2
import csv
import datetime
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from eulermeans import SourceError, as_source
from eulermeans.sources import CsvOptions, TableFiles
from eulermeans.sources.csv_dialect import find_preamble
from eulermeans.sources.csv_file import CsvTable

NUMBERS = np.array([[1234.5, -0.25, 3], [20.75, 1e-3, 12_345_678], [999, 7, 1_000_000.5]])


def rows_of(path, **options) -> np.ndarray:
    source = TableFiles(str(path), CsvOptions(**options)).source(None, None)
    return np.concatenate([chunk.points for chunk in source.chunks()])


def formatted(number: float, decimal: str, thousands: str) -> str:
    text = f"{number:,.4f}".rstrip("0").rstrip(".")
    return text.replace(",", "_").replace(".", decimal).replace("_", thousands)


def as_text(delimiter: str, decimal: str, thousands: str, header: bool, times: int = 1) -> str:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    if header:
        writer.writerow(["größe", "b", "c"])
    n_before = len(file.getvalue())
    for row in NUMBERS:
        writer.writerow([formatted(number, decimal, thousands) for number in row])
    text = file.getvalue()
    return text[:n_before] + times * text[n_before:]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(
    ("decimal", "thousands"),
    [
        (decimal, thousands)
        for decimal in ".,"
        for thousands in ["", ",", ".", " ", "\u00a0", "\u202f", "'"]
        if thousands != decimal
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_way_to_write_numbers(delimiter, decimal, thousands, header, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(as_text(delimiter, decimal, thousands, header), encoding="utf-8", newline="")
    source = as_source(path)
    assert source.feature_names == (["größe", "b", "c"] if header else None)
    np.testing.assert_array_equal(rows_of(path), NUMBERS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "latin-1"])
def test_encodings(encoding, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(as_text(";", ",", "", True, times=20_000).encode(encoding))  # several blocks
    files = TableFiles(str(path))
    assert [column.name for column in files.columns] == ["größe", "b", "c"]
    np.testing.assert_array_equal(rows_of(path), np.tile(NUMBERS, (20_000, 1)))


@pytest.mark.parametrize("encoding", ["utf-16-le", "cp437"])
def test_encodings_that_must_be_said(encoding, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(as_text(",", ".", "", True).encode(encoding))
    np.testing.assert_array_equal(rows_of(path, encoding=encoding), NUMBERS)
    assert TableFiles(str(path), CsvOptions(encoding=encoding)).columns[0].name == "größe"


COMPRESSED = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
}


@pytest.mark.parametrize("suffix", COMPRESSED)
@pytest.mark.parametrize("named", [True, False], ids=["named so", "not named so"])
def test_compressed_files(suffix, named, tmp_path):
    path = tmp_path / f"data.csv{suffix if named else ''}"
    path.write_bytes(COMPRESSED[suffix](as_text(";", ",", ".", True, times=8000).encode("utf-16")))
    files = TableFiles(str(path))
    assert files.estimated_rows is None
    np.testing.assert_array_equal(rows_of(path), np.tile(NUMBERS, (8000, 1)))


def test_compressed_files_in_parts(tmp_path):
    for number in range(3):
        (tmp_path / f"part-{number}.tsv.gz").write_bytes(gzip.compress(as_text("\t", ".", "", True).encode()))
    np.testing.assert_array_equal(rows_of(tmp_path / "part-*.tsv.gz"), np.tile(NUMBERS, (3, 1)))


def test_a_compressed_file_that_is_cut_short(tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(as_text(",", ".", "", True, times=100_000).encode())[:-1000])
    with pytest.raises(SourceError, match=r"can't read .*data.csv.gz as delimited text"):
        rows_of(path)


def test_other_compressions_are_named(tmp_path):
    (tmp_path / "data.csv.7z").write_bytes(b"7z\xbc\xaf\x27\x1c")
    with pytest.raises(SourceError, match=r"data.csv.7z is compressed; decompress it"):
        as_source(tmp_path / "data.csv.7z")


# Lines before the header


PREAMBLES = {
    "comments": "# exported by a program\n# on a day\n",
    "a title and a blank line": "Sales of 2024\n\n",
    "blank lines": "\n\n",
    "fields": "report;sales\nyear;2024\n",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("preamble", PREAMBLES.values(), ids=PREAMBLES)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_lines_before_the_table_are_left_out_when_told(preamble, end, encoding, tmp_path):
    path = tmp_path / "data.csv"
    text = (preamble + as_text(";", ",", ".", True, times=2)).replace("\r\n", "\n").replace("\n", end)
    path.write_bytes(text.encode(encoding))
    with pytest.raises(SourceError, match=r"has 2 lines before the table.*--skip-rows 2"):
        TableFiles(str(path))
    files = TableFiles(str(path), CsvOptions(skip_rows=2))
    assert [column.name for column in files.columns] == ["größe", "b", "c"]
    np.testing.assert_array_equal(rows_of(path, skip_rows=2), np.tile(NUMBERS, (2, 1)))


def test_more_lines_before_the_table_than_told(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("one\ntwo\nthree\na,b\n1,2\n3,4\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"has 2 lines before the table, such as 'two'.*--skip-rows 3"):
        TableFiles(str(path), CsvOptions(skip_rows=1))
    with pytest.raises(SourceError, match="is empty: its first line after 9 skipped is blank"):
        TableFiles(str(path), CsvOptions(skip_rows=9))
    with pytest.raises(ValueError, match="skip_rows=-1"):
        CsvOptions(skip_rows=-1)


@pytest.mark.parametrize("content", ["x\n1\n2\n", "a,b,c\n1,2\n3,4\n", "a,b\n0,1,2\n1,3,4\n", "a,b\n1\n2\n"])
def test_tables_that_begin_at_once_have_no_such_lines(content):
    """One column; rows with fewer fields; a header that does not name the index."""
    assert find_preamble(content, True) == 0


@pytest.mark.parametrize(("decimal", "thousands"), [(",", "."), (".", ",")])
def test_numbers_are_those_that_pandas_reads(decimal, thousands, tmp_path):
    """Pandas is told what we find out."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3)) * 10.0 ** rng.integers(-3, 7, (500, 3))
    lines = [";".join(formatted(value, decimal, thousands) for value in row) for row in rows]
    path = tmp_path / "data.csv"
    path.write_bytes(("größe;b;c\r\n" + "\r\n".join(lines)).encode("cp1252"))
    frame = pd.read_csv(path, sep=";", decimal=decimal, thousands=thousands, encoding="cp1252")
    np.testing.assert_allclose(rows_of(path), frame.to_numpy(), rtol=1e-12)
    assert as_source(path).feature_names == list(frame.columns)


# What may be one or the other


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a;b\n1,234;2\n", [[1.234, 2]]),  # semicolons: the comma is for decimals
        ("a\tb\n1,234\t2\n", [[1234, 2]]),
        ('a,b\n"1,234",2\n', [[1234, 2]]),
        ("a;b\n1.234;2\n", [[1.234, 2]]),
        ("a;b\n1.234;2,5\n", [[1234, 2.5]]),  # the comma decides
        ("1,5;2,5\n3,5;4,5\n", [[1.5, 2.5], [3.5, 4.5]]),
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("a\n1\n2\n", [[1], [2]]),
        ("a,b\n1,?\n3,4\n", None),
        ("a,b\n\n1,2\n\n3,4\n", [[1, 2], [3, 4]]),
        ("a|b\n1e3|-2E-1\n", [[1000, -0.2]]),
        ('a,"b\nc"\n1,2\n', [[1, 2]]),
    ],
)
def test_doubtful_files(content, expected, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(content, newline="")
    if expected is None:
        with pytest.raises(SourceError, match="missing value in column 'b'"):
            rows_of(path)
    else:
        np.testing.assert_array_equal(rows_of(path), expected)


def test_options_overrule_what_is_found(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a;b\n1,234;2\n")
    np.testing.assert_array_equal(rows_of(path, decimal="."), [[1234, 2]])
    path.write_text("a b\n1 2\n")
    np.testing.assert_array_equal(rows_of(path, delimiter=" "), [[1, 2]])


@pytest.mark.parametrize(
    "options", [{"delimiter": ""}, {"delimiter": ";;"}, {"decimal": "'"}, {"encoding": "klingon"}]
)
def test_options_that_make_no_sense(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        CsvOptions(**options)


def test_a_number_with_thousands_in_the_wrong_place(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a\tb\n" + "1,234,567\t2\n" * 20 + "12,34\t5\n")
    with pytest.raises(SourceError, match=r"row 20 .*has '12,34' in column 'a', which is not a number"):
        rows_of(path)


def test_a_column_is_text_if_many_values_are(tmp_path):
    """House numbers begin with a number, but are text; a single typing error leaves a column of numbers."""
    houses = "".join(f"{i},{i}{'abc'[i % 3] if i % 3 else ''}\n" for i in range(60))
    (tmp_path / "data.csv").write_text("a,house\n" + houses)
    assert [column.numeric for column in TableFiles(str(tmp_path / "data.csv")).columns] == [True, False]
    typing_error = "".join(f"{i},{i}{'l' if i == 40 else ''}\n" for i in range(60))
    (tmp_path / "data.csv").write_text("a,b\n" + typing_error)
    assert all(column.numeric for column in TableFiles(str(tmp_path / "data.csv")).columns)
    with pytest.raises(SourceError, match=r"Row #42.*'40l'"):
        rows_of(tmp_path / "data.csv")


def test_a_text_column_that_begins_with_an_empty_field(tmp_path):
    (tmp_path / "data.csv").write_text("a,word\n1,\n2,x\n3,y\n")
    assert [column.numeric for column in TableFiles(str(tmp_path / "data.csv")).columns] == [True, False]


def test_the_first_lines_are_enough(tmp_path):
    """Nothing but the beginning of a file is looked at to recognise it."""
    path = tmp_path / "data.csv"
    path.write_text("a;b\n" + "1,5;2\n" * 500_000 + "end\n")
    table = CsvTable(str(path))
    assert (table.dialect.delimiter, table.dialect.numbers.decimal) == (";", ",")


# Excel


def write_excel(path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.create_sheet("rows")
    for row in (
        ["name", "x", "count", "day", "empty"],
        ["one", 1.5, 3, datetime.datetime(2024, 1, 2, 12), None],
        ["two", None, 4, datetime.datetime(2024, 1, 3), None],
    ):
        book["rows"].append(row)
    book.save(path)


def test_excel(tmp_path):
    pytest.importorskip("python_calamine")
    write_excel(tmp_path / "data.xlsx")
    files = TableFiles(str(tmp_path / "data.xlsx"))
    assert [(column.name, column.type) for column in files.columns] == [
        ("name", "string"),
        ("x", "double"),
        ("count", "int64"),
        ("day", "timestamp[us]"),
        ("empty", "double"),
    ]
    source = as_source(tmp_path / "data.xlsx", columns=["count"])
    assert [chunk.points.ravel().tolist() for chunk in source.chunks()] == [[3, 4]]
    assert [block.to_pylist() for block in files.column("x")] == [[1.5, None]]


def test_an_excel_file_that_is_none(tmp_path):
    pytest.importorskip("python_calamine")
    (tmp_path / "data.xlsx").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match=r"can't read .*data.xlsx as an Excel file"):
        as_source(tmp_path / "data.xlsx")

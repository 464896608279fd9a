"""Files with named columns: what is known about them before columns are chosen."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from eulermeans.sources import SourceError, TableFiles
from eulermeans.sources.columns import numeric_type
from eulermeans.sources.csv_file import CsvTable

BLOCK = 1 << 20  # bytes from which types are inferred
HEADER = b"day,x\n"
DAYS = b"2020-01-01,2\n"
FULL_BLOCK = HEADER + DAYS * ((BLOCK - len(HEADER)) // len(DAYS))  # the next line does not fit


@pytest.mark.parametrize(
    ("content", "day"),
    [
        (HEADER + DAYS, "date32[day]"),
        (HEADER + b"2020-01-01,2", "date32[day]"),
        (HEADER + DAYS + b"x,2", "string"),
        (FULL_BLOCK[: -len(DAYS)] + b"x,2\n" * 9, "string"),  # text in the last line of the block
        (FULL_BLOCK + b"x,2\n" * 9, "date32[day]"),  # text after it
        (FULL_BLOCK.replace(b"\n", b"\r") + b"x,2\r" * 9, "date32[day]"),
        (FULL_BLOCK + b"2020-01-01\n" * 9, "date32[day]"),  # lines that are too short after it
        (HEADER + b'"2020-01\n01",2\n' * 200_000, "string"),  # the block ends within a quoted value
    ],
)
def test_types_are_those_that_pyarrow_infers_from_the_file(content, day, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    inferred = pyarrow.csv.open_csv(path, read_options=pyarrow.csv.ReadOptions(block_size=BLOCK)).schema
    found = CsvTable(str(path), ",").schema
    assert str(found.field("day").type) == str(inferred.field("day").type) == day
    assert found.names == ["day", "x"]


def test_an_error_in_the_first_block_is_found_when_the_file_is_opened(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n3")
    with pytest.raises(SourceError, match="Row #3: Expected 2 columns, got 1"):
        TableFiles(str(tmp_path / "data.csv"))


def test_columns_and_rows_of_text_files(tmp_path):
    for number in range(2):
        rows = "".join(f"{i:04},{i / 2},w{number}\n" for i in range(1000))
        (tmp_path / f"part-{number}.csv").write_text("id,x,word\n" + rows)
    files = TableFiles(str(tmp_path / "part-*.csv"))
    assert files.has_header
    assert [(c.name, c.type, c.numeric) for c in files.columns] == [
        ("id", "double", True),
        ("x", "double", True),
        ("word", "string", False),
    ]
    assert files.estimated_rows == pytest.approx(2000, rel=0.02)
    ids = [value for block in files.column("id") for value in block.to_pylist()]
    assert ids == [f"{i:04}" for _ in range(2) for i in range(1000)]
    points = np.concatenate([chunk.points for chunk in files.source(["x"], None).chunks()])
    assert np.array_equal(points[:, 0], np.tile(np.arange(1000) / 2, 2))
    with pytest.raises(SourceError, match=r"part-0.csv has no column y"):
        next(files.column("y"))


def test_a_text_file_without_a_header(tmp_path):
    (tmp_path / "data.tsv").write_text("1\t2\n3\t4\n")
    files = TableFiles(str(tmp_path / "data.tsv"))
    assert not files.has_header
    assert [column.name for column in files.columns] == ["f0", "f1"]


@pytest.mark.parametrize("name", ["data.parquet", "data.arrow"])
def test_columns_of_binary_files(name, tmp_path):
    path = str(tmp_path / name)
    table = pa.table({"key": [7, 8, 9], "vector": [[1.0, 2.0]] * 3, "day": pa.array([1, 2, 3], pa.date32())})
    if name.endswith("parquet"):
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path)
    files = TableFiles(path)
    assert files.has_header
    assert files.estimated_rows is None
    assert [(column.name, column.numeric) for column in files.columns] == [
        ("key", True),
        ("vector", True),
        ("day", False),
    ]
    assert [value for block in files.column("key") for value in block.to_pylist()] == [7, 8, 9]
    assert files.source(["vector"], "key").n_features == 2


def test_files_without_named_columns(tmp_path):
    np.save(tmp_path / "data.npy", np.zeros((5, 2)))
    files = TableFiles(str(tmp_path / "data.npy"))
    assert files.columns is None
    assert files.estimated_rows is None
    assert files.source(None, None).n_features == 2


@pytest.mark.parametrize("kind", ["bool_", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64"])
def test_the_types_of_numbers_are_known_without_pandas(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    arrow_type = getattr(pa, kind)()
    assert numeric_type(arrow_type) == (np.dtype(kind), False)
    assert numeric_type(pa.list_(arrow_type)) == (np.dtype(kind), True)

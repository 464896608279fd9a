"""Data that can't be read or clustered raise one error that names the file, the row and the column."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import zarr
from kinds_of_data import AS_FLOAT64, KINDS, table

from eulermeans.oracles import StreamOracle, as_oracle
from eulermeans.sources import SourceError, as_source, first_bad_value, mapped

N, D = 500, 4


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((N, D)).astype("f4")


def read(data, **options):
    """Read all rows and check all values, as the first pass does."""
    StreamOracle(as_source(data, **options), memory_limit=100_000).full(np.zeros((1, 1)).repeat(D, axis=1))


def fails(message, data, error=SourceError, **options):
    """Reading fails with the message, where * matches anything."""
    with pytest.raises(error, match=".*".join(map(re.escape, message.split("*")))):
        read(data, **options)


def cut(path, keep=0.6):
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])


# Paths


def test_paths_without_files(tmp_path):
    fails("no such file: *absent.npy", tmp_path / "absent.npy", FileNotFoundError)
    fails("no file matches *-*.parquet", tmp_path / "part-*.parquet", FileNotFoundError)
    fails("the folder * has no .parquet files; for other files give a glob", tmp_path)
    fails(
        "s3://bucket/a.parquet is not a local file; for remote files pass a pyarrow Dataset",
        "s3://bucket/a.parquet",
        OSError,
    )
    (tmp_path / "points.doc").write_bytes(b"")
    fails("points.doc is of an unknown type; the supported ones are .npy", tmp_path / "points.doc")
    (tmp_path / "points.csv").write_text("1,2\n")
    fails("matches several types of files (.csv, .doc); choose one", tmp_path / "points.*")


# Damaged files


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet", "feather", "arrow", "arrow stream"])
@pytest.mark.parametrize("keep", [0, 0.02, 0.5, 0.99])
def test_truncated_files(points, kind, keep, tmp_path):
    path = tmp_path / "points.npy" if kind == "npy" else KINDS[kind](points, tmp_path)
    if kind == "npy":
        np.save(path, points)
    cut(path, keep)
    fails(f"{path.name}", path)


@pytest.mark.parametrize("kind", ["npz", "parquet", "feather", "arrow", "csv", "tsv"])
def test_files_that_are_something_else(points, kind, tmp_path):
    path = KINDS[kind](points, tmp_path)
    path.write_bytes(np.random.default_rng(0).bytes(5000))
    fails(f"can't read *{path.name} as", path)


def test_a_file_with_a_damaged_page(points, tmp_path):
    path = tmp_path / "points.parquet"
    pq.write_table(table(points), path, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)
    fails("can't read *points.parquet as Parquet: *checksum", path)


def test_a_file_deleted_between_two_passes(points, tmp_path):
    path = KINDS["parquet"](points, tmp_path)
    oracle = StreamOracle(as_source(path), memory_limit=100_000)
    oracle.full(np.zeros((1, D)))
    path.unlink()
    with pytest.raises(SourceError, match=r"can't read .*points.parquet"):
        oracle.full(np.ones((1, D)))


def test_a_file_that_has_grown(points, tmp_path):
    path = KINDS["csv"](points, tmp_path)
    oracle = StreamOracle(as_source(path), memory_limit=100_000)
    oracle.full(np.zeros((1, D)))
    with path.open("a") as file:
        file.write("1,2,3,4\n")
    with pytest.raises(SourceError, match=r"points.csv has changed since it was opened"):
        oracle.full(np.ones((1, D)))


@pytest.mark.parametrize(
    ("shape", "message"), [((5,), "has shape (5,); expected"), ((2, 2, 2), "expected"), ((0, 3), "is empty")]
)
def test_arrays_of_another_shape(shape, message, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(shape))
    fails(f"a.npy *{message}", tmp_path / "a.npy")
    zarr.save_array(str(tmp_path / "a.zarr"), np.zeros(shape))
    fails(f"a.zarr *{message}", tmp_path / "a.zarr")
    fails(message, np.zeros(shape))


@pytest.mark.parametrize("dtype", ["complex64", "U3", "datetime64[s]"])
def test_arrays_of_other_types_than_real_numbers(dtype, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2), dtype=dtype))
    fails("a.npy has dtype *; expected floating point, integer or bool", tmp_path / "a.npy")


def test_archives(points, tmp_path):
    np.savez(tmp_path / "a.npz", one=points, two=points)
    fails("a.npz has 2 two-dimensional arrays (one (500, 4), two (500, 4)); expected one", tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", points=np.asfortranarray(points))
    fails("a.npz has an array in Fortran order", tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", points=points, w=np.ones(3))
    fails("a.npz has no array 'w' with one weight for each of 500 rows", tmp_path / "a.npz", weights="w")


def test_zarr_groups_and_damaged_chunks(points, tmp_path):
    path = KINDS["zarr"](points, tmp_path)
    fails("is a group of Zarr arrays (points.zarr); give the path of one", zarr_group(tmp_path))
    chunk = next(file for name in ("c/2/1", "2.1") for file in path.rglob(name))  # formats 3 and 2
    chunk.write_bytes(b"not what a codec wrote")
    fails("can't read *points.zarr as Zarr", path)


def zarr_group(folder):
    zarr.open_group(str(folder), mode="a")
    return folder


# Columns


def written(columns, path):
    pq.write_table(pa.table(columns), path)
    return path


def test_missing_columns(points, tmp_path):
    path = KINDS["parquet"](points, tmp_path)
    fails("points.parquet has no column x9, y; it has x0, x1, x2, x3", path, columns=["x0", "x9", "y"])
    fails("points.parquet has no column w; it has", path, weights="w")
    fails("columns='x0' is a string; expected a list", path, TypeError, columns="x0")
    fails(
        "columns= and weights= choose columns by name, but an array has no column names",
        points,
        ValueError,
        columns=["x0"],
    )
    fails(
        "choose columns by name, but a function that returns batches has no column names",
        lambda: [points],
        ValueError,
        weights="w",
    )
    frame = pd.DataFrame({"a": [1.0]})
    fails("the frame has no column b; it has a", frame, columns=["b"])
    fails("the frame has no column b; it has a", pl.DataFrame({"a": [1.0]}), columns=["b"])


def test_non_numeric_columns(tmp_path):
    columns = {"id": ["a", "b"], "x": [1.0, 2.0], "when": pa.array([1, 2], pa.timestamp("s"))}
    message = "non-numeric columns: id (*), when (*); choose the features with columns="
    fails(f"t.parquet has {message}", written(columns, tmp_path / "t.parquet"))
    fails(f"the table has {message}", pa.table(columns))
    fails(f"the frame has {message}", pl.from_arrow(pa.table(columns)))
    fails(f"the frame has {message}", pa.table(columns).to_pandas())
    (tmp_path / "t.csv").write_text("id,x,when\na,1,2020-01-01\nb,2,2020-01-02\n")
    fails(f"t.csv has {message}", tmp_path / "t.csv")


def test_many_columns_are_not_all_named(tmp_path):
    columns = {f"c{i}": ["a"] for i in range(30)}
    fails("c4 (string) and 25 more;", written(columns, tmp_path / "t.parquet"))


def test_tables_without_rows_or_columns(tmp_path):
    fails("t.parquet is empty: it has no rows", written({"x": pa.array([], "f4")}, tmp_path / "t.parquet"))
    fails("the table is empty: it has no rows", pa.table({"x": pa.array([], "f4")}))
    fails("is empty: it has no columns", pa.table({"w": [1.0]}), weights="w")
    fails("the frame is empty", pd.DataFrame({"x": []}))
    feather.write_feather(pa.table({"x": pa.array([], "f4")}), tmp_path / "t.feather")
    fails("t.feather is empty: it has no rows", tmp_path / "t.feather")
    for content, message in (
        ("", "is empty: its first line is blank"),
        ("a,b\n", "t.csv is empty: it has no rows"),
    ):
        (tmp_path / "t.csv").write_text(content)
        fails(message, tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns(["x2"]), "column 'x2' is float in the first and missing in the second"),
        (lambda t: t.append_column("y", t["x0"]), "column 'y' is missing in the first and float in the second"),
        (lambda t: t.set_column(1, "x1", t["x1"].cast("f8")), "column 'x1' is float in the first and double in"),
        (lambda t: t.rename_columns(["x0", "x1", "x2", "z"]), "column 'x3' is float in the first and missing"),
    ],
)
def test_files_with_other_columns(points, change, message, tmp_path):
    pq.write_table(table(points), tmp_path / "a.parquet")
    pq.write_table(change(table(points)), tmp_path / "b.parquet")
    message = message.replace("float", "float32").replace("double", "float64")
    fails(f"a.parquet and *b.parquet have different columns: {message}", tmp_path)
    if "x0" in change(table(points)).column_names:  # other columns may differ if they are not used
        assert as_source(tmp_path, columns=["x0"]).n_points == 2 * N


def test_arrays_of_another_width(points, tmp_path):
    np.save(tmp_path / "a.npy", points)
    np.save(tmp_path / "b.npy", points[:, :3])
    fails("a.npy and *b.npy have different columns", tmp_path / "*.npy")


# Values


def with_value(points, row, column, value):
    changed = points.astype(np.result_type(points.dtype, np.min_scalar_type(value)))
    changed[row, column] = value
    return changed


IN_PARTS = {"function", "glob of npy", "folder of parquet", "pyarrow data set"}
WHOLE = sorted(KINDS.keys() - AS_FLOAT64 - IN_PARTS)


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(points, kind, value, tmp_path):
    data = KINDS[kind](with_value(points, 317, 2, value), tmp_path)
    what = "NaN" if np.isnan(value) else "an infinite value"
    fails(f"row 317 (from 0) of * has {what} in column", data)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_every_floating_point_type_is_checked(points, dtype):
    for column, value in ((1, np.nan), (3, -np.inf)):
        changed = points.astype(dtype)
        changed[7, column] = value
        fails(f"row 7 (from 0) of the array has * in column {column}", changed)
        fails(f"row 7 (from 0) of the array has * in column {column}", np.asfortranarray(changed))


def test_the_file_and_the_row_in_it_are_named(points, tmp_path):
    bad = with_value(points, 400, 3, np.nan)
    for kind, where in (("folder of parquet", "2.parquet"), ("glob of npy", "part-2.npy")):
        folder = tmp_path / kind
        folder.mkdir()
        fails(f"row 66 (from 0) of *{where} has NaN in column", KINDS[kind](bad, folder))
    (tmp_path / "set").mkdir()
    data = KINDS["pyarrow data set"](bad, tmp_path / "set")
    fails("row 66 (from 0) of *2.parquet has NaN in column 'x3'", data)
    fails(
        "row 42 (from 0) of batch 5 (from 0) of the stream has NaN in column 3", KINDS["function"](bad, tmp_path)
    )


def test_missing_values(tmp_path):
    numbers = pa.array([1, 2, None, 4])
    for data in (
        written({"x": numbers}, tmp_path / "t.parquet"),
        pa.table({"x": numbers}),
        pl.DataFrame({"x": numbers}),
    ):
        fails("row 2 (from 0) of * has a missing value in column 'x'", data)
    frame = pd.DataFrame({"x": pd.array([1, 2, None, 4], dtype="Int64")})
    fails("row 2 (from 0) of the frame has a missing value in column 'x'", frame)


def test_lists(tmp_path):
    def lists(*rows):
        return written({"e": pa.array(list(rows), pa.list_(pa.float32()))}, tmp_path / "t.parquet")

    fails("row 1 (from 0) of *t.parquet has 3 values in column 'e'; the first row has 2", lists([1, 2], [1, 2, 3]))
    fails("row 1 (from 0) of *t.parquet has a missing value in column 'e'", lists([1, 2], [1, None]))
    fails("row 1 (from 0) of *t.parquet has a missing value in column 'e'", lists([1, 2], None))
    fails("the first list in column 'e' of *t.parquet is empty or missing", lists([], [1]))
    fails("row 1 (from 0) of *t.parquet has NaN in column 'e[1]'", lists([1, 2], [1, float("nan")]))


def test_text(tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(f"{i},{i / 2},1,1\n" for i in range(2000))
    path.write_text("a,b,c,d\n" + rows + "3,oops,1,1\n" + rows)
    fails("can't read *t.csv as delimited text: *Row #2002: *'oops'", path)
    path.write_text("a,b,c,d\n" + rows + "3,1\n")
    fails("can't read *t.csv as delimited text: *Row #2002: Expected 4 columns, got 2", path)
    path.write_text("a,b,c,d\n" + rows + "3,,1,1\n")
    fails("row 2000 (from 0) of *t.csv has a missing value in column 'b'", path)
    path.write_text(rows + "3,nan,1,1\n")
    fails("row 2000 (from 0) of *t.csv has a missing value in column 'f1'", path)


def test_values_too_large_to_be_squared(points):
    assert as_source(points.astype("f8") * 1e100)
    fails("row 0 (from 0) of the array has the value *e+199 in column 0", points.astype("f8") * 1e200)
    read(points * np.float32(1e30))  # their squares are too large for float32, but the sums are in float64


def test_weights(points, tmp_path):
    for weight in (-1.0, np.nan, np.inf):
        weights = np.ones(N)
        weights[44] = weight
        path = tmp_path / "t.parquet"
        pq.write_table(table(points).append_column("w", pa.array(weights)), path)
        fails(f"row 44 (from 0) of *t.parquet has weight {weight}", path, weights="w")
    pq.write_table(table(points).append_column("w", pa.array(np.zeros(N))), path)
    fails("all weights of *t.parquet are zero", path, weights="w")
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(2 * N)), 2)
    fails("the weights column 'w' of the table has lists", table(points).append_column("w", lists), weights="w")


# Functions that return batches


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        (lambda p: [p, p[:, :3]], "batch 1 (from 0) of the stream has 3 columns; the first batch has 4"),
        (lambda p: [p, p[0]], "a batch of the stream has shape (4,); expected (n, n_features)"),
        (
            lambda p: [p, p.astype("f8")],
            "batch 1 (from 0) of the stream has dtype float64; the first batch has",
        ),
        (
            lambda p: [p, (p, np.ones(N))],
            "batch 1 (from 0) of the stream has weights; the first batch has none",
        ),
        (
            lambda p: [(p, np.ones(N)), p],
            "batch 1 (from 0) of the stream has no weights; the first batch has weights",
        ),
        (lambda p: [(p, np.ones(3))], "weights of shape (3,) for rows of shape (500, 4)"),
        (lambda p: [(p, np.ones(N), 1)], "is a tuple of 3; expected (rows, weights)"),
        (lambda p: [], "is empty: the function returned no batch with rows"),
        (lambda p: [p[:0]], "is empty: the function returned no batch with rows"),
        (lambda p: [p[:, :0]], "at least one column is needed"),
        (lambda p: [p.astype(str)], "has dtype"),
        (lambda p: None, "returned NoneType; it must return an iterator of batches"),
    ],
)
def test_bad_batches(points, batches, message):
    fails(message, lambda: batches(points))


def test_streams_that_can_be_read_only_once(points):
    once = iter([points, points])
    fails("returned the same iterator again, which has no batches left", lambda: once)
    fails("it can be read only once, but the data are read several times", (p for p in [points]), TypeError)
    fails("can't read data of type list_iterator: it can be read only once", iter([points]), TypeError)


def test_streams_that_change(points):
    lengths = iter([500, 500, 400])
    oracle = StreamOracle(as_source(lambda: [points[: next(lengths)]]), memory_limit=100_000)
    oracle.full(np.zeros((1, D)))
    with pytest.raises(SourceError, match="the stream has 400 rows now, but had 500 before"):
        oracle.full(np.ones((1, D)))


# Others


def test_types_that_can_not_be_read(points):
    reader = table(points).to_reader()
    fails("function without arguments that returns a new one", reader, TypeError)
    fails("can't read data of type dict: pass an array, a pandas or polars frame", {"x": [1.0]}, TypeError)


def test_functions_of_rows(points, tmp_path):
    source = as_source(points)
    fails("the function applied to the array returned shape *(*, 2); expected", mapped(source, lambda p: p[:, :2]))
    fails("row 0 (from 0) of the array has NaN in column 0", mapped(source, lambda p: p * np.nan))


def test_values_read_into_memory_are_checked_too(points, tmp_path):
    data = KINDS["parquet"](with_value(points, 317, 2, np.nan), tmp_path)
    with pytest.raises(SourceError, match=r"row 317 \(from 0\) of .*points.parquet has NaN in column 'x2'"):
        as_oracle(data, rng=np.random.default_rng(0))


def test_an_error_after_a_function_names_the_value_before_it(points):
    bad = with_value(points, 12, 3, np.nan)
    unit = mapped(as_source(bad), lambda p: p / np.linalg.norm(p, axis=1, keepdims=True))
    fails("row 12 (from 0) of the array has NaN in column 3", unit)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_the_first_bad_value_is_found_in_any_memory_layout(dtype, layout):
    values = np.ones((3000, 8), dtype=dtype) if layout != "strided" else np.ones((6000, 16), dtype=dtype)[::2, ::2]
    values = np.asfortranarray(values) if layout == "F" else values
    assert first_bad_value(values, 1e100) is None
    assert first_bad_value(values[:0], 1e100) is None
    values[2999, 5], values[7, 3] = np.inf, np.nan
    assert first_bad_value(values, 1e100) == (7, 3)
    assert first_bad_value(values[:, 3], 1e100) == (7, 0)
    if dtype == "float64":
        values[2, 1] = -1e101
        assert first_bad_value(values, 1e100) == (2, 1)

"""A source returns the same rows in the same order every time, however they are stored."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from kinds_of_data import AS_FLOAT64, COUNTED, KINDS, table

from eulermeans.sources import Chunk, as_source, is_source, mapped

N, D = 400, 5


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).standard_normal((N, D)).astype("f4")


def rows_of(source, **options):
    return np.concatenate([chunk.points for chunk in source.chunks(**options)])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_returns_all_rows_every_time(points, kind, tmp_path):
    source = as_source(KINDS[kind](points, tmp_path))
    for _ in range(2):
        np.testing.assert_array_equal(rows_of(source).astype("f4"), points)
    assert source.n_points == (N if kind in COUNTED else None)
    assert source.n_features == D
    assert source.dtype == rows_of(source).dtype == (np.float64 if kind in AS_FLOAT64 else np.float32)
    assert not source.weighted
    assert as_source(source) is source


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_keep_to_the_limit_and_know_where_they_are_from(points, kind, tmp_path):
    source = as_source(KINDS[kind](points, tmp_path))
    seen = {}
    for chunk in source.chunks(most_bytes=50 * D * source.dtype.itemsize):
        assert 1 <= len(chunk) <= 50
        assert chunk.first == seen.get(chunk.where, 0)
        seen[chunk.where] = chunk.first + len(chunk)
    assert sum(seen.values()) == N
    assert len(list(source.chunks(most_bytes=1))) == N  # a row is never split


@pytest.mark.parametrize("kind", KINDS)
def test_chosen_rows_of_a_chunk(points, kind, tmp_path):
    chunk = next(as_source(KINDS[kind](points, tmp_path)).chunks())
    rows = np.array([1, 4, 50])
    np.testing.assert_array_equal(chunk.take(rows).astype("f4"), points[rows])
    np.testing.assert_array_equal(chunk.assembled().points, chunk.points)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool", "float16", "float32", "float64", "int64", "uint16"])
@pytest.mark.parametrize(
    "kind", ["npy", "npz", "parquet", "parquet of lists", "feather", "zarr", "pandas", "polars", "function"]
)
def test_dtypes_are_kept(dtype, kind, tmp_path):
    if (kind, dtype) == ("polars", "float16") and not hasattr(pl, "Float16"):
        pytest.skip("this polars has no float16")
    points = np.random.default_rng(0).integers(0, 2, size=(40, 3)).astype(dtype)
    source = as_source(KINDS[kind](points, tmp_path))
    assert source.dtype == rows_of(source).dtype == dtype
    np.testing.assert_array_equal(rows_of(source), points)


def test_values_are_converted_to_native_byte_order(tmp_path):
    np.save(tmp_path / "swapped.npy", np.arange(6, dtype=">f4").reshape(3, 2))
    source = as_source(tmp_path / "swapped.npy")
    assert source.dtype.isnative
    np.testing.assert_array_equal(rows_of(source), np.arange(6).reshape(3, 2))


# Columns


@pytest.fixture
def labelled(points, tmp_path):
    """A file with ids, weights and features."""
    wide = table(points).append_column("id", pa.array([f"row {i}" for i in range(N)]))
    wide = wide.append_column("weight", pa.array(np.arange(N, dtype="f4")))
    pq.write_table(wide, tmp_path / "labelled.parquet", row_group_size=128)
    return tmp_path / "labelled.parquet"


def test_columns_by_name_in_the_given_order(points, labelled):
    source = as_source(labelled, columns=["x3", "x1"])
    assert source.feature_names == ["x3", "x1"]
    np.testing.assert_array_equal(rows_of(source), points[:, [3, 1]])


def test_weights_by_name(labelled):
    source = as_source(labelled, columns=["x0", "x1"], weights="weight")
    assert source.weighted
    weights = np.concatenate([chunk.weights for chunk in source.chunks()])
    np.testing.assert_array_equal(weights, np.arange(N))
    assert weights.dtype == np.float64


def test_the_weights_column_is_not_a_feature(points, tmp_path):
    pq.write_table(table(points).append_column("w", pa.array(np.ones(N))), tmp_path / "t.parquet")
    assert as_source(tmp_path / "t.parquet", weights="w").n_features == D


def test_columns_of_several_dtypes_get_a_common_one(tmp_path):
    pq.write_table(
        pa.table({"a": np.arange(3, dtype="u1"), "b": np.arange(3, dtype="f4")}), tmp_path / "t.parquet"
    )
    assert as_source(tmp_path / "t.parquet").dtype == np.float32
    pq.write_table(
        pa.table({"a": np.arange(3, dtype="u1"), "b": np.arange(3, dtype="i8")}), tmp_path / "t.parquet"
    )
    assert as_source(tmp_path / "t.parquet").dtype == np.int64


def test_a_list_beside_numbers(tmp_path):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(6, dtype="f4")), 2)
    pq.write_table(pa.table({"a": np.arange(3, dtype="f4"), "e": lists}), tmp_path / "t.parquet")
    source = as_source(tmp_path / "t.parquet")
    assert source.feature_names == ["a", "e[0]", "e[1]"]
    np.testing.assert_array_equal(rows_of(source), [[0, 0, 1], [1, 2, 3], [2, 4, 5]])


def test_files_whose_columns_are_in_another_order(points, tmp_path):
    pq.write_table(table(points), tmp_path / "0.parquet")
    pq.write_table(table(points).select(["x4", "x2", "x0", "x1", "x3"]), tmp_path / "1.parquet")
    np.testing.assert_array_equal(rows_of(as_source(tmp_path)), np.concatenate([points, points]))


def test_folders_named_like_files(points, tmp_path):
    """As written by Spark, with files that are not data."""
    for number, part in enumerate(np.array_split(points, 2)):
        folder = tmp_path / f"{number}.parquet"
        (folder / "_temporary").mkdir(parents=True)
        pq.write_table(table(part), folder / "part-0.parquet")
        pq.write_table(table(part), folder / "_temporary" / "part-1.parquet")
        (folder / "_SUCCESS").touch()
    np.testing.assert_array_equal(rows_of(as_source(tmp_path / "0.parquet")), points[: N // 2])
    np.testing.assert_array_equal(rows_of(as_source(tmp_path / "*.parquet")), points)
    np.testing.assert_array_equal(rows_of(as_source(tmp_path)), points)


def test_files_are_read_in_the_order_of_their_names(points, tmp_path):
    for name in ("b", "a", "c"):
        np.save(tmp_path / f"{name}.npy", np.full((2, 2), ord(name)))
    np.testing.assert_array_equal(rows_of(as_source(str(tmp_path / "*.npy")))[:, 0], np.repeat([97, 98, 99], 2))


# Weights of batches, and functions of rows


def test_batches_with_weights(points):
    source = as_source(lambda: ((part, part[:, 0] ** 2) for part in np.array_split(points, 3)))
    assert source.weighted
    weights = np.concatenate([chunk.weights for chunk in source.chunks(most_bytes=400)])
    np.testing.assert_allclose(weights, points[:, 0] ** 2, rtol=1e-6)


def test_batches_of_a_smaller_dtype_are_widened():
    source = as_source(lambda: iter([np.ones((2, 2), "f8"), np.ones((3, 2), "u1")]))
    assert {chunk.points.dtype for chunk in source.chunks()} == {np.dtype("f8")}


def test_empty_batches_are_skipped(points):
    source = as_source(lambda: iter([points[:0], points[:10], points[:0], points[10:]]))
    np.testing.assert_array_equal(rows_of(source), points)


@pytest.mark.parametrize("kind", KINDS)
def test_mapped(points, kind, tmp_path):
    source = as_source(KINDS[kind](points, tmp_path))
    scaled = mapped(source, lambda rows: rows * 2.0, dtype="f8")
    assert (scaled.n_features, scaled.dtype, scaled.n_points) == (D, np.float64, source.n_points)
    assert scaled.feature_names == source.feature_names
    np.testing.assert_array_equal(rows_of(scaled).astype("f4"), points * 2.0)
    assert max(chunk.points.nbytes for chunk in scaled.chunks(most_bytes=4000)) <= 4000


# What counts as a source


def test_what_is_read_as_a_source(points, tmp_path):
    for kind in KINDS.keys() - {"array", "pandas", "pandas with Arrow's types"}:  # scikit-learn handles these
        folder = tmp_path / kind
        folder.mkdir()
        data = KINDS[kind](points, folder)
        assert is_source(data)
        assert is_source(as_source(data))
    assert not is_source(points)
    assert not is_source(points.tolist())


def test_a_chunk_of_one_matrix_is_not_copied(points):
    assert np.shares_memory(Chunk((points,), points.dtype, "here").points, points)


def test_optional_packages_are_not_imported_before_they_are_used():
    # Not pandas and pyarrow themselves, which scikit-learn may import.
    code = "import sys, eulermeans; print(sorted({'pyarrow.parquet', 'zarr', 'polars'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


# Text


@pytest.mark.parametrize(
    ("content", "names", "rows"),
    [
        ("a,b\n1,2\n3,4\n", ["a", "b"], [[1, 2], [3, 4]]),
        ("1,2\n3,4\n", None, [[1, 2], [3, 4]]),
        ("\ufeffa,b\r\n1,2.5\r\n3,4", ["a", "b"], [[1, 2.5], [3, 4]]),
        ('"a, b",c\n1e3,-2\n', ["a, b", "c"], [[1000, -2]]),
        ("a,b\n1,true\n2,false\n", ["a", "b"], [[1, 1], [2, 0]]),
        ("1\n2\n", None, [[1], [2]]),
    ],
)
def test_text_with_and_without_names(content, names, rows, tmp_path):
    (tmp_path / "t.csv").write_text(content, encoding="utf-8", newline="")
    source = as_source(tmp_path / "t.csv")
    assert source.feature_names == names
    assert source.dtype == np.float64
    np.testing.assert_array_equal(rows_of(source), rows)


def test_text_whose_first_line_alone_has_whole_numbers(tmp_path):
    content = "1,2\n" + "0.5,0.25\n" * 200_000  # more than types are inferred from
    (tmp_path / "t.csv").write_text(content)
    np.testing.assert_array_equal(rows_of(as_source(tmp_path / "t.csv"))[[0, -1]], [[1, 2], [0.5, 0.25]])


def test_columns_and_weights_of_text(tmp_path):
    (tmp_path / "t.csv").write_text("id,x,y,w\na,1,2,3\nb,4,5,6\n")
    source = as_source(tmp_path / "t.csv", columns=["y", "x"], weights="w")
    chunk = next(source.chunks())
    np.testing.assert_array_equal(chunk.points, [[2, 1], [5, 4]])
    np.testing.assert_array_equal(chunk.weights, [3, 6])


def test_weights_of_an_archive(points, tmp_path):
    source = as_source(KINDS["npz"](points, tmp_path), weights="weights")
    np.testing.assert_array_equal(np.concatenate([c.weights for c in source.chunks(100)]), np.arange(N))


def test_weights_of_a_frame(points):
    frame = pd.DataFrame(points).add_prefix("x").assign(w=np.arange(N))
    source = as_source(frame, weights="w")
    assert source.n_features == D
    np.testing.assert_array_equal(np.concatenate([c.weights for c in source.chunks(100)]), np.arange(N))
    assert as_source(pd.DataFrame(points)).feature_names is None  # the names are numbers


def test_empty_record_batches_are_skipped(points, tmp_path):
    batch = table(points).to_batches()[0]
    with pa.ipc.new_file(tmp_path / "points.arrow", batch.schema) as writer:
        for part in (batch.slice(0, 0), batch.slice(0, 100), batch.slice(0, 0), batch.slice(100)):
            writer.write_batch(part)
    np.testing.assert_array_equal(rows_of(as_source(tmp_path / "points.arrow")), points)


def test_filtered_data_sets(points, tmp_path):
    dataset = KINDS["pyarrow data set"](points, tmp_path).filter(ds.field("x0") > 0)
    np.testing.assert_array_equal(rows_of(as_source(dataset, columns=["x1"]))[:, 0], points[points[:, 0] > 0, 1])

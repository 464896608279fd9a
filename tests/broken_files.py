"""Files that can't be clustered, each with a pattern that the error message of the command must match."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

# Function that writes the file to a folder and returns DATA, pattern of the message, and more arguments.
BROKEN: dict[str, tuple[Callable[[Path], object], str, tuple[str, ...]]] = {}


def broken(message: str, *arguments: str):
    def add(make):
        BROKEN[make.__name__] = (make, message, arguments)
        return make

    return add


def text(folder: Path, content: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


GOOD = "a,b\n" + "".join(f"{i},{i * i}\n" for i in range(50))


@broken("no such file")
def no_such_file(folder):
    return folder / "nothing.csv"


@broken("no file matches")
def glob_without_matches(folder):
    return folder / "part-*.csv"


@broken("no .parquet files")
def empty_folder(folder):
    return folder


@broken("is of an unknown type; the supported ones are")
def unknown_suffix(folder):
    return text(folder, GOOD, "data.doc")


@broken("can't read .*data.csv.gz as delimited text")
def compressed_text_cut_short(folder):
    return text(folder, gzip.compress(GOOD.encode())[:-20], "data.csv.gz")


@broken("is empty")
def empty_csv(folder):
    return text(folder, "")


@broken("data.csv is empty: it has no rows")
def header_only(folder):
    return text(folder, "a,b\n")


@broken(
    r"not numeric: name \(string\); drop it with --drop name, make each category a feature with --one-hot name, "
    "or choose columns with --columns a,b"
)
def column_of_text(folder):
    return text(folder, "a,name,b\n1,x,2\n3,y,4\n5,z,6\n")


@broken("Expected 2 columns, got 3")
def semicolons_in_one_row_more(folder):
    return text(folder, "a;b\n1,5;2,5\n3,5;4,5;5\n")


@broken("several columns named a")
def duplicate_column_names(folder):
    return text(folder, "a,b,a\n1,2,3\n4,5,6\n")


@broken("Expected 2 columns, got 3")
def ragged_rows(folder):
    return text(folder, "a,b\n1,2\n3,4,5\n6,7\n")


@broken("Row #41.*'none of your business'")
def text_among_numbers(folder):
    return text(folder, GOOD.replace("39,1521", "39,none of your business"))


@broken("data.csv has missing values: b in 1 of 50 rows; --missing drop leaves out these rows")
def missing_value(folder):
    return text(folder, GOOD.replace("39,1521", "39,"))


@broken("data.csv has missing values: b in 1 of 50 rows")
def not_a_number(folder):
    return text(folder, GOOD.replace("39,1521", "39,nan"))


@broken("row 39 .*infinite value in column 'b'")
def infinity(folder):
    return text(folder, GOOD.replace("39,1521", "39,inf"))


@broken("row 39 .*overflow float64")
def overflow(folder):
    return text(folder, GOOD.replace("39,1521", "39,1e200"))


@broken("as delimited text")
def bytes_that_are_not_text(folder):
    return text(folder, bytes(range(256)) * 10)


@broken("as delimited text: .*null characters; if it is text, give its encoding with --encoding")
def text_in_utf_16_without_a_mark(folder):
    return text(folder, GOOD.encode("utf-16-le"))


@broken("as delimited text: .*Row #3: Expected 2 columns")
def unclosed_quote(folder):
    return text(folder, 'a,b\n1,2\n"3,4\n5,6\n')


@broken("has only 2 rows, too few for 3 clusters")
def too_few_rows(folder):
    return text(folder, "a,b\n1,2\n3,4\n")


@broken("has no column age; it has a, b", "--columns", "age")
def unknown_column(folder):
    return text(folder, GOOD)


@broken("has no column w; it has a, b", "--weights", "w")
def unknown_weights(folder):
    return text(folder, GOOD)


@broken("row 1 .*weight -1", "--weights", "b")
def negative_weight(folder):
    return text(folder, "a,b\n1,2\n3,-1\n5,6\n7,8\n")


@broken("all weights of .* are zero", "--weights", "b")
def weights_of_zero(folder):
    return text(folder, "a,b\n1,0\n3,0\n5,0\n7,0\n")


@broken("no columns of .* are left to cluster", "--drop", "a,b")
def all_columns_dropped(folder):
    return text(folder, GOOD)


@broken("several types of files")
def files_of_several_formats(folder):
    text(folder, GOOD, "part-1.csv")
    text(folder, GOOD.replace(",", "\t"), "part-2.tsv")
    return folder / "part-*"


@broken("part-2.csv has no column b")
def files_with_different_columns(folder):
    text(folder, GOOD, "part-1.csv")
    text(folder, GOOD.replace("a,b", "a,c"), "part-2.csv")
    return folder / "part-*.csv"


def parquet(folder: Path, **columns) -> Path:
    path = folder / "data.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


@broken("can't read .*data.parquet as Parquet")
def parquet_cut_short(folder):
    path = parquet(folder, a=np.arange(1000.0), b=np.arange(1000.0))
    path.write_bytes(path.read_bytes()[:-100])
    return path


@broken("can't read .*data.parquet as Parquet")
def parquet_of_text(folder):
    return text(folder, GOOD, "data.parquet")


@broken("is empty")
def parquet_without_rows(folder):
    return parquet(folder, a=pa.array([], pa.float64()))


@broken(r"not numeric: at \(time32")
def parquet_with_times(folder):
    return parquet(folder, a=[1.0, 2.0, 3.0], at=pa.array([1, 2, 3], pa.time32("s")))


@broken("data.parquet has missing values: a in 1 of 4 rows")
def parquet_with_nulls(folder):
    return parquet(folder, a=[1.0, None, 3.0, 4.0])


@broken("row 2 .*has 1 values")
def parquet_of_uneven_lists(folder):
    return parquet(folder, a=[[1.0, 2.0], [3.0, 4.0], [5.0], [6.0, 7.0]])


@broken("can't read .*data.arrow as Arrow or Feather")
def arrow_cut_short(folder):
    path = folder / "data.arrow"
    pyarrow.feather.write_feather(pa.table({"a": np.arange(5000.0)}), path, compression="uncompressed")
    path.write_bytes(path.read_bytes()[:-2000])
    return path


@broken("can't read .*data.arrow as Arrow or Feather")
def arrow_of_text(folder):
    return text(folder, GOOD, "data.arrow")


def npy(folder: Path, array: object) -> Path:
    path = folder / "data.npy"
    np.save(path, array, allow_pickle=True)
    return path


@broken(r"shape \(5,\)")
def npy_of_one_axis(folder):
    return npy(folder, np.arange(5.0))


@broken(r"shape \(2, 3, 4\)")
def npy_of_three_axes(folder):
    return npy(folder, np.zeros((2, 3, 4)))


@broken("dtype complex128")
def npy_of_complex_numbers(folder):
    return npy(folder, np.zeros((5, 2), complex))


@broken("dtype object")
def npy_of_objects(folder):
    return npy(folder, np.array([[1, "a"], [None, {}]], object))


@broken("is truncated")
def npy_cut_short(folder):
    path = npy(folder, np.zeros((100, 3)))
    path.write_bytes(path.read_bytes()[:-8])
    return path


@broken("as a .npy file")
def npy_of_text(folder):
    return text(folder, GOOD, "data.npy")


@broken("has no named columns", "--columns", "a")
def columns_of_npy(folder):
    return npy(folder, np.zeros((100, 3)))


@broken("2 two-dimensional arrays")
def npz_of_two_matrices(folder):
    path = folder / "data.npz"
    np.savez(path, a=np.zeros((5, 2)), b=np.zeros((5, 2)))
    return path


@broken("as a .npz file")
def npz_of_text(folder):
    return text(folder, GOOD, "data.npz")


@broken("can't read .*data.npz as a .npz file")
def npz_without_arrays(folder):
    path = folder / "data.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "nothing")
    return path


@broken("can't read .*data.zarr as Zarr")
def empty_zarr_folder(folder):
    path = folder / "data.zarr"
    path.mkdir()
    return path

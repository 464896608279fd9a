"""The same rows, stored in every way that a source reads: from an array and a folder to what `as_source` takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def table(points):
    columns = {f"x{j}": points[:, j] for j in range(points.shape[1])}
    return pa.table(columns)


def lists(points):
    values = pa.array(points.reshape(-1))
    return pa.table({"embedding": pa.FixedSizeListArray.from_arrays(values, points.shape[1])})


def variable_lists(points):
    return pa.table({"embedding": pa.array(points.tolist(), type=pa.list_(pa.from_numpy_dtype(points.dtype)))})


def saved(points, folder):
    np.save(folder / "points.npy", points)
    return str(folder / "points.npy")


def saved_fortran(points, folder):
    return saved(np.asfortranarray(points), folder)


def saved_in_three(points, folder):
    for number, part in enumerate(np.array_split(points, 3)):
        np.save(folder / f"part-{number}.npy", part)
    return folder / "part-*.npy"


def parquet(points, folder):
    pq.write_table(table(points), folder / "points.parquet", row_group_size=300)
    return folder / "points.parquet"


def parquet_folder(points, folder):
    (folder / "parts").mkdir()
    for number, part in enumerate(np.array_split(points, 3)):
        pq.write_table(table(part), folder / "parts" / f"{number}.parquet", row_group_size=170)
    return folder / "parts"


def parquet_of_lists(points, folder):
    pq.write_table(lists(points), folder / "points.parquet", row_group_size=300)
    return folder / "points.parquet"


def parquet_of_variable_lists(points, folder):
    pq.write_table(variable_lists(points), folder / "points.parquet", row_group_size=300)
    return folder / "points.parquet"


def function(points, folder):
    return lambda: iter(np.array_split(points, 7))


KINDS = {
    "array": lambda points, folder: points,
    "npy": saved,
    "npy in Fortran order": saved_fortran,
    "glob of npy": saved_in_three,
    "parquet": parquet,
    "folder of parquet": parquet_folder,
    "parquet of lists": parquet_of_lists,
    "parquet of variable lists": parquet_of_variable_lists,
    "function": function,
}
COUNTED = KINDS.keys() - {"function"}  # the number of rows is known before they are read

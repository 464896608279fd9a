"""The same rows, stored in every way that a source reads: from an array and a folder to what `as_source` takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import zarr


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


def archived(points, folder):
    np.savez_compressed(folder / "points.npz", points=points, weights=np.arange(len(points)))
    return folder / "points.npz"


def feathered(points, folder):
    feather.write_feather(table(points), folder / "points.feather", chunksize=300)
    return folder / "points.feather"


def arrow_file(points, folder):
    with ipc.new_file(folder / "points.arrow", table(points).schema) as writer:
        writer.write_table(table(points))
    return folder / "points.arrow"


def arrow_stream(points, folder):
    with ipc.new_stream(folder / "points.arrow", table(points).schema) as writer:
        writer.write_table(table(points), max_chunksize=300)
    return folder / "points.arrow"


def text(points, folder):
    pd.DataFrame(points.astype(np.float64)).add_prefix("x").to_csv(folder / "points.csv", index=False)
    return folder / "points.csv"


def text_without_names(points, folder):
    np.savetxt(folder / "points.csv", points, delimiter=",")
    return folder / "points.csv"


def tabbed(points, folder):
    np.savetxt(folder / "points.tsv", points, delimiter="\t")
    return folder / "points.tsv"


def zarr_folder(points, folder):
    array = zarr.open(
        str(folder / "points.zarr"), mode="w", shape=points.shape, chunks=(70, 2), dtype=points.dtype
    )
    array[:] = points
    return folder / "points.zarr"


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
    "npz": archived,
    "feather": feathered,
    "arrow": arrow_file,
    "arrow stream": arrow_stream,
    "csv": text,
    "csv without names": text_without_names,
    "tsv": tabbed,
    "zarr": zarr_folder,
    "zarr array": lambda points, folder: zarr.open(str(zarr_folder(points, folder)), mode="r"),
    "pandas": lambda points, folder: pd.DataFrame(points).add_prefix("x"),
    "pandas with Arrow's types": lambda points, folder: table(points).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda points, folder: pl.from_arrow(table(points)),
    "polars of arrays": lambda points, folder: pl.from_arrow(lists(points)),
    "pyarrow table": lambda points, folder: table(points),
    "pyarrow record batch": lambda points, folder: table(points).to_batches()[0],
    "pyarrow data set": lambda points, folder: ds.dataset(parquet_folder(points, folder)),
    "function": function,
}
AS_FLOAT64 = {"csv", "csv without names", "tsv"}  # whatever was written
AT_HAND = {"array", "pandas", "pandas with Arrow's types", "polars", "polars of arrays"}
AT_HAND |= {"pyarrow table", "pyarrow record batch"}
COUNTED = (
    KINDS.keys() - AS_FLOAT64 - {"arrow stream", "function"}
)  # the number of rows is known before they are read

"""From what a caller gives, a path or an object, to the source that reads it."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .arrow import ArrowFileSource
from .base import Source, SourceError
from .batches import ArraySource, BatchSource
from .dask import dask_source, is_dask
from .files import NpySource, NpzSource
from .frames import PandasSource, from_polars
from .joined import joined
from .parquet import ParquetSource
from .tables import DatasetSource, TableSource
from .text import TextSource, TextTable
from .zarr import ZarrSource, open_zarr

Opener = Callable[[Any, Sequence[str] | None, str | None], Any]

FILES: dict[str, Opener] = {
    ".npy": NpySource,
    ".npz": NpzSource,
    ".parquet": ParquetSource,
    ".pq": ParquetSource,
    ".arrow": ArrowFileSource,
    ".feather": ArrowFileSource,
    ".ipc": ArrowFileSource,
    ".csv": TextSource,
    ".tsv": partial(TextSource, delimiter="\t"),
    ".zarr": open_zarr,
}
ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")  # one of them is in every folder of Zarr's


def _without_columns(what: str, opener: Callable[[Any], Any]) -> Opener:
    def opened(data: Any, columns: Sequence[str] | None, weights: str | None) -> Any:
        if columns is not None or weights is not None:
            raise ValueError(f"columns= and weights= name columns, but {what} has none that have names.")
        return opener(data)

    return opened


# By package and class, so that nothing is imported that the caller has not imported.
OBJECTS: dict[tuple[str, str], Opener] = {
    ("numpy", "ndarray"): _without_columns("an array", ArraySource),
    ("pandas", "DataFrame"): PandasSource,
    ("polars", "DataFrame"): from_polars,
    ("pyarrow", "Table"): TableSource,
    ("pyarrow", "RecordBatch"): TableSource,
    ("pyarrow.dataset", "Dataset"): DatasetSource,
    ("zarr", "Array"): _without_columns("a Zarr array", ZarrSource),
}
TAKEN_AS_ARRAYS = {("numpy", "ndarray"), ("pandas", "DataFrame")}
ADVICE = {
    ("polars", "LazyFrame"): "collect it first, or write it to Parquet with sink_parquet and give the path",
    ("pyarrow", "RecordBatchReader"): "it can be read only once, but the data are read several times; give a "
    "function without arguments that returns a new one, or a pyarrow Dataset",
}


def as_source(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    table: TextTable | None = None,
) -> Source:
    """The source that reads the data.

    `columns` are the names of the columns to use, in this order, and `weights` that of the column with the
    weights; both are for data that have named columns. `table` is the first file of a path of text files, if the
    caller has opened it to see its columns.
    """
    if isinstance(columns, str):
        raise TypeError(f"columns={columns!r} is a string; expected a list of column names.")
    if table is not None:
        opened: Source = _from_path(data, columns, weights, table)
        return opened
    opener = _opener(data)
    if opener is None:
        raise TypeError(f"can't read data of type {type(data).__name__}: {_advice(data)}.")
    source: Source = opener(data, columns, weights)
    return source


def is_source(data: Any) -> bool:
    """Whether data are to be read by `as_source`, and not taken as an array."""
    if any(_is(data, *kind) for kind in TAKEN_AS_ARRAYS):
        return False
    return _opener(data) is not None or any(_is(data, *kind) for kind in ADVICE) or hasattr(data, "__next__")


def _opener(data: Any) -> Opener | None:
    if isinstance(data, (str, os.PathLike)):
        return _from_path
    for kind, opener in OBJECTS.items():
        if _is(data, *kind):
            return opener
    if is_dask(data):
        return dask_source
    if hasattr(data, "chunks") and hasattr(data, "at_hand") and not isinstance(data, type):
        return _without_columns("a source that is open already", lambda source: source)
    return _without_columns("a function that returns batches", BatchSource) if callable(data) else None


def _is(data: Any, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(data, getattr(loaded, name, ()))


def _advice(data: Any) -> str:
    for kind, advice in ADVICE.items():
        if _is(data, *kind):
            return advice
    if hasattr(data, "__next__"):
        return (
            "it can be read only once, but the data are read several times; give the function that makes it, "
            "to be called without arguments"
        )
    return (
        "accepted are arrays, pandas and polars frames, pyarrow tables and data sets, Zarr arrays, Dask arrays "
        f"and dataframes, paths and globs of {', '.join(FILES)} files, and functions without arguments that "
        "return an iterator of batches"
    )


def _from_path(
    given: Any, columns: Sequence[str] | None, weights: str | None, table: TextTable | None = None
) -> Any:
    path = os.fspath(given)
    paths = files_of(path)
    endings = {ending_of(each) for each in paths}
    if len(endings) > 1:
        raise SourceError(f"{path} matches files of several kinds ({', '.join(sorted(endings))}); name one kind.")
    opener = FILES.get(endings.pop())
    if opener is None:
        raise SourceError(f"can't tell from its name what {path} is; accepted are {', '.join(FILES)}.")
    first = partial(opener, paths[0]) if table is None else partial(TextSource, table)
    return joined(path, [first, *(partial(opener, each) for each in paths[1:])], columns, weights)


def files_of(path: str) -> list[str]:
    """The files that a path means, in the order of their names."""
    if os.path.isdir(path) and ending_of(path) != ".zarr":
        found = [each for each in Path(path).rglob("*.parquet") if each.is_file()]
        found = [each for each in found if not any(p.startswith(("_", ".")) for p in each.relative_to(path).parts)]
        if not found:
            raise SourceError(f"the folder {path} has no .parquet files; for others give a glob, such as '*.npy'.")
        return sorted(map(str, found))
    if os.path.exists(path):
        return [path]
    if "://" in path:
        raise FileNotFoundError(f"{path} is not on this machine; give a pyarrow Dataset of remote files.")
    if not glob.has_magic(path):
        raise FileNotFoundError(f"there is no file {path}.")
    if not (matches := sorted(glob.glob(path, recursive=True))):
        raise FileNotFoundError(f"no file matches {path}.")
    return [each for match in matches for each in files_of(match)]


def ending_of(path: str) -> str:
    """What the name of a file, or what is in a folder, says of its kind."""
    if os.path.isdir(path) and any(
        os.path.exists(os.path.join(path, n)) for n in ("zarr.json", ".zarray", ".zgroup")
    ):
        return ".zarr"
    return os.path.splitext(path.rstrip("/" + os.sep))[1].lower()

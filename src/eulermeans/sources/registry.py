"""From what a caller gives, an object, a path or a glob, to the source that reads it."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from .array_files import NpySource, NpzSource, ZarrSource, open_zarr
from .arrow_files import ArrowFileSource, ParquetSource
from .arrow_tables import (
    ArrowStreamSource,
    DatasetSource,
    HuggingFaceSource,
    TableSource,
    from_lazy_polars,
    from_polars,
)
from .batches import ArraySource, BatchSource
from .csv_dialect import CsvOptions
from .csv_file import DELIMITERS, CsvSource, CsvTable
from .dask_source import dask_source, is_dask
from .excel_file import SUFFIXES, open_excel
from .pandas_frame import PandasSource
from .source import CHUNK_BYTES, Chunk, Source, SourceError, check_no_columns
from .wrapped_arrays import is_instance, unwrapped

if TYPE_CHECKING:
    import pandas as pd

# From the data, the names of the feature columns and that of the weights column to the source.
Opener: TypeAlias = Callable[[Any, Sequence[str] | None, str | None], Source]

FILES: dict[str, Opener] = {
    ".npy": NpySource,
    ".npz": NpzSource,
    ".parquet": ParquetSource,
    ".pq": ParquetSource,
    ".arrow": ArrowFileSource,
    ".feather": ArrowFileSource,
    ".ipc": ArrowFileSource,
    **{suffix: partial(CsvSource, delimiter=delimiter) for suffix, delimiter in DELIMITERS.items()},
    **dict.fromkeys(SUFFIXES, open_excel),
    ".zarr": open_zarr,
}
_COMPRESSED = (".gz", ".zst", ".bz2", ".xz")  # suffixes after that of a text file
_OTHER_COMPRESSED = (*_COMPRESSED, ".zip", ".7z", ".lz4")
_ZARR_METADATA = ("zarr.json", ".zarray", ".zgroup")  # every Zarr folder contains one of these files


def _without_columns(what: str, opener: Callable[[Any], Source]) -> Opener:
    def open_data(data: Any, columns: Sequence[str] | None, weights: str | None) -> Source:
        check_no_columns(what, columns, weights)
        return opener(data)

    return open_data


# By module and class, so that no package is imported that the caller has not imported.
OBJECTS: dict[tuple[str, str], Opener] = {
    ("numpy", "ndarray"): _without_columns("an array", ArraySource),
    ("pandas", "DataFrame"): PandasSource,
    ("polars", "DataFrame"): from_polars,
    ("polars", "LazyFrame"): from_lazy_polars,
    ("pyarrow", "Table"): TableSource,
    ("pyarrow", "RecordBatch"): TableSource,
    ("pyarrow.dataset", "Dataset"): DatasetSource,
    ("datasets", "Dataset"): HuggingFaceSource,
    ("zarr", "Array"): _without_columns("a Zarr array", ZarrSource),
}
TABLES = [kind for kind in OBJECTS if kind[1] not in ("ndarray", "Array")]  # with named columns
ARRAY_LIKE = {("numpy", "ndarray"), ("pandas", "DataFrame")}  # scikit-learn validates these
_READ_ONCE = "it can be read only once, but the data are read several times; pass "
ADVICE = {
    (
        "pyarrow",
        "RecordBatchReader",
    ): f"{_READ_ONCE}its read_all(), a function without arguments that returns a new one, or a pyarrow Dataset",
    ("pyarrow.dataset", "Scanner"): "pass its to_table(), or the Dataset that it scans with columns=",
    ("pyarrow.dataset", "Fragment"): "pass its to_table(), or the Dataset that it is a part of",
    ("datasets", "DatasetDict"): 'it has several splits; pass one, such as data["train"]',
    ("datasets", "IterableDataset"): "pass a Dataset, which load_dataset gives without streaming=True",
}


def as_source(data: object, *, columns: Sequence[str] | None = None, weights: str | None = None) -> Source:
    """The source that reads the data. All methods of the estimators take it in place of the data.

    Parameters
    ----------
    data : path, glob, frame, table, Zarr array, Dask collection, or function that returns batches
        What to read.
    columns : list of str, default=None
        The columns to use, in this order, of data with named columns.
    weights : str, default=None
        The name of the column that has the weights of the rows.

    Returns
    -------
    Source
        Reads the rows in chunks, as often as a fit asks for them.

    Examples
    --------
    >>> import pandas as pd
    >>> from eulermeans import EulerMeans, as_source
    >>> frame = pd.DataFrame({"x": [0.0, 1.0, 9.0, 10.0], "name": list("abcd"), "n": [1, 3, 1, 1]})
    >>> model = EulerMeans(2, random_state=0).fit(as_source(frame, columns=["x"], weights="n"))
    >>> model.cluster_centers_.tolist()
    [[0.75], [9.5]]
    """
    if isinstance(columns, str):
        raise TypeError(f"columns={columns!r} is a string; expected a list of column names.")
    data = unwrapped(data)
    opener = _find_opener(data)
    if opener is None:
        raise TypeError(f"can't read data of type {type(data).__name__}: {_advice(data)}.")
    return opener(data, columns, weights)


def with_columns(data: object, columns: Sequence[str]) -> object:
    """Some columns of the data: a pandas frame of a frame, else a source."""
    source = as_source(data, columns=columns)  # checks the columns
    return data[list(columns)] if _is_pandas(data) else source


def _is_pandas(data: object) -> TypeGuard[pd.DataFrame]:
    return is_instance(data, "pandas", "DataFrame")


def has_columns(data: object) -> bool:
    """Whether `as_source` can choose columns of the data by name."""
    if isinstance(data, (str, os.PathLike)):
        files = find_files(os.fspath(data))
        return FILES.get(suffix_of(files[0])) not in (NpySource, NpzSource, open_zarr)
    if is_dask(data):
        return hasattr(data, "columns")
    return any(is_instance(data, *kind) for kind in TABLES) or _find_opener(data) is ArrowStreamSource


def is_source(data: object) -> bool:
    """Whether data are for `as_source`, rather than to be taken as an array. They are `unwrapped`."""
    if any(is_instance(data, *kind) for kind in ARRAY_LIKE):
        return False
    known = _find_opener(data) is not None or any(is_instance(data, *kind) for kind in ADVICE)
    return known or hasattr(data, "__next__")


def _find_opener(data: object) -> Opener | None:
    if isinstance(data, (str, os.PathLike)):
        return open_path
    for kind, opener in OBJECTS.items():
        if is_instance(data, *kind):
            return opener
    if is_dask(data):
        return dask_source
    if isinstance(data, Source):
        return _without_columns("an open source", lambda source: source)
    if hasattr(type(data), "__arrow_c_stream__") and not any(is_instance(data, *kind) for kind in ADVICE):
        return ArrowStreamSource
    return _without_columns("a function that returns batches", BatchSource) if callable(data) else None


def _advice(data: object) -> str:
    for kind, advice in ADVICE.items():
        if is_instance(data, *kind):
            return advice
    if hasattr(data, "__next__"):
        return f"{_READ_ONCE}the function that makes it, which is called without arguments"
    return (
        "pass an array, a pandas or polars frame, a pyarrow table or dataset, anything else that gives an Arrow "
        f"stream, a Zarr array, a Dask array or dataframe, a path or glob of {', '.join(FILES)} files, or a "
        "function without arguments that returns an iterator of batches"
    )


def open_path(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None,
    weights: str | None,
    table: CsvTable | None = None,  # the first file, if it is a CSV file that has been inspected
) -> Source:
    """The source of all files that a path names.

    All are opened now, so that differing columns are found before any rows are read.
    """
    path = os.fspath(path)
    files = find_files(path)
    suffixes = {suffix_of(file) for file in files}
    if len(suffixes) > 1:
        raise SourceError(f"{path} matches several types of files ({', '.join(sorted(suffixes))}); choose one.")
    opener = FILES.get(suffixes.pop())
    if opener is None and path.lower().endswith(_OTHER_COMPRESSED):
        raise SourceError(
            f"{path} is compressed; decompress it. Text may be compressed by gzip, bzip2, xz or zstd."
        )
    if opener is None:
        raise SourceError(f"{path} is of an unknown type; the supported ones are {', '.join(FILES)}.")
    first = opener(files[0], columns, weights) if table is None else CsvSource(table, columns, weights)
    if table is not None and table.options != CsvOptions():
        opener = partial(_open_text, options=table.options)
    sources = [first]
    for file in files[1:]:
        source = opener(file, columns, weights)
        if source.schema != first.schema and sorted(source.schema) == sorted(first.schema):
            source = opener(file, [column for column, _ in first.schema], weights)  # same columns, another order
        _check_same_schema(first, source)
        sources.append(source)
    return first if len(sources) == 1 else ConcatSource(path, sources)


def _open_text(path: str, columns: Sequence[str] | None, weights: str | None, *, options: CsvOptions) -> Source:
    return CsvSource(CsvTable(path, DELIMITERS[suffix_of(path)], options), columns, weights)


def find_files(path: str) -> list[str]:
    """The files that a path, a glob or a folder of Parquet files names, sorted."""
    if os.path.isdir(path) and suffix_of(path) != ".zarr":
        found = [each for each in Path(path).rglob("*.parquet") if each.is_file()]
        found = [each for each in found if not any(p.startswith(("_", ".")) for p in each.relative_to(path).parts)]
        if not found:
            raise SourceError(
                f"the folder {path} has no .parquet files; for other files give a glob such as '*.npy'."
            )
        return sorted(map(str, found))
    if os.path.exists(path):
        if not os.path.isfile(path) and not os.path.isdir(path):  # opening it could wait for ever
            raise SourceError(
                f"{path} is a pipe or a device, but the data are read several times; write them to a file, or "
                "give the command - to read stdin."
            )
        return [path]
    if "://" in path:
        raise FileNotFoundError(f"{path} is not a local file; for remote files pass a pyarrow Dataset.")
    if not glob.has_magic(path):
        raise FileNotFoundError(f"no such file: {path}")
    if not (matches := sorted(glob.glob(path, recursive=True))):
        raise FileNotFoundError(f"no file matches {path}")
    return [each for match in matches for each in find_files(match)]


def suffix_of(path: str) -> str:
    """The suffix that stands for the type of a file: `.csv` for `x.csv.gz`. A Zarr folder may have any name."""
    if os.path.isdir(path) and any(os.path.exists(os.path.join(path, name)) for name in _ZARR_METADATA):
        return ".zarr"
    stem, suffix = os.path.splitext(path.rstrip("/" + os.sep).lower())
    inner = os.path.splitext(stem)[1]
    return inner if suffix in _COMPRESSED and inner in DELIMITERS else suffix


class ConcatSource(Source):
    """The rows of several sources with the same schema, one source after the other."""

    def __init__(self, name: str, sources: list[Source]) -> None:
        first, counts = sources[0], [source.n_points for source in sources]
        known = [count for count in counts if count is not None]
        self.name, self.n_points = name, sum(known) if len(known) == len(counts) else None
        self.n_features, self.feature_names = first.n_features, first.feature_names
        self.dtype, self.weighted = first.dtype, first.weighted
        self.files = [file for source in sources for file in source.files]
        self._sources = sources

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        for source in self._sources:
            yield from source.chunks(most_bytes)

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks, for one file at a time."""
        return max(source.reader_bytes(most_bytes) for source in self._sources)


def _check_same_schema(first: Source, other: Source) -> None:
    expected, found = dict(first.schema), dict(other.schema)
    for column in expected | found:
        if expected.get(column) != found.get(column):
            raise SourceError(
                f"{first.name} and {other.name} have different columns: column {column!r} is "
                f"{expected.get(column, 'missing')} in the first and {found.get(column, 'missing')} in the second."
            )

"""From what a caller gives, a path or an object, to the source that reads it."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .arrow import ParquetSource
from .base import Source, SourceError
from .batches import ArraySource, BatchSource
from .files import NpySource
from .joined import joined

ACCEPTED = (
    "a NumPy array, a path or glob of .npy or .parquet files, or a function without arguments that returns an "
    "iterator of batches"
)


def as_source(data: Any, *, columns: Sequence[str] | None = None, weights: str | None = None) -> Source:
    """The source that reads the data.

    `columns` are the names of the columns to use, in this order, and `weights` that of the column with the
    weights; both are for data that have named columns.
    """
    if isinstance(columns, str):
        raise TypeError(f"columns={columns!r} is a string; expected a list of column names.")
    if isinstance(data, (str, os.PathLike)):
        return _from_path(os.fspath(data), columns, weights)
    if not isinstance(data, type) and hasattr(data, "chunks") and hasattr(data, "weighted"):
        _no_columns("a source that is open already", columns, weights)
        return data  # type: ignore[no-any-return]
    if isinstance(data, np.ndarray):
        _no_columns("an array", columns, weights)
        return ArraySource(data)
    if callable(data):
        _no_columns("a function that returns batches", columns, weights)
        return BatchSource(data)
    if hasattr(data, "__next__"):
        raise TypeError(
            f"a {type(data).__name__} can be read only once, but the data are read several times; give the "
            "function that makes it, to be called without arguments."
        )
    raise TypeError(f"can't read data of type {type(data).__name__}; accepted are {ACCEPTED}.")


def is_source(data: Any) -> bool:
    """Whether data are to be read by `as_source`, and not taken as an array."""
    if isinstance(data, np.ndarray):
        return False
    if isinstance(data, (str, os.PathLike)) or hasattr(data, "__next__"):
        return True
    return (hasattr(data, "chunks") and hasattr(data, "weighted")) or callable(data)


def _no_columns(what: str, columns: Sequence[str] | None, weights: str | None) -> None:
    if columns is not None or weights is not None:
        raise ValueError(f"columns= and weights= name columns, but {what} has none that can be chosen by name.")


def _npy(path: str, columns: Sequence[str] | None, weights: str | None) -> NpySource:
    _no_columns("a .npy file", columns, weights)
    return NpySource(path)


OPENERS: dict[str, Callable[[str, Sequence[str] | None, str | None], Any]] = {
    ".npy": _npy,
    ".parquet": ParquetSource,
}


def _from_path(path: str, columns: Sequence[str] | None, weights: str | None) -> Source:
    paths = _files(path)
    endings = {_ending(each) for each in paths}
    if len(endings) > 1:
        raise SourceError(f"{path} matches files of several kinds ({', '.join(sorted(endings))}); name one kind.")
    opener = OPENERS.get(endings.pop())
    if opener is None:
        raise SourceError(f"can't tell from its name what {path} is; accepted are {', '.join(OPENERS)}.")
    return joined(path, [partial(opener, each) for each in paths], columns, weights)


def _files(path: str) -> list[str]:
    """The files that a path means, in the order of their names."""
    if os.path.isdir(path) and not _ending(path):
        found = [str(each) for each in Path(path).rglob("*.parquet")]
        found = [each for each in found if not os.path.relpath(each, path).startswith(("_", "."))]
        if not found:
            raise SourceError(f"the folder {path} has no .parquet files; for others give a glob, such as '*.npy'.")
        return sorted(found)
    if os.path.exists(path):
        return [path]
    if not glob.has_magic(path):
        raise FileNotFoundError(f"there is no file {path}.")
    if not (found := glob.glob(path, recursive=True)):
        raise FileNotFoundError(f"no file matches {path}.")
    return sorted(found)


def _ending(path: str) -> str:
    ending = os.path.splitext(path.rstrip("/" + os.sep))[1].lower()
    return ending if ending in OPENERS else ""

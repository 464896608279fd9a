"""The DATA argument: find the files, choose their columns, and count rows while they are read."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..sources import CHUNK_BYTES, Chunk, Source, TableColumn, TableFiles, WrappedSource, listed
from ..storage.models import SavedModel
from .errors import Interrupt
from .progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

_COMPRESSED_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
_COMPRESSED_BYTES = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_FORMAT_BYTES = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # Arrow's stream format
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
}
Names: TypeAlias = dict[str, None]  # of columns, in order: there may be many, and a list would be slow to search

_BLOCK_BYTES = 1 << 20  # of stdin
_MAX_SUGGESTED = 12  # columns in the suggestion of an error message
_OPTION_NAMES = {"columns=": "--columns", "weights=": "--weights", "memory_limit=": "--memory "}


@dataclass(frozen=True)
class Selection:
    """Which data to read, and which columns of it."""

    data: str  # a path, a glob, or - for stdin
    columns: Sequence[str] | None = None  # names, or several names separated by commas; None: all but those below
    drop: Sequence[str] | None = None
    weights: str | None = None
    id: str | None = None

    @property
    def title(self) -> str:
        """The name of the data for people."""
        return "stdin" if self.data == "-" else self.data

    @property
    def stem(self) -> str:
        """The start of the name of the model file."""
        path = Path(self.title)
        plain = re.sub(r"[*?\[\]]", "", path.name.removesuffix(path.suffix)).strip("-_. ")
        return plain or path.parent.name or "model"


class InputData(WrappedSource):
    """The data of a command. Reports rows to the progress as they are read, and stops on Ctrl-C."""

    def __init__(
        self, source: Source, selection: Selection, files: TableFiles, progress: Progress, interrupt: Interrupt
    ) -> None:
        super().__init__(source)
        self.selection, self.progress, self.interrupt = selection, progress, interrupt
        self.n_rows: int | None = None  # known after the first pass
        self.total_weight = 0.0  # known after the first pass
        self._table_files = files

    def ids(self) -> Iterator[pa.Array] | None:
        """The ids of the rows, in blocks; None if no id column was given."""
        return None if self.selection.id is None else self._table_files.column(self.selection.id)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        self.progress.begin_pass(self.n_rows or self._table_files.estimated_rows or self.n_points)
        n_rows, weight = 0, 0.0
        self.interrupt.check()
        for chunk in self._source.chunks(most_bytes):
            n_rows += len(chunk)
            weight += len(chunk) if chunk.weights is None else float(chunk.weights.sum())
            self.progress.add_rows(len(chunk))
            yield chunk
            self.interrupt.check()
        self.n_rows, self.total_weight = n_rows, weight
        self.progress.end_pass()


@contextmanager
def open_data(selection: Selection, progress: Progress, model: SavedModel | None = None) -> Iterator[InputData]:
    """Open the data, and listen for Ctrl-C while the block runs.

    If a model is given that knows the names of its columns, those columns are read.
    """
    with ExitStack() as stack:
        temporary = stack.enter_context(_stdin_file()) if selection.data == "-" else None
        path = selection.data if temporary is None else os.fspath(temporary)
        interrupt = stack.enter_context(Interrupt(progress.stop).listening())
        try:
            _check_not_compressed(path)
            files = TableFiles(path)
            columns = _choose_columns(selection, files, None if model is None else model.feature_names)
            source = files.source(columns, selection.weights)
            if model is not None and source.n_features != model.estimator.n_features_in_:
                raise ValueError(
                    f"{path} has {source.n_features} features; the model expects {model.estimator.n_features_in_}"
                )
            yield InputData(source, selection, files, progress, interrupt)
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(_for_user(str(error), temporary)) from error


@contextmanager
def _stdin_file() -> Iterator[Path]:
    """Copy stdin, which is read several times, to a temporary file. The file is removed after the block."""
    if sys.stdin.isatty():
        raise ValueError("DATA is -, but stdin is a terminal; pipe data into it: cat data.csv | eulermeans ... -")
    with tempfile.TemporaryDirectory(prefix="eulermeans-", ignore_cleanup_errors=True) as folder:
        received = Path(folder, "stdin")
        interrupt = Interrupt(lambda: interrupt.check())  # stop at once: the data may never come
        with received.open("wb") as file, interrupt.listening():
            start = sys.stdin.buffer.read(_BLOCK_BYTES)
            file.write(start)
            shutil.copyfileobj(sys.stdin.buffer, file, _BLOCK_BYTES)
        yield received.rename(received.with_suffix(_suffix(start)))


def _suffix(start: bytes) -> str:
    """The file name suffix for data with these first bytes. Data of no known format is text."""
    if not start:
        raise ValueError("stdin is empty")
    for magic, program in _COMPRESSED_BYTES.items():
        if start.startswith(magic):
            raise ValueError(f"stdin is compressed; decompress it: {program} -dc data | eulermeans ... -")
    for magic, suffix in _FORMAT_BYTES.items():
        if start.startswith(magic):
            return suffix
    line = start.split(b"\n", 1)[0]
    return ".tsv" if line.count(b"\t") > line.count(b",") else ".csv"


def _for_user(message: str, temporary: Path | None) -> str:
    """A message of the library with options in place of arguments, and without the name of a temporary file."""
    for argument, option in _OPTION_NAMES.items():
        message = message.replace(argument, option)
    return message if temporary is None else message.replace(os.fspath(temporary), "stdin")


def _check_not_compressed(path: str) -> None:
    program = _COMPRESSED_SUFFIXES.get(os.path.splitext(path)[1])
    if program is not None:
        raise ValueError(f"{path} is compressed; decompress it: {program} -dc {path} | eulermeans ... -")


def _choose_columns(selection: Selection, files: TableFiles, model_names: list[str] | None) -> list[str] | None:
    """The names of the columns to cluster; None if files of this format have no named columns."""
    path = files.path
    if files.columns is None:
        if selection.columns or selection.drop or selection.id:
            raise ValueError(f"{path} has no named columns, so --columns, --drop and --id can't be used")
        return None
    known = dict.fromkeys(column.name for column in files.columns)
    _check_known([name for name in (selection.weights, selection.id) if name], known, path)
    excluded = {selection.weights, selection.id, *_split_names(selection.drop, known, path)}
    if selection.columns:
        chosen = _split_names(selection.columns, known, path)
    elif model_names is not None and files.has_header:
        chosen = _model_columns(model_names, known, path)
    else:
        chosen = dict.fromkeys(name for name in known if name not in excluded)
    if not chosen:
        raise ValueError(f"no columns of {path} are left to cluster; it has {listed(list(known))}")
    _check_numeric([column for column in files.columns if column.name in chosen], files)
    return list(chosen)


def _split_names(given: Sequence[str] | None, known: Names, path: str) -> Names:
    """The columns that an option names. A value that is itself a column name is not split at its commas."""
    names: list[str] = []
    for each in given or ():
        names += [each] if each in known else [part.strip() for part in each.split(",") if part.strip()]
    _check_known(names, known, path)
    return dict.fromkeys(names)


def _check_known(names: Iterable[str], known: Names, path: str, why: str = "") -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{path} has no column {listed(missing)}{why}; it has {listed(list(known))}")


def _model_columns(names: list[str], known: Names, path: str) -> Names:
    """The columns of the model's features. Features of a list column are called name[0], name[1], ..."""
    columns = dict.fromkeys(name if name in known else name.partition("[")[0] for name in names)
    _check_known(columns, known, path, ", which the model needs")
    return columns


def _check_numeric(chosen: list[TableColumn], files: TableFiles) -> None:
    other = [column for column in chosen if not column.numeric]
    if not other:
        return
    numeric = [column.name for column in files.columns or () if column.numeric]
    advice = "drop them with --drop " + shlex.quote(",".join(column.name for column in other))
    if numeric and len(numeric) <= _MAX_SUGGESTED:
        advice += ", or choose columns with --columns " + shlex.quote(",".join(numeric))
    types = listed([f"{column.name} ({column.type})" for column in other])
    raise ValueError(f"{files.path} has columns that are not numeric: {types}; {advice}")

"""Labels in files: a column of clusters, perhaps beside an id, in the format that the file's ending says."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..arrays import Array
from ..optional import optional
from ..storage import replacing

COLUMN = "cluster"
ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".npy")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_NPY_HEADER = 128  # bytes: room for any number of rows


def check_ending(path: Path, *, with_id: bool) -> None:
    """Refuse what can't be written before work is spent on it."""
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"can't write labels to {path}: the ending must be one of {', '.join(ENDINGS)}")
    if with_id and path.suffix.lower() == ".npy":
        raise ValueError(f"can't write an id to {path}: a .npy file holds labels only; choose .csv or .parquet")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"can't write {path}: there is no folder {path.parent}")


def write_labels(
    path: Path | None,  # None: stdout, as CSV
    labels: Any,  # an array, or blocks of it
    ids: Iterable[Any] | None = None,  # pyarrow Arrays, in blocks of their own
    id_name: str | None = None,
) -> None:
    """Write all labels in order, with the ids beside them."""
    columns = _columns([labels] if isinstance(labels, np.ndarray) else labels, ids)
    headings = [COLUMN] if id_name is None else [id_name, COLUMN if id_name != COLUMN else f"{COLUMN}_"]
    if path is None:
        return _write_text(sys.stdout, ",", headings, columns)
    with replacing(path) as partial:
        ending = path.suffix.lower()
        if ending == ".npy":
            _write_npy(partial, columns)
        elif ending in _DELIMITERS:
            with partial.open("w", encoding="utf-8", newline="") as file:
                _write_text(file, _DELIMITERS[ending], headings, columns)
        else:
            _write_arrow(partial, ending, headings, columns)


def _columns(labels: Iterable[Array], ids: Iterable[Any] | None) -> Iterator[list[Any]]:
    """For each block of labels the columns to be written: labels, and as many ids before them if there are any."""
    if ids is None:
        yield from ([np.asarray(block)] for block in labels)
        return
    beside = _Cut(ids)
    for block in labels:
        yield [beside.take(len(block)), np.asarray(block)]
    beside.check_empty()


def _write_text(file: IO[str], delimiter: str, headings: list[str], blocks: Iterable[list[Any]]) -> None:
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(headings)
    for columns in blocks:
        writer.writerows(zip(*map(_as_list, columns), strict=True))


def _write_arrow(path: Path, ending: str, headings: list[str], blocks: Iterable[list[Any]]) -> None:
    arrow = optional("pyarrow", "io")
    writer: Any = None
    with ExitStack() as opened:
        for columns in blocks:
            table = arrow.table(dict(zip(headings, map(_as_arrow, columns), strict=True)))
            if writer is None:
                parquet, ipc = optional("pyarrow.parquet", "io"), optional("pyarrow.ipc", "io")
                new_file = parquet.ParquetWriter if ending == ".parquet" else ipc.new_file
                writer = opened.enter_context(new_file(str(path), table.schema))
            writer.write_table(table)


def _as_list(column: Any) -> list[Any]:
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    return values


def _as_arrow(column: Any) -> Any:
    return optional("pyarrow", "io").array(column) if isinstance(column, np.ndarray) else column


def _write_npy(path: Path, blocks: Iterable[list[Any]]) -> None:
    """A file whose length is known only in the end: its header is written last, in the room left for it."""
    n_rows = 0
    with path.open("wb") as file:
        file.write(bytes(_NPY_HEADER))
        for (labels,) in blocks:
            file.write(np.ascontiguousarray(labels, "<i4").data)
            n_rows += len(labels)
        file.seek(0)
        header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({n_rows},), }}"
        file.write(b"\x93NUMPY\x01\x00" + (_NPY_HEADER - 10).to_bytes(2, "little"))
        file.write(header.ljust(_NPY_HEADER - 11).encode() + b"\n")


class _Cut:
    """Blocks of a column, given out in other lengths."""

    def __init__(self, blocks: Iterable[Any]) -> None:
        self._blocks = iter(blocks)
        self._rest: Any = None

    def take(self, n_rows: int) -> Any:
        """The next rows, as a pyarrow ChunkedArray."""
        taken, missing = [], n_rows
        while missing:
            if self._rest is None or not len(self._rest):
                self._rest = next(self._blocks, None)
                if self._rest is None:
                    raise ValueError("the id column has fewer rows than the data")
            taken.append(self._rest[:missing])
            self._rest = self._rest[missing:]
            missing -= len(taken[-1])
        return optional("pyarrow", "io").chunked_array(taken)

    def check_empty(self) -> None:
        """All rows must have been taken."""
        if (self._rest is not None and len(self._rest)) or any(len(block) for block in self._blocks):
            raise ValueError("the id column has more rows than the data")

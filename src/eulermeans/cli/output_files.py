"""Output files: checked before the work begins, and label files in the format that the file name says."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

import numpy as np

from ..arrays import Array
from ..optional import optional
from ..storage import replacing

if TYPE_CHECKING:
    import pyarrow as pa

    from ..certificate import Certificate
    from ..storage.models import SavedModel
    from .input_data import InputData

    Column: TypeAlias = "Array | pa.ChunkedArray"

_LABEL_SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".npy")
_HEADING = "cluster"
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_NPY_HEADER_BYTES = 128  # NumPy pads to a multiple of 64: any number of rows fits, and none fits in 64


def check_output(path: Path, what: str, suffixes: Sequence[str] = (), needs: Sequence[str] = ()) -> None:
    """Raise an error if a file can't be written: wrong suffix, no such folder, or a package of [plot] missing."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise ValueError(f"can't write {what} to {path}: the suffix must be one of {', '.join(suffixes)}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"can't write {path}: there is no folder {path.parent}")
    for package in needs:
        optional(package, "plot")


def check_labels_output(path: Path, id_name: str | None) -> None:
    """Raise an error if labels, and ids if there are any, can't be written to this file."""
    check_output(path, "labels", _LABEL_SUFFIXES)
    if id_name is not None and path.suffix.lower() == ".npy":
        raise ValueError(f"can't write ids to {path}: a .npy file can only hold labels; use .csv or .parquet")


def check_report_output(path: Path) -> None:
    """Raise an error if a report can't be written to this file."""
    check_output(path, "a report", (".html", ".htm"), needs=("jinja2", "matplotlib"))


def write_labels(
    path: Path | None,  # None: stdout, as CSV
    labels: Array | Iterable[Array],  # (n_rows,), or blocks of it
    ids: Iterable[pa.Array] | None = None,  # blocks of other lengths
    id_name: str | None = None,
) -> None:
    """Write the labels in order, next to the ids if there are any."""
    blocks = _label_blocks([labels] if isinstance(labels, np.ndarray) else labels, ids)
    headings = [_HEADING] if id_name is None else [id_name, _HEADING if id_name != _HEADING else f"{_HEADING}_"]
    if path is None:
        return _write_text(sys.stdout, ",", headings, blocks)
    with replacing(path) as partial:
        suffix = path.suffix.lower()
        if suffix == ".npy":
            _write_npy(partial, blocks)
        elif suffix in _DELIMITERS:
            with partial.open("w", encoding="utf-8", newline="") as file:
                _write_text(file, _DELIMITERS[suffix], headings, blocks)
        else:
            _write_arrow(partial, suffix, headings, blocks)


def write_report(path: Path, model: SavedModel, data: InputData, certificate: Certificate | None = None) -> None:
    """Read the data once and write the report."""
    from ..report import write

    data.progress.begin(f"writing {path}")
    title, command = data.selection.title, model.notes.get("command")
    write(model.whole, data, path, name=title, ids=data.ids(), command=command, certificate=certificate)


def _label_blocks(labels: Iterable[Array], ids: Iterable[pa.Array] | None) -> Iterator[list[Column]]:
    """The columns of each block: the ids, if there are any, and the labels."""
    if ids is None:
        yield from ([np.asarray(block)] for block in labels)
        return
    unread = iter(ids)
    waiting: list[pa.Array] = []  # ids that were read and not yet written, in blocks
    for block in labels:
        while sum(map(len, waiting)) < len(block):
            if (read := next(unread, None)) is None:
                raise ValueError("the id column has fewer rows than the data")
            waiting.append(read)
        column = optional("pyarrow", "io").chunked_array(waiting)
        yield [column[: len(block)], np.asarray(block)]
        waiting = column[len(block) :].chunks
    if any(len(rest) for rest in chain(waiting, unread)):
        raise ValueError("the id column has more rows than the data")


def _write_text(file: IO[str], delimiter: str, headings: list[str], blocks: Iterable[list[Column]]) -> None:
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(headings)
    for columns in blocks:
        lists = (c.tolist() if isinstance(c, np.ndarray) else c.to_pylist() for c in columns)
        writer.writerows(zip(*lists, strict=True))


def _write_arrow(path: Path, suffix: str, headings: list[str], blocks: Iterable[list[Column]]) -> None:
    pyarrow = optional("pyarrow", "io")
    writer: pa.RecordBatchFileWriter | pa.parquet.ParquetWriter | None = None
    with ExitStack() as opened:
        for columns in blocks:
            arrays = (pyarrow.array(c) if isinstance(c, np.ndarray) else c for c in columns)
            table = pyarrow.table(dict(zip(headings, arrays, strict=True)))
            if writer is None:
                parquet, ipc = optional("pyarrow.parquet", "io"), optional("pyarrow.ipc", "io")
                new_file = parquet.ParquetWriter if suffix == ".parquet" else ipc.new_file
                writer = opened.enter_context(new_file(str(path), table.schema))
            writer.write_table(table)


def _write_npy(path: Path, blocks: Iterable[list[Column]]) -> None:
    """The header has the number of rows, which is known at the end: it is written last, into reserved space."""
    n_rows = 0
    with path.open("wb") as file:
        file.seek(_NPY_HEADER_BYTES)
        for (labels,) in blocks:
            file.write(np.ascontiguousarray(labels, "<i4").data)
            n_rows += len(labels)
        file.seek(0)
        header = {"descr": "<i4", "fortran_order": False, "shape": (n_rows,)}
        np.lib.format.write_array_header_1_0(file, header)

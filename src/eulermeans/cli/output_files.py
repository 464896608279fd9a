"""Output files: checked before the work begins; labels and centers in the format that the file name says."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
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
    from ..choosing import Sweep
    from ..storage.model_summary import ModelSummary
    from ..storage.models import SavedModel
    from .input_data import InputData

    Column: TypeAlias = "Array | pa.ChunkedArray"
    Block: TypeAlias = dict[str, Column]  # columns of the same length, by name

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


def check_labels_output(path: Path, id_name: str | None, append: bool = False) -> None:
    """Raise an error if labels, and what is to be beside them, can't be written to this file."""
    check_output(path, "labels", _LABEL_SUFFIXES)
    if path.suffix.lower() != ".npy":
        return
    if id_name is not None:
        raise ValueError(f"can't write ids to {path}: a .npy file can only hold labels; use .csv or .parquet")
    if append:
        raise ValueError(f"can't append labels to rows in {path}: it can only hold labels; use .csv or .parquet")


def check_centers_output(path: Path) -> None:
    """Raise an error if centers can't be written to this file."""
    check_output(path, "centers", _LABEL_SUFFIXES)


def check_report_output(path: Path) -> None:
    """Raise an error if a report can't be written to this file."""
    check_output(path, "a report", (".html", ".htm"), needs=("jinja2", "matplotlib"))


def is_text(path: Path | None) -> bool:
    """Whether labels for this file are written as text; None: stdout."""
    return path is None or path.suffix.lower() in _DELIMITERS


def write_labels(
    path: Path | None,  # None: stdout, as CSV
    labels: Iterable[Array],  # (n_rows,), in blocks
    beside: Iterable[pa.RecordBatch]
    | None = None,  # columns to write before the labels, in blocks of other lengths
) -> None:
    """Write the labels in order, next to other columns if there are any."""
    blocks = _label_blocks(labels, beside)
    if path is None:
        return _write_text(sys.stdout, ",", blocks)
    with replacing(path) as unfinished:
        suffix = path.suffix.lower()
        if suffix == ".npy":
            _write_npy(unfinished, (block[_HEADING] for block in blocks))
        else:
            _write_table(unfinished, suffix, blocks)


def write_centers(path: Path, model: ModelSummary) -> None:
    """Write the number, the size and the center of each cluster, in the units of the data."""
    with replacing(path) as unfinished:
        suffix = path.suffix.lower()
        if suffix == ".npy":
            with unfinished.open("wb") as file:
                np.save(file, model.rounded_centers)
            return
        names = model.feature_names or [f"feature {place}" for place in range(model.n_features)]
        columns: Block = {_HEADING: np.arange(model.n_clusters)}
        if model.weights is not None:
            columns["size"] = model.weights
        for name, values in zip(names, model.rounded_centers.T, strict=True):
            columns[_free_name(name, columns)] = values
        _write_table(unfinished, suffix, [columns])


def write_report(
    path: Path,
    model: SavedModel,
    data: InputData,
    certificate: Certificate | None = None,
    *,
    image_shape: tuple[int, ...] | None = None,
    sweep: Sweep | None = None,
) -> None:
    """Read the data once and write the report."""
    from ..report import write

    data.progress.begin(f"writing {path}")
    write(
        model.whole,
        data,
        path,
        name=data.selection.title,
        ids=data.ids(),
        command=str(model.notes["command"]) if "command" in model.notes else None,
        certificate=certificate,
        image_shape=image_shape,
        sweep=sweep,
    )


def check_image_shape(shape: tuple[int, ...] | None, data: InputData) -> None:
    """Raise a ValueError if the rows are not images of this shape."""
    if shape is not None and math.prod(shape) != data.n_features:
        pixels = "x".join(map(str, shape))
        raise ValueError(f"--image-shape {pixels} has {math.prod(shape)} pixels; the rows have {data.n_features}")


def _free_name(name: str, taken: Container[str]) -> str:
    """The name, with a line behind it as long as it is taken."""
    while name in taken:
        name += "_"
    return name


def _label_blocks(labels: Iterable[Array], beside: Iterable[pa.RecordBatch] | None) -> Iterator[Block]:
    """The columns of each block: those beside the labels, if there are any, and the labels."""
    if beside is None:
        yield from ({_HEADING: np.asarray(block)} for block in labels)
        return
    from_batches = optional("pyarrow", "io").Table.from_batches
    unread = iter(beside)
    waiting: list[pa.RecordBatch] = []  # that were read and not yet written
    for block in labels:
        while sum(batch.num_rows for batch in waiting) < len(block):
            if (read := next(unread, None)) is None:
                raise ValueError("the id column has fewer rows than the data")
            waiting.append(read)
        if not len(block):
            continue
        table = from_batches(waiting)
        now = table.slice(0, len(block))
        columns = dict(zip(now.column_names, now.columns, strict=True))
        yield {**columns, _free_name(_HEADING, columns): np.asarray(block)}
        waiting = table.slice(len(block)).to_batches()
    if any(rest.num_rows for rest in chain(waiting, unread)):
        raise ValueError("the id column has more rows than the data")


def _write_table(path: Path, suffix: str, blocks: Iterable[Block]) -> None:
    if suffix in _DELIMITERS:
        with path.open("w", encoding="utf-8", newline="") as file:
            _write_text(file, _DELIMITERS[suffix], blocks)
    else:
        _write_arrow(path, suffix, blocks)


def _write_text(file: IO[str], delimiter: str, blocks: Iterable[Block]) -> None:
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    has_header = False
    for block in blocks:
        lists = (c.tolist() if isinstance(c, np.ndarray) else c.to_pylist() for c in block.values())
        try:
            if not has_header:
                writer.writerow(block)
                has_header = True
            writer.writerows(zip(*lists, strict=True))
        except csv.Error as error:  # the one sign that the module can't write, before Python 3.11
            reason = "a text contains a null character, which Python 3.10 can't write to a text file"
            raise ValueError(f"{reason}; choose a .parquet or .arrow file.") from error


def _write_arrow(path: Path, suffix: str, blocks: Iterable[Block]) -> None:
    pyarrow = optional("pyarrow", "io")
    writer: pa.RecordBatchFileWriter | pa.parquet.ParquetWriter | None = None
    with ExitStack() as opened:
        for block in blocks:
            table = pyarrow.table(
                {name: pyarrow.array(c) if isinstance(c, np.ndarray) else c for name, c in block.items()}
            )
            if writer is None:
                parquet, ipc = optional("pyarrow.parquet", "io"), optional("pyarrow.ipc", "io")
                new_file = parquet.ParquetWriter if suffix == ".parquet" else ipc.new_file
                writer = opened.enter_context(new_file(str(path), table.schema))
            writer.write_table(table)


def _write_npy(path: Path, blocks: Iterable[Column]) -> None:
    """The header has the number of rows, which is known at the end: it is written last, into reserved space."""
    n_rows = 0
    with path.open("wb") as file:
        file.seek(_NPY_HEADER_BYTES)
        for labels in blocks:
            file.write(np.ascontiguousarray(labels, "<i4").data)
            n_rows += len(labels)
        file.seek(0)
        header = {"descr": "<i4", "fortran_order": False, "shape": (n_rows,)}
        np.lib.format.write_array_header_1_0(file, header)

"""The DATA argument: open the files, choose rows and columns, and count rows while they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..sources import (
    CHUNK_BYTES,
    BlockCursor,
    Chunk,
    CsvOptions,
    MissingValueError,
    RunningVariance,
    TableFiles,
)
from .errors import Interrupt, print_line
from .prepared_data import PreparedData, Watch, missing_message, prepare_data
from .progress import Progress
from .selection import Selection
from .stdin_file import stdin_file
from .watched_source import WatchedSource

if TYPE_CHECKING:
    import pyarrow as pa

    from ..storage.models import SavedModel

_OPTION_NAMES = {"columns=": "--columns", "weights=": "--weights", "memory_limit=": "--memory "}
_OPTION_NAMES |= {"delimiter=": "--delimiter ", "decimal=": "--decimal ", "encoding=": "--encoding "}
_TABS = {"\\t": "\t", "tab": "\t"}  # how people write a tab in a shell
_MEASURED_ROWS = 1000  # of each chunk of the first pass, for the variance of the features
LEFT_OUT = -1  # the cluster of rows that were left out because of missing values


class InputData(WatchedSource):
    """The data of a command."""

    def __init__(
        self,
        prepared: PreparedData,
        selection: Selection,
        files: TableFiles,
        progress: Progress,
        interrupt: Interrupt,
    ) -> None:
        super().__init__(prepared.source, progress, interrupt)
        self.selection, self.prepared = selection, prepared
        self.n_rows: int | None = None  # known after the first pass
        self.total_weight = 0.0  # known after the first pass
        self.variance = RunningVariance(self.n_features)  # of some rows of the first pass
        self._table_files = files

    def ids(self) -> Iterator[pa.Array] | None:
        """The ids of the rows that are clustered, in blocks; None if no id column was given."""
        name, rows = self.selection.id, self.prepared.rows
        if name is None or rows is None:
            return None
        blocks = (batch.column(0) for batch in rows.columns([name], as_text=True))
        masks = self._kept()
        return blocks if masks is None else _filtered(blocks, BlockCursor(masks))

    def beside_labels(self, *, append: bool, as_text: bool) -> Iterator[pa.RecordBatch] | None:
        """What is written beside the labels: the id column, all columns, or nothing."""
        rows = self.prepared.rows
        if not append and self.selection.id is None:
            return None
        if rows is None:
            raise ValueError(f"{self.selection.title} has no named columns, so --append can't be used")
        names = [column.name for column in rows.files.columns or ()] if append else [self.selection.id or ""]
        return rows.columns(names, as_text=as_text or not append)

    def all_labels(self, labels: Iterable[Array]) -> Iterator[Array]:
        """Labels for all rows, from those of the rows that are clustered; others get LEFT_OUT. In blocks."""
        masks = self._kept()
        if masks is None:
            yield from labels
            return
        cursor = BlockCursor(labels)
        for kept in masks:
            block = np.full(len(kept), LEFT_OUT, np.int32)
            block[kept] = cursor.take(int(kept.sum()))
            yield block

    def _kept(self) -> Iterator[NDArray[np.bool_]] | None:
        """Which rows are clustered, in blocks; None: all."""
        filled = self.prepared.filled
        return None if filled is None or filled.fill is not None else filled.kept()

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        n_rows, weight = 0, 0.0
        for chunk in super().chunks(most_bytes):
            n_rows += len(chunk)
            weight += len(chunk) if chunk.weights is None else float(chunk.weights.sum())
            if self.n_rows is None:
                self._measure(chunk)
            yield chunk
        self.n_rows, self.total_weight = n_rows, weight

    def known_rows(self) -> int | None:
        is_whole = self.prepared.rows is None or self.prepared.rows.is_whole
        return self.n_rows or self.n_points or (self._table_files.estimated_rows if is_whole else None)

    def _measure(self, chunk: Chunk) -> None:
        with np.errstate(all="ignore"):  # values are checked by whoever reads the chunk
            self.variance.add(chunk.take(np.arange(min(len(chunk), _MEASURED_ROWS))), None)


@contextmanager
def open_data(selection: Selection, progress: Progress, model: SavedModel | None = None) -> Iterator[InputData]:
    """Open the data, and listen for Ctrl-C while the block runs.

    If a model is given that knows the names of its columns, those columns are read, and prepared as it says.
    """
    with ExitStack() as stack:
        temporary = stack.enter_context(stdin_file()) if selection.data == "-" else None
        path = selection.data if temporary is None else os.fspath(temporary)
        interrupt = stack.enter_context(Interrupt(progress.stop).listening())
        try:
            yield from _opened(path, selection, progress, interrupt, model)
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(_for_user(str(error), temporary)) from error


def _opened(
    path: str, selection: Selection, progress: Progress, interrupt: Interrupt, model: SavedModel | None
) -> Iterator[InputData]:
    """The data, once. An error about a missing value becomes one about all that are missing."""
    delimiter = selection.delimiter and _TABS.get(selection.delimiter, selection.delimiter)
    files = TableFiles(path, CsvOptions(delimiter, selection.decimal, selection.encoding, selection.skip_rows))
    prepared = prepare_data(selection, files, model, Watch(progress, interrupt))
    for notice in prepared.notices:
        print_line(f"note: {notice}")
    n_features = prepared.source.n_features
    if model is not None and n_features != model.estimator.n_features_in_:
        raise ValueError(f"{path} has {n_features} features; the model expects {model.estimator.n_features_in_}")
    try:
        yield InputData(prepared, selection, files, progress, interrupt)
    except MissingValueError as error:
        message = missing_message(files, prepared, model, Watch(progress, interrupt))
        raise ValueError(message or str(error)) from error


def _filtered(blocks: Iterable[pa.Array], masks: BlockCursor) -> Iterator[pa.Array]:
    import pyarrow

    for block in blocks:
        yield block.filter(pyarrow.array(masks.take(len(block))))


def _for_user(message: str, temporary: Path | None) -> str:
    """A message of the library with options in place of arguments, and without the name of a temporary file."""
    for argument, option in _OPTION_NAMES.items():
        message = message.replace(argument, option)
    return message if temporary is None else message.replace(os.fspath(temporary), "stdin")

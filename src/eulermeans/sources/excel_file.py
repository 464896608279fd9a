"""Sheets of Excel and OpenDocument files, which are read whole: a sheet has at most a million rows."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..optional import optional
from .arrow_tables import TableSource
from .source import SourceError, wrap_errors

if TYPE_CHECKING:
    import pyarrow as pa

_LARGEST_WHOLE = 2.0**53  # whole numbers below it are exact
SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def read_excel(path: str) -> pa.Table:
    """The first sheet that has cells. Its first row has the names of the columns."""
    calamine, pyarrow = optional("python_calamine", "excel"), optional("pyarrow", "io")
    with wrap_errors(path, "an Excel file", calamine.CalamineError, ValueError):
        workbook = calamine.CalamineWorkbook.from_path(path)
        sheets = (
            workbook.get_sheet_by_name(name).to_python(skip_empty_area=True) for name in workbook.sheet_names
        )
        cells: list[list[object]] = next((rows for rows in sheets if rows), [])
    if not cells:
        raise SourceError(f"{path} is empty: no sheet has cells.")
    header, *rows = cells
    names = [str(name).strip() or f"column {place + 1}" for place, name in enumerate(header)]
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]
    if len(set(names)) < len(names):
        raise SourceError(f"{path} has several columns with the same name; rename them.")
    return pyarrow.table({name: _as_array(values) for name, values in zip(names, columns, strict=True)})


def open_excel(path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> TableSource:
    """The source of the rows."""
    source = TableSource(read_excel(path), columns, weights, name=path)
    source.files = [path]
    return source


def _as_array(values: list[object]) -> pa.Array:
    """Cells of one kind as numbers or times, others as text. An empty cell is missing."""
    pyarrow = optional("pyarrow", "io")
    filled = [None if isinstance(value, str) and not value.strip() else value for value in values]
    kinds = set(map(type, filled)) - {type(None)}
    if kinds <= {int, float, bool}:
        numbers = pyarrow.array(filled, pyarrow.float64(), from_pandas=True)
        present = numbers.drop_null().to_numpy(zero_copy_only=False)
        is_whole = (
            len(present) and np.all(np.abs(present) < _LARGEST_WHOLE) and np.all(present == np.rint(present))
        )
        return numbers.cast(pyarrow.int64()) if is_whole else numbers
    if kinds <= {datetime.date, datetime.datetime}:
        return pyarrow.array(list(_times(filled)), pyarrow.timestamp("us"))
    return pyarrow.array([None if value is None else str(value) for value in filled], pyarrow.string())


def _times(values: list[object]) -> Iterator[datetime.datetime | None]:
    for value in values:
        if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
            yield datetime.datetime(value.year, value.month, value.day)
        else:
            yield value if isinstance(value, datetime.datetime) else None

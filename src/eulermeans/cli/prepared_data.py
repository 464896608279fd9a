"""From files and a person's choices to the source of the features, and the preparation that the model keeps."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..features import ColumnKind, Missing, Preparation, PreparedColumn
from ..optional import optional
from ..sources import (
    FilledSource,
    FirstRows,
    PreparedTable,
    RowFilter,
    Source,
    TableFiles,
    TableRows,
    as_texts,
    count_missing,
    fill_values,
    find_date_format,
    listed,
    may_be_day_first,
    number_column,
    parse_filter,
)
from .column_choice import ColumnChoice, check_known, choose_columns, text_message
from .watched_source import WatchedSource

if TYPE_CHECKING:
    import pyarrow as pa

    from ..storage.models import SavedModel
    from .errors import Interrupt
    from .progress import Progress
    from .selection import Selection

_MOST_CATEGORIES = 100  # of a column
_MOST_COUNTED = 10  # columns whose missing values a message counts


@dataclass(frozen=True)
class Watch:
    """What watches the passes over the data that the preparation needs."""

    progress: Progress
    interrupt: Interrupt

    def watched(self, source: Source, activity: str) -> WatchedSource:
        """The source, whose passes are shown and can be stopped."""
        self.progress.begin(activity)
        return WatchedSource(source, self.progress, self.interrupt)


@dataclass(frozen=True)
class PreparedData:
    """The features of the data."""

    source: Source
    rows: TableRows | None  # None: the data have no named columns
    preparation: Preparation | None = None  # that the model must keep
    filled: FilledSource | None = None  # the source, if it has a rule for missing values
    notices: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # columns


def prepare_data(selection: Selection, files: TableFiles, model: SavedModel | None, watch: Watch) -> PreparedData:
    """The features that the options ask for, or that a model needs."""
    prepared = _matrix(selection, files) if files.columns is None else _table(selection, files, model, watch)
    known = None if model is None else model.preparation
    asked = None if selection.missing is None else Missing(selection.missing.value)
    missing = asked if known is None else known.missing
    if missing is None:
        return prepared
    fill = None if known is None else known.fill
    if known is None and missing is not Missing.DROP:
        source = watch.watched(prepared.source, f"finding the {missing.value} of the features")
        fill = fill_values(source, missing, np.random.default_rng(0))
    filled = FilledSource(prepared.source, fill)
    columns = () if prepared.preparation is None else prepared.preparation.columns
    preparation = Preparation(columns, missing, fill)
    return replace(prepared, source=filled, filled=filled, preparation=preparation)


def missing_message(files: TableFiles, prepared: PreparedData, model: SavedModel | None, watch: Watch) -> str:
    """How many values are missing in each column, found in a pass over the data, and what to do; or empty."""
    source = prepared.source
    if prepared.rows is not None and not isinstance(source, PreparedTable):
        names = source.feature_names or [column.name for column in files.columns or ()]
        columns = dict.fromkeys(name.partition("[")[0] if name not in _names(files) else name for name in names)
        source = PreparedTable(prepared.rows, [number_column(files, name) for name in columns])
    found = _missing_sentence(source, watch)
    if not found:
        return ""
    if model is not None:
        return f"{found}; fit the model with --missing mean, median or drop, and it will say what to do about them"
    return f"{found}; --missing drop leaves out these rows, --missing mean or median fills them in"


def _matrix(selection: Selection, files: TableFiles) -> PreparedData:
    if selection.chooses_columns:
        raise ValueError(
            f"{files.path} has no named columns, so no option can name one: --columns, --drop, --id, --where, "
            "--one-hot, --dates"
        )
    source = files.source(None, selection.weights)
    return PreparedData(source if selection.limit is None else FirstRows(source, selection.limit), None)


def _table(selection: Selection, files: TableFiles, model: SavedModel | None, watch: Watch) -> PreparedData:
    times = Counter(column.name for column in files.columns or ())
    if duplicates := [name for name in times if times[name] > 1]:
        raise ValueError(f"{files.path} has several columns named {listed(duplicates)}; rename them")
    rows = TableRows(files, _filter(selection, files), selection.limit)
    if model is not None and model.preparation is not None and model.preparation.columns:
        return _table_of_model(model.preparation, selection, files, rows)
    choice = choose_columns(selection, files, None if model is None else model.feature_names)
    if choice.text:
        raise ValueError(_unusable_message(choice, files, rows, watch))
    notices, left_out = tuple(choice.notices), tuple(choice.left_out)
    has_rule = selection.missing is not None or (model is not None and model.preparation is not None)
    if not (choice.one_hot or choice.dates or has_rule) and rows.is_whole:
        source_of_files = files.source(choice.names, selection.weights)
        return PreparedData(source_of_files, rows, notices=notices, left_out=left_out)
    columns = _prepared_columns(choice, files, rows, watch)
    notices += tuple(_order_notices(columns, files))
    source = PreparedTable(rows, columns, selection.weights)
    keeps = bool(choice.one_hot or choice.dates or selection.missing)
    return PreparedData(source, rows, Preparation(tuple(columns)) if keeps else None, None, notices, left_out)


def _table_of_model(
    preparation: Preparation, selection: Selection, files: TableFiles, rows: TableRows
) -> PreparedData:
    """The columns of a model, prepared as it says."""
    if selection.columns or selection.drop:
        raise ValueError("--columns and --drop can't be used: the model knows which columns it prepares, and how")
    check_known(
        [column.name for column in preparation.columns], _names(files), files.path, ", which the model needs"
    )
    numbers = {column.name for column in preparation.columns if column.kind is ColumnKind.NUMBER}
    text = [column for column in files.columns or () if column.name in numbers and not column.numeric]
    if text:
        types = listed([f"{column.name} ({column.type})" for column in text])
        raise ValueError(f"{files.path} has columns that are not numeric, but the model needs numbers: {types}")
    return PreparedData(PreparedTable(rows, preparation.columns, selection.weights), rows, preparation)


def _names(files: TableFiles) -> dict[str, None]:
    return dict.fromkeys(column.name for column in files.columns or ())


def _filter(selection: Selection, files: TableFiles) -> RowFilter | None:
    if selection.where is None:
        return None
    where = parse_filter(selection.where)
    check_known(where.columns, _names(files), files.path, ", which --where asks for")
    return where


def _unusable_message(choice: ColumnChoice, files: TableFiles, rows: TableRows, watch: Watch) -> str:
    """Columns of text, and missing values in the others: all that keeps the data from being clustered."""
    message = text_message(choice, files)
    text = {column.name for column in choice.text}
    special = choice.one_hot.keys() | choice.dates.keys()
    numeric = [name for name in choice.names if name not in text and name not in special]
    if not numeric:
        return message
    others = PreparedTable(rows, [number_column(files, name) for name in numeric])
    found = _missing_sentence(others, watch, other="also ")
    return f"{message}; {found}; --missing drop, mean or median takes care of them" if found else message


def _missing_sentence(source: Source, watch: Watch, other: str = "") -> str:
    """Empty if no value is missing."""
    counts = count_missing(watch.watched(source, "counting missing values"))
    if not counts.n_rows:
        return ""
    names = source.feature_names or [f"column {place}" for place in range(source.n_features)]
    if isinstance(source, PreparedTable):
        names = source.columns_of_features
    missing = dict(
        zip(names, counts.by_feature.tolist(), strict=True)
    )  # features of one column miss the same rows
    worst = sorted((name for name, times in missing.items() if times), key=lambda name: -missing[name])
    listing = ", ".join(f"{name} in {missing[name]:,}" for name in worst[:_MOST_COUNTED])
    if len(worst) > _MOST_COUNTED:
        listing += f" and {len(worst) - _MOST_COUNTED} more columns"
    sentence = f"{source.name} {other}has missing values: {listing} of {counts.total:,} rows"
    return sentence if len(worst) == 1 else f"{sentence}; {counts.n_rows:,} rows have one or more"


def _prepared_columns(
    choice: ColumnChoice, files: TableFiles, rows: TableRows, watch: Watch
) -> list[PreparedColumn]:
    found = _categories(list(choice.one_hot), rows, watch) if choice.one_hot else {}
    columns = []
    for name in choice.names:
        if name in found:
            columns.append(PreparedColumn(name, ColumnKind.CATEGORY, tuple(found[name])))
        elif name in choice.dates:
            columns.append(PreparedColumn(name, ColumnKind.DATE, date_format=_date_format(name, files)))
        else:
            columns.append(number_column(files, name))
    return columns


def _categories(names: list[str], rows: TableRows, watch: Watch) -> dict[str, list[str]]:
    """The categories of each column, sorted, from a pass over the rows."""
    watch.progress.begin("finding categories")
    string = optional("pyarrow", "io").string()
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    for batch in rows.batches(dict.fromkeys(names, string), nulls_in_text=True):
        watch.interrupt.check()
        for name, seen in counts.items():
            seen.update(
                value for value in as_texts(batch.rows.column(name)).unique().to_pylist() if value is not None
            )
            if len(seen) > _MOST_CATEGORIES:
                raise ValueError(
                    f"the column {name} of {rows.files.path} has more than {_MOST_CATEGORIES} different values, "
                    f"such as {listed(list(seen))}; --one-hot is for few categories: drop it with --drop "
                    f"{shlex.quote(name)}"
                )
    if empty := [name for name, seen in counts.items() if not seen]:
        raise ValueError(f"the column {empty[0]} of {rows.files.path} has no values at all; drop it")
    return {name: sorted(seen) for name, seen in counts.items()}


def _date_format(name: str, files: TableFiles) -> str | None:
    """The format of dates that are stored as text; None if they are stored as dates."""
    types, kind = optional("pyarrow", "io").types, files.type_of(name)
    if types.is_date(kind) or types.is_timestamp(kind):
        return None
    values = _first_texts(name, files)
    form = None if values is None else find_date_format(values)
    if form is None:
        example = "" if values is None else f", such as {values.drop_null()[0].as_py()!r}"
        raise ValueError(
            f"--dates {shlex.quote(name)}: the values of this column are not dates{example}; dates are written as "
            "2024-12-31, 31.12.2024, 12/31/2024 or 2024/12/31"
        )
    return form


def _order_notices(columns: Sequence[PreparedColumn], files: TableFiles) -> Iterator[str]:
    for column in columns:
        if column.date_format is not None:
            values = _first_texts(column.name, files)
            if values is not None and may_be_day_first(values, column.date_format):
                yield f"the dates in {column.name} are read as month/day/year: no day is above 12"


def _first_texts(name: str, files: TableFiles) -> pa.Array | None:
    """The values of a column in the first rows in which it has any."""
    string = optional("pyarrow", "io").string()
    blocks = (batch.rows.column(name) for batch in files.batches({name: string}, nulls_in_text=True))
    return next((as_texts(block) for block in blocks if block.null_count < len(block)), None)

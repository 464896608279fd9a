"""Which columns of a table become features: named by options, by the model, or all that make sense."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ..sources import TableColumn, listed

if TYPE_CHECKING:
    from ..sources import TableFiles
    from .selection import Selection

Names: TypeAlias = dict[str, None]  # of columns, in order: there may be many, and a list would be slow to search
_MAX_SUGGESTED = 12  # columns in the suggestion of an error message


@dataclass
class ColumnChoice:
    """The columns to cluster, and what was found out on the way."""

    names: list[str]
    one_hot: Names = field(default_factory=dict)  # those of `names` that hold categories
    dates: Names = field(default_factory=dict)  # those of `names` that hold dates
    text: list[TableColumn] = field(default_factory=list)  # those of `names` that can't be clustered as they are
    left_out: list[str] = field(default_factory=list)  # columns that nobody named and that were left out
    notices: list[str] = field(default_factory=list)  # sentences about that


def choose_columns(selection: Selection, files: TableFiles, model_names: list[str] | None) -> ColumnChoice:
    """The columns to cluster. Raises a ValueError if there are none, or if a name is not one of a column."""
    columns, path = files.columns or [], files.path
    known = dict.fromkeys(column.name for column in columns)
    check_known([name for name in (selection.weights, selection.id) if name], known, path)
    one_hot, dates = (split_names(given, known, path) for given in (selection.one_hot, selection.dates))
    excluded = {selection.weights, selection.id, *split_names(selection.drop, known, path)}
    if both := [name for name in one_hot if name in dates]:
        raise ValueError(f"--one-hot and --dates both name the column {both[0]}; choose one")
    notices: list[str] = []
    left_out: list[str] = []
    if selection.columns:
        chosen = {**split_names(selection.columns, known, path), **one_hot, **dates}
    elif model_names is not None and files.has_header:
        chosen = _model_columns(model_names, known, path)
    else:
        chosen = {name: None for name in known if name not in excluded}
        if model_names is None:
            special = one_hot.keys() | dates.keys()
            left_out = _left_out(files, [name for name in chosen if name not in special], notices)
            chosen = {name: None for name in chosen if name not in set(left_out)}
    if not chosen:
        raise ValueError(f"no columns of {path} are left to cluster; it has {listed(list(known))}")
    plain = chosen.keys() - one_hot.keys() - dates.keys()
    text = [column for column in columns if column.name in plain and not column.numeric]
    return ColumnChoice(list(chosen), one_hot, dates, text, left_out, notices)


def split_names(given: Sequence[str] | None, known: Names, path: str) -> Names:
    """The columns that an option names. A value that is itself a column name is not split at its commas."""
    names: list[str] = []
    for each in given or ():
        names += [each] if each in known else [part.strip() for part in each.split(",") if part.strip()]
    check_known(names, known, path)
    return dict.fromkeys(names)


def check_known(names: Iterable[str], known: Names, path: str, why: str = "") -> None:
    """Raise a ValueError if a table has no column of one of these names."""
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{path} has no column {listed(missing)}{why}; it has {listed(list(known))}")


def text_message(choice: ColumnChoice, files: TableFiles) -> str:
    """What to do about columns that are not numbers."""
    names = shlex.quote(",".join(column.name for column in choice.text))
    dates = shlex.quote(",".join(column.name for column in choice.text if column.is_date))
    words = shlex.quote(",".join(column.name for column in choice.text if not column.is_date))
    others = [name for name in choice.names if name not in {column.name for column in choice.text}]
    advice = [f"drop {'them' if len(choice.text) > 1 else 'it'} with --drop {names}"]
    if any(column.is_date for column in choice.text):
        advice.append(f"use dates as numbers with --dates {dates}")
    if not all(column.is_date for column in choice.text):
        advice.append(f"make each category a feature with --one-hot {words}")
    if others and len(others) <= _MAX_SUGGESTED:
        advice.append(f"choose columns with --columns {shlex.quote(','.join(others))}")
    types = listed([f"{column.name} ({column.type})" for column in choice.text])
    *first, last = advice
    return f"{files.path} has columns that are not numeric: {types}; {', '.join(first)}, or {last}"


def _left_out(files: TableFiles, names: list[str], notices: list[str]) -> list[str]:
    """Columns that nobody named and that make no sense as features; `notices` gets the reasons, INOUT.

    If nothing else is left, they stay.
    """
    candidates = set(names)
    dates = [column.name for column in files.columns or () if column.is_date and column.name in candidates]
    identifiers = [name for name in files.identifiers() if name in candidates and name not in dates]
    left_out = [*identifiers, *dates]
    if len(left_out) == len(candidates):
        return []
    if identifiers:
        one = len(identifiers) == 1
        looks = "it looks like an identifier" if one else "they look like identifiers"
        notices.append(f"left out {listed(identifiers)}: {looks}; --columns brings {'it' if one else 'them'} back")
    if dates:
        kind = "which is a date" if len(dates) == 1 else "which are dates"
        option = shlex.quote(",".join(dates))
        notices.append(f"left out {listed(dates)}, {kind}; --dates {option} clusters by days since 1970")
    return left_out


def _model_columns(names: list[str], known: Names, path: str) -> Names:
    """The columns of the model's features. Features of a list column are called name[0], name[1], ..."""
    columns = dict.fromkeys(name if name in known else name.partition("[")[0] for name in names)
    check_known(columns, known, path, ", which the model needs")
    return columns

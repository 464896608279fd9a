"""A `Preparation` as a part of the header and the arrays of a model file, and back."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..features import ColumnKind, Missing, Preparation, PreparedColumn
from .container import Header, InvalidContents

_FILL = "preparation/fill"
_MOST_WIDTH = 2**31


def store_preparation(preparation: Preparation, header: Header, arrays: dict[str, Array]) -> None:
    """Put a preparation into the header and the arrays; both INOUT. Plain numbers need no description."""
    plain = all(column == PreparedColumn(column.name) for column in preparation.columns)
    header["preparation"] = {
        "columns": None if plain else [_as_json(column) for column in preparation.columns],
        "missing": None if preparation.missing is None else preparation.missing.value,
    }
    if preparation.fill is not None:
        arrays[_FILL] = preparation.fill


def stored_preparation(
    header: object,  # what the header says of it
    arrays: dict[str, Array],  # INOUT; its array is taken out
    n_features: int,
    names: list[str] | None,
) -> Preparation:
    """The preparation that was stored; raises InvalidContents if it does not fit the model."""
    match header:
        case {"columns": list() | None as columns, "missing": str() | None as missing, **others} if not others:
            pass
        case _:
            raise InvalidContents("holds an unknown preparation of the data; upgrade eulermeans")
    if missing is not None and missing not in [each.value for each in Missing]:
        raise InvalidContents(f"fills missing values in an unknown way ({missing[:40]!r}); upgrade eulermeans")
    how = None if missing is None else Missing(missing)
    prepared = [PreparedColumn(name) for name in names or ()] if columns is None else list(map(_column, columns))
    if columns is not None and (names is None or not _have_names(prepared, names)):
        raise InvalidContents("prepares other features than those that it has centers for")
    if len({column.name for column in prepared}) != len(prepared):
        raise InvalidContents("prepares a column twice")
    fill = arrays.pop(_FILL, None)
    if (fill is not None) != (how in (Missing.MEAN, Missing.MEDIAN)):
        raise InvalidContents("has no values to fill in, or values that it does not need")
    if fill is not None and (
        fill.shape != (n_features,) or fill.dtype != np.float64 or not np.isfinite(fill).all()
    ):
        raise InvalidContents(f"has values to fill in that are not {n_features} finite numbers")
    return Preparation(tuple(prepared), how, fill)


def _have_names(columns: list[PreparedColumn], names: list[str]) -> bool:
    """Whether the columns have features of these names. A file can claim any number: lengths come first."""
    if sum(column.n_features for column in columns) != len(names):
        return False
    if sum(column.n_features * len(column.name) for column in columns) > sum(map(len, names)):
        return False
    return [feature for column in columns for feature in column.features] == names


def _as_json(column: PreparedColumn) -> Header:
    return {
        "name": column.name,
        "kind": column.kind.value,
        "categories": list(column.categories),
        "date_format": column.date_format,
        "width": column.width,
    }


def _column(described: object) -> PreparedColumn:
    match described:
        case {
            "name": str(name),
            "kind": "number" | "category" | "date" as kind,
            "categories": list(categories),
            "date_format": str() | None as date_format,
            "width": int() | None as width,
            **others,
        } if not others and all(isinstance(category, str) for category in categories):
            pass
        case _:
            raise InvalidContents(f"holds an unknown column: {str(described)[:80]}")
    is_category = kind == ColumnKind.CATEGORY.value
    if bool(categories) != is_category or (date_format is not None and kind != ColumnKind.DATE.value):
        raise InvalidContents(f"holds a column of kind {kind} that does not fit together")
    if width is not None and (type(width) is not int or not 0 < width < _MOST_WIDTH or kind != "number"):
        raise InvalidContents("holds a column of lists of an impossible length")
    return PreparedColumn(name, ColumnKind(kind), tuple(categories), date_format, width)

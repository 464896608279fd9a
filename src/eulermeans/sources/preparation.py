"""How the columns of a table become features: numbers, categories and dates.

A `Preparation` is made when a model is fitted, is stored in the model, and prepares all data that the model gets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..features import ColumnKind, PreparedColumn
from ..optional import optional
from .columns import column_values
from .source import SourceError, row_name

if TYPE_CHECKING:
    import pyarrow as pa

_DATE_FORMATS = (
    "%Y-%m-%d",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%Y/%m/%d",
    "%Y%m%d",
    "%Y-%m-%d %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
)
# A date may fit two of these. They are told apart once, when a model is fitted, and not for each block of rows.
_MONTH_FIRST = ("%m/%d/%Y", "%m/%d/%y", "%m/%d/%Y %H:%M:%S")
_DAY_FIRST = ("%d/%m/%Y", "%d/%m/%y", "%d/%m/%Y %H:%M:%S")
_FIRST_YEAR = 1000  # with `%Y`: it also takes the 24 of 31.12.24 for a year
_MICROSECONDS_PER_DAY = 86_400_000_000


def encoded(column: PreparedColumn, values: pa.Array, where: str, first: int) -> Array:
    """The features of some rows, (n,) or (n, n_features), float64. NaN stands for a missing value."""
    if column.width is not None:
        return column_values(values, column.name, column.width, where, first)
    if column.kind is ColumnKind.CATEGORY:
        return _one_hot(values, column.categories)
    if column.kind is ColumnKind.DATE:
        return _days(values, column, where, first)
    return _numbers(values)


def find_date_format(values: pa.Array, likely: str | None = None) -> str | None:
    """The format in which text is a date, `likely` if it fits; None if there is no such format."""
    forms: tuple[str, ...]
    if likely is None:
        forms = (*_DATE_FORMATS, *_MONTH_FIRST, *_DAY_FIRST)
    else:
        forms = (likely,) if likely in (*_MONTH_FIRST, *_DAY_FIRST) else (likely, *_DATE_FORMATS)
    return next((form for form in forms if _fits(values, form)), None)


def may_be_day_first(values: pa.Array, form: str) -> bool:
    """Whether dates that are read month first could also be read day first: no day is above the twelfth."""
    return form in _MONTH_FIRST and _fits(values, _DAY_FIRST[_MONTH_FIRST.index(form)])


def _fits(values: pa.Array, form: str) -> bool:
    compute = optional("pyarrow.compute", "io")
    parsed = compute.strptime(values, format=form, unit="us", error_is_null=True)
    if parsed.null_count != values.null_count or parsed.null_count == len(values):
        return False
    return "%Y" not in form or compute.year(compute.min(parsed)).as_py() >= _FIRST_YEAR


def as_texts(values: pa.Array) -> pa.Array:
    """The values of a column of categories, as text."""
    pyarrow = optional("pyarrow", "io")
    if pyarrow.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values.cast(pyarrow.string())


def _numbers(values: pa.Array) -> Array:
    numbers: Array = values.cast(optional("pyarrow", "io").float64()).to_numpy(zero_copy_only=False)
    return numbers


def _one_hot(values: pa.Array, categories: tuple[str, ...]) -> Array:
    """(n, n_categories). A value that is no category gets zeros."""
    pyarrow, compute = optional("pyarrow", "io"), optional("pyarrow.compute", "io")
    texts = as_texts(values)
    places = compute.fill_null(compute.index_in(texts, value_set=pyarrow.array(categories, pyarrow.string())), -1)
    hot: Array = (places.to_numpy(zero_copy_only=False)[:, None] == np.arange(len(categories))).astype(np.float64)
    hot[texts.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return hot


def _days(values: pa.Array, column: PreparedColumn, where: str, first: int) -> Array:
    """Days since the beginning of 1970."""
    pyarrow, compute = optional("pyarrow", "io"), optional("pyarrow.compute", "io")
    times, types = values, pyarrow.types
    if types.is_integer(values.type):  # 20241231
        values = values.cast(pyarrow.string())
    if types.is_string(values.type) or types.is_large_string(values.type):
        form = find_date_format(values, column.date_format) or column.date_format or _DATE_FORMATS[0]
        times = compute.strptime(values, format=form, unit="us", error_is_null=True)
        if times.null_count > values.null_count:
            wrong = compute.and_(times.is_null(), values.is_valid())
            row = compute.index(wrong, True).as_py()
            raise SourceError(
                f"{row_name(first + row, where)} has {values[row].as_py()!r} in column {column.name!r}, which is "
                f"not a date like {form}."
            )
    zone = getattr(times.type, "tz", None)
    micros = times.cast(pyarrow.timestamp("us", zone)).cast(pyarrow.int64())
    days: Array = _numbers(micros) / _MICROSECONDS_PER_DAY
    return days

"""How the columns of a table become features: numbers, categories and dates, and what to do without a value.

A `Preparation` is made when a model is fitted, is stored in the model, and prepares all data that the model gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, FloatArray
from ..optional import optional
from .columns import column_values
from .source import SourceError, row_name

if TYPE_CHECKING:
    import pyarrow as pa

_DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%Y%m%d", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M:%S")
_MICROSECONDS_PER_DAY = 86_400_000_000


class ColumnKind(str, Enum):
    """What a column holds."""

    NUMBER = "number"
    CATEGORY = "category"  # one feature for each category: 1 where a row has it, else 0
    DATE = "date"  # days since 1970


class Missing(str, Enum):
    """What to do with rows in which a value is missing."""

    DROP = "drop"  # leave them out
    MEAN = "mean"  # take the mean of the feature over the data that the model was fitted to
    MEDIAN = "median"


@dataclass(frozen=True)
class PreparedColumn:
    """A column and the features that are made of it."""

    name: str
    kind: ColumnKind = ColumnKind.NUMBER
    categories: tuple[str, ...] = ()
    date_format: str | None = None  # of dates that are stored as text
    width: int | None = None  # length of lists of numbers; None: there are no lists

    @property
    def features(self) -> list[str]:
        """The names of its features."""
        if self.kind is ColumnKind.CATEGORY:
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name] if self.width is None else [f"{self.name}[{i}]" for i in range(self.width)]

    def encoded(self, values: pa.Array, where: str, first: int) -> Array:
        """The features of some rows, (n,) or (n, n_features), float64. NaN stands for a missing value."""
        if self.width is not None:
            return column_values(values, self.name, self.width, where, first)
        if self.kind is ColumnKind.CATEGORY:
            return _one_hot(values, self.categories)
        if self.kind is ColumnKind.DATE:
            return _days(values, self, where, first)
        return _numbers(values)


@dataclass(frozen=True)
class Preparation:
    """How the columns of a table become features."""

    columns: tuple[PreparedColumn, ...] = ()  # empty: the data have no named columns, or plain numbers
    missing: Missing | None = None  # None: a missing value is an error
    fill: FloatArray | None = None  # (n_features,) values in place of missing ones; None: rows are left out


def find_date_format(values: pa.Array, likely: str | None = None) -> str | None:
    """The format in which text is a date, `likely` if it fits; None if there is no such format."""
    compute = optional("pyarrow.compute", "io")
    for form in _DATE_FORMATS if likely is None else (likely, *_DATE_FORMATS):
        parsed = compute.strptime(values, format=form, unit="us", error_is_null=True)
        if parsed.null_count == values.null_count and len(values) > values.null_count:
            return form
    return None


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

"""What features are made of the columns of a table, and what replaces missing values.

Only the records, which model files hold; `sources.preparation` applies them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .arrays import FloatArray


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
    def n_features(self) -> int:
        """How many features it has."""
        if self.kind is ColumnKind.CATEGORY:
            return len(self.categories)
        return 1 if self.width is None else self.width

    @property
    def features(self) -> list[str]:
        """The names of its features."""
        if self.kind is ColumnKind.CATEGORY:
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name] if self.width is None else [f"{self.name}[{i}]" for i in range(self.width)]


@dataclass(frozen=True)
class Preparation:
    """How the columns of a table become features."""

    columns: tuple[PreparedColumn, ...] = ()  # empty: the data have no named columns, or plain numbers
    missing: Missing | None = None  # None: a missing value is an error
    fill: FloatArray | None = None  # (n_features,) values in place of missing ones; None: rows are left out

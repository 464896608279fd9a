"""Which features look like identifiers, by the rule of `sources.identifiers`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..sources import numbers_identify


class IdentifierSearch:
    """Looks at rows block by block; stops looking at a column with the first fraction."""

    def __init__(self, n_features: int) -> None:
        self._columns: NDArray[np.intp] = np.arange(n_features)  # whole numbers so far

    def give_up(self) -> None:
        """Sparse rows are words or categories, never identifiers."""
        self._columns = self._columns[:0]

    def add(self, rows: Array) -> None:  # (n, n_features), IN
        """Look at more rows."""
        for part in (rows[:100], rows):  # most columns are left out by a look at a few rows
            values = part[:, self._columns]
            self._columns = self._columns[(values == np.floor(values)).all(axis=0)]

    def found(
        self,
        names: list[str],
        shown: Array,  # (n, n_features) some of the rows, IN
    ) -> set[int]:
        """The columns that look like identifiers, unless there is only one column."""
        if len(names) < 2:
            return set()
        return {column for column in map(int, self._columns) if numbers_identify(names[column], shown[:, column])}

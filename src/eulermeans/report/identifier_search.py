"""Which columns look like identifiers: whole numbers that differ in every row."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array

FEWEST_ROWS = 20  # with fewer, measured whole numbers often differ by chance
CLOSE_NUMBERS = 1.2  # keys that were counted up: their range is at most this many times the number of rows
_NAME = re.compile(
    r"(^|[\W_])(id|ids|uuid|guid|key|nr|no|number|index|idx|pk)$|[a-z](Id|ID|Key|Nr|Number)$", re.ASCII
)


class IdentifierSearch:
    """Looks at rows block by block; stops looking at a column with the first fraction."""

    def __init__(self, n_features: int) -> None:
        self._columns: NDArray[np.intp] = np.arange(n_features)  # whole numbers so far
        self._increasing = np.ones(n_features, dtype=bool)
        self._last = np.full(n_features, -np.inf)

    def give_up(self) -> None:
        """Sparse rows are words or categories, never identifiers."""
        self._columns = self._columns[:0]

    def add(self, rows: Array) -> None:  # (n, n_features), IN
        """Look at more rows."""
        if len(rows) == 0 or len(self._columns) == 0:
            return
        first = rows[: min(len(rows), 100), self._columns]  # most columns are left out by a look at a few rows
        self._columns = self._columns[(first == np.floor(first)).all(axis=0)]
        values = rows[:, self._columns]
        whole = (values == np.floor(values)).all(axis=0)
        self._columns, values = self._columns[whole], values[:, whole].astype(np.float64)
        rises = (np.diff(values, axis=0) > 0).all(axis=0) & (values[0] > self._last[self._columns])
        self._increasing[self._columns] &= rises
        self._last[self._columns] = values[-1]

    def found(
        self,
        names: list[str],
        n_rows: int,
        shown: Array,  # (n, n_features) some of the rows, IN
        spans: Array,  # (n_features,) highest minus lowest value, IN
    ) -> set[int]:
        """The columns whose values rise from row to row, or differ and are counted up or called an id."""
        if n_rows < FEWEST_ROWS or len(names) < 2:
            return set()
        found = set()
        for column in map(int, self._columns):
            differ = len(np.unique(shown[:, column])) == len(shown)
            counted_up = spans[column] + 1 <= CLOSE_NUMBERS * n_rows
            if differ and (self._increasing[column] or counted_up or _NAME.search(names[column])):
                found.add(column)
        return found

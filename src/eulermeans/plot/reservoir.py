"""Rows drawn uniformly from a stream of unknown length."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack


class Reservoir:
    """Keeps at most `size` rows: each gets a random key, and those with the smallest keys stay.

    What is kept is in the order of the keys, which is random: its first rows are a sample as well.
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng = size, rng
        self._keys = np.empty(0)
        self.kept: list[Any] = []  # arrays or CSR matrices with a row for each row kept

    def add(self, *columns: Any) -> None:
        """Offer rows: arrays and CSR matrices of the same length, which are kept side by side."""
        keys = self._rng.random(columns[0].shape[0])
        taken = np.argsort(keys, kind="stable")[: self._size]
        if len(self._keys) == self._size:
            taken = taken[keys[taken] < self._keys[-1]]
        together = np.concatenate([self._keys, keys[taken]])
        best = np.argsort(together, kind="stable")[: self._size]
        self._keys = together[best]
        before = self.kept or [column[:0] for column in columns]
        self.kept = [_stacked(old, column[taken])[best] for old, column in zip(before, columns, strict=True)]


def _stacked(above: Any, below: Any) -> Any:
    return csr_array(vstack([above, below])) if issparse(below) else np.concatenate([above, below])

"""The arrays that a pass adds into, and the record that they become."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..moments import Moments


class Totals:
    """What falls to each center, added up over calls of a kernel."""

    def __init__(self, n_rows: int, n_clusters: int, n_features: int, *, detail: bool = False) -> None:
        self._counts = np.zeros(n_clusters)
        self._sums = np.zeros((n_clusters, n_features))
        self._cost = np.zeros(1)
        self._errors = np.zeros(n_clusters) if detail else None
        self._utilities = np.zeros(n_clusters) if detail else None
        self._n_distances = n_rows * n_clusters

    def arguments(self) -> dict[str, Any]:
        """The arrays by the names of the kernels' arguments, INOUT."""
        return {
            "counts": self._counts,
            "sums": self._sums,
            "cost": self._cost,
            "errors": self._errors,
            "utilities": self._utilities,
        }

    def moments(self) -> Moments:
        """What has been added up so far."""
        return Moments(
            self._counts, self._sums, float(self._cost[0]), self._errors, self._utilities, self._n_distances
        )

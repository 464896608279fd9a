"""The first points of an endless stream, kept until they are enough to seed it from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ..arrays import Array, FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FEWEST_POINTS = 200  # that a stream is seeded from,
POINTS_PER_CLUSTER = 50  # or this many for each cluster, if that is more


@dataclass
class Buffer:
    """The first points of a stream."""

    n_clusters: int
    n_points: int = 0
    _points: list[Array | csr_array] = field(default_factory=list)
    _weights: list[FloatArray | None] = field(default_factory=list)
    _seeded_from: int = 0

    def add(self, points: Array | csr_array, weights: FloatArray | None) -> None:
        """Keep a copy of a batch."""
        self._points.append(points.copy())
        self._weights.append(weights)
        self.n_points += points.shape[0]

    @property
    def full(self) -> bool:
        """Whether there are enough points."""
        return self.n_points >= max(FEWEST_POINTS, POINTS_PER_CLUSTER * self.n_clusters)

    @property
    def worth_seeding(self) -> bool:
        """Whether there are so many more points than at the last seeding that centers would improve."""
        return self.full or self.n_points >= 2 * self._seeded_from

    def contents(self) -> tuple[Array | csr_array, FloatArray | None]:
        """All points so far and their weights; the next seeding waits until they have doubled."""
        self._seeded_from = self.n_points
        if any(sparse.issparse(batch) for batch in self._points):
            points = sparse.csr_array(sparse.vstack(self._points))
        else:
            points = np.concatenate(self._points)
        if all(weights is None for weights in self._weights):
            return points, None
        pairs = zip(self._weights, self._points, strict=True)
        return points, np.concatenate([np.ones(p.shape[0]) if w is None else w for w, p in pairs])

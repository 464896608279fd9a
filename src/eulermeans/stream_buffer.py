"""The first points of a stream, which are kept until there are enough of them to search for centers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .arrays import DType
from .oracles import Points, concatenate

FEWEST_POINTS = 200  # of a stream that are buffered before it is seeded,
POINTS_PER_CLUSTER = 50  # or this many for each cluster, if that is more
GROWN = 8  # times as many points as at the last seeding are worth another, before there are enough


@dataclass
class Buffer:
    """The first points of a stream."""

    n_clusters: int
    n_points: int = 0
    _batches: list[Points] = field(default_factory=list)
    _seeded_from: int = 0

    def with_points(self, points: Points) -> Buffer:
        """Another buffer that also has a copy of this batch."""
        batches = [*self._batches, points.take(np.arange(points.n_points))]
        return Buffer(self.n_clusters, self.n_points + points.n_points, batches, self._seeded_from)

    @property
    def dtype(self) -> DType | None:
        """Of the points so far; None if there are none."""
        return max((batch.dtype for batch in self._batches), key=lambda dtype: dtype.itemsize, default=None)

    @property
    def full(self) -> bool:
        """Whether there are enough points."""
        return self.n_points >= max(FEWEST_POINTS, POINTS_PER_CLUSTER * self.n_clusters)

    @property
    def worth_seeding(self) -> bool:
        """Whether there are so many more points than at the last seeding that centers would improve."""
        return self.full or self.n_points >= GROWN * self._seeded_from

    def contents(self) -> Points:
        """All points so far; the next seeding waits until they have grown."""
        self._seeded_from = self.n_points
        return concatenate(self._batches)

"""The first points of an endless stream, kept until they are enough to seed it from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..oracles import Points, concatenate

FEWEST_POINTS = 200  # that a stream is seeded from,
POINTS_PER_CLUSTER = 50  # or this many for each cluster, if that is more


@dataclass
class Buffer:
    """The first points of a stream."""

    n_clusters: int
    n_points: int = 0
    _batches: list[Points] = field(default_factory=list)
    _seeded_from: int = 0

    def add(self, points: Points) -> None:
        """Keep a copy of a batch."""
        self._batches.append(points.take(np.arange(points.n_points)))
        self.n_points += points.n_points

    @property
    def full(self) -> bool:
        """Whether there are enough points."""
        return self.n_points >= max(FEWEST_POINTS, POINTS_PER_CLUSTER * self.n_clusters)

    @property
    def worth_seeding(self) -> bool:
        """Whether there are so many more points than at the last seeding that centers would improve."""
        return self.full or self.n_points >= 2 * self._seeded_from

    def contents(self) -> Points:
        """All points so far; the next seeding waits until they have doubled."""
        self._seeded_from = self.n_points
        return concatenate(self._batches)

"""Learning from an endless stream: the points that seed it, and centers that follow points which drift."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from ..arrays import FloatArray
from ..oracles import draw

FEWEST, PER_CLUSTER = 200, 50  # points that a stream is seeded from: the larger of the two
MOST_RELOCATIONS, N_CANDIDATES = 4, 4  # in each batch, and points that are tried for each


@dataclass
class Buffer:
    """The first points of a stream, until they are enough to seed it from."""

    n_clusters: int
    n_points: int = 0
    _points: list[Any] = field(default_factory=list)
    _weights: list[FloatArray | None] = field(default_factory=list)
    _seeded_from: int = 0

    def add(self, points: Any, weights: FloatArray | None) -> None:
        """Keep a copy of a batch."""
        self._points.append(points.copy())
        self._weights.append(weights)
        self.n_points += points.shape[0]

    @property
    def full(self) -> bool:
        """Whether there are enough points."""
        return self.n_points >= max(FEWEST, PER_CLUSTER * self.n_clusters)

    @property
    def worth_seeding(self) -> bool:
        """Whether there are so many more points than at the last seeding that centers would be better."""
        return self.full or self.n_points >= 2 * self._seeded_from

    def contents(self) -> tuple[Any, FloatArray | None]:
        """All points so far, and their weights; the next seeding waits for as many more."""
        self._seeded_from = self.n_points
        points = _stacked(self._points)
        if all(weights is None for weights in self._weights):
            return points, None
        pairs = zip(self._weights, self._points, strict=True)
        return points, np.concatenate([np.ones(p.shape[0]) if w is None else w for w, p in pairs])


def _stacked(batches: list[Any]) -> Any:
    if any(sparse.issparse(batch) for batch in batches):
        return sparse.csr_array(sparse.vstack(batches))
    return np.concatenate(batches)


def relocated(
    oracle: Any,  # over the new batch, in memory
    centers: FloatArray,  # (n_clusters, n_features), IN
    weights: FloatArray,  # (n_clusters,) of the points that each center remembers, IN
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Centers and weights after centers that are hardly needed went to points of the batch that none serves.

    A center goes if the batch gains more than its memory loses, which goes over to the nearest other center.
    """
    batch_weights = np.ones(oracle.n_points) if oracle.weights is None else oracle.weights
    for _ in range(MOST_RELOCATIONS if len(centers) > 1 else 0):
        gaps = cdist(centers, centers, "sqeuclidean")
        np.fill_diagonal(gaps, np.inf)
        losses = weights * gaps.min(axis=1)
        least = int(np.argmin(losses))
        heir = int(np.argmin(gaps[least]))
        squares = oracle.distances(centers).astype(np.float64) ** 2
        cost = batch_weights @ squares.min(axis=1)
        nearest = np.delete(squares, least, axis=1).min(axis=1)
        likelihoods = np.cumsum(batch_weights * nearest)
        if likelihoods[-1] <= 0:
            break
        candidates = oracle.rows(draw(likelihoods, N_CANDIDATES, rng))
        served = np.minimum(nearest[:, None], oracle.distances(candidates).astype(np.float64) ** 2)
        costs = batch_weights @ served
        best = int(np.argmin(costs))
        if cost - costs[best] <= losses[least]:
            break
        centers, weights = centers.copy(), weights.copy()
        total = weights[heir] + weights[least]
        if total > 0:
            centers[heir] += weights[least] / total * (centers[least] - centers[heir])
        weights[heir], weights[least] = total, 0.0
        centers[least] = candidates[best]
    return centers, weights

"""Whether clusters come out again: fits of separate halves of a sample, each judged on the other half.

What k-means finds in one half is partly the noise of that half. What the other half confirms is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..oracles import MemoryOracle
from .agreement import adjusted_rand, strength
from .criteria import even_weights, taken, valley
from .fitting import Chain, Clock


@dataclass(frozen=True)
class Confirmed:
    """What the halves say of one K. NaN where a half has fewer rows than clusters."""

    stability: float
    strength: float
    valley: float


class Halves:
    """Pairs of disjoint halves, each with its own chain of fits."""

    def __init__(
        self,
        rows: MemoryOracle,
        n_pairs: int,
        half: int,
        common: MemoryOracle,
        estimator: Any,
        rng: np.random.Generator,
    ) -> None:
        self._common = common  # rows that every fit labels, to compare
        self._pairs = []
        for _ in range(n_pairs):
            sample = rows.sample(2 * half, rng)
            order = rng.permutation(sample.n_points)
            parts = [taken(sample, np.sort(part)) for part in np.array_split(order, 2)]
            self._pairs.append(
                [Chain(part, part, clone(estimator).set_params(compute_labels=True), rng) for part in parts]
            )

    def at(self, n_clusters: int, clock: Clock) -> Confirmed:
        """Fit all halves with this K, and ask each of the other."""
        if min(chain.rows.n_points for pair in self._pairs for chain in pair) < n_clusters or n_clusters < 2:
            return Confirmed(np.nan, np.nan, np.nan)
        indices, strengths, valleys = [], [], []
        for pair in self._pairs:
            models = [chain.fit(n_clusters, clock, quiet=True) for chain in pair]
            one, other = (model.predict(self._common.points) for model in models)
            indices.append(adjusted_rand(one, other, even_weights(self._common)))
            for model, judge, chain in zip(models, models[::-1], pair[::-1], strict=True):
                weights = even_weights(chain.rows)
                given = model.predict(chain.rows.points)
                strengths.append(strength(judge.labels_, given, weights, n_clusters))
                valleys.append(valley(chain.rows, model.cluster_centers_.astype(np.float64)))
        return Confirmed(float(np.mean(indices)), float(np.median(strengths)), float(np.median(valleys)))

    @property
    def points_read(self) -> int:
        """By all fits so far."""
        return sum(chain.points_read for pair in self._pairs for chain in pair)

    @property
    def n_distances(self) -> int:
        """Computed by all fits so far."""
        return sum(chain.n_distances for pair in self._pairs for chain in pair)

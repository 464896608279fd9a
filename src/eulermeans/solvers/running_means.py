"""Running means: a backward Euler step on each new batch of an endless stream."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray
from ..oracles import Oracle
from .base import Iterate, Solver


def running_means(
    oracle: Oracle,  # over the new batch
    centers: FloatArray,  # (n_clusters, n_features), IN
    weights: FloatArray,  # (n_clusters,) of the points that each center has seen and not forgotten, IN
    *,
    n_inner: int,
) -> Solver:
    """x ← x − γ ∇φ(x⁺) where center j steps by γ_j = N / w_j, for N the weight of the batch.

    With points fixed to their centers the implicit equation is solved by x_j = (w_j x_j + Σ p_i) / (w_j + n_j),
    the mean of all that the center has seen. Each fixed-point iteration does that and assigns the batch anew.
    """
    remembered = weights[:, None] * centers
    while True:
        iterate = centers
        for _ in range(n_inner):
            moments, asked = oracle.full(iterate), iterate
            total = (weights + moments.counts)[:, None]
            iterate = np.divide(remembered + moments.sums, total, out=centers.copy(), where=total > 0)
        yield Iterate(
            iterate,
            moments.objective,
            moments.spread(asked),
            n_inner * oracle.n_points,
            n_distances=n_inner * moments.n_distances,
        )
        centers, weights = iterate, weights + moments.counts
        remembered = weights[:, None] * centers

"""Running means: a backward Euler step on each new batch of a stream, so that centers follow its drift."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ..arrays import FloatArray
from ..oracles import MemoryOracle, Oracle
from ..seeding import best_candidate, draw_in_proportion, squared_distances
from .iterate import Iterate, Solver

MOST_RELOCATIONS = 4  # in each batch
N_CANDIDATES = 4  # points tried for each relocation


def running_means(
    oracle: Oracle,  # over the new batch
    centers: FloatArray,  # (n_clusters, n_features), IN
    weights: FloatArray,  # (n_clusters,) of the points that each center remembers, IN
    *,
    n_inner: int,
) -> Solver:
    """x ← x − γ ∇φ(x⁺), where center j has the step size γ_j = N / w_j and N is the weight of the batch.

    For a fixed assignment the solution is x_j = (w_j x_j + Σ p_i) / (w_j + n_j), the mean of all points that the
    center remembers. Each fixed-point iteration computes it, then assigns the batch again.
    """
    while True:
        iterate, remembered = centers, weights[:, None] * centers
        for _ in range(n_inner):
            moments, asked = oracle.full(iterate), iterate
            total = (weights + moments.counts)[:, None]
            iterate = np.divide(remembered + moments.sums, total, out=centers.copy(), where=total > 0)
        points_read, n_distances = n_inner * oracle.n_points, n_inner * moments.n_distances
        yield Iterate(iterate, moments.objective, moments.spread(asked), points_read, n_distances=n_distances)
        centers, weights = iterate, weights + moments.counts


def relocate(
    oracle: MemoryOracle,  # over the new batch
    centers: FloatArray,  # (n_clusters, n_features), IN
    weights: FloatArray,  # (n_clusters,) of the points that each center remembers, IN
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Centers and weights after the least useful centers have moved to badly served points of the batch.

    A center moves if that lowers the cost of the batch by more than it raises the cost of the points it remembers,
    which the nearest other center takes over.
    """
    batch_weights = np.ones(oracle.n_points) if oracle.points.weights is None else oracle.points.weights
    for _ in range(MOST_RELOCATIONS if len(centers) > 1 else 0):
        gaps = cdist(centers, centers, "sqeuclidean")
        np.fill_diagonal(gaps, np.inf)
        losses = weights * gaps.min(axis=1)
        least = int(np.argmin(losses))
        heir = int(np.argmin(gaps[least]))
        squares = squared_distances(oracle, centers)
        cost = batch_weights @ squares.min(axis=1)
        nearest = np.delete(squares, least, axis=1).min(axis=1)
        if not np.any(batch_weights * nearest > 0):
            break
        drawn = draw_in_proportion(batch_weights * nearest, N_CANDIDATES, rng)
        best = best_candidate(oracle, batch_weights, nearest, drawn)
        if cost - best.cost <= losses[least]:
            break
        centers, weights = centers.copy(), weights.copy()
        total = weights[heir] + weights[least]
        if total > 0:
            centers[heir] += weights[least] / total * (centers[least] - centers[heir])
        weights[heir], weights[least] = total, 0.0
        centers[least] = best.point
    return centers, weights

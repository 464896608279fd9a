"""The bound of principal components: the relaxation without Z ≥ 0, for any number of points.

No K means can explain more of the scatter than its K − 1 largest eigenvalues (Zha and others; Ding and He).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from ..oracles import Points
from .problem import EPS, ldexp_down
from .safe_bound import smallest_eigenvalues

MOST_FEATURES = 1024  # with more, the scatter matrix is not computed
_BLOCK_VALUES = 1 << 21


@dataclass(frozen=True)
class Components:
    """The scatter of all points about their mean, and its longest axes."""

    bound: float  # on the optimal inertia; never negative
    mean: FloatArray  # (n_features,)
    axes: FloatArray  # (n_features, n_axes) of the largest scatter, longest first


def principal_components(points: Points, n_clusters: int, n_axes: int) -> Components:
    """Two passes over the points, in blocks."""
    n_features = points.n_features
    largest, total = 0.0, np.zeros(n_features)
    heaviest = 1.0 if points.weights is None else float(points.weights.max())
    mass = 2 * (math.frexp(heaviest)[1] // 2)
    for rows, weights in dense_blocks(points):
        largest = max(largest, float(np.abs(rows).max(initial=0)))
        total += np.ldexp(weights, -mass) @ rows
    weight = math.ldexp(points.total_weight, -mass)
    mean = total / weight
    space = math.frexp(largest)[1]
    scatter, rest = np.zeros((n_features, n_features)), np.zeros(n_features)
    for rows, weights in dense_blocks(points):
        scaled = np.ldexp(weights, -mass)
        offsets = np.ldexp(rows - mean, -space)
        rest += scaled @ offsets
        offsets *= np.sqrt(scaled)[:, None]
        scatter += offsets.T @ offsets
    scatter = np.minimum(scatter, scatter.T)
    bound = _bound(scatter, float(np.linalg.norm(rest)), weight, points.n_points, n_clusters)
    axes = np.linalg.eigh(scatter)[1][:, ::-1][:, :n_axes]
    return Components(ldexp_down(bound, 2 * space + mass), mean, axes)


def _bound(scatter: FloatArray, rest: float, weight: float, n_points: int, n_clusters: int) -> float:
    """tr S less the K − 1 largest eigenvalues, with all errors taken off.

    The mean that was used has an error v. The true scatter is S − weight · v vᵀ, so its eigenvalues are no larger,
    and its trace is smaller by weight · ‖v‖².
    """
    trace = float(np.trace(scatter))
    gamma = (n_points + len(scatter) + 16) * EPS
    error_of_mean = rest / weight + gamma * math.sqrt(trace / weight)
    count = min(n_clusters - 1, len(scatter))
    explained = -smallest_eigenvalues(-scatter, count) if count else 0.0
    # ‖error of S‖ ≤ gamma · tr S: by Cauchy-Schwarz, |x_f x_g| adds up to at most √(S_ff S_gg).
    lost = gamma * trace * (2 + math.sqrt(count)) + weight * error_of_mean**2
    return trace - explained - lost * (1 + 1e-6)


def dense_blocks(points: Points) -> Iterator[tuple[FloatArray, FloatArray]]:
    """All points as dense rows with their weights, a block at a time."""
    step = max(1, _BLOCK_VALUES // points.n_features)
    for first in range(0, points.n_points, step):
        rows = np.arange(first, min(first + step, points.n_points))
        yield points.dense(rows), np.ones(len(rows)) if points.weights is None else points.weights[rows]

"""The exact optimum of small k-means problems, in rational numbers: the slow twin of every lower bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def exact_optimum(points, weights, n_clusters) -> Fraction:
    """The least inertia of at most K clusters, from the costs of all subsets; without any rounding."""
    points = np.asarray(points)
    weights = np.ones(len(points)) if weights is None else weights
    rows = [
        ([Fraction(float(x)) for x in row], Fraction(float(w)))
        for row, w in zip(points, weights, strict=True)
        if w > 0
    ]
    n, n_features = len(rows), points.shape[1]
    weight, sums, squares = [Fraction(0)], [[Fraction(0)] * n_features], [Fraction(0)]
    for mask in range(1, 1 << n):
        low = (mask & -mask).bit_length() - 1
        rest, (x, w) = mask & (mask - 1), rows[low]
        weight.append(weight[rest] + w)
        sums.append([s + w * value for s, value in zip(sums[rest], x, strict=True)])
        squares.append(squares[rest] + w * sum(value * value for value in x))
    costs = [Fraction(0)] + [squares[m] - sum(s * s for s in sums[m]) / weight[m] for m in range(1, 1 << n)]
    best = costs
    for _ in range(n_clusters - 1):
        best = [min(best[mask ^ part] + costs[part] for part in _parts(mask)) for mask in range(1 << n)]
    return best[-1]


def _parts(mask):
    """The subsets of a set that hold its lowest element; the empty set for the empty set."""
    rest = mask & (mask - 1)
    low = mask ^ rest
    part = rest
    while True:
        yield part | low
        if not part:
            return
        part = (part - 1) & rest


def exact_spherical_optimum(points, weights, n_clusters) -> float:
    """The least inertia with unit centers, in float64: Q + W − 2 ‖s‖ for each cluster."""
    points = np.asarray(points, dtype=np.float64)
    weights = np.ones(len(points)) if weights is None else weights
    n = len(points)
    members = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    norms = np.linalg.norm((members * weights) @ points, axis=1)
    costs = members @ (weights * np.sum(points**2, axis=1)) + members @ weights - 2 * norms
    best = costs
    for _ in range(n_clusters - 1):
        best = np.array([min(best[mask ^ part] + costs[part] for part in _parts(mask)) for mask in range(1 << n)])
    return float(best[-1])

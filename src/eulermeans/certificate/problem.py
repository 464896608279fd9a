"""A k-means problem in the form that lower bounds need: distinct points, and the cost of joining each pair.

For a partition into clusters of weight W_C let Z = Σ_C u_C u_Cᵀ / W_C, where u holds the roots of the weights and
u_C is u on the cluster and zero elsewhere. Its inertia is ⟨C, Z⟩ with C_ij = ½ u_i u_j ‖x_i − x_j‖². Z is a
projection of rank K, no entry is negative, and Z u = u. Identical points are one point with the sum of their
weights, because some optimal clustering keeps them together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from ..arrays import FloatArray

EPS = float(np.finfo(np.float64).eps)  # twice the largest relative error of one rounded operation
_SMALLEST_WEIGHT = 1e-150  # of the largest: lighter points are left out, which can only lower the bound
_SMALLEST_BOUND = 1e-280  # in scaled units: covers all that underflow may have lost


@dataclass(frozen=True)
class Problem:
    """Distinct points with weights, scaled so that no square over- or underflows."""

    costs: FloatArray  # (n, n) symmetric, not negative: ½ u_i u_j ‖x_i − x_j‖²
    roots: FloatArray  # (n,) u: roots of the weights, positive
    n_clusters: int
    slack: float  # the relative error of costs and weights is at most this
    exponent: int  # true inertia = scaled inertia · 2^exponent

    @property
    def n_points(self) -> int:
        """The number of distinct points."""
        return len(self.roots)

    def unscaled(self, bound: float) -> float:
        """A lower bound on the scaled inertia as one on the inertia of the given points; never negative."""
        safe = bound * (1 - self.slack) - _SMALLEST_BOUND * float(self.roots @ self.roots)
        return ldexp_down(safe, self.exponent)


def ldexp_down(value: float, exponent: int) -> float:
    """value · 2^exponent, rounded down; 0 for what is not positive, and the largest number for what is larger."""
    if not value > 0:
        return 0.0
    try:
        return float(np.nextafter(math.ldexp(value, exponent), 0))
    except OverflowError:
        return float(np.finfo(np.float64).max)


def make_problem(
    points: FloatArray,  # (n_points, n_features), IN, finite
    weights: FloatArray | None,  # (n_points,), IN, not negative, not all zero
    n_clusters: int,
) -> Problem | None:
    """The problem of the distinct points; None where there are at most K of them, so that the optimum is 0."""
    distinct, merged = merge_duplicates(points, weights)
    if len(distinct) <= n_clusters:
        return None
    extent = float(np.abs(distinct - distinct[0]).max())
    space = math.frexp(extent)[1]
    mass = math.frexp(float(merged.max()))[1]
    mass -= mass % 2  # even, so that roots scale exactly as well
    roots = np.sqrt(np.ldexp(merged, -mass))
    scaled = _scaled(distinct, -space)
    costs = 0.5 * cdist(scaled, scaled, "sqeuclidean") * roots[:, None] * roots
    costs = np.minimum(costs, costs.T)  # the same value on both sides, whatever the order of summation was
    # Each operation on an entry: a difference, a square, a sum over features, three products, two roots. Each
    # merged weight is a sum of at most n_points terms.
    slack = (points.shape[1] + 16 + len(points)) * EPS
    return Problem(costs, roots, n_clusters, slack, 2 * space + mass)


def merge_duplicates(points: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """The distinct points that have weight, in lexicographic order, and the sum of the weights of each.

    The sums are exact, or less than that by what rounding may have added: a lower weight means a lower optimum.
    """
    weights = np.ones(len(points)) if weights is None else weights
    kept = weights > weights.max() * _SMALLEST_WEIGHT
    rows = points[kept] + 0.0  # makes -0.0 and 0.0 the same
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    merged: FloatArray = np.bincount(which.ravel(), weights[kept], minlength=len(distinct)).astype(np.float64)
    exact = bool(np.all(weights == np.rint(weights))) and float(weights.sum()) < 2**52
    return distinct, merged if exact else merged * (1 - len(points) * EPS)


def _scaled(points: FloatArray, exponent: int) -> FloatArray:
    """points · 2^exponent, in two steps so that the factor itself can't overflow."""
    half = exponent // 2
    return np.ldexp(np.ldexp(points, half), exponent - half)

"""Clusters of points on a line are intervals, so dynamic programming finds the optimum."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from .problem import EPS, ldexp_down, merge_duplicates

MOST_WORK = 50_000_000  # points times clusters


def optimum_on_line(
    values: FloatArray,  # (n_points, 1), IN, finite
    weights: FloatArray | None,  # (n_points,), IN, not negative, not all zero
    n_clusters: int,
) -> float:
    """The optimal inertia less what rounding may have added to it: a lower bound that is tight to many digits."""
    distinct, merged = merge_duplicates(values, weights)
    line = distinct[:, 0]
    if len(line) <= n_clusters:
        return 0.0
    space = math.frexp(float(line[-1] * 0.5 - line[0] * 0.5))[1]
    mass = math.frexp(float(merged.max()))[1]
    half = space // 2
    offsets = np.ldexp(np.ldexp(line - line[len(line) // 2], -half), half - space)
    exact = bool(np.all(merged == np.rint(merged))) and float(merged.sum()) < 2**52
    intervals = _Intervals(offsets, np.ldexp(merged, -mass), exact_weights=exact)
    if math.isinf(intervals.error):  # the weights differ so much that rounding decides
        return 0.0
    best = intervals.costs(np.zeros(len(line), dtype=np.int64), np.arange(1, len(line) + 1))
    for k in range(2, n_clusters + 1):
        best = _extended(best, intervals, k)
    # A start that rounding moved limits the starts of later rounds: twice the error for each round, at most.
    rounds = len(line).bit_length() + 2
    lowest = float(best[-1]) - n_clusters * 2 * rounds * intervals.error
    slack = (len(values) + 16) * EPS  # of the merged weights, which are sums, and of the offsets
    return ldexp_down(lowest * (1 - slack), 2 * space + mass)


class _Intervals:
    """The inertia of any interval of sorted points, from sums up to each point."""

    def __init__(self, line: FloatArray, weights: FloatArray, *, exact_weights: bool) -> None:
        n = len(line)
        self._weights = _sums_up_to(weights)
        self._firsts = _sums_up_to(weights * line)
        self._squares = _sums_up_to(weights * line**2)
        # Sums up to a point have errors of at most gamma times the sum of all magnitudes. With ω the weight of an
        # interval, F its first moment (F² ≤ ω S by Cauchy-Schwarz) and r² = (all weight) / (least weight), the
        # error of F² / ω is at most 6 gamma S r for that of F and 3 gamma S r² for that of ω; S is the sum of all
        # squares. Sums of whole numbers are exact.
        gamma = (2 * math.isqrt(n) + 16) * EPS
        ratio = math.sqrt(float(self._weights[-1] / weights.min()))
        growth = 1 + ratio if exact_weights else (1 + ratio) ** 2
        self.error = 8 * gamma * float(self._squares[-1]) * growth if gamma * growth < 0.01 else math.inf

    def costs(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> FloatArray:
        """The inertia of the points from `starts` up to but not including `ends`."""
        weight = self._weights[ends] - self._weights[starts]
        first = self._firsts[ends] - self._firsts[starts]
        costs: FloatArray = self._squares[ends] - self._squares[starts] - first**2 / weight
        return costs


def _extended(before: FloatArray, intervals: _Intervals, k: int) -> FloatArray:
    """The optimum of the first e points with k clusters, for every e, from that with one cluster fewer.

    The start of the last cluster never moves back as e grows. So ends are solved in rounds, each halfway between
    those already solved, with the starts of the neighbours as limits.
    """
    n = len(before)
    best = np.full(n, np.inf)  # of ends 1 to n
    starts = np.zeros(n + 2, dtype=np.int64)
    starts[n + 1] = n
    step = 1 << (n.bit_length())
    while step:
        ends = np.arange(step, n + 1, step * 2)
        ends = ends[ends >= k]
        if len(ends):
            lower = np.maximum(starts[np.maximum(ends - step, 0)], k - 1)
            following = ends + step
            upper = np.minimum(np.where(following <= n, starts[np.minimum(following, n + 1)], n), ends - 1)
            upper = np.maximum(upper, lower)
            sizes = upper - lower + 1
            heads = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            candidates = np.arange(sizes.sum()) - np.repeat(heads, sizes) + np.repeat(lower, sizes)
            values = before[candidates - 1] + intervals.costs(candidates, np.repeat(ends, sizes))
            least = np.minimum.reduceat(values, heads)
            best[ends - 1] = least
            places = np.where(values == np.repeat(least, sizes), candidates, n)
            starts[ends] = np.minimum.reduceat(places, heads)
        step //= 2
    return best


def _sums_up_to(values: FloatArray) -> FloatArray:
    """0 and the sums of the first elements, (n + 1,); in blocks, so that an element is in at most 2 √n sums."""
    size = max(1, math.isqrt(len(values)))
    padded = np.concatenate([values, np.zeros(-len(values) % size)]).reshape(-1, size)
    within = np.cumsum(padded, axis=1)
    before = np.concatenate([[0.0], np.cumsum(within[:-1, -1])])
    return np.concatenate([[0.0], (within + before[:, None]).ravel()[: len(values)]])

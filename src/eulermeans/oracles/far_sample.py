"""Samples that hold the points far from all others.

In data with heavy tails, few points have much of the cost. A uniform sample misses most of them, and the centers
that they need. So here they are always in, and each of the others stands for as many more.
"""

from __future__ import annotations

import numpy as np

from .memory import MemoryOracle

FAR = 2.0  # a point is far if its part of the variance is this many times what a point of a sample should have


def sample_with_far(oracle: MemoryOracle, size: int, rng: np.random.Generator) -> MemoryOracle:
    """About `size` distinct points: all that are far, and others at random; uniform where none is far.

    At most `size` / FAR points can be far.
    """
    points = oracle.points
    drawn = points.draw_distinct(size, rng)
    uniform = MemoryOracle(points.view(drawn), spherical=oracle.spherical)
    if len(drawn) == points.n_points or oracle.spherical:
        return uniform
    measured = oracle.label(uniform.mean()[None], nearest=True)
    assert measured.nearest is not None
    costs = measured.nearest if points.weights is None else measured.nearest * points.weights
    far = np.flatnonzero(costs > FAR / size * measured.moments.cost)
    if len(far) == 0:
        return uniform
    others = np.setdiff1d(drawn, far, assume_unique=True)
    rows = np.sort(np.concatenate([others, far]))
    weights = np.ones(len(rows)) if points.weights is None else points.weights[rows]
    stands_for_more = ~np.isin(rows, far, assume_unique=True)
    if len(others) > 0:
        left = points.total_weight - weights[~stands_for_more].sum()
        weights[stands_for_more] *= left / weights[stands_for_more].sum()
    return MemoryOracle(points.view(rows, weights))

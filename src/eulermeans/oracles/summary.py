"""A summary of points with few features: small cells of them, each one point at the cell's mean with its weight.

A clustering of the cells costs what it costs on the points, less what the cells cost inside. That is the same for
all clusterings, but for the few cells that a boundary cuts. So a summary has the minima of the points themselves,
where a sample of the same size has others.
"""

from __future__ import annotations

import numpy as np

from .. import _core
from ..arrays import FloatArray
from .dense_points import DensePoints
from .memory import MemoryOracle

MOST_FEATURES = 4  # with more, so few cells are not small in all directions
MOST_POINTS = 1 << 18  # are summarized, drawn from all
FEWEST_IN_A_CELL = 2
DISSOLVED = 8.0  # cells that cost more than this many times the mean are dissolved into their points


class Summary(MemoryOracle):
    """An oracle over the cells of points."""

    def __init__(self, points: DensePoints, n_summarized: int, within: float) -> None:
        super().__init__(points)
        self.n_summarized = n_summarized  # points that the cells stand for
        self.within = within  # the cost inside of the cells


def summarize(oracle: MemoryOracle, size: int, rng: np.random.Generator) -> Summary | None:
    """About `size` cells of all points or of a large sample; None where cells are not small or hold few points."""
    points, n_cells = oracle.points, 1 << round(np.log2(max(2, size)))
    if not isinstance(points, DensePoints) or points.n_features > MOST_FEATURES or oracle.spherical:
        return None
    if points.n_points < FEWEST_IN_A_CELL * n_cells:
        return None
    rows = rng.permutation(points.draw_distinct(min(points.n_points, MOST_POINTS), rng))
    weights = np.ones(len(rows)) if points.weights is None else points.weights[rows]
    return _cells(points.dense(rows), weights, n_cells, points.n_threads)


def _cells(
    points: FloatArray,  # (n, n_features), IN
    weights: FloatArray,  # (n,), IN
    n_cells: int,
    n_threads: int | None,
) -> Summary:
    """The means of the cells, and the points that are in none or in a cell that is large."""
    rows = np.empty((n_cells, len(points) // n_cells), dtype=np.int64)
    _core.split_cells(points, rows)
    inside, mass = points[rows], weights[rows]
    total = mass.sum(axis=1)
    means = np.einsum("cm,cmf->cf", mass, inside) / np.where(total > 0, total, 1.0)[:, None]
    costs = np.einsum("cm,cmf->c", mass, (inside - means[:, None]) ** 2)
    small = (total > 0) & (costs <= DISSOLVED * costs.mean())
    single = np.concatenate([rows[~small].ravel(), np.arange(rows.size, len(points))])
    single = single[weights[single] > 0]
    summary = DensePoints(
        np.concatenate([means[small], points[single]]),
        np.concatenate([total[small], weights[single]]),
        n_threads=n_threads,
    )
    return Summary(summary, len(points), float(costs[small].sum()))

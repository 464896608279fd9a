"""How far two labelings of the same points agree, counted in pairs of points. Knows labels and nothing else."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, FloatArray

Labels = Array


def adjusted_rand(
    one: Labels,  # (n_points,), IN
    other: Labels,  # (n_points,), IN
    weights: FloatArray,  # (n_points,), IN
) -> float:
    """The adjusted Rand index: 1 for the same clusters, about 0 for labels that have nothing in common."""
    in_one, in_other = _pairs(one, weights).sum(), _pairs(other, weights).sum()
    in_both = _pairs(_cells(one, other), weights).sum()
    expected = in_one * in_other / (weights.sum() ** 2 - np.sum(weights**2))
    most = (in_one + in_other) / 2
    return 1.0 if most <= expected else float((in_both - expected) / (most - expected))


def strength(
    own: Labels,  # (n_points,) by the clusters that were found in these points, IN
    given: Labels,  # (n_points,) by clusters that were found in others, IN
    weights: FloatArray,  # (n_points,), IN
    n_clusters: int,
) -> float:
    """Prediction strength (Tibshirani and Walther, 2005), which is that of the worst of the own clusters.

    Of the pairs of points that are together in it, the part that the other clusters keep together. A cluster
    without a pair counts as 0: it is not one.
    """
    together = _pairs(own, weights, n_clusters)
    cells = _cells(own, given)
    kept_in_cell = _pairs(cells, weights)
    kept = np.bincount(np.arange(len(kept_in_cell)) // (int(given.max()) + 1), kept_in_cell, n_clusters)
    return float(np.divide(kept, together, out=np.zeros(n_clusters), where=together > 0).min())


def _cells(one: Labels, other: Labels) -> Labels:
    """One label for each combination of both."""
    combined: Labels = one.astype(np.intp) * (int(other.max()) + 1) + other
    return combined


def _pairs(labels: Labels, weights: FloatArray, n_labels: int = 0) -> FloatArray:
    """The weight of the ordered pairs of points with each label: n (n − 1) where every point weighs one."""
    whole, alone = np.bincount(labels, weights, n_labels), np.bincount(labels, weights**2, n_labels)
    pairs: FloatArray = whole.astype(np.float64) ** 2 - alone
    return pairs

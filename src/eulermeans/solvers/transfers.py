"""Single-point transfers, after Hartigan: they go on where Lloyd's algorithm is stuck.

A point on the border of its cluster may be nearer to its own center and yet be better off with another, because
both centers follow the move. With few points a cluster this finds minima that Lloyd's algorithm does not, for
little more than the price of its passes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..moments import FloatArray, Moments
from ..oracles import Contested


def transfer(contested: Contested, centers: FloatArray) -> Moments:
    """The moments after the best transfers, at most one for each cluster, so that none spoils another's gain.

    `centers` is where the points were asked about; a center without points stays there. Errors and utilities are
    those before the transfers.
    """
    moments = contested.moments
    counts, sums = moments.counts.copy(), moments.sums.copy()
    means = moments.means(otherwise=centers)
    rows, to = best_transfers(contested, means, counts)
    taken = contested.weights[rows]
    carried = taken[:, None] * contested.points[rows]
    source = contested.labels[rows]
    counts[source] -= taken
    counts[to] += taken
    sums[source] -= carried
    sums[to] += carried
    return Moments(counts, sums, moments.cost, moments.errors, moments.utilities, moments.n_distances)


def best_transfers(
    contested: Contested, means: FloatArray, counts: FloatArray
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which contested points to move, and to which centers: those with the largest gain in both clusters."""
    weights, labels = contested.weights, contested.labels
    n = len(labels)
    everyone = np.arange(n)
    squares = np.empty((n, len(means)))
    _core.distances(contested.points, means, squares, n_threads=1)
    squares *= squares
    # What the cost falls by if the point leaves its cluster, and what it rises by if it joins another.
    own = counts[labels]
    relief = squares[everyone, labels] * (own / (own - weights))
    burden = squares * (counts / (counts + weights[:, None]))
    burden[everyone, labels] = np.inf
    to = burden.argmin(axis=1)
    gain = weights * (relief - burden[everyone, to])
    order = np.argsort(-gain, kind="stable")
    order = order[gain[order] > 0]
    rank = np.arange(len(order))
    first = np.full(len(means), n)
    np.minimum.at(first, labels[order], rank)
    np.minimum.at(first, to[order], rank)
    rows = order[(first[labels[order]] == rank) & (first[to[order]] == rank)]
    return rows, to[rows]

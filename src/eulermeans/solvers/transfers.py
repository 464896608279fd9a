"""Single-point transfers, after Hartigan: they go on where Lloyd's algorithm is stuck.

A point on the border of its cluster may be nearer to its own center and yet be better off with another, because
both centers follow the move. With few points a cluster this finds minima that Lloyd's algorithm does not, for
little more than the price of its passes.
"""

from __future__ import annotations

import numpy as np

from .. import _core
from ..arrays import FloatArray
from ..moments import Moments
from ..oracles import Contested


def transfer(contested: Contested, centers: FloatArray) -> Moments:
    """The moments after every contested point, one after the other, went to where the cost is least.

    `centers` is where the points were asked about; a center without points stays there. Errors and utilities are
    those before the transfers.
    """
    moments = contested.moments
    counts, sums = moments.counts.copy(), moments.sums.copy()
    _core.transfer(contested.points, contested.rows, contested.weights, contested.labels, counts, sums, centers)
    return Moments(counts, sums, moments.cost, moments.errors, moments.utilities, moments.n_distances)


def naive_transfer(contested: Contested, centers: FloatArray) -> Moments:
    """The same by the definition: the slow twin of the compiled loop, for tests to compare."""
    moments = contested.moments
    counts, sums = moments.counts.copy(), moments.sums.copy()
    for point, weight, own in zip(contested.coordinates, contested.weights, contested.labels, strict=True):
        if counts[own] <= weight:
            continue
        means = Moments(counts, sums, 0.0).means(otherwise=centers)
        squares = np.sum((point - means) ** 2, axis=1)
        # What the cost rises by if the point joins each cluster, and falls by if it leaves its own.
        burden = squares * counts / (counts + weight)
        burden[own] = squares[own] * counts[own] / (counts[own] - weight)
        to = int(np.argmin(burden))
        counts[own] -= weight
        sums[own] -= weight * point
        counts[to] += weight
        sums[to] += weight * point
    return Moments(counts, sums, moments.cost, moments.errors, moments.utilities, moments.n_distances)

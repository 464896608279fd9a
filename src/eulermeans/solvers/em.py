"""EM, also known as Lloyd's algorithm: every center moves to the mean of its points. Also by mini-batches.

A center may have no points to move to. What it does then is a choice of the caller, an `EmptyRule`: it stays where
it is ("stay"), it moves to a data point drawn at random ("reseed"), or to a point that lies far from its center
("farthest"). None of them raises the objective of the points that were asked about.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ..arrays import FloatArray
from ..moments import Moments
from ..oracles import Oracle, with_bounds
from ..seeding import seed_random
from .iterate import Iterate, Memory, Solver

Rule = Literal["mean", "count"]
EmptyRule = Literal["stay", "reseed", "farthest"]


def em(
    oracle: Oracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    empty: EmptyRule = "farthest",
    rng: np.random.Generator | None = None,  # needed to reseed
) -> Solver:
    """Assign all points, then move every center to its mean. By default, empty centers take the farthest points.

    The objective of an iterate is that of the centers before the move, so it never rises.
    """
    while True:
        moments = oracle.full(centers)
        spread, points_read, n_distances = moments.spread(centers), oracle.n_points, moments.n_distances
        without = np.flatnonzero(moments.counts == 0)
        measured = None if len(without) else centers  # centers without points are worse than those that follow
        if len(without) and empty == "farthest":
            moments = fill_empty(oracle, centers, moments)
            points_read += oracle.n_points
            n_distances += oracle.n_points * len(centers)
        centers = moments.means(otherwise=centers)
        if len(without) and empty == "reseed":
            assert rng is not None, "reseeding needs random numbers"
            centers[without] = seed_random(oracle, len(without), rng)
        yield Iterate(
            centers,
            moments.objective,
            spread,
            points_read,
            exact=True,
            n_distances=n_distances,
            measured=measured,
        )


def polish(
    oracle: Oracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    memory: Memory | None = None,
) -> Solver:
    """The same steps as `em`. Bounds save most of the distances once the centers move little."""
    bounded = with_bounds(oracle)
    if memory is not None:
        bounded.remember(memory)
    for iterate in em(bounded, centers):
        measured = iterate.measured if bounded.remembers else None
        yield replace(iterate, memory=bounded.memory, measured=measured)


def minibatch_em(
    oracle: Oracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    batch_size: int,
    rule: Rule,
    empty: EmptyRule = "stay",  # for a center without points in the batch
    rng: np.random.Generator,
) -> Solver:
    """Assign a mini-batch, then move its centers.

    Rule "mean" moves a center to the mean of its points in this batch, as in the paper's tables. Rule "count"
    moves it to the mean of all points it was given since it was last reseeded: a learning rate of 1/count for each
    center. The farthest points are those of another batch.
    """
    seen = np.zeros(len(centers))
    while True:
        moments = oracle.minibatch(centers, batch_size, rng)
        spread, points_read, n_distances = moments.spread(centers), batch_size, moments.n_distances
        if rule == "mean":
            centers = moments.means(otherwise=centers)
        else:
            seen += moments.counts
            rate = np.divide(1.0, seen, out=np.zeros_like(seen), where=seen > 0)
            centers = centers + rate[:, None] * (moments.sums - moments.counts[:, None] * centers)
        without = np.flatnonzero(moments.counts == 0)
        if len(without) and empty != "stay":
            if empty == "reseed":
                places = seed_random(oracle, len(without), rng)
            else:
                others = oracle.sample(batch_size, rng)
                places = others.farthest(centers, len(without)).points
                points_read += others.n_points
                n_distances += others.n_points * len(centers)
            moved = without[: len(places)]
            centers[moved], seen[moved] = places, 0.0
        yield Iterate(centers, moments.objective, spread, points_read, n_distances=n_distances)


def fill_empty(oracle: Oracle, centers: FloatArray, moments: Moments) -> Moments:
    """The moments after each empty center has taken one of the points farthest from their centers."""
    counts, sums = moments.counts.copy(), moments.sums.copy()
    empty = np.flatnonzero(counts == 0)
    rounding = float(4 * np.finfo(oracle.dtype).eps) ** 2  # of squared distances, relative to squared norms
    outliers = oracle.farthest(centers, len(empty))
    for i, j in enumerate(empty):
        point, weight, label = outliers.points[i], outliers.weights[i], outliers.labels[i]
        # Moving a point that coincides with its center gains nothing. The last point of a center stays with it.
        if outliers.distances[i] <= rounding * (point @ point) or counts[label] <= weight:
            continue
        counts[j], sums[j] = weight, weight * point
        counts[label] -= weight
        sums[label] -= weight * point
    return Moments(counts=counts, sums=sums, cost=moments.cost)

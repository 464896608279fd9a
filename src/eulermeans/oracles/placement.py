"""Places all points in clusters of bounded size, at the least cost for given centers.

A pass with prices gives most points their cluster. The contested ones are then placed exactly, which also improves
the prices. They move only as far as no other point would follow; if that is too near, another pass begins there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from .. import _core
from ..arrays import FloatArray
from ..moments import Moments
from .oracle import Oracle
from .priced_questions import Contested, PricedBlock, PricedMoments

CONTESTED_VALUES = 1 << 26  # distances and coordinates of contested points, at most
SMALLEST_SHARE = 0.02  # of the points that are contested
SPARE = 3.0  # times as many points are contested as the last placement needed
PASSES = 12  # after which a placement that meets the bounds is taken as it is, even if others might be better
PASSES_OF_A_SHARE = 3  # that do not end the placement, after which more points are contested
ROWS_TOGETHER = 4096  # moved points that are added up together
FEW_FEATURES = 16  # up to these, points are added up one feature at a time


@dataclass(frozen=True)
class SizeBounds:
    """The least and the most weight of each cluster."""

    lowest: float
    highest: float

    def dual_cost(self, moments: Moments, prices: FloatArray) -> float:
        """What the best placement costs at least; `moments` are those of the cheapest clusters at the prices."""
        counts = moments.counts
        wanted = np.where(prices > 0, self.highest, np.where(prices < 0, self.lowest, counts))
        return moments.cost + float(prices @ (counts - wanted))


@dataclass(frozen=True)
class Placed:
    """Where the points are."""

    centers: FloatArray  # (n_clusters, n_features) that were asked about
    moments: Moments  # of the clusters
    prices: FloatArray  # (n_clusters,)
    n_passes: int
    blocks: dict[int, PricedBlock]
    moves: dict[int, NDArray[np.int32]]  # for each block, the labels of its contested points
    bounds_are_met: bool = True

    def labels(self) -> NDArray[np.int32]:
        """The cluster of every point, in the order of the blocks. Requires that labels were asked for."""
        parts = []
        for number in sorted(self.blocks):
            block = self.blocks[number]
            assert block.labels is not None
            labels = block.labels.copy()
            labels[block.contested.rows] = self.moves[number]
            parts.append(labels)
        return np.concatenate(parts)


class Placer:
    """Places the points of an oracle again and again, as centers move. Remembers the prices."""

    def __init__(self, oracle: Oracle, bounds: SizeBounds, n_clusters: int) -> None:
        self.oracle, self.bounds = oracle, bounds
        self.prices = np.zeros(n_clusters)
        values = oracle.n_points * (n_clusters + oracle.n_features)
        self._most = min(1.0, CONTESTED_VALUES / values)
        self._share = self._most

    @property
    def sees_all(self) -> bool:
        """Whether the distances of all points to all centers may be held at once."""
        return self._most == 1 and self.oracle.at_hand is self.oracle

    def contest_all(self) -> None:
        """Expect prices to move far at the next placement: contest as many points as may be."""
        self._share = self._most

    def approach(self, centers: FloatArray) -> Placed:
        """A placement near the bounds by a single pass, with better prices than the last one. Has no labels."""
        centers = self.oracle.project(centers)
        blocks = self.oracle.ask(PricedMoments(centers, self.prices, self._share))
        placed = self._place_contested(centers, blocks, self.prices, 1, exact=False)
        if placed.bounds_are_met or not np.array_equal(placed.prices, self.prices):
            self._adapt(placed, self.prices)
        else:
            self._contest_more()
        self.prices = placed.prices
        return placed

    def place(self, centers: FloatArray, *, with_labels: bool = False) -> Placed:
        """The best placement for these centers. Prices start from those of the last one."""
        centers = self.oracle.project(centers)
        prices = self.prices.copy()
        for n_passes in range(1, 10 * PASSES):
            blocks = self.oracle.ask(PricedMoments(centers, prices, self._share, with_labels))
            placed = self._place_contested(centers, blocks, prices, n_passes)
            if not placed.bounds_are_met and n_passes >= PASSES:
                placed = self._place_contested(centers, blocks, placed.prices, n_passes, limited=False)
            if placed.bounds_are_met:
                self._adapt(placed, prices)
                self.prices = placed.prices
                return placed
            prices = placed.prices
            if self._share < self._most:
                self._contest_more()
            elif n_passes % PASSES_OF_A_SHARE == 0:
                self._share = min(1.0, 2 * self._share)
        raise AssertionError("every placement of all points meets the bounds")

    def transfer(self, placed: Placed, centers: FloatArray) -> Placed | None:
        """The placement that is best if single points take the means along; None if it is no other.

        `centers`, (n_clusters, n_features), are the means of the clusters. Costs are those of single transfers, so
        many at once may cost more than they gain. Requires `sees_all`, and labels.
        """
        assert self.oracle.at_hand is not None
        [(number, block)] = placed.blocks.items()
        points, labels = self.oracle.at_hand.points, placed.labels()
        distances = points.distances(self.oracle.project(centers))
        counts, prices, new = placed.moments.counts, placed.prices.copy(), np.empty_like(labels)
        lowest, highest = (np.full(len(counts), bound) for bound in (self.bounds.lowest, self.bounds.highest))
        met = _core.place(
            distances, lowest, highest, prices, new, weights=points.weights, current=labels, counts=counts
        )
        if not met or np.array_equal(new, labels):
            return None
        moments = replace(placed.moments, cost=cost_at(placed.moments, placed.centers, centers))
        everything = Contested(np.arange(len(labels)), labels, np.zeros(0), distances, points, np.inf)
        after = PricedBlock(block.moments, everything, labels)
        return Placed(centers, moved(moments, everything, new), prices, 1, {number: after}, {number: new})

    def _place_contested(
        self,
        centers: FloatArray,
        blocks: dict[int, PricedBlock],
        prices: FloatArray,  # (n_clusters,), IN
        n_passes: int,
        *,
        exact: bool = True,
        limited: bool = True,
    ) -> Placed:
        """Place the contested points beside the others, as far as they are enough to meet the bounds.

        Prices move no further than these points are known to be the only ones that follow; without `limited` they
        may.
        """
        numbers = sorted(blocks)
        contested = [blocks[number].contested for number in numbers]
        moments = total([blocks[number].moments for number in numbers])
        labels = np.concatenate([each.labels for each in contested])
        weights = self._weights(contested)
        fixed = moments.counts - np.bincount(labels, weights, minlength=len(prices))
        prices, placed = prices.copy(), np.empty(len(labels), dtype=np.int32)
        distances = np.concatenate([each.distances for each in contested]) if len(contested) > 1 else None
        met = _core.place(
            contested[0].distances if distances is None else distances,
            self.bounds.lowest - fixed,
            self.bounds.highest - fixed,
            prices,
            placed,
            weights=weights,
            exact=exact,
            reach=min(each.reach for each in contested) if limited else np.inf,
        )
        ends = np.cumsum([len(each.labels) for each in contested])[:-1]
        moves = dict(zip(numbers, np.split(placed, ends), strict=True))
        for number in numbers:
            moments = moved(moments, blocks[number].contested, moves[number])
        return Placed(centers, moments, prices, n_passes, blocks, moves, met)

    def _weights(self, contested: list[Contested]) -> FloatArray | None:
        if self.oracle.unweighted:
            return None
        weights = [each.points.weights for each in contested]
        return np.concatenate([each for each in weights if each is not None])

    def _contest_more(self) -> None:
        self._share = min(self._most, 2 * self._share)

    def _adapt(self, placed: Placed, before: FloatArray) -> None:
        """Contest fewer points the next time if few were in doubt."""
        needed = spread(placed.prices, before)
        n_needed = sum(int(np.count_nonzero(block.contested.gaps <= needed)) for block in placed.blocks.values())
        share = SPARE * n_needed / self.oracle.n_points
        self._share = min(self._most, max(SMALLEST_SHARE, share, self._share / 2))


def spread(prices: FloatArray, before: FloatArray) -> float:
    """How far prices have moved against each other."""
    return float(np.ptp(prices - before))


def cost_at(moments: Moments, centers: FloatArray, others: FloatArray) -> float:
    """The cost of the same clusters about other centers, both (n_clusters, n_features)."""
    steps = others - centers
    drift = moments.sums - moments.counts[:, None] * centers
    change = np.sum(moments.counts[:, None] * steps**2) - 2 * np.sum(drift * steps)
    return max(0.0, moments.cost + float(change))


def total(parts: list[Moments]) -> Moments:
    """The moments of all parts together."""
    if len(parts) == 1:
        return parts[0]
    return Moments(
        np.sum([part.counts for part in parts], axis=0),
        np.sum([part.sums for part in parts], axis=0),
        float(sum(part.cost for part in parts)),
        n_distances=sum(part.n_distances for part in parts),
    )


def moved(moments: Moments, contested: Contested, labels: NDArray[np.int32]) -> Moments:
    """The moments after contested points have gone to the clusters `labels`, (n_contested,)."""
    rows = np.flatnonzero(labels != contested.labels)
    if len(rows) == 0:
        return moments
    old, new = contested.labels[rows], labels[rows]
    weights = np.ones(len(rows)) if contested.points.weights is None else contested.points.weights[rows]
    here, there = (contested.distances[rows, labels].astype(np.float64) for labels in (old, new))
    cost = moments.cost + float(weights @ (there**2 - here**2))
    counts, sums = moments.counts.copy(), moments.sums.copy()
    k = len(counts)
    counts += np.bincount(new, weights, k) - np.bincount(old, weights, k)
    for first in range(0, len(rows), ROWS_TOGETHER):
        part = slice(first, first + ROWS_TOGETHER)
        points = contested.points.dense(rows[part])
        sums += sums_by_label(points, new[part], weights[part], k)
        sums -= sums_by_label(points, old[part], weights[part], k)
    return Moments(counts, sums, max(0.0, cost), n_distances=moments.n_distances)


def sums_by_label(
    points: FloatArray,  # (n_points, n_features), IN
    labels: NDArray[np.int32],  # (n_points,), IN
    weights: FloatArray,  # (n_points,), IN
    n_clusters: int,
) -> FloatArray:
    """The weighted sums of the points with each label, (n_clusters, n_features)."""
    n, n_features = points.shape
    if n_features <= FEW_FEATURES:
        return np.stack([np.bincount(labels, weights * column, n_clusters) for column in points.T], axis=1)
    sums: FloatArray = csc_array((weights, labels, np.arange(n + 1)), shape=(n_clusters, n)) @ points
    return sums

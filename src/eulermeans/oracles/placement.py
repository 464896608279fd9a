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
from ..arrays import Array, FloatArray, aligned
from ..moments import Moments
from .oracle import Oracle
from .points import Points
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

    def of_each(self, n_clusters: int) -> tuple[FloatArray, FloatArray]:
        """The least and the most weight of each cluster, both (n_clusters,)."""
        return np.full(n_clusters, self.lowest, np.float64), np.full(n_clusters, self.highest, np.float64)

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
    n_in_doubt: int  # points whose first choice was no surer than prices have moved since
    all_labels: NDArray[np.int32] | None  # (n_points,) if labels were asked for
    bounds_are_met: bool = True

    def labels(self) -> NDArray[np.int32]:
        """The cluster of every point, in the order of the blocks. Requires that labels were asked for."""
        assert self.all_labels is not None
        return self.all_labels


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
            self._adapt(placed)
        else:
            self._contest_more()
        self.prices = placed.prices
        return placed

    def place(self, centers: FloatArray, *, with_labels: bool = False) -> Placed:
        """The best placement for these centers. Prices start from those of the last one."""
        centers = self.oracle.project(centers)
        if self.sees_all and self._share == 1:
            placed = self._place_all(centers)
            if placed.bounds_are_met:
                self._adapt(placed)
                self.prices = placed.prices
                return placed
        prices = self.prices.copy()
        for n_passes in range(1, 10 * PASSES):
            blocks = self.oracle.ask(PricedMoments(centers, prices, self._share, with_labels))
            placed = self._place_contested(centers, blocks, prices, n_passes)
            if not placed.bounds_are_met and n_passes >= PASSES:
                placed = self._place_contested(centers, blocks, placed.prices, n_passes, limited=False)
            if placed.bounds_are_met:
                self._adapt(placed)
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
        points, labels = self.oracle.at_hand.points, placed.labels()
        distances = points.distances(self.oracle.project(centers))
        counts, prices, new = placed.moments.counts, placed.prices.copy(), np.empty_like(labels)
        lowest, highest = self.bounds.of_each(len(counts))
        met = _core.place(
            distances, lowest, highest, prices, new, weights=points.weights, current=labels, counts=counts
        )
        if not met or np.array_equal(new, labels):
            return None
        moments = replace(placed.moments, cost=cost_at(placed.moments, placed.centers, centers))
        everything = Contested(np.arange(len(labels)), labels, np.zeros(0), distances, points, np.inf)
        return Placed(centers, moved(moments, everything, new), prices, 1, len(labels), new)

    def _place_all(self, centers: FloatArray) -> Placed:
        """The placement of all points, without a pass that tells which are contested. Requires `sees_all`."""
        assert self.oracle.at_hand is not None
        points, k = self.oracle.at_hand.points, len(centers)
        distances, prices = points.distances(centers), self.prices.copy()
        labels, n_in_doubt = np.empty(points.n_points, dtype=np.int32), np.zeros(1, dtype=np.int64)
        lowest, highest = self.bounds.of_each(k)
        met = _core.place(
            distances, lowest, highest, prices, labels, weights=points.weights, n_in_doubt=n_in_doubt
        )
        moments = moments_of(points, labels, distances)
        return Placed(centers, moments, prices, 1, int(n_in_doubt[0]), labels, met)

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
        before, prices, placed = prices, prices.copy(), np.empty(len(labels), dtype=np.int32)
        distances = [each.distances for each in contested]
        met = _core.place(
            np.concatenate(distances) if len(distances) > 1 else aligned(distances[0]),  # they may come from Dask
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
        needed = spread(prices, before)
        n_in_doubt = sum(int(np.count_nonzero(each.gaps <= needed)) for each in contested)
        parts = [blocks[number].labels_with(moves[number]) for number in numbers]
        asked = [part for part in parts if part is not None]
        return Placed(
            centers, moments, prices, n_passes, n_in_doubt, np.concatenate(asked) if asked else None, met
        )

    def _weights(self, contested: list[Contested]) -> FloatArray | None:
        if self.oracle.unweighted:
            return None
        weights = [each.points.weights for each in contested]
        return np.concatenate([each for each in weights if each is not None])

    def _contest_more(self) -> None:
        self._share = min(self._most, 2 * self._share)

    def _adapt(self, placed: Placed) -> None:
        """Contest fewer points the next time if few were in doubt."""
        share = SPARE * placed.n_in_doubt / self.oracle.n_points
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


def moments_of(
    points: Points,
    labels: NDArray[np.int32],  # (n_points,), IN
    distances: Array,  # (n_points, n_clusters), IN
) -> Moments:
    """The moments of clusters that are given by labels."""
    n, k = distances.shape
    weights = np.ones(n) if points.weights is None else points.weights
    counts, sums = np.zeros(k), np.zeros((k, points.n_features))
    counts += np.bincount(labels, weights, k)
    for first in range(0, n, ROWS_TOGETHER):
        rows = np.arange(first, min(first + ROWS_TOGETHER, n))
        sums += sums_by_label(points.dense(rows), labels[rows], weights[rows], k)
    own = distances[np.arange(n), labels].astype(np.float64)
    return Moments(counts, sums, float(weights @ own**2), n_distances=n * k)


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

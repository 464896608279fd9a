"""Recombination: joins the best regions of several clusterings of the same points.

Searches from different starts end in different minima, and none of these is the best everywhere. Clusters of two
clusterings that share points form a *region*. Each region is taken from the clustering that is better there, such
that the number of centers stays the same. (Crossover in genetic algorithms for k-means mixes centers at random.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..arrays import FloatArray
from ..moments import Moments
from ..oracles import NEIGHBOURS, DensePoints, MemoryOracle, cluster
from .iterate import Iterate, Memory, Solver
from .settling import SETTLED_AFTER_MOVES, settle

# Clusters that share more than this fraction of the smaller one's points are in one region. Neighbours share some
# at their border: a small fraction makes few large regions, a large one many that do not quite fit. All are tried.
SHARED = (0.02, 0.05, 0.1, 0.2)
NEAR = 0.05  # the same fraction, to tell whether two clusterings differ in places or everywhere:
EVERYWHERE = 0.9  # of the clusters are in one region
PASSES = 30  # at most, after two clusterings were joined
GAIN = 1e-9  # joining has gained if it lowers the cost by more than this fraction


@dataclass(frozen=True)
class Parent:
    """A clustering whose regions may be joined with those of another."""

    centers: FloatArray  # (n_clusters, n_features)
    labels: NDArray[np.int32]  # (n_points,)
    costs: FloatArray  # (n_points,) squared distances to the centers times weights
    moments: Moments

    @classmethod
    def around(cls, centers: FloatArray, oracle: MemoryOracle) -> Parent:
        """The clustering around these centers."""
        labeling, weights = oracle.label(centers, nearest=True), oracle.points.weights
        assert labeling.nearest is not None
        costs = labeling.nearest if weights is None else labeling.nearest * weights
        return cls(oracle.project(centers), labeling.labels, costs, labeling.moments)

    @property
    def cost(self) -> float:
        """The cost of all points."""
        return self.moments.cost


@dataclass(frozen=True)
class Regions:
    """Which clusters of two clusterings belong together, and what it means to take a region from the second."""

    of_first: NDArray[np.int32]  # (n_clusters,) the region of each cluster
    of_second: NDArray[np.int32]  # (n_clusters,)
    gains: FloatArray  # (n_regions,) how much lower the cost becomes
    more: NDArray[np.int64]  # (n_regions,) how many centers more there are


def recombine(
    oracle: MemoryOracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    memory: Memory | None = None,
    *,
    others: Sequence[FloatArray],  # each (n_clusters, n_features), IN
    rng: np.random.Generator,
) -> Solver:
    """Join the clustering around these centers with the others in turn, until none of them gains."""
    best = Parent.around(centers, oracle)
    parents = [Parent.around(each, oracle) for each in others]
    yield report(oracle, best, (1 + len(parents)) * oracle.n_points * len(centers), last=not parents)
    turn = n_vain = 0
    while n_vain < len(parents):
        turn -= 1  # the newest first
        joined, n_distances = join(oracle, best, parents[turn % len(parents)], rng)
        n_vain = 0 if joined.cost < (1 - GAIN) * best.cost else n_vain + 1
        best = joined
        yield report(oracle, best, n_distances, last=n_vain == len(parents))


def join(oracle: MemoryOracle, first: Parent, second: Parent, rng: np.random.Generator) -> tuple[Parent, int]:
    """The first, or a better clustering with regions of both, and how many distances were computed for it."""
    assert isinstance(oracle.points, DensePoints)
    best, n_distances, tried = first, 0, set[bytes]()
    for shared in SHARED:
        regions = find_regions(first, second, shared)
        taken = best_choice(regions.gains, regions.more)
        kept, added = ~taken[regions.of_first], taken[regions.of_second]
        choice = np.concatenate([kept, added]).tobytes()
        if not taken.any() or choice in tried:
            continue
        tried.add(choice)
        centers = np.concatenate([first.centers[kept], second.centers[added]])
        clustering = cluster(oracle.points, centers, spherical=oracle.spherical)
        settle(clustering, PASSES, SETTLED_AFTER_MOVES, rng)
        n_distances += clustering.n_distances + oracle.n_points * len(centers)
        best = min(best, Parent.around(clustering.centers, oracle), key=lambda parent: parent.cost)
    return best, n_distances


def differ_in_places(oracle: MemoryOracle, first: FloatArray, second: FloatArray) -> bool:
    """Whether two clusterings differ in some places and not everywhere, as where data have no structure.

    Where every center is near to all others, there is only one place.
    """
    if len(first) <= NEIGHBOURS:
        return True
    regions = find_regions(Parent.around(first, oracle), Parent.around(second, oracle), NEAR)
    return bool(np.bincount(regions.of_first).max() <= EVERYWHERE * len(first))


def find_regions(first: Parent, second: Parent, shared: float) -> Regions:
    """The regions of clusters that share more than a fraction of the points of the smaller one."""
    k = len(first.centers)
    pairs, n_shared = np.unique(first.labels.astype(np.int64) * k + second.labels, return_counts=True)
    one, other = np.divmod(pairs, k)
    smaller = np.minimum(
        np.bincount(first.labels, minlength=k)[one], np.bincount(second.labels, minlength=k)[other]
    )
    tied = n_shared > shared * smaller
    edges = coo_array((np.ones(np.count_nonzero(tied)), (one[tied], k + other[tied])), shape=(2 * k, 2 * k))
    n, region = connected_components(edges, directed=False)
    of_first, of_second = region[:k], region[k:]
    # A point at the border of a region is in it by one of its two clusters only, and counts half there.
    lower = 0.5 * (first.costs - second.costs)
    gains: FloatArray = np.zeros(n)
    for of, parent in ((of_first, first), (of_second, second)):
        gains += np.bincount(of[parent.labels], lower, n)
    more = np.bincount(of_second, minlength=n) - np.bincount(of_first, minlength=n)
    return Regions(of_first, of_second, gains, more)


def best_choice(
    gains: FloatArray,  # (n_regions,), IN
    more: NDArray[np.int64],  # (n_regions,), IN
) -> NDArray[np.bool_]:
    """Which regions to take, (n_regions,): those that gain most together such that `more` adds up to zero."""
    taken: NDArray[np.bool_] = (more == 0) & (gains > 0)
    uneven = np.flatnonzero(more)
    most = int(np.abs(more).sum())
    # The largest gain for each number of centers more, from −most to most, and whether it takes the last region.
    largest = np.full(2 * most + 1, -np.inf)
    largest[most] = 0.0
    takes = np.zeros((len(uneven), len(largest)), dtype=bool)
    for i, region in enumerate(uneven):
        with_it = np.roll(largest, more[region]) + gains[region]  # beyond the ends there is only −inf
        takes[i] = with_it > largest
        largest = np.maximum(largest, with_it)
    number = most
    for i in range(len(uneven) - 1, -1, -1):
        if takes[i, number]:
            taken[uneven[i]] = True
            number -= int(more[uneven[i]])
    return taken


def report(oracle: MemoryOracle, best: Parent, n_distances: int, *, last: bool = False) -> Iterate:
    """The best centers so far, and the distances that were computed."""
    moments = Moments(best.moments.counts, best.moments.sums, best.cost + oracle.within)
    points_read = n_distances // len(best.centers)
    return Iterate(
        best.centers,
        moments.objective,
        moments.spread(best.centers),
        points_read,
        n_distances=n_distances,
        last=last,
    )

"""A clustering for many features: each point has a list of the centers near it.

With many features, a center near a point need not be near the point's own center, so neighbours of centers do not
tell where a point may go. Lists do, and they allow *sweeps*: every point in turn goes to the cluster of its list
where it raises the cost least, or at a temperature to one that is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, FloatArray
from .clustering import FEW_FEATURES, NEIGHBOURS, SINGLE, Clustering
from .dense_points import DensePoints
from .oracle import Memory

TRIED = 1000  # points that decide whether they are: their
NEAREST = 4  # nearest centers must be
KNOWN = 0.95  # of the time among the neighbours of the nearest one
LISTED = 8  # centers near each point
OUTDATED = 0.5  # lists are renewed when this fraction of the points has changed centers
SWEPT = 7.0  # the time of a distance in a sweep, in units of that in a full pass
SWEEP_WORK = SWEPT * (LISTED + 1)  # of a sweep for each point, in distances of a full pass

NEXT_TO_EACH_OTHER = 16  # points that a sweep takes in a row: memory is read faster than point by point

STILL = np.zeros(2)  # the temperatures of sweeps that only lower the cost


def cluster(
    points: DensePoints, centers: FloatArray, *, spherical: bool = False, memory: Memory | None = None
) -> Clustering:
    """The clustering around these centers, or one that continues from a memory.

    It has lists if neighbours of centers do not suffice.
    """
    listed = not neighbours_suffice(points, centers) if memory is None else "lists" in memory
    return ListedClustering(points, centers) if listed else Clustering(points, centers, spherical=spherical)


def shuffled(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The numbers from 0 to n - 1 in random order, but for runs of neighbours."""
    runs = rng.permutation(-(-n // NEXT_TO_EACH_OTHER))
    order = (runs[:, None] * NEXT_TO_EACH_OTHER + np.arange(NEXT_TO_EACH_OTHER)).ravel()
    return order[order < n]


def neighbours_suffice(points: DensePoints, centers: FloatArray) -> bool:
    """Whether the centers that are near a point are also near its own center, tried for some points."""
    if centers.shape[1] <= FEW_FEATURES or len(centers) <= NEIGHBOURS:
        return True
    array, all_rows, _ = points.in_array()
    rows = all_rows[:: max(1, points.n_points // TRIED)].copy()
    lists = np.empty((len(rows), NEAREST), dtype=np.int32)
    rounded = centers.astype(points.dtype)
    _core.shortlist(array, rounded, rows, lists, n_threads=points.n_threads)
    own, of_point = np.unique(lists[:, 0], return_inverse=True)
    neighbours = nearest_others(rounded, own, NEIGHBOURS, points.n_threads)
    known = (lists[:, 1:, None] == neighbours[of_point][:, None, :]).any(axis=2)
    return bool(known.mean() > KNOWN)


def nearest_others(
    centers: Array,  # (n_clusters, n_features), IN
    chosen: NDArray[np.integer],  # (n_chosen,) of the centers, IN
    n_nearest: int,
    n_threads: int | None,
) -> NDArray[np.int32]:
    """The nearest other centers of the chosen ones, (n_chosen, n_nearest), found like the lists of points."""
    lists = np.empty((len(chosen), n_nearest + 1), dtype=np.int32)
    _core.shortlist(centers, centers, chosen.astype(np.int64), lists, n_threads=n_threads)
    others = lists != chosen[:, None]
    others[others.all(axis=1), -1] = False  # so many centers are equal that the own one is not listed
    nearest: NDArray[np.int32] = lists[others].reshape(len(chosen), n_nearest)
    return nearest


class ListedClustering(Clustering):
    """The clusters of some points, each with a list of the centers near it.

    Centers are means, also for points on the sphere: what is best for these is all but best for unit centers.
    """

    _remembered = (*Clustering._remembered, "_lists")

    def __init__(self, points: DensePoints, centers: FloatArray) -> None:
        listed = min(LISTED, len(centers))
        self._lists = np.empty((points.n_points, listed), dtype=np.int32)  # in the order of the rows
        self._n_changed = 0  # points that changed centers since the lists were made
        super().__init__(points, centers)

    def descend(self, rng: np.random.Generator) -> int:
        return self.sweep(rng)

    def sweep(self, rng: np.random.Generator, temperatures: FloatArray = STILL) -> int:
        """Let every point in turn go to the cluster of its list where it raises the cost least (after Hartigan).

        Sweeps once for each temperature. Above 0, clusters are drawn, the cheaper the more likely. Returns how
        many points moved in the last sweep.
        """
        labels, counts, means = self.labels(), self.counts.copy(), self.centers.astype(self._dtype)
        before = labels.copy()
        self._nearest, self._second = np.empty(self.n_points), np.empty(self.n_points)
        unit = float(self.counts.sum() / self.n_points)  # the weight of a usual point
        n_moved = 0
        for temperature in temperatures:
            order = shuffled(self.n_points, rng)
            n_moved = _core.sweep(
                self._array,
                self._rows[order],
                order,
                self._lists,
                labels,
                counts,
                means,
                self._nearest,
                self._second,
                temperature=float(temperature) * unit,
                seed=int(rng.integers(1 << 63)),
                weights=self._weights,
                n_threads=self._n_threads,
            )
            self._count(self.n_points * (self._lists.shape[1] + 1), SWEPT)
        self._order = np.arange(self.n_points)
        self._regroup(labels)
        self._sum(np.arange(self.n_clusters, dtype=np.int32))
        self.centers = self._means()
        self._measure()
        self._refresh(int(np.count_nonzero(labels != before)) if temperatures[-1] == 0 else 0)
        return n_moved

    def renew_lists(self) -> None:
        """Find the nearest centers of every point again, by a full pass. Points keep their clusters."""
        centers = self.centers.astype(self._dtype)
        _core.shortlist(self._array, centers, self._rows, self._lists, n_threads=self._n_threads)
        self._count(self.n_points * self.n_clusters)
        self._n_changed = 0

    def find_neighbours(self) -> None:
        """Find the nearest other centers of every center, like the lists of points."""
        k, m = self.neighbours.shape
        if m == 0:
            return
        self.neighbours = nearest_others(self.centers.astype(self._dtype), np.arange(k), m, self._n_threads)
        self._count(k**2)

    @property
    def median_gap(self) -> float:
        """How much dearer the next best cluster is for a point, half of the time; known after a sweep."""
        return max(0.0, float(np.median(self._second - self._nearest)))

    def memory(self) -> Memory:
        return super().memory() | {"n_changed": np.array(self._n_changed)}

    def remember(self, memory: Memory) -> None:
        super().remember(memory)
        self._n_changed = int(memory["n_changed"].item())

    def _compare_first(self, labels: NDArray[np.int32]) -> None:
        centers = self.centers.astype(self._dtype)
        _core.shortlist(self._array, centers, self._rows, self._lists, n_threads=self._n_threads)
        self._n_changed = -self.n_points  # all of them get a center now
        self._compare_nearby(labels)

    def _compare_nearby(self, labels: NDArray[np.int32]) -> None:
        _core.compare_listed(
            self._array,
            self.centers.astype(self._dtype),
            self._members,
            self._order,
            self._lists,
            labels,
            self._nearest,
            self._second,
            n_threads=self._n_threads,
        )
        self._count(self._lists.size, SINGLE)

    def _admit(self, moved: NDArray[np.int32]) -> None:
        """Put centers that went elsewhere on the lists of the points that they are near now."""
        n = self.n_points
        labels, nearest, second = np.empty(n, dtype=np.int32), np.empty(n), np.empty(n)
        self._compare_all(self._members, labels, nearest, second, self.centers[moved])
        near = nearest < self._second
        at = self._order[near]
        self._lists[at, -1] = moved[labels[near]]
        self._count(n * len(moved))

    def _refresh(self, n_changed: int) -> None:
        self._n_changed += n_changed
        if self._n_changed > OUTDATED * self.n_points:
            self.renew_lists()
            self.find_neighbours()

    def _measure(self) -> None:
        """Find the distance of every point to the mean of its cluster, and the cost of each cluster."""
        own, unused = self._labels(), (np.empty(self.n_points, dtype=np.int32), np.empty(self.n_points))
        _core.compare_listed(
            self._array,
            self.centers.astype(self._dtype),
            self._members,
            np.arange(self.n_points),
            own[:, None],
            unused[0],
            self._nearest,
            unused[1],
            n_threads=self._n_threads,
        )
        self._count(self.n_points, SWEPT)
        self._measured = self.centers
        self.errors = self._per_cluster(self._nearest)

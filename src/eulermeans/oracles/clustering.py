"""A clustering that changes step by step: which points each center has, and which centers are near.

A full pass compares every point with every center. After that, passes compare points only with the centers near
their own, and only where a center has moved. Moves of centers can be tried before they are made. Does not know
which moves are worth trying. `listed_clustering` has the clustering for many features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import FloatArray
from .dense_points import DensePoints
from .oracle import Memory
from .sphere import unit_centers

NEIGHBOURS = 24  # of each center
TRANSFERS = 8  # neighbours to which single points are transferred
CALM = 0.02  # single points are transferred when at most this fraction of the points changes centers in a pass
ADAPTING = 6  # centers that adapt around each end of a move that is tried, at most
LARGEST_ADAPTING = 2.0  # times the mean size of clusters: larger ones nearby stay where they are
FEW_POINTS = 1000  # with no more, clusters of any size adapt: to read them takes little time

FEW_FEATURES = 4  # with more, neither a point nor the neighbours of its center stand for what is around it:
PART_OF_WAY = 0.5  # a new center starts this part of the way from the center of its cluster to a point

# The time that a distance takes, in units of that of a full pass: elsewhere fewer are computed together.
SINGLE, TRIED_MOVE = 3.0, 2.0


@dataclass(frozen=True)
class Moves:
    """Moves of centers to try, each on its own. −1 stands for none."""

    removed: NDArray[np.int32]  # (n,) the center that is removed
    inside: NDArray[np.int32]  # (n,) the cluster that gets another center
    added: NDArray[np.int64]  # (n,) the row of the array at which it starts

    @classmethod
    def removals(cls, centers: NDArray[np.int32]) -> Moves:
        """Each center is removed."""
        none = np.full(len(centers), -1, dtype=np.int32)
        return cls(centers, none, none.astype(np.int64))

    @classmethod
    def additions(cls, clusters: NDArray[np.int32], rows: NDArray[np.int64]) -> Moves:
        """Each cluster gets another center."""
        return cls(np.full(len(clusters), -1, dtype=np.int32), clusters, rows)

    def __len__(self) -> int:
        return len(self.removed)

    def __getitem__(self, chosen: NDArray[np.intp] | slice) -> Moves:
        return Moves(self.removed[chosen], self.inside[chosen], self.added[chosen])


class Clustering:
    """The clusters of some points. Centers are always the means of their points as far as they are known."""

    _remembered: tuple[str, ...] = (  # and whether each center moved
        *("centers", "_measured", "counts", "sums", "errors", "neighbours"),
        *("_order", "_starts", "_nearest", "_second"),
    )

    def __init__(self, points: DensePoints, centers: FloatArray, *, spherical: bool = False) -> None:
        self.points = points
        self._array, self._rows, self._weights = points.in_array()
        self._dtype, self._n_threads = points.dtype, points.n_threads
        self._spherical = spherical
        self.n_points, self.n_clusters = points.n_points, len(centers)
        n_neighbours = min(NEIGHBOURS, self.n_clusters - 1)
        self.neighbours = np.zeros((self.n_clusters, n_neighbours), dtype=np.int32)  # the nearest first
        self.n_distances = 0  # computed so far
        self.work = 0.0  # the same, in distances that a pass over all points computes in the same time
        self._since_neighbours = 0  # distances computed in passes since the neighbours were found
        self.assign(centers)

    @property
    def cost(self) -> float:
        """The weighted sum of squared distances of the points to the means of their clusters."""
        return float(self.errors.sum())

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of points of each cluster, (n_clusters,)."""
        return np.diff(self._starts)

    @property
    def largest_adapting(self) -> int:
        """How many points a cluster may have whose center adapts to moves nearby."""
        if self.n_points <= FEW_POINTS:
            return self.n_points
        return int(LARGEST_ADAPTING * self.n_points / self.n_clusters)

    @property
    def part_of_way(self) -> float:
        """Where a new center starts, between the center of its cluster and a point."""
        return 1.0 if self._spherical or self.centers.shape[1] <= FEW_FEATURES else PART_OF_WAY

    def labels(self) -> NDArray[np.int32]:
        """The cluster of every point, (n_points,)."""
        labels = np.empty(self.n_points, dtype=np.int32)
        labels[self._order] = self._labels()
        return labels

    def nearby(self, n_near: int) -> NDArray[np.int32]:
        """Each center and its nearest others, (n_clusters, n_near + 1) or fewer columns.

        With many features, only the nearest one, and only if it has no nearer one itself; otherwise the center is
        in its place. A center between clusters is then among the nearest of nearly all others.
        """
        own = np.arange(self.n_clusters, dtype=np.int32)[:, None]
        others = self.neighbours[:, :n_near]
        if self.centers.shape[1] > FEW_FEATURES:
            others = others[:, :1]
            others = np.where(others[others[:, 0]] == own, others, own)
        return np.concatenate([own, others], axis=1)

    def utilities(self) -> FloatArray:
        """How much the cost would grow without each center if no other one moved, (n_clusters,)."""
        return self._per_cluster(self._second - self._nearest)

    def draw_members(self, clusters: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int64]:
        """One row of each of these clusters, drawn by its squared distance from the center; they are not empty."""
        mass = self._nearest if self._weights is None else self._nearest * self._weights[self._members]
        cumulative = np.concatenate([[0.0], np.cumsum(mass)])
        first, end = self._starts[clusters], self._starts[clusters + 1]
        low, high = cumulative[first], cumulative[end]
        where = np.searchsorted(cumulative, low + rng.random(len(clusters)) * (high - low), side="right") - 1
        rows: NDArray[np.int64] = self._members[np.clip(where, first, end - 1)]
        return rows

    # Passes.

    def assign(self, centers: FloatArray) -> None:
        """Compare every point with every center."""
        self.centers = self._measured = self._project(centers)
        n, k = self.n_points, self.n_clusters
        self._order = np.arange(n)
        self._starts = np.array([0] + [n] * k)
        self._nearest, self._second = np.empty(n), np.empty(n)
        self.counts, self.sums = np.zeros(k), np.zeros(centers.shape)
        labels = np.empty(n, dtype=np.int32)
        self._compare_first(labels)
        self._count(n * k)
        self._moved: NDArray[np.bool_] = np.ones(k, dtype=bool)
        self._relabel(np.full(n, -1, dtype=np.int32), labels)
        self.find_neighbours()

    def descend(self, rng: np.random.Generator) -> int:
        """One pass that lowers the cost, with transfers if it changed little. Return how many points moved."""
        n_changed = self.reassign()
        if n_changed <= CALM * self.n_points:
            n_changed += self.transfer()
        return n_changed

    def reassign(self) -> int:
        """Compare points with the centers nearby, if one of these moved. Return how many points moved."""
        if self.n_clusters == 1:
            return 0
        before = self._labels()
        labels = before.copy()
        self._compare_nearby(labels)
        self._measured = self.centers
        return self._relabel(before, labels)

    def transfer(self) -> int:
        """Move single points to where they raise the cost least (after Hartigan). Return how many moved."""
        if self.n_clusters == 1:
            return 0
        before = self._labels()
        own = self.counts[before]
        weights = 1.0 if self._weights is None else self._weights[self._members]
        usual = self.counts.sum() / max(1, np.count_nonzero(self.counts))
        rest = own - weights
        leaving = np.divide(own, rest, out=np.zeros_like(own), where=rest > 0)
        contested = np.flatnonzero(self._nearest * leaving > self._second * (usual / (usual + weights)))
        if len(contested) == 0:
            return 0
        labels = before.copy()
        moved, members = labels[contested], self._members[contested]
        means = self.centers.copy()
        _core.transfer_nearby(
            self._array,
            members,
            np.ones(len(contested)) if self._weights is None else self._weights[members],
            moved,
            np.ascontiguousarray(self.neighbours[:, :TRANSFERS]),
            self.counts.copy(),
            self.sums.copy(),
            means,
        )
        labels[contested] = moved
        changed = np.flatnonzero(moved != before[contested])
        offsets = self._array[members[changed]].astype(np.float64) - self._measured[moved[changed]]
        self._nearest[contested[changed]] = np.einsum("if,if->i", offsets, offsets)
        self._count(len(contested) * (TRANSFERS + 1), SINGLE)
        return self._relabel(before, labels)

    def find_neighbours(self) -> None:
        """Find the nearest other centers of every center."""
        if self.n_clusters > 1:
            _core.neighbours(self.centers, self.neighbours, n_threads=self._n_threads)
            self._count(self.n_clusters**2)
            self._since_neighbours = 0

    # Moves of centers.

    def try_moves(
        self, moves: Moves, *, n_steps: int, n_adapting: int = ADAPTING, only_if_good: bool = False
    ) -> FloatArray:
        """How much lower the cost would be after each move, once the centers nearby have adapted, (n,).

        With `only_if_good`, trials of moves that will hardly gain end early, and those of others go further.
        """
        gains = np.empty(len(moves))
        self._try(moves, gains, n_steps, n_adapting, only_if_good, only_if_good)
        return gains

    def make_moves(
        self, moves: Moves, *, n_steps: int, n_adapting: int = ADAPTING, transfers: bool = False
    ) -> None:
        """Make moves that are not near each other. Each puts the center that it removes where it adds one."""
        gains = np.empty(len(moves))
        most = 2 * n_adapting + 2
        touched = np.empty((len(moves), most), dtype=np.int32)
        positions = np.empty((len(moves), most, self.centers.shape[1]))
        self._try(moves, gains, n_steps, n_adapting, False, transfers, touched, positions)
        adapted = touched >= 0
        centers = self.centers.copy()
        centers[touched[adapted]] = positions[adapted]
        self.centers = centers
        self._moved[touched[adapted]] = True
        self._admit(moves.removed)
        self.find_neighbours()
        self._release(moves.removed)

    # How a search is resumed, or a round undone.

    def memory(self) -> Memory:
        """What is needed to continue from here."""
        return {name.lstrip("_"): getattr(self, name).copy() for name in self._remembered} | {
            "moved": self._moved.astype(np.uint8),
            "n_distances": np.array(self.n_distances),
            "spent": np.array(self.work),
            "since_neighbours": np.array(self._since_neighbours),
        }

    def remember(self, memory: Memory) -> None:
        """Continue from what `memory` gave for the same points."""
        for name in self._remembered:
            array = memory[name.lstrip("_")]
            if array.shape != getattr(self, name).shape:
                raise ValueError(f"{name.lstrip('_')} of shape {array.shape} belongs to other points.")
            setattr(self, name, array.copy())
        self._moved = memory["moved"].astype(bool)
        self.n_distances, self.work = int(memory["n_distances"].item()), float(memory["spent"].item())
        self._since_neighbours = int(memory["since_neighbours"].item())

    # What a clustering with lists does in another way.

    def _compare_first(self, labels: NDArray[np.int32]) -> None:
        """Compare every point with every center: set labels, in the order of the rows."""
        self._compare_all(self._rows, labels, self._nearest, self._second, self.centers)

    def _compare_nearby(self, labels: NDArray[np.int32]) -> None:
        """Compare points with the centers nearby: set labels, in the order of the members."""
        near_moved = self._moved | self._moved[self.neighbours].any(axis=1)
        chosen = np.flatnonzero(near_moved).astype(np.int32)
        _core.reassign(
            self._array,
            self.centers.astype(self._dtype),
            *self._clusters(),
            chosen,
            labels,
            self._nearest,
            self._second,
            n_threads=self._n_threads,
        )
        n_compared = int(self.sizes[chosen].sum()) * (self.neighbours.shape[1] + 1)
        self._count(n_compared)
        self._since_neighbours += n_compared

    def _admit(self, moved: NDArray[np.int32]) -> None:
        """Let points be compared with centers that went elsewhere."""

    def _refresh(self, n_changed: int) -> None:
        """Renew what is known of neighbours after points have changed clusters, if it is outdated."""
        if self._since_neighbours > self.n_clusters**2:
            self.find_neighbours()

    # Helpers.

    def _project(self, centers: FloatArray) -> FloatArray:
        """The centers as points are compared with them."""
        return unit_centers(centers) if self._spherical else centers.copy()

    @property
    def _members(self) -> NDArray[np.int64]:
        """The rows of the array, cluster after cluster."""
        return self._rows[self._order]

    def _count(self, n_distances: int, work: float = 1.0) -> None:
        self.n_distances += n_distances
        self.work += work * n_distances

    def _labels(self) -> NDArray[np.int32]:
        return np.repeat(np.arange(self.n_clusters, dtype=np.int32), self.sizes)

    def _clusters(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        return self._members, self._starts, self.neighbours

    def _per_cluster(self, values: FloatArray) -> FloatArray:
        """The weighted sum over each cluster of values in the order of the members, (n_clusters,)."""
        mass = values if self._weights is None else values * self._weights[self._members]
        return np.bincount(self._labels(), weights=mass, minlength=self.n_clusters).astype(np.float64)

    def _compare_all(
        self,
        rows: NDArray[np.int64],  # (n,) rows of the array, IN
        labels: NDArray[np.int32],  # (n,), OUT
        nearest: FloatArray,  # (n,), OUT
        second: FloatArray,  # (n,), OUT
        centers: FloatArray,  # (n_centers, n_features), IN
    ) -> None:
        _core.assign(
            self._array,
            centers.astype(self._dtype),
            rows=rows,
            labels=labels,
            nearest=nearest,
            second=second,
            n_threads=self._n_threads,
        )

    def _release(self, removed: NDArray[np.int32]) -> None:
        """Compare the points of centers that went elsewhere with all centers."""
        at = np.concatenate([np.arange(self._starts[j], self._starts[j + 1]) for j in removed])
        labels = self._labels()
        found, nearest, second = np.empty(len(at), dtype=np.int32), np.empty(len(at)), np.empty(len(at))
        self._compare_all(self._members[at], found, nearest, second, self.centers)
        labels[at], self._nearest[at], self._second[at] = found, nearest, second
        self._count(len(at) * self.n_clusters)
        self._regroup(labels)

    def _relabel(self, before: NDArray[np.int32], labels: NDArray[np.int32]) -> int:
        """Take new labels, given in the order of the members, and move the centers to their means."""
        changed = np.flatnonzero(labels != before)
        touched = np.zeros(self.n_clusters, dtype=bool)
        touched[before[changed]] = touched[labels[changed]] = True
        touched |= self._moved  # of these, the errors are about earlier centers
        self._regroup(labels)
        self._sum(np.flatnonzero(touched).astype(np.int32))
        self._move_to_means()
        self._refresh(len(changed))
        return len(changed)

    def _regroup(self, labels: NDArray[np.int32]) -> None:
        order = np.empty(self.n_points, dtype=np.int64)
        self._starts = np.empty(self.n_clusters + 1, dtype=np.int64)
        _core.group(labels, self._starts, order)
        self._order = self._order[order]
        self._nearest, self._second = self._nearest[order], self._second[order]

    def _sum(self, chosen: NDArray[np.int32]) -> None:
        """Set counts and sums of chosen clusters."""
        _core.sum_clusters(
            self._array,
            *self._clusters(),
            chosen,
            self.counts,
            self.sums,
            weights=self._weights,
            n_threads=self._n_threads,
        )

    def _means(self) -> FloatArray:
        """The means of the clusters; a center without points stays where it is."""
        filled = self.counts > 0
        means = self.centers.copy()
        means[filled] = self.sums[filled] / self.counts[filled, None]
        return self._project(means)

    def _move_to_means(self) -> None:
        about = self._per_cluster(self._nearest)
        means = self._means()
        # For every center c, Σ‖x − c‖² = Σ‖x‖² − 2 c·Σx + n‖c‖²: so moving c changes the cost by sums and counts.
        difference = means - self._measured
        lowered = np.einsum(
            "jf,jf->j", difference, 2 * self.sums - self.counts[:, None] * (means + self._measured)
        )
        self.errors = np.maximum(about - lowered, 0.0)
        self._moved = np.any(difference, axis=1)
        self.centers = means

    def _try(
        self,
        moves: Moves,
        gains: FloatArray,  # (n,), OUT
        n_steps: int,
        n_adapting: int,
        may_give_up: bool,
        transfers: bool,
        touched: NDArray[np.int32] | None = None,
        positions: FloatArray | None = None,
    ) -> None:
        n_distances = _core.try_moves(
            self._array,
            self.centers,
            self.errors,
            *self._clusters(),
            moves.removed,
            moves.inside,
            moves.added,
            gains,
            n_adapting=n_adapting,
            largest_adapting=self.largest_adapting,
            n_steps=n_steps,
            part_of_way=self.part_of_way,
            may_give_up=may_give_up,
            transfers=transfers,
            sphere=self._spherical,
            weights=self._weights,
            touched=touched,
            positions=positions,
            n_threads=self._n_threads,
        )
        self._count(n_distances, TRIED_MOVE)

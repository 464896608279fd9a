"""Full passes over an array that remember: what the triangle inequality decides is not computed again.

Asked for the moments of centers that move a little each time, as Lloyd's algorithm does, it gives the same
labels and moments as a plain pass, from a fraction of the distances. Does not know why the centers move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, FloatArray
from ..moments import Moments, saving
from .totals import Totals

if TYPE_CHECKING:
    from .array import ArrayOracle

# One lower bound for each center pays where a distance is dear and centers are many; else one for all of them, and
# a whole search where it fails, which the matrix kernel makes cheap.
MANY_FEATURES, MANY_CLUSTERS = 256, 32
BOUND_BYTES = 32 << 20  # that the bounds may take,
BOUND_PART = 1 / 32  # or this part of what the data take, where that is more
LABEL_ROWS = 4096 * _core.BLOCK_ROWS  # whose new labels are compared with the old ones at a time
SETTLED = 0.1  # the part of the points that may still change their center when bounds begin to pay


class Tracked:
    """An array oracle whose `full` is incremental; its other answers are the oracle's own."""

    def __init__(self, oracle: ArrayOracle) -> None:
        self._oracle = oracle
        self.n_points, self.n_features = oracle.n_points, oracle.n_features
        self.total_weight, self.unweighted, self.dtype = oracle.total_weight, oracle.unweighted, oracle.dtype
        self._labels: NDArray[np.int32] | None = None
        self._bounds: _Bounds | None = None
        self._affordable = _bytes_of_bounds(oracle, n_groups=1) <= max(
            BOUND_BYTES, BOUND_PART * oracle.points.nbytes
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._oracle, name)

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; with `detail` also errors and utilities, by a plain pass."""
        if detail or not self._affordable:
            return self._oracle.full(centers, detail=detail)
        if self._bounds is not None and self._bounds.n_clusters == len(centers):
            return self._bounds.refined(centers)
        if self._labels is None:
            self._labels = np.full(self.n_points, -1, dtype=np.int32)
        moments, n_changed = self._relabelled(centers, self._labels)
        if n_changed <= SETTLED * self.n_points:
            self._bounds = _Bounds(self._oracle, centers, self._labels, moments)
        return moments

    def _relabelled(
        self,
        centers: FloatArray,
        labels: NDArray[np.int32],  # (n_points,), INOUT
    ) -> tuple[Moments, int]:
        """The moments, and how many labels changed. A part at a time: all labels twice would be much memory."""
        oracle, rounded = self._oracle, centers.astype(self.dtype)
        totals = Totals(self.n_points, len(centers), self.n_features)
        n_changed = 0
        for first, block in oracle.readable_blocks(LABEL_ROWS):
            rows = slice(first, first + len(block))
            found = np.empty(len(block), dtype=np.int32)
            weights = None if oracle.weights is None else oracle.weights[rows]
            _core.accumulate(
                block, rounded, **totals.arguments(), weights=weights, labels=found, n_threads=oracle.n_threads
            )
            n_changed += int(np.count_nonzero(found != labels[rows]))
            labels[rows] = found
        return totals.moments(), n_changed

    def memory(self) -> dict[str, Array]:
        """Labels and bounds so far, as new arrays."""
        learned = {} if self._labels is None else {"labels": self._labels}
        if self._bounds is not None:
            learned |= self._bounds.arrays()
        return {name: array.copy() for name, array in learned.items()}

    def remember(self, memory: dict[str, Array]) -> None:
        """Go on with what an oracle over the same points had learned, to the bit."""
        self._labels = memory["labels"].copy() if "labels" in memory else None
        if "upper" in memory:
            assert self._labels is not None
            counts, sums = memory["counts"], memory["sums"]
            centers = memory["centers"].astype(np.float64)
            self._bounds = _Bounds(self._oracle, centers, self._labels, Moments(counts, sums, 0.0))
            self._bounds.restore(memory)


class _Bounds:
    """The state of the bounds: labels, bounds and moments belong together."""

    def __init__(
        self, oracle: ArrayOracle, centers: FloatArray, labels: NDArray[np.int32], moments: Moments
    ) -> None:
        n_clusters = self.n_clusters = len(centers)
        n_points = oracle.n_points
        self._oracle = oracle
        self._centers = centers.astype(oracle.dtype)
        self._labels = labels
        self._counts, self._sums = moments.counts.copy(), moments.sums.copy()
        self._single_cost = 2 * moments.total_weight * moments.spread(centers)  # whatever the centers
        self._group_of = np.zeros(n_clusters, dtype=np.int32)
        affordable = _bytes_of_bounds(oracle, n_groups=n_clusters) <= BOUND_BYTES
        if affordable and n_clusters >= MANY_CLUSTERS and oracle.n_features >= MANY_FEATURES:
            self._group_of = np.arange(n_clusters, dtype=np.int32)
        n_groups = int(self._group_of[-1]) + 1
        self._moved, self._group_moved = np.zeros(n_clusters), np.zeros(n_groups)
        # Nothing is known yet: every distance may be zero, and the first pass measures them all.
        self._upper = np.full(n_points, np.inf, dtype=np.float32)
        self._lower = np.zeros((n_points, n_groups), dtype=np.float32)

    def arrays(self) -> dict[str, Array]:
        """All that changes from pass to pass, but for the labels."""
        return {
            "centers": self._centers,
            "counts": self._counts,
            "sums": self._sums,
            "single_cost": np.array(self._single_cost),
            "moved": self._moved,
            "group_moved": self._group_moved,
            "upper": self._upper,
            "lower": self._lower,
        }

    def restore(self, memory: dict[str, Array]) -> None:
        """Take up what `arrays` gave before."""
        self._single_cost = float(memory["single_cost"].item())
        self._moved, self._group_moved = memory["moved"].copy(), memory["group_moved"].copy()
        self._upper, self._lower = memory["upper"].copy(), memory["lower"].copy()

    def refined(self, centers: FloatArray) -> Moments:
        rounded = centers.astype(self._oracle.dtype)
        moves = np.linalg.norm(rounded.astype(np.float64) - self._centers.astype(np.float64), axis=1)
        self._centers = rounded
        self._moved += moves
        self._group_moved += _largest(moves, self._group_of)
        moved, group_moved = _no_less(self._moved), _no_less(self._group_moved)
        half_gap = _half_gaps(rounded)
        n_distances = 0
        weights = self._oracle.weights
        for first, block in self._oracle.readable_blocks():
            rows = slice(first, first + len(block))
            n_distances += _core.refine(
                block,
                rounded,
                self._counts,
                self._sums,
                self._labels[rows],
                self._upper[rows],
                self._lower[rows],
                moved,
                group_moved,
                half_gap,
                weights=None if weights is None else weights[rows],
                n_threads=self._oracle.n_threads,
            )
        counts, sums = np.maximum(self._counts, 0.0), self._sums.copy()
        sums[counts == 0] = 0.0
        cost = max(0.0, self._single_cost - saving(counts, sums, rounded.astype(np.float64)))
        return Moments(counts, sums, cost, n_distances=n_distances)


def _bytes_of_bounds(oracle: ArrayOracle, n_groups: int) -> int:
    """What an upper bound and `n_groups` lower ones take for each point."""
    n_points: int = oracle.n_points
    return 4 * n_points * (n_groups + 1)


def _no_less(values: FloatArray) -> NDArray[np.float32]:
    above: NDArray[np.float32] = np.nextafter(values.astype(np.float32), np.float32(np.inf))
    return above


def _largest(values: FloatArray, group_of: NDArray[np.int32]) -> FloatArray:
    """The largest of the values in each group."""
    largest = np.zeros(int(group_of.max()) + 1)
    np.maximum.at(largest, group_of, values)
    return largest


def _half_gaps(centers: Array) -> NDArray[np.float32]:
    """Half the distance of each center to the nearest other one, rounded down."""
    gaps = np.empty((len(centers), len(centers)), dtype=centers.dtype)
    _core.distances(centers, centers, gaps)
    np.fill_diagonal(gaps, np.inf)
    half: NDArray[np.float32] = (gaps.min(axis=1) * 0.5 * (1 - 1e-5)).astype(np.float32)
    return half

"""Triangle bounds: an executor that remembers, so that later passes compute only the distances they need.

Asked for the moments about centers that move a little each time, as Lloyd's algorithm asks, it gives the same
labels and moments as a plain pass from a fraction of the distances. Does not know why the centers move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, FloatArray
from ..moments import Moments, saving
from .dense_points import DensePoints
from .memory import MemoryOracle
from .oracle import Memory, Oracle
from .questions import LabeledMoments

# One lower bound for each center pays where distances are expensive and centers many. Elsewhere one lower bound
# for all centers is enough: where it fails, the matrix kernel makes a search over all centers cheap.
MANY_FEATURES = 256
MANY_CLUSTERS = 32
BOUND_BYTES = 32 << 20  # the bounds may take this much memory
BOUND_PART = 1 / 32  # or this fraction of the memory of the data, if that is more


def with_bounds(oracle: Oracle) -> Oracle:
    """An oracle over the same points whose `full` remembers bounds; the same oracle if points are not dense."""
    if isinstance(oracle, MemoryOracle) and isinstance(oracle.points, DensePoints):
        return BoundedOracle(oracle)
    return oracle


class BoundedOracle(MemoryOracle):
    """An oracle over dense points whose `full` is incremental."""

    points: DensePoints

    def __init__(self, oracle: MemoryOracle) -> None:  # over dense points
        super().__init__(oracle.points, spherical=oracle.spherical)
        self._oracle = oracle
        self._labels: NDArray[np.int32] | None = None
        self._bounds: _Bounds | None = None
        affordable = max(BOUND_BYTES, BOUND_PART * self.points.stored_bytes)
        self._affordable = _bytes_of_bounds(self.points, n_lower=1) <= affordable

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        if detail or not self._affordable:
            return super().full(centers, detail=detail)
        centers = self.project(centers)
        if self._bounds is not None and self._bounds.n_clusters == len(centers):
            self.remembers = False  # ties and the bits of the cost may be others than in a plain pass
            return self._bounds.refine(centers)
        labeling = LabeledMoments(centers, count_ties=True).answer(self.points)
        self._oracle.remember_labels(centers.astype(self.dtype), labeling)
        self.remembers = not self.spherical  # there the same centers may round to others when projected again
        self._labels = labeling.labels.copy()
        self._bounds = _Bounds(self.points, centers, self._labels, labeling.moments)
        return labeling.moments

    def memory(self) -> Memory:
        learned: Memory = {} if self._labels is None else {"labels": self._labels}
        if self._bounds is not None:
            learned |= self._bounds.arrays()
        return {name: array.copy() for name, array in learned.items()}

    def remember(self, memory: Memory) -> None:
        self._labels = memory["labels"].copy() if "labels" in memory else None
        if "upper" in memory:
            assert self._labels is not None
            centers = memory["centers"].astype(np.float64)
            moments = Moments(memory["counts"], memory["sums"], 0.0)
            self._bounds = _Bounds(self.points, centers, self._labels, moments)
            self._bounds.restore(memory)


class _Bounds:
    """Labels, bounds and moments that belong together."""

    def __init__(
        self, points: DensePoints, centers: FloatArray, labels: NDArray[np.int32], moments: Moments
    ) -> None:
        n_clusters = self.n_clusters = len(centers)
        self._points = points
        self._centers = centers.astype(points.dtype)
        self._labels = labels
        self._counts, self._sums = moments.counts.copy(), moments.sums.copy()
        self._single_cost = 2 * moments.total_weight * moments.spread(centers)  # does not depend on the centers
        affordable = _bytes_of_bounds(points, n_lower=n_clusters) <= BOUND_BYTES
        many = n_clusters >= MANY_CLUSTERS and points.n_features >= MANY_FEATURES
        n_lower = n_clusters if affordable and many else 1
        self._moved, self._lower_moved = np.zeros(n_clusters), np.zeros(n_lower)
        # Nothing is known yet: every distance may be zero, so the first pass measures all of them.
        self._upper = np.full(points.n_points, np.inf, dtype=np.float32)
        self._lower = np.zeros((points.n_points, n_lower), dtype=np.float32)

    def arrays(self) -> Memory:
        """All that changes from pass to pass, except the labels."""
        return {
            "centers": self._centers,
            "counts": self._counts,
            "sums": self._sums,
            "single_cost": np.array(self._single_cost),
            "moved": self._moved,
            "lower_moved": self._lower_moved,
            "upper": self._upper,
            "lower": self._lower,
        }

    def restore(self, memory: Memory) -> None:
        """Take up what `arrays` gave before."""
        self._single_cost = float(memory["single_cost"].item())
        self._moved, self._lower_moved = memory["moved"].copy(), memory["lower_moved"].copy()
        self._upper, self._lower = memory["upper"].copy(), memory["lower"].copy()

    def refine(self, centers: FloatArray) -> Moments:
        """The moments about centers that moved, from the distances that the bounds leave open."""
        points, rounded = self._points, centers.astype(self._points.dtype)
        moves = np.linalg.norm(rounded.astype(np.float64) - self._centers.astype(np.float64), axis=1)
        self._centers = rounded
        self._moved += moves
        self._lower_moved += moves if len(self._lower_moved) > 1 else moves.max()
        moved, lower_moved = _round_up(self._moved), _round_up(self._lower_moved)
        half_gap = _half_gaps(rounded)
        n_distances = 0
        for rows, block in points.readable_blocks():
            n_distances += _core.refine(
                block,
                rounded,
                self._counts,
                self._sums,
                self._labels[rows],
                self._upper[rows],
                self._lower[rows],
                moved,
                lower_moved,
                half_gap,
                weights=None if points.weights is None else points.weights[rows],
                n_threads=points.n_threads,
            )
        counts, sums = np.maximum(self._counts, 0.0), self._sums.copy()
        sums[counts == 0] = 0.0
        cost = max(0.0, self._single_cost - saving(counts, sums, rounded.astype(np.float64)))
        return Moments(counts, sums, cost, n_distances=n_distances)


def _bytes_of_bounds(points: DensePoints, n_lower: int) -> int:
    """The memory for one upper and `n_lower` lower bounds for each point."""
    return 4 * points.n_points * (n_lower + 1)


def _round_up(values: FloatArray) -> NDArray[np.float32]:
    above: NDArray[np.float32] = np.nextafter(values.astype(np.float32), np.float32(np.inf))
    return above


def _half_gaps(centers: Array) -> NDArray[np.float32]:
    """Half the distance of each center to the nearest other one, rounded down."""
    gaps = DensePoints(centers).distances(centers)
    np.fill_diagonal(gaps, np.inf)
    half: NDArray[np.float32] = (gaps.min(axis=1) * 0.5 * (1 - 1e-5)).astype(np.float32)
    return half

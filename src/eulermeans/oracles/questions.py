"""The questions: what k-means algorithms ask about all points, and the records that answer them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, DType, FloatArray
from ..moments import Moments
from .order_independent import Extent, Grid
from .points import Accumulator, Points, RowOutputs
from .question import AboutCenters, AboutRows, RowQuestion, Sum

if TYPE_CHECKING:
    import dask.array as da

    from ..sources import Blocks

    # An answer for each row, in the form in which the data were given: an array, blocks of a stream, a lazy array.
    RowAnswers: TypeAlias = Array | Blocks | da.Array


@dataclass(frozen=True)
class _MomentsAbout(AboutCenters[Moments], Sum[Moments]):
    """The moments of some points."""

    def to_arrays(self, answer: Moments) -> dict[str, FloatArray]:
        arrays = {"counts": answer.counts, "sums": answer.sums, "cost": np.array([answer.cost])}
        if answer.errors is not None and answer.utilities is not None:
            arrays |= {"errors": answer.errors, "utilities": answer.utilities}
        return arrays | {"n_distances": np.array([float(answer.n_distances)])}

    def from_arrays(self, arrays: Mapping[str, FloatArray]) -> Moments:
        return Moments(
            counts=arrays["counts"],
            sums=arrays["sums"],
            cost=float(arrays["cost"][0]),
            errors=arrays.get("errors"),
            utilities=arrays.get("utilities"),
            n_distances=int(arrays["n_distances"][0]),
        )

    def grids(self, extent: Extent) -> dict[str, Grid]:
        # ‖x − c‖² ≤ d (|x| + |c|)²; twice that leaves room for the rounding of the distances.
        weight = self._weight(extent)
        largest_center = float(np.max(np.abs(self.centers)))
        square = 2 * extent.n_features * (extent.largest + largest_center) ** 2
        magnitudes = {"counts": 1.0, "sums": extent.largest, "cost": square, "errors": square, "utilities": square}
        grids = {name: Grid(weight * magnitude, extent.n_parts) for name, magnitude in magnitudes.items()}
        return grids | {"n_distances": Grid(2.0**50, extent.n_parts)}

    @abstractmethod
    def _weight(self, extent: Extent) -> float:
        """The weight of all points asked about."""


@dataclass(frozen=True)
class FullMoments(_MomentsAbout):
    """The moments over all points; with `detail` also errors and utilities."""

    detail: bool = False

    def answer(self, points: Points) -> Moments:
        return _pass(points, self.centers, Accumulator(len(self.centers), points.n_features, detail=self.detail))

    def _weight(self, extent: Extent) -> float:
        return extent.total_weight


@dataclass(frozen=True)
class BatchMoments(AboutRows[Moments], _MomentsAbout):
    """The moments over a mini-batch: rows that were drawn by weight, so each counts once."""

    def answer(self, points: Points) -> Moments:
        rows = points.rows_at(self.rows[points.block])
        accumulator = Accumulator(len(self.centers), points.n_features)
        points.accumulate_rows(accumulator, self.centers.astype(points.dtype), rows)
        return accumulator.moments(len(rows))

    def _weight(self, extent: Extent) -> float:
        return float(sum(len(rows) for rows in self.rows.values()))


@dataclass(frozen=True)
class FeatureSquares(Sum[FloatArray]):
    """The weighted sum of squared offsets from `mean` of each feature, (n_features,)."""

    mean: FloatArray  # (n_features,), IN

    def answer(self, points: Points) -> FloatArray:
        return points.squares(self.mean)

    def to_arrays(self, answer: FloatArray) -> dict[str, FloatArray]:
        return {"squares": answer}

    def from_arrays(self, arrays: Mapping[str, FloatArray]) -> FloatArray:
        return arrays["squares"]

    def grids(self, extent: Extent) -> dict[str, Grid]:
        # No offset from a mean exceeds twice the largest value.
        return {"squares": Grid(extent.total_weight * (2 * extent.largest) ** 2, extent.n_parts)}


@dataclass(frozen=True)
class Labeling:
    """Which center each point is nearest to, and what that costs."""

    labels: NDArray[np.int32]  # (n_points,)
    moments: Moments
    nearest: FloatArray | None = None  # (n_points,) squared distance to that center, if it was asked for
    n_tied: int | None = None  # how many points have several nearest centers, if it was asked for

    def reordered(self, order: NDArray[np.intp]) -> Labeling:
        """The same about the centers in another order: what a pass finds unless points are tied."""
        numbers = np.empty(len(order), dtype=np.int32)
        numbers[order] = np.arange(len(order), dtype=np.int32)
        return Labeling(numbers[self.labels], self.moments.reordered(order), self.nearest, self.n_tied)


@dataclass(frozen=True)
class LabeledMoments(AboutCenters[Labeling]):
    """The labels and the moments in one pass; on demand also the squared distances and the number of ties.

    With prices, each point belongs to the center with the least squared distance plus price.
    """

    per_row = True
    nearest: bool = False
    prices: FloatArray | None = None  # (n_clusters,) of at least two centers, IN
    count_ties: bool = False

    def answer(self, points: Points) -> Labeling:
        labels = np.empty(points.n_points, dtype=np.int32)
        nearest = np.empty(points.n_points) if self.nearest else None
        accumulator = Accumulator(len(self.centers), points.n_features, count_ties=self.count_ties)
        moments = _pass(points, self.centers, accumulator, RowOutputs(labels, nearest), prices=self.prices)
        n_tied = None if accumulator.n_tied is None else int(accumulator.n_tied[0])
        if self.prices is not None and nearest is not None:
            nearest = np.maximum(0, nearest - self.prices[labels])
        return Labeling(labels, moments, nearest, n_tied)

    def merge(self, one: Labeling, other: Labeling) -> Labeling:
        return self.merge_all([one, other])

    def merge_all(self, answers: Iterable[Labeling]) -> Labeling:
        parts = list(answers)
        nearest = [part.nearest for part in parts if part.nearest is not None]
        tied = [part.n_tied for part in parts if part.n_tied is not None]
        return Labeling(
            np.concatenate([part.labels for part in parts]),
            FullMoments(self.centers).merge_all(part.moments for part in parts),
            np.concatenate(nearest) if nearest else None,
            sum(tied) if tied else None,
        )


@dataclass(frozen=True)
class NearestLabels(AboutCenters[Array], RowQuestion):
    """The nearest center of every point, (n_points,) int32."""

    def answer(self, points: Points) -> Array:
        labels = np.empty(points.n_points, dtype=np.int32)
        points.assign(self.centers.astype(points.dtype), RowOutputs(labels))
        return labels

    def dtype(self, arithmetic: DType) -> DType:
        return np.dtype(np.int32)


@dataclass(frozen=True)
class CenterDistances(AboutCenters[Array], RowQuestion):
    """The Euclidean distance of every point to every center, (n_points, n_clusters)."""

    def answer(self, points: Points) -> Array:
        return points.distances(self.centers)

    def dtype(self, arithmetic: DType) -> DType:
        return arithmetic

    @property
    def columns(self) -> tuple[int, ...]:  # type: ignore[override]
        """A distance to each center."""
        return (len(self.centers),)


@dataclass(frozen=True)
class Outliers:
    """The points that lie farthest from their centers, the farthest first."""

    points: FloatArray  # (n, n_features)
    weights: FloatArray  # (n,)
    labels: NDArray[np.int32]  # (n,)
    distances: FloatArray  # (n,) squared, to the nearest center; −1 for points without weight
    blocks: NDArray[np.int64]  # (n,) which block of the data each is from


@dataclass(frozen=True)
class FarthestPoints(AboutCenters[Outliers]):
    """The `size` points that lie farthest from their nearest centers; all points if there are fewer."""

    size: int

    def answer(self, points: Points) -> Outliers:
        labels, nearest = np.empty(points.n_points, dtype=np.int32), np.empty(points.n_points)
        points.assign(self.centers.astype(points.dtype), RowOutputs(labels, nearest))
        if points.weights is not None:
            nearest[points.weights == 0] = -1
        size = min(self.size, points.n_points)
        rows = np.argpartition(nearest, -size)[-size:]
        rows = rows[np.argsort(-nearest[rows], kind="stable")]
        weights = np.ones(size) if points.weights is None else points.weights[rows]
        blocks = np.full(size, points.block)
        return Outliers(points.dense(rows), weights, labels[rows], nearest[rows], blocks)

    def merge(self, one: Outliers, other: Outliers) -> Outliers:
        # Ties are ordered by block, so the order of merging does not matter.
        arrays = [np.concatenate(pair) for pair in zip(vars(one).values(), vars(other).values(), strict=True)]
        both = Outliers(*arrays)
        order = np.lexsort((both.blocks, -both.distances))[: self.size]  # stable within a block
        return Outliers(*(array[order] for array in arrays))


@dataclass(frozen=True)
class ChosenPoints(AboutRows[dict[int, Points]]):
    """Chosen rows of each block, copied. Rows without weight do not count in their positions."""

    def answer(self, points: Points) -> dict[int, Points]:
        rows = self.rows[points.block]
        return {
            points.block: points.take(rows if points.weights is None else np.flatnonzero(points.weights)[rows])
        }

    def merge(self, one: dict[int, Points], other: dict[int, Points]) -> dict[int, Points]:
        return one | other


def _pass(
    points: Points,
    centers: Array,
    accumulator: Accumulator,  # OUT
    outputs: RowOutputs | None = None,  # OUT
    *,
    prices: FloatArray | None = None,  # (n_clusters,), IN
) -> Moments:
    """One pass over a block: its moments, and what `outputs` asks for each row. The cost is without prices."""
    points.accumulate(accumulator, centers.astype(points.dtype), outputs or RowOutputs(), prices)
    if prices is not None:
        accumulator.cost -= accumulator.counts @ prices
    return accumulator.moments(points.n_points)

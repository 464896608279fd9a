"""Questions about centers with prices: every point goes where its squared distance plus the price is least.

Prices bound the sizes of clusters. Where the prices are right, only *contested* points are left to be placed:
those whose second choice costs hardly more than the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, DType, FloatArray, aligned
from ..moments import Moments
from .points import Accumulator, Points, RowOutputs
from .question import AboutCenters, RowQuestion

__all__ = ["Contested", "PricedBlock", "PricedLabels", "PricedMoments"]


@dataclass(frozen=True)
class Contested:
    """Points of a block whose second choice costs hardly more than the first."""

    rows: NDArray[np.int64]  # (n,) where in the block they are, in ascending order
    labels: NDArray[np.int32]  # (n,) their first choices
    gaps: FloatArray  # (n,) how much more the second choice costs
    distances: Array  # (n, n_clusters)
    points: Points  # the rows themselves
    reach: float  # the gaps of all other points are at least this

    def __setstate__(self, state: dict[str, object]) -> None:
        # Distances that came from a worker of Dask may not be aligned.
        self.__dict__.update(state | {"distances": aligned(np.asarray(state["distances"]))})


@dataclass(frozen=True)
class PricedBlock:
    """What a pass with prices found in one block."""

    moments: Moments  # of the first choices; the cost is without prices
    contested: Contested
    labels: NDArray[np.int32] | None  # (n_points,) the first choices, if they were asked for

    def labels_with(self, moves: NDArray[np.int32]) -> NDArray[np.int32] | None:  # (n_contested,), IN
        """The labels after the contested points have gone elsewhere, if they were asked for."""
        if self.labels is None:
            return None
        labels: NDArray[np.int32] = self.labels.copy()
        labels[self.contested.rows] = moves
        return labels


@dataclass(frozen=True)
class PricedMoments(AboutCenters[dict[int, PricedBlock]]):
    """The moments of each block with prices, and its contested points: a given share of its points.

    Answers stay apart by block, so that they can be added up in the order of the blocks, whoever gives them.
    """

    prices: FloatArray  # (n_clusters,), IN
    share: float  # of the points of a block: those with the smallest gaps are contested
    with_labels: bool = False

    def answer(self, points: Points) -> dict[int, PricedBlock]:
        n, k = points.n_points, len(self.centers)
        labels, nearest, second = np.empty(n, dtype=np.int32), np.empty(n), np.empty(n)
        centers, prices = self.centers.astype(points.dtype), _kernel_prices(self.prices)
        accumulator = Accumulator(k, points.n_features)
        points.accumulate(accumulator, centers, RowOutputs(labels, nearest, second), prices)
        if prices is not None:
            accumulator.cost -= accumulator.counts @ prices
        contested = self._contested(points, labels, second - nearest)
        return {points.block: PricedBlock(accumulator.moments(n), contested, labels if self.with_labels else None)}

    def merge(self, one: dict[int, PricedBlock], other: dict[int, PricedBlock]) -> dict[int, PricedBlock]:
        return one | other

    def _contested(self, points: Points, labels: NDArray[np.int32], gaps: FloatArray) -> Contested:
        n = points.n_points
        size = int(np.ceil(self.share * n))
        if size >= n:
            return Contested(np.arange(n), labels, gaps, points.distances(self.centers), points, np.inf)
        reach = float(np.partition(gaps, size)[size])
        if not reach > 0:  # more points than this are indifferent: all of them are contested
            reach = float(np.min(gaps, where=gaps > 0, initial=np.inf))
        rows = np.flatnonzero(gaps < reach)
        taken = points.take(rows)
        return Contested(rows, labels[rows], gaps[rows], taken.distances(self.centers), taken, reach)


@dataclass(frozen=True)
class PricedLabels(AboutCenters[Array], RowQuestion):
    """The center with the least squared distance plus price for every point, (n_points,) int32."""

    prices: FloatArray  # (n_clusters,), IN

    def answer(self, points: Points) -> Array:
        labels = np.empty(points.n_points, dtype=np.int32)
        points.assign(self.centers.astype(points.dtype), RowOutputs(labels), _kernel_prices(self.prices))
        return labels

    def dtype(self, arithmetic: DType) -> DType:
        return np.dtype(np.int32)


def _kernel_prices(prices: FloatArray) -> FloatArray | None:
    """The prices as the kernels take them: none for a single center, aligned also on a worker of Dask."""
    return aligned(prices) if len(prices) > 1 else None

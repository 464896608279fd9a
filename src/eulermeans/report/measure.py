"""One pass over the data: what falls to each center, what it is like, and a sample of the rows.

Sizes, means and spreads are exact. What needs pairs of rows is left to the sample, whose size does not depend on
how many rows there are. Does not know what is made of the numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ..arrays import Array, FloatArray
from ..moments import Moments
from ..plot.reservoir import Reservoir
from ..plot.rows import Block, Rows

SAMPLE_ROWS, SAMPLE_BYTES = 20_000, 96 << 20  # whichever is less
NEAREST = 3  # rows that are kept for each cluster


class Measurements:
    """Sums that blocks are added to."""

    def __init__(self, rows: Rows, rng: np.random.Generator) -> None:
        model = rows.model
        self._model = model
        self._same = not model.scalers and model.metric != "cosine"  # clusters were made of the rows as they came
        shape = (model.n_clusters, len(rows.feature_names))
        self.n_rows = 0
        self.counts = np.zeros(shape[0])  # weight
        self.costs = np.zeros(shape[0])  # weighted squared distances to the center
        self.sums = np.zeros(shape)  # of the rows as they came
        self.squares = np.zeros(shape[1])  # about `shift`
        self.shift: FloatArray | None = None  # near the mean, so that the squares lose no digits
        self.low, self.high = np.full(shape[1], np.inf), np.full(shape[1], -np.inf)
        self.near_distance = np.full((shape[0], NEAREST), np.inf)
        self.near_row = np.full((shape[0], NEAREST), -1, dtype=np.int64)
        self.near_values = np.zeros((shape[0], NEAREST, shape[1]))
        per_row = 8 * max(1, model.centers.shape[1])
        self.sample = Reservoir(int(np.clip(SAMPLE_BYTES // per_row, 100, SAMPLE_ROWS)), rng)
        self._sums = np.zeros(model.centers.shape)  # of the points

    def add(self, block: Block) -> None:
        """Take one more block into account."""
        labeling = self._model.label(block.points, block.weights)
        labels, n_clusters = labeling.labels, self._model.n_clusters
        squared = _squared_distances(self._model.centers, block.points, labels)
        weights = np.ones(len(labels)) if block.weights is None else block.weights
        self.n_rows += len(labels)
        self.counts += labeling.moments.counts
        self._sums += labeling.moments.sums
        self.costs += np.bincount(labels, weights=weights * squared, minlength=n_clusters)
        if self._same:
            self.sums += labeling.moments.sums
        else:
            member = csr_array((weights, (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels)))
            added = member @ block.rows
            self.sums += added.toarray() if issparse(added) else added
        self._add_features(block.rows, weights)
        self._add_nearest(block, labels, squared)
        self.sample.add(block.rows, block.points, labels)

    @property
    def moments(self) -> Moments:
        """Of all points about the centers."""
        return Moments(self.counts, self._sums, float(self.costs.sum()))

    def feature_means(self) -> FloatArray:
        """(n_features,) in the units of the data."""
        means: FloatArray = self.sums.sum(axis=0) / self.counts.sum()
        return means

    def feature_variances(self) -> FloatArray:
        """(n_features,) in the units of the data."""
        assert self.shift is not None
        variances: FloatArray = self.squares / self.counts.sum() - (self.feature_means() - self.shift) ** 2
        return np.maximum(variances, 0)

    def _add_features(self, rows: Any, weights: FloatArray) -> None:
        low, high = rows.min(axis=0), rows.max(axis=0)
        if issparse(rows):
            low, high = low.toarray().ravel(), high.toarray().ravel()
            if self.shift is None:
                self.shift = np.zeros(rows.shape[1])
            self.squares += np.asarray(rows.multiply(rows).T @ weights).ravel()
        else:
            if self.shift is None:
                self.shift = rows.mean(axis=0, dtype=np.float64)
            offsets = rows - self.shift
            self.squares += np.einsum("i,if,if->f", weights, offsets, offsets)
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)

    def _add_nearest(self, block: Block, labels: NDArray[np.int32], squared: FloatArray) -> None:
        """Keep the rows of this block that are nearer to their center than those kept so far."""
        better = np.flatnonzero(squared < self.near_distance[labels, -1])
        order = better[np.lexsort((squared[better], labels[better]))]
        grouped = labels[order]
        starts = np.searchsorted(grouped, np.arange(len(self.counts)))
        order = order[np.arange(len(order)) - starts[grouped] < NEAREST]
        for row in order:
            cluster = labels[row]
            place = int(np.searchsorted(self.near_distance[cluster], squared[row], side="right"))
            if place == NEAREST:
                continue
            for kept, new in (
                (self.near_distance, squared[row]),
                (self.near_row, block.first + row),
                (self.near_values, _dense(block.rows, row)),
            ):
                kept[cluster, place + 1 :] = kept[cluster, place:-1].copy()
                kept[cluster, place] = new


def measure(rows: Rows, rng: np.random.Generator) -> Measurements:
    """Read all rows once."""
    measurements = Measurements(rows, rng)
    for block in rows.blocks():
        measurements.add(block)
    return measurements


def _squared_distances(centers: FloatArray, points: Any, labels: NDArray[np.int32]) -> FloatArray:
    """Of each point to its own center, (n_points,)."""
    if issparse(points):  # ‖x‖² − 2 x·c + ‖c‖², cluster by cluster: no row is made dense
        squared = np.asarray(points.multiply(points).sum(axis=1)).ravel().astype(np.float64)
        for cluster in np.unique(labels):
            rows = np.flatnonzero(labels == cluster)
            center = centers[cluster]
            squared[rows] += center @ center - 2 * (points[rows] @ center)
        return np.maximum(squared, 0)
    offsets = points - centers[labels]
    squares: FloatArray = np.einsum("if,if->i", offsets, offsets, dtype=np.float64)
    return squares


def _dense(rows: Any, row: int) -> Array:
    return rows[[row]].toarray()[0] if issparse(rows) else rows[row]  # type: ignore[no-any-return]

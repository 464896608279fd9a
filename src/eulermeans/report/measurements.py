"""One pass over the data: exact statistics of clusters and features, and a sample for what needs pairs of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..arrays import Array, FloatArray
from ..moments import Moments
from ..plot.cluster_plots import SILHOUETTE_ROWS, silhouettes
from ..plot.fitted_model import Matrix, to_dense
from ..plot.model_data import Block, ModelData
from ..sources import RunningVariance
from .identifier_search import IdentifierSearch
from .report_records import Sample, ShownRows

SAMPLE_ROWS, SAMPLE_BYTES = 20_000, 96 << 20  # the sample has at most this many rows and bytes
SHOWN_ROWS, SHOWN_VALUES = 1500, 4 << 20  # rows that the page shows one by one: at most this many, and values
FEWEST_SHOWN = 5
NEAREST = 3  # rows that are kept for each cluster


@dataclass(frozen=True)
class NearestRow:
    """A row that is among the nearest to its center."""

    squared: float  # distance to the center
    number: int  # of the row, from 0
    values: Array  # (n_features,) in the units of the data


class Measurements:
    """Totals over all blocks added so far."""

    def __init__(self, data: ModelData) -> None:
        model, n_features = data.model, len(data.feature_names)
        self._model = model
        self._unchanged = not model.scalers and model.metric != "cosine"  # points are the rows themselves
        self.n_rows = 0
        self.counts = np.zeros(model.n_clusters)  # total weight
        self.costs = np.zeros(model.n_clusters)  # weighted squared distances to the center
        self.sums = np.zeros((model.n_clusters, n_features))  # of the rows, in the units of the data
        self._point_sums = np.zeros(model.centers.shape)
        self._variance = RunningVariance(n_features)  # of dense rows
        self._squares: FloatArray | None = None  # (n_features,) weighted sums of squares, of sparse rows
        self.low, self.high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
        self.n_missing = np.zeros(n_features, dtype=np.int64)  # rows without a value, by feature
        self.identifiers = IdentifierSearch(n_features)
        self.nearest: list[list[NearestRow]] = [[] for _ in range(model.n_clusters)]  # the nearest first
        self._farthest_kept = np.full(model.n_clusters, np.inf)  # squared distance that a nearer row must beat

    def add(self, block: Block) -> NDArray[np.int32]:
        """Add one block; return the labels of its rows."""
        labeling = self._model.label(block.points, block.weights)
        labels, squared = labeling.labels, labeling.nearest
        assert squared is not None
        weights = np.ones(len(labels)) if block.weights is None else block.weights
        self.n_rows += len(labels)
        self.counts += labeling.moments.counts
        self.costs += np.bincount(labels, weights=weights * squared, minlength=self._model.n_clusters)
        self._point_sums += labeling.moments.sums
        if self._unchanged:
            self.sums += labeling.moments.sums
        else:
            shape = (self._model.n_clusters, len(labels))
            self.sums += to_dense(csr_array((weights, (labels, np.arange(len(labels)))), shape=shape) @ block.rows)
        self._add_features(block.rows, weights)
        if block.missing is not None:
            self.n_missing += block.missing.sum(axis=0)
        self._add_nearest(block, labels, squared)
        return labels

    @property
    def moments(self) -> Moments:
        """The moments of all points about the centers."""
        return Moments(self.counts, self._point_sums, float(self.costs.sum()))

    def feature_means(self) -> FloatArray:
        """The mean of each feature in the units of the data, (n_features,)."""
        means: FloatArray = self.sums.sum(axis=0) / self.counts.sum()
        return means

    def feature_variances(self) -> FloatArray:
        """The variance of each feature in the units of the data, (n_features,)."""
        if self._squares is None:
            return self._variance.variance
        variances: FloatArray = self._squares / self.counts.sum() - self.feature_means() ** 2
        return np.maximum(variances, 0)

    def _add_features(self, rows: Matrix, weights: FloatArray) -> None:
        low, high = rows.min(axis=0), rows.max(axis=0)
        if isinstance(rows, np.ndarray):
            self._variance.add(rows, weights)
            self.identifiers.add(rows)
        else:
            self.identifiers.give_up()
            low, high = low.toarray().ravel(), high.toarray().ravel()
            squares = np.asarray(rows.multiply(rows).T @ weights).ravel()
            self._squares = squares if self._squares is None else self._squares + squares
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)

    def _add_nearest(self, block: Block, labels: NDArray[np.int32], squared: FloatArray) -> None:
        """Keep the rows of this block that are nearer to their center than those kept so far."""
        rows = np.flatnonzero(squared < self._farthest_kept[labels])
        rows = rows[np.lexsort((squared[rows], labels[rows]))]  # by cluster, then by distance
        rank = np.arange(len(rows)) - np.searchsorted(labels[rows], labels[rows])
        for row in rows[rank < NEAREST]:
            kept = self.nearest[labels[row]]
            kept.append(NearestRow(float(squared[row]), block.first + int(row), to_dense(block.rows[[row]])[0]))
            kept.sort(key=lambda near: near.squared)
            if len(kept) >= NEAREST:
                del kept[NEAREST:]
                self._farthest_kept[labels[row]] = kept[-1].squared


class ShownRowsSample:
    """A uniform sample of rows with their numbers: those with the smallest of random keys."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng = size, rng
        self._keys: FloatArray = np.empty(0)
        self._parts: ShownRows | None = None

    def add(self, block: Block, labels: NDArray[np.int32]) -> None:
        """Draw from one block."""
        keys = self._rng.random(len(labels))
        last = self._keys.max() if len(self._keys) == self._size else np.inf
        chosen = np.flatnonzero(keys < last)
        chosen = np.sort(chosen[np.argsort(keys[chosen], kind="stable")[: self._size]])
        new = ShownRows(
            block.first + chosen, to_dense(block.rows[chosen]), to_dense(block.points[chosen]), labels[chosen]
        )
        keys = np.concatenate([self._keys, keys[chosen]])
        kept = np.sort(np.argsort(keys, kind="stable")[: self._size])  # in the order of the rows
        self._keys, self._parts = keys[kept], _take(_join(self._parts, new), kept)

    def result(self) -> ShownRows:
        """The rows, in the order of the data."""
        assert self._parts is not None
        return self._parts


def _join(one: ShownRows | None, other: ShownRows) -> ShownRows:
    if one is None:
        return other
    return ShownRows(
        np.concatenate([one.numbers, other.numbers]),
        np.concatenate([one.rows, other.rows]),
        np.concatenate([one.points, other.points]),
        np.concatenate([one.labels, other.labels]),
    )


def _take(rows: ShownRows, kept: NDArray[np.intp]) -> ShownRows:
    return ShownRows(rows.numbers[kept], rows.rows[kept], rows.points[kept], rows.labels[kept])


@dataclass(frozen=True)
class Measured:
    """All that one pass over the data gives."""

    totals: Measurements
    sample: Sample
    shown: ShownRows


def measure(data: ModelData, rng: np.random.Generator) -> Measured:
    """Read all rows once."""
    totals = Measurements(data)
    n_values = max(1, data.model.n_features, data.model.centers.shape[1])
    size = int(np.clip(SAMPLE_BYTES // (8 * n_values), 100, SAMPLE_ROWS))
    n_shown = int(np.clip(SHOWN_VALUES // n_values, FEWEST_SHOWN, SHOWN_ROWS))
    shown = ShownRowsSample(n_shown, np.random.default_rng(rng.integers(2**63)))
    pool = data.new_pool(size, rng)
    for block in data.blocks(pool):
        shown.add(block, totals.add(block))
    points = data.sampled_points(pool, size, rng)
    points = points[rng.permutation(points.shape[0])]  # so that the first rows are a sample too
    labels = data.model.label(points).labels
    first = slice(0, SILHOUETTE_ROWS)
    silhouette_values = silhouettes(data.model, points[first], labels[first])
    return Measured(totals, Sample(points, labels, silhouette_values), shown.result())

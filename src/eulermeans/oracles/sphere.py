"""Spherical k-means: points and centers are directions, and what counts between them is the cosine.

On the unit sphere ‖x − c‖² = 2 (1 − cos). So an oracle over unit rows answers for the cosine once the centers that
it is asked about are brought to the sphere, and every solver over it becomes its spherical twin: EM moves a center
to the mean of its points, whose direction is the best center on the sphere. Does not know how the rows are stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array, DType, FloatArray, arithmetic_dtype
from ..moments import Moments
from .base import Contested, ImplicitSteps, Labeling, Outliers

_BLOCK_VALUES = 1 << 20  # of the points that are normalised together


class OnSphere:
    """An oracle over unit rows that projects the centers it is given to the sphere; else it is that oracle.

    Its costs are Σ w ‖x − c/‖c‖‖² = 2 Σ w (1 − cos). Solvers may leave the sphere between two
    questions: only the directions of their centers are looked at.
    """

    def __init__(self, oracle: Any) -> None:  # any Oracle; its points are unit rows
        self._oracle = oracle
        self.n_features, self.unweighted, self.dtype = oracle.n_features, oracle.unweighted, oracle.dtype

    def __getattr__(self, name: str) -> Any:  # what concerns the points alone
        if name == "_oracle":  # not there yet, while a copy is being made
            raise AttributeError(name)
        return getattr(self._oracle, name)

    @property
    def n_points(self) -> int:
        """All points; not asked before it must be, as the answer may take a pass."""
        return int(self._oracle.n_points)

    @property
    def total_weight(self) -> float:
        """The weight of all points."""
        return float(self._oracle.total_weight)

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; with `detail` also errors and utilities."""
        moments: Moments = self._oracle.full(unit_centers(centers), detail=detail)
        return moments

    def minibatch(self, centers: FloatArray, size: int, rng: np.random.Generator) -> Moments:
        """The moments over `size` points drawn at random, each as likely as its weight says."""
        moments: Moments = self._oracle.minibatch(unit_centers(centers), size, rng)
        return moments

    def sample(self, size: int, rng: np.random.Generator) -> OnSphere:
        """`size` distinct points drawn uniformly from those with weight (all of them if there are fewer)."""
        return OnSphere(self._oracle.sample(size, rng))

    def farthest(self, centers: FloatArray, size: int) -> Outliers:
        """The `size` points that lie farthest from their nearest centers."""
        outliers: Outliers = self._oracle.farthest(unit_centers(centers), size)
        return outliers

    @property
    def at_hand(self) -> OnSphere | None:
        """Points in memory that stand for all of them, if there are any."""
        points = self._oracle.at_hand
        return self if points is self._oracle else None if points is None else OnSphere(points)

    def tracked(self) -> OnSphere:
        """An oracle whose `full` may remember what it learned of the last centers."""
        return OnSphere(self._oracle.tracked())

    def label(self, centers: FloatArray) -> Labeling:
        """The nearest center of every point."""
        labeling: Labeling = self._oracle.label(unit_centers(centers))
        return labeling

    def labels(self, centers: FloatArray) -> Any:
        """The nearest center of every point, (n_points,)."""
        return self._oracle.labels(unit_centers(centers))

    def distances(self, centers: FloatArray) -> Array:
        """The chord √(2 (1 − cos)) from every point to every center, (n_points, n_clusters)."""
        distances: Array = self._oracle.distances(unit_centers(centers))
        return distances

    # The next two are for a search, which is judged by `full`: between the centers that they are given and those
    # that they lead to they take the plain means. They find better minima than passes on the sphere alone.

    def implicit_steps(self, centers: FloatArray, steps: ImplicitSteps, rng: np.random.Generator) -> FloatArray:
        """Where the centers are after these steps, taken next to the points."""
        moved: FloatArray = self._oracle.implicit_steps(unit_centers(centers), steps, rng)
        return moved

    def contested(self, centers: FloatArray, *, detail: bool = False) -> Contested:
        """The moments over all points, and the points that another center might serve better than their own."""
        contested: Contested = self._oracle.contested(unit_centers(centers), detail=detail)
        return contested


def unit_centers(centers: FloatArray) -> FloatArray:
    """The centers brought to the unit sphere, (n_clusters, n_features).

    To points whose mean vanishes every direction is as good: such a center is put on the first axis.
    """
    norms = _norms(centers)
    unit: FloatArray = centers / np.where(norms > 0, norms, 1.0)[:, None]
    unit[norms == 0, 0] = 1.0
    return unit


def unit_rows(
    points: Any,  # (n_points, n_features) an array, or a sparse matrix in CSR format, IN, finite
    *,
    first: int = 0,  # the number of the first row, for the message
    where: str = "X",  # what the rows are, for the message
) -> Any:
    """The rows divided by their norms, stored like the points, in their dtype if that is float32 or float64.

    Rows that are of unit length already come back as they are, and not as a copy.
    """
    if issparse(points):
        return _unit_csr(points, first, where)
    points = np.asarray(points)
    dtype = arithmetic_dtype(points.dtype)
    if points.dtype == dtype and all(_is_unit(_norms(block), dtype) for _, block in _blocks(points)):
        return points
    unit = np.empty(points.shape, dtype=dtype)
    for start, block in _blocks(points):
        norms = _norms(block)
        _check(norms, first + start, where)
        unit[start : start + len(block)] = block / norms[:, None]
    return unit


def _unit_csr(points: Any, first: int, where: str) -> Any:
    if not points.has_canonical_format:
        points = points.copy()
        points.sum_duplicates()
    dtype = arithmetic_dtype(points.dtype)
    data = np.empty(len(points.data), dtype=dtype)
    changed = points.dtype != dtype
    per_row = max(1, len(points.data) // max(1, points.shape[0]))
    step = max(1, _BLOCK_VALUES // per_row)
    for start in range(0, points.shape[0], step):
        starts = points.indptr[start : start + step + 1]
        values = points.data[starts[0] : starts[-1]].astype(np.float64)
        row_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        largest = np.zeros(len(starts) - 1)
        np.maximum.at(largest, row_of, np.abs(values))
        _check(largest, first + start, where)
        squares = (values / largest[row_of]) ** 2
        norms = largest * np.sqrt(np.bincount(row_of, squares, minlength=len(largest)))
        changed = changed or not _is_unit(norms, dtype)
        data[starts[0] : starts[-1]] = values / norms[row_of]
    return type(points)((data, points.indices, points.indptr), shape=points.shape) if changed else points


def _blocks(points: Array) -> list[tuple[int, Array]]:
    step = max(1, _BLOCK_VALUES // max(1, points.shape[1]))
    return [(start, points[start : start + step]) for start in range(0, len(points), step)]


def _norms(block: Array) -> FloatArray:
    """The Euclidean norms of rows of any finite values: no square overflows, and none vanishes."""
    rows = np.abs(block.astype(np.float64))
    largest = rows.max(axis=1)
    rows /= np.where(largest > 0, largest, 1.0)[:, None]
    norms: FloatArray = largest * np.sqrt(np.einsum("if,if->i", rows, rows))
    return norms


def _is_unit(norms: FloatArray, dtype: DType) -> bool:
    return bool(np.all(np.abs(norms - 1) <= 8 * np.finfo(dtype).eps))


def _check(norms: FloatArray, first: int, where: str) -> None:
    """No row is zero."""
    zero = np.flatnonzero(norms == 0)
    if len(zero):
        raise ValueError(
            f"Row {first + zero[0]} of {where} is zero in every feature, so that it has no direction and no "
            'cosine; leave such rows out, or use metric="euclidean".'
        )

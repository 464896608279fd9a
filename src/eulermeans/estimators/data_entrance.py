"""Where the user's data enter an estimator: they are checked, and become an oracle that solvers can ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..arrays import Array, DType, FloatArray, aligned, arithmetic_dtype
from ..fitting import Init as SeedWith
from ..oracles import MemoryOracle, Oracle, as_oracle, memory_oracle
from ..seeding import sample_size
from ..sources import as_source, has_columns, is_source, unwrapped, with_columns
from .validation import (
    check_columns,
    check_features,
    check_points,
    check_points_in_pass,
    checked_stream_weights,
    checked_weights,
    common_weight,
    in_memory_array,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ..oracles import Unchecked

Metric: TypeAlias = Literal["euclidean", "cosine"]
Init: TypeAlias = (
    Literal["k-means++", "random", "partition", "mean"]
    | Array
    | Sequence[Sequence[float]]
    | Callable[..., ArrayLike]
)
RandomState: TypeAlias = int | np.random.RandomState | None


class DataEntrance(BaseEstimator):
    """The part of an estimator that takes data."""

    # Set by __init__ of the estimators.
    n_clusters: int
    init: Init
    n_threads: int | None
    metric: Metric = "euclidean"
    memory_limit: int | str = "1GiB"

    # Fitted.
    cluster_centers_: Array  # (n_clusters, n_features)
    n_features_in_: int
    _columns: list[str] | None = None  # those that `fit` was told to use

    def _oracle_to_fit(
        self,
        X: object,
        sample_weight: ArrayLike | None,
        rng: np.random.Generator,
        columns: Sequence[str] | None = None,
        *,
        drop_equal: bool = False,
    ) -> Oracle:
        self._columns = None if columns is None else list(columns)
        chosen = X if columns is None else with_columns(X, columns)
        oracle = self._oracle(chosen, sample_weight, reset=True, rng=rng, drop_equal=drop_equal)
        self._check_enough(oracle)
        return oracle

    def _check_enough(self, oracle: Oracle) -> None:
        if oracle.n_points < self.n_clusters:
            raise ValueError(f"n_samples={oracle.n_points} should be >= n_clusters={self.n_clusters}.")

    def _oracle_to_serve(self, X: object, sample_weight: ArrayLike | None = None) -> Oracle:
        check_is_fitted(self)
        X = unwrapped(X)
        if self._columns is not None and has_columns(X):
            X = with_columns(X, self._columns)
        if is_source(X):
            return self._oracle(X, sample_weight, reset=False, drop_equal=True)
        points, unchecked, name = self._validated(X, reset=False), None, type(self).__name__
        weights, on_sphere = checked_weights(sample_weight, points), self.metric == "cosine"
        if on_sphere or weights is not None:  # values are divided by norms or multiplied by weights
            check_points(points, name, weights, directions=True)
        else:
            unchecked = check_points_in_pass(points, self._centers(), name)
        return self._memory_oracle(points, weights, unchecked, drop_equal=True)

    def _oracle_of_batch(
        self,
        X: object,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
        drop_equal: bool = False,
        at_least: DType | None = None,
    ) -> MemoryOracle:
        """The oracle over points in memory. `drop_equal`: weights that are all equal become its `point_weight`."""
        points = self._validated(X, reset=reset)
        weights = checked_weights(sample_weight, points)
        check_points(points, type(self).__name__, weights, directions=self.metric == "cosine")
        if at_least is not None and arithmetic_dtype(points.dtype).itemsize < at_least.itemsize:
            points = points.astype(at_least)
        return self._memory_oracle(points, weights, drop_equal=drop_equal)

    def _dtype_so_far(self) -> DType | None:
        """The dtype of the arithmetic so far, which later batches do not narrow; None before the first."""
        return arithmetic_dtype(self.cluster_centers_.dtype) if hasattr(self, "cluster_centers_") else None

    def _validated(self, X: object, *, reset: bool) -> Array | csr_array:
        # Every dtype is kept: rows that the kernels cannot read in place are converted later, in blocks.
        X = in_memory_array(X)
        if not reset and self._columns is not None and has_columns(X):
            X = in_memory_array(with_columns(X, self._columns))
        try:
            points: Array | csr_array = validate_data(
                self, X, reset=reset, dtype="numeric", order=None, accept_sparse="csr", ensure_all_finite=False
            )
        except (TypeError, ValueError):
            check_columns(X)
            raise
        return points

    def _memory_oracle(
        self,
        points: Array | csr_array,
        weights: FloatArray | None,
        unchecked: Unchecked | None = None,
        *,
        drop_equal: bool,
    ) -> MemoryOracle:
        equal = common_weight(weights) if drop_equal else None
        oracle = memory_oracle(
            points,
            weights if equal is None else None,
            spherical=self.metric == "cosine",
            n_threads=self.n_threads,
            unchecked=unchecked,
        )
        oracle.point_weight = 1.0 if equal is None else equal
        return oracle

    def _oracle(
        self,
        X: object,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
        rng: np.random.Generator | None = None,
        drop_equal: bool = False,
    ) -> Oracle:
        X = unwrapped(X)
        if not is_source(X):
            return self._oracle_of_batch(X, sample_weight, reset=reset, drop_equal=drop_equal)
        source = as_source(X)
        check_features(self, source, reset=reset)
        weights = None if sample_weight is None else checked_stream_weights(sample_weight)
        equal = common_weight(weights, source.n_points) if drop_equal and not source.weighted else None
        oracle = as_oracle(
            source,
            weights if equal is None else None,
            spherical=self.metric == "cosine",
            n_threads=self.n_threads,
            memory_limit=self.memory_limit,
            rng=rng,
        )
        oracle.point_weight = 1.0 if equal is None else equal
        return oracle

    def _checked_init(self, n_features: int, state: np.random.RandomState) -> SeedWith:
        """The name of a method, checked centers, or a function that asks the user's callable for centers."""
        init = self.init
        if isinstance(init, str):
            return init
        if not callable(init):
            return self._checked_centers(init, n_features)

        def from_callable(oracle: Oracle, rng: np.random.Generator) -> FloatArray:
            at_hand = oracle.at_hand or oracle.sample(sample_size(oracle, self.n_clusters), rng)
            centers = init(at_hand.points.stored, self.n_clusters, random_state=state)
            return self._checked_centers(centers, n_features)

        return from_callable

    def _checked_centers(self, centers: object, n_features: int) -> FloatArray:
        array: FloatArray = check_array(in_memory_array(centers), dtype=np.float64, order="C", input_name="init")
        expected = (self.n_clusters, n_features)
        if array.shape != expected:
            what = "clusters" if len(array) != self.n_clusters else "features of the data"
            raise ValueError(
                f"The shape of the initial centers {array.shape} does not match the number of {what}; expected "
                f"(n_clusters, n_features) = {expected}."
            )
        return aligned(array)

    def _centers(self) -> FloatArray:
        centers = aligned(np.asarray(self.cluster_centers_, dtype=np.float64))
        if not np.isfinite(centers).all():  # they may have been assigned
            raise ValueError(
                "cluster_centers_ has values that are not finite; assign finite centers, or fit again."
            )
        return centers

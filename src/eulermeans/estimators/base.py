"""The base of both estimators: makes oracles of the user's data, and has all methods that need only centers."""

from __future__ import annotations

import copy
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..arrays import Array, DType, FloatArray, arithmetic_dtype
from ..fitting import Init as SeedWith
from ..history import Record, StopReason
from ..moments import Moments
from ..oracles import MemoryOracle, Oracle, as_oracle, memory_oracle, unit_centers
from ..seeding import SEEDS, sample_size
from ..sources import Blocks, as_source, has_columns, is_source, unwrapped, with_columns
from ..storage import pack, write
from .callbacks import CallbackSupportMixin
from .onnx_support import OnnxSupportMixin
from .validation import (
    Integers,
    check_centers,
    check_columns,
    check_features,
    check_moments,
    check_points,
    check_points_in_pass,
    checked_stream_weights,
    checked_weights,
    common_weight,
    in_memory_array,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from sklearn.cluster import KMeans
    from sklearn.utils import Tags
    from typing_extensions import Self

    from ..oracles import RowAnswers, Unchecked

Metric: TypeAlias = Literal["euclidean", "cosine"]
Init: TypeAlias = (
    Literal["k-means++", "random", "partition", "mean"]
    | Array
    | Sequence[Sequence[float]]
    | Callable[..., ArrayLike]
)
RandomState: TypeAlias = int | np.random.RandomState | None


class KMeansEstimator(
    CallbackSupportMixin,
    OnnxSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base of the estimators; scikit-learn's protocol for k-means."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Integers(1)],
        "init": [StrOptions(set(SEEDS)), callable, "array-like"],
        "random_state": ["random_state"],
        "n_threads": [Integers(1, 2**31 - 1), None],
    }

    # Set by __init__ of the subclasses.
    n_clusters: int
    init: Init
    random_state: RandomState
    n_threads: int | None
    verbose: int | bool = 0
    metric: Metric = "euclidean"
    memory_limit: int | str = "1GiB"

    # Fitted.
    cluster_centers_: Array  # (n_clusters, n_features)
    cluster_weights_: FloatArray  # (n_clusters,) total weight of each center's points
    labels_: RowAnswers  # (n_samples,)
    inertia_: float
    objective_: float
    n_iter_: int
    n_features_in_: int
    history_: list[Record]
    stop_reason_: StopReason
    _columns: list[str] | None = None  # those that `fit` was told to use

    # Of a stream: the RandomState of the user and our own generator.
    _state_and_rng: tuple[np.random.RandomState, np.random.Generator]

    @abstractmethod
    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Cluster the rows of X."""

    @overload
    def predict(self, X: Array) -> NDArray[np.int32]: ...
    @overload
    def predict(self, X: object) -> RowAnswers: ...
    def predict(self, X: object) -> RowAnswers:
        """The index of the nearest center of each row of X, (n_samples,)."""
        return self._oracle_to_serve(X).labels(self._centers())

    @overload
    def transform(self, X: Array) -> Array: ...
    @overload
    def transform(self, X: object) -> RowAnswers: ...
    def transform(self, X: object) -> RowAnswers:
        """The distance of each row of X to each center, (n_samples, n_clusters)."""
        distances = self._oracle_to_serve(X).distances(self._centers())
        if self.metric != "cosine":
            return distances
        return distances.map(_half_square) if isinstance(distances, Blocks) else _half_square(distances)

    def score(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the (weighted) sum of squared distances of X to the nearest centers, so that higher is better."""
        oracle = self._oracle_to_serve(X, sample_weight)
        return -oracle.full(self._centers()).cost * oracle.point_weight

    @overload
    def fit_predict(
        self, X: Array, y: object = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.int32]: ...
    @overload
    def fit_predict(
        self,
        X: object,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> RowAnswers: ...
    def fit_predict(
        self,
        X: object,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> RowAnswers:
        """Fit, and return `labels_`."""
        self.fit(X, sample_weight=sample_weight, columns=columns)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def fit_transform(
        self,
        X: object,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> RowAnswers:
        """Fit, and return the distances of X to the centers."""
        return self.fit(X, sample_weight=sample_weight, columns=columns).transform(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `eulermeans.load` reads, without pickle and without labels."""
        check_is_fitted(self)
        write(path, pack(self))

    def to_sklearn(self) -> KMeans:
        """A fitted scikit-learn `KMeans` with the same centers, for tools that expect one."""
        from ..storage.models import as_sklearn  # imports sklearn.cluster, which takes a while

        return as_sklearn(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> dict[str, object]:
        """The state for pickle and skops, with plain records: only the estimator's class has to be trusted."""
        state = dict(super().__getstate__())
        if "history_" in state:
            state["history_"] = [vars(record) for record in self.history_]
        if "stop_reason_" in state:
            state["stop_reason_"] = self.stop_reason_.name
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "history_" in state:
            self.history_ = [Record(**fields) for fields in state["history_"]]
        if "stop_reason_" in state:
            self.stop_reason_ = StopReason[state["stop_reason_"]]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cluster_centers_")  # a stream has none until it has seen enough points

    # What notebooks show: scikit-learn's diagram and our summary, which is imported only when it is shown.

    def _repr_html_inner(self) -> str:
        from ..plot.notebook_summary import summary

        return str(super()._repr_html_inner()) + summary(self)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        from ..plot.notebook_summary import summary

        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += summary(self)
        return bundle

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    # Oracles over the user's data.

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
        return array

    # Steps of a fit.

    def _randomness(self) -> tuple[np.random.RandomState, np.random.Generator]:
        """The RandomState that a user's callable gets, and the generator for everything else."""
        state = check_random_state(self.random_state)
        return state, np.random.default_rng(state.randint(2**31, size=4))

    def _begin_step(self) -> None:
        """Get the history and the randomness that a step of `partial_fit` may change."""
        self.history_ = list(self.history_)
        state, rng = self.__dict__.get("_state_and_rng") or self._randomness()
        self._state_and_rng = state, copy.deepcopy(rng)

    def _centers(self) -> FloatArray:
        return np.ascontiguousarray(self.cluster_centers_, dtype=np.float64)

    def _settle(self, oracle: Oracle, centers: FloatArray, *, by_size: bool = False) -> Moments:
        """Set the centers and the fitted attributes that a last pass over the data computes.

        `by_size`: number the clusters anew, the largest first.
        """
        self._set_centers(oracle, centers)
        if oracle.rows_in_memory:
            if by_size:  # before the pass that labels: of equally near centers, points belong to the first
                self._renumber(oracle.full(self._centers()))
            labeling = oracle.label(self._centers())
            self.labels_, moments = labeling.labels, labeling.moments
        else:
            moments = oracle.full(self._centers())
            if by_size:
                moments = self._renumber(moments)
            self.labels_ = oracle.labels(self._centers())
        self.cluster_weights_ = moments.counts * oracle.point_weight
        self.inertia_ = moments.cost * oracle.point_weight
        self.objective_ = moments.objective
        check_moments(moments)
        return moments

    def _renumber(self, moments: Moments) -> Moments:
        """Bring the centers into the order of their clusters' sizes, and return the moments in the same order."""
        order = moments.largest_first
        self.cluster_centers_ = self.cluster_centers_[order]
        return moments.reordered(order)

    @property
    def _numbers_by_size(self) -> bool:
        """Whether `fit` numbers the clusters, the largest first: given centers keep the numbers they have."""
        return isinstance(self.init, str) or callable(self.init)

    def _set_centers(self, oracle: Oracle, centers: FloatArray) -> None:
        on_sphere = self.metric == "cosine"
        with np.errstate(over="ignore"):
            self.cluster_centers_ = (unit_centers(centers) if on_sphere else centers).astype(oracle.dtype)
        check_centers(self.cluster_centers_)

    def _attributes_at(self, centers: Array) -> dict[str, object]:
        """The attributes that a copy of the estimator needs to predict during the fit."""
        return {"cluster_centers_": centers, "n_features_in_": self.n_features_in_}

    def _warn_of_duplicates(self, moments: Moments) -> None:
        found = int(np.count_nonzero(moments.counts))
        if found < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=4,
            )


def _half_square(chords: Any) -> Any:  # an array of NumPy or Dask
    """1 − cos from distances on the unit sphere, whose squares are 2 (1 − cos)."""
    return chords**2 / 2

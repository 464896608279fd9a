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
from ..sources import Blocks, as_source, is_source
from ..storage import pack, write
from .callbacks import CallbackSupportMixin
from .validation import (
    Integers,
    check_centers,
    check_features,
    check_moments,
    check_points,
    check_points_in_pass,
    checked_stream_weights,
    checked_weights,
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

    # Of a stream: the RandomState of the user and our own generator.
    _state_and_rng: tuple[np.random.RandomState, np.random.Generator]

    @abstractmethod
    def fit(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
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
        return -self._oracle_to_serve(X, sample_weight).full(self._centers()).cost

    @overload
    def fit_predict(
        self, X: Array, y: object = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.int32]: ...
    @overload
    def fit_predict(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> RowAnswers: ...
    def fit_predict(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> RowAnswers:
        """Fit, and return `labels_`."""
        self.fit(X, sample_weight=sample_weight)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def fit_transform(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> RowAnswers:
        """Fit, and return the distances of X to the centers."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

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

    def _oracle_to_fit(self, X: object, sample_weight: ArrayLike | None, rng: np.random.Generator) -> Oracle:
        oracle = self._oracle(X, sample_weight, reset=True, rng=rng)
        self._check_enough(oracle)
        return oracle

    def _check_enough(self, oracle: Oracle) -> None:
        if oracle.n_points < self.n_clusters:
            raise ValueError(f"n_samples={oracle.n_points} should be >= n_clusters={self.n_clusters}.")

    def _oracle_to_serve(self, X: object, sample_weight: ArrayLike | None = None) -> Oracle:
        check_is_fitted(self)
        if is_source(X):
            return self._oracle(X, sample_weight, reset=False)
        points, unchecked, name = self._validated(X, reset=False), None, type(self).__name__
        weights, on_sphere = checked_weights(sample_weight, points), self.metric == "cosine"
        if on_sphere or weights is not None:  # values are divided by norms or multiplied by weights
            check_points(points, name, weights, directions=True)
        else:
            unchecked = check_points_in_pass(points, self._centers(), name)
        return self._memory_oracle(points, weights, unchecked)

    def _oracle_of_batch(
        self, X: object, sample_weight: ArrayLike | None, *, reset: bool, at_least: DType | None = None
    ) -> MemoryOracle:
        points = self._validated(X, reset=reset)
        weights = checked_weights(sample_weight, points)
        check_points(points, type(self).__name__, weights, directions=self.metric == "cosine")
        if at_least is not None and arithmetic_dtype(points.dtype).itemsize < at_least.itemsize:
            points = points.astype(at_least)
        return self._memory_oracle(points, weights)

    def _dtype_so_far(self) -> DType | None:
        """The dtype of the arithmetic so far, which later batches do not narrow; None before the first."""
        return arithmetic_dtype(self.cluster_centers_.dtype) if hasattr(self, "cluster_centers_") else None

    def _validated(self, X: object, *, reset: bool) -> Array | csr_array:
        # Any dtype is kept: rows that the kernels cannot read in place are converted later, in blocks.
        points: Array | csr_array = validate_data(
            self, X, reset=reset, dtype="numeric", order=None, accept_sparse="csr", ensure_all_finite=False
        )
        return points

    def _memory_oracle(
        self, points: Array | csr_array, weights: FloatArray | None, unchecked: Unchecked | None = None
    ) -> MemoryOracle:
        on_sphere = self.metric == "cosine"
        return memory_oracle(points, weights, spherical=on_sphere, n_threads=self.n_threads, unchecked=unchecked)

    def _oracle(
        self, X: object, sample_weight: ArrayLike | None, *, reset: bool, rng: np.random.Generator | None = None
    ) -> Oracle:
        if not is_source(X):
            return self._oracle_of_batch(X, sample_weight, reset=reset)
        source = as_source(X)
        check_features(self, source, reset=reset)
        return as_oracle(
            source,
            None if sample_weight is None else checked_stream_weights(sample_weight),
            spherical=self.metric == "cosine",
            n_threads=self.n_threads,
            memory_limit=self.memory_limit,
            rng=rng,
        )

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
        array: FloatArray = check_array(centers, dtype=np.float64, order="C", input_name="init")
        expected = (self.n_clusters, n_features)
        if array.shape != expected:
            raise ValueError(
                f"The initial centers have shape {array.shape}; expected (n_clusters, n_features) = {expected}."
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

    def _settle(self, oracle: Oracle, centers: FloatArray) -> Moments:
        """Set the centers and the fitted attributes that a last pass over the data computes."""
        self._set_centers(oracle, centers)
        fitted = self._centers()
        if oracle.rows_in_memory:
            labeling = oracle.label(fitted)
            self.labels_, moments = labeling.labels, labeling.moments
        else:
            self.labels_, moments = oracle.labels(fitted), oracle.full(fitted)
        self.cluster_weights_ = moments.counts
        self.inertia_ = moments.cost
        self.objective_ = moments.objective
        check_moments(moments)
        return moments

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

"""What the estimators share: from what the user gives to an oracle, and everything that needs centers only."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..arrays import Array, FloatArray, arithmetic_dtype
from ..history import Record, StopReason
from ..moments import Moments
from ..oracles import Blocks, Oracle, as_oracle, as_source, is_source, mapped
from ..oracles.sphere import OnSphere, unit_centers, unit_rows
from ..seeding import SEEDS, sample_size, seed
from ..storage import pack, write
from .callbacks import CallbackSupportMixin
from .display import SummaryMixin
from .validation import check_features, check_points, checked_stream_weights, checked_weights


class KMeansEstimator(
    SummaryMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base of the estimators; scikit-learn's protocol for k-means."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(SEEDS)), callable, "array-like"],
        "random_state": ["random_state"],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
    }

    # Set by __init__ of the subclasses.
    n_clusters: int
    init: Any
    random_state: Any
    n_threads: int | None
    metric: str = "euclidean"
    memory_limit: int | str = "1GiB"

    fit: Callable[..., Any]

    # Fitted.
    cluster_centers_: Array  # (n_clusters, n_features)
    cluster_weights_: FloatArray  # (n_clusters,) of the points that each center stands for
    labels_: NDArray[np.int32]  # (n_samples,)
    inertia_: float
    objective_: float
    n_iter_: int
    history_: list[Record]
    stop_reason_: StopReason

    def predict(self, X: Any) -> Any:
        """The index of the nearest center of each row of X, (n_samples,)."""
        return self._oracle_to_serve(X).labels(self._centers())

    def transform(self, X: Any) -> Any:
        """The distance of each row of X to each center, (n_samples, n_clusters)."""
        distances = self._oracle_to_serve(X).distances(self._centers())
        return _cosine_distances(distances) if self.metric == "cosine" else distances

    def score(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the (weighted) sum of squared distances of X to the nearest centers, so that more is better."""
        moments: Moments = self._oracle_to_serve(X, sample_weight).full(self._centers())
        return -moments.cost

    def fit_predict(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit, and return `labels_`."""
        self.fit(X, sample_weight=sample_weight)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def fit_transform(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit, and return the distances of X to the centers."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `eulermeans.load` reads, without pickle and without the labels."""
        check_is_fitted(self)
        write(path, pack(self))

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn `KMeans` with the same centers, for every tool that knows one."""
        from ..storage.scikit_learn import as_sklearn  # imports sklearn.cluster, which takes a while

        return as_sklearn(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cluster_centers_")  # a stream may have begun without enough points for them

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    # From what the user gives to an oracle.

    def _oracle_to_fit(self, X: Any, sample_weight: ArrayLike | None, rng: np.random.Generator) -> Oracle:
        oracle: Oracle = self._oracle(X, sample_weight, reset=True, rng=rng)
        self._check_enough(oracle)
        return oracle

    def _check_enough(self, oracle: Oracle) -> None:
        if oracle.n_points < self.n_clusters:
            raise ValueError(f"n_samples={oracle.n_points} should be >= n_clusters={self.n_clusters}.")

    def _oracle_to_serve(self, X: Any, sample_weight: ArrayLike | None = None) -> Any:
        check_is_fitted(self)
        return self._oracle(X, sample_weight, reset=False)

    def _oracle_of_batch(self, X: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool) -> Any:
        points = self._points(X, reset=reset)
        weights = checked_weights(sample_weight, points)
        unit = unit_rows(points) if self.metric == "cosine" else points
        return self._measured(as_oracle(unit, weights, n_threads=self.n_threads))

    def _oracle(self, X: Any, sample_weight: Any, *, reset: bool, rng: np.random.Generator | None = None) -> Any:
        if not is_source(X):
            return self._oracle_of_batch(X, sample_weight, reset=reset)
        source = as_source(X)
        check_features(self, source, reset=reset)
        if self.metric == "cosine":
            source = mapped(source, unit_rows, dtype=arithmetic_dtype(source.dtype))
        weights = None if sample_weight is None else checked_stream_weights(sample_weight)
        oracle = as_oracle(source, weights, n_threads=self.n_threads, memory_limit=self.memory_limit, rng=rng)
        return self._measured(oracle)

    def _measured(self, oracle: Any) -> Any:
        """The oracle, which measures by the estimator's metric."""
        return OnSphere(oracle) if self.metric == "cosine" else oracle

    def _points(self, X: ArrayLike, *, reset: bool) -> Any:
        # No dtype: what is not stored as the kernels read it is converted later, in blocks.
        points = validate_data(
            self, X, reset=reset, dtype="numeric", order=None, accept_sparse="csr", ensure_all_finite=False
        )
        check_points(points, type(self).__name__)
        return points

    def _checked_init(self, n_features: int) -> Any:
        if isinstance(self.init, str) or callable(self.init):
            return self.init
        return self._checked_centers(self.init, n_features)

    def _checked_centers(self, centers: Any, n_features: int) -> FloatArray:
        array: FloatArray = check_array(centers, dtype=np.float64, input_name="init")
        expected = (self.n_clusters, n_features)
        if array.shape != expected:
            raise ValueError(
                f"The initial centers have shape {array.shape}; expected (n_clusters, n_features) = {expected}."
            )
        return array

    # Steps of a fit.

    def _randomness(self) -> tuple[np.random.RandomState, np.random.Generator]:
        """The state that scikit-learn's convention speaks of, and the generator that all else here draws from."""
        state = check_random_state(self.random_state)
        return state, np.random.default_rng(state.randint(2**31, size=4))

    def _seed(self, oracle: Any, init: Any, state: np.random.RandomState, rng: np.random.Generator) -> FloatArray:
        if callable(init):
            at_hand = oracle.at_hand or oracle.sample(sample_size(oracle, self.n_clusters), rng)
            given = init(at_hand.points, self.n_clusters, random_state=state)
            return self._checked_centers(given, oracle.n_features)
        return seed(init, oracle, self.n_clusters, rng)

    def _centers(self) -> FloatArray:
        return self.cluster_centers_.astype(np.float64)

    def _settle(self, oracle: Oracle, centers: FloatArray) -> Moments:
        """Set the fitted attributes that belong to the centers and the data they were fitted to."""
        self._set_centers(oracle, centers)
        labeling = oracle.label(self._centers())
        self.cluster_weights_ = labeling.moments.counts
        self.labels_ = labeling.labels
        self.inertia_ = labeling.moments.cost
        self.objective_ = labeling.moments.objective
        return labeling.moments

    def _set_centers(self, oracle: Oracle, centers: FloatArray) -> None:
        on_sphere = self.metric == "cosine"
        self.cluster_centers_ = (unit_centers(centers) if on_sphere else centers).astype(oracle.dtype)

    def _attributes_at(self, centers: Array) -> dict[str, Any]:
        """The fitted attributes that a model in the middle of its fit would need to predict."""
        return {"cluster_centers_": centers, "n_features_in_": self.n_features_in_}

    def _warn_of_duplicates(self, moments: Moments) -> None:
        found = int(np.count_nonzero(moments.counts))
        if found < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _cosine_distances(chords: Any) -> Any:
    """1 − cos from distances on the unit sphere, whose squares are 2 (1 − cos)."""
    return chords.map(_cosine_distances) if isinstance(chords, Blocks) else chords**2 / 2

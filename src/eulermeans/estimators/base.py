"""What the estimators share: validation at the edge, and everything that needs fitted centers only."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, validate_data

from ..container import write
from ..driver import Record, StopReason
from ..moments import FloatArray
from ..oracles import Labeling, MemoryOracle, Oracle, as_oracle
from ..seeding import SEEDS, seed
from .callbacks import CallbackSupportMixin
from .exporting import as_sklearn
from .packing import pack

_BLOCK_VALUES = 1 << 20  # of X that are checked together


class KMeansEstimator(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
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

    fit: Callable[..., Any]

    # Fitted.
    cluster_centers_: NDArray[Any]  # (n_clusters, n_features)
    labels_: NDArray[np.int32]  # (n_samples,)
    inertia_: float
    objective_: float
    n_iter_: int
    history_: list[Record]
    stop_reason_: StopReason

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """The index of the nearest center of each row of X, (n_samples,)."""
        labels: NDArray[np.int32] = self._label(self._oracle_to_serve(X)).labels
        return labels

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """The distance of each row of X to each center, (n_samples, n_clusters)."""
        return self._oracle_to_serve(X).distances(self.cluster_centers_.astype(np.float64))

    def score(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the (weighted) sum of squared distances of X to the nearest centers, so that more is better."""
        return -self._label(self._oracle_to_serve(X, sample_weight)).moments.cost

    def fit_predict(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.int32]:
        """Fit, and return `labels_`."""
        labels: NDArray[np.int32] = self.fit(X, sample_weight=sample_weight).labels_
        return labels

    def fit_transform(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Fit, and return the distances of X to the centers."""
        distances: NDArray[Any] = self.fit(X, sample_weight=sample_weight).transform(X)
        return distances

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `eulermeans.load` reads, without pickle and without the labels."""
        write(path, pack(self))

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn `KMeans` with the same centers, for every tool that knows one."""
        return as_sklearn(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    # Validation: once, here; everything below the estimators assumes it.

    def _oracle_to_fit(self, X: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool = True) -> MemoryOracle:
        points = self._points(X, reset=reset)
        if points.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={points.shape[0]} should be >= n_clusters={self.n_clusters}.")
        oracle = as_oracle(points, _weights(sample_weight, points), n_threads=self.n_threads)
        assert isinstance(oracle, MemoryOracle)
        return oracle

    def _oracle_to_serve(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> MemoryOracle:
        check_is_fitted(self)
        points = self._points(X, reset=False)
        oracle = as_oracle(points, _weights(sample_weight, points), n_threads=self.n_threads)
        assert isinstance(oracle, MemoryOracle)
        return oracle

    def _points(self, X: ArrayLike, *, reset: bool) -> Any:
        # No dtype: what is not stored as the kernels read it is converted later, in blocks.
        points = validate_data(
            self, X, reset=reset, dtype="numeric", order=None, accept_sparse="csr", ensure_all_finite=False
        )
        if points.dtype.kind not in "fiub":
            raise ValueError(f"X has dtype {points.dtype}; accepted are floating point, integer and bool.")
        if points.dtype.kind == "f":
            self._check_values(points.data if issparse(points) else points, points.shape)
        return points

    def _check_values(self, values: NDArray[Any], shape: tuple[int, int]) -> None:
        """No NaN, no infinity, nothing whose square overflows; a block at a time, so that no mask of X is made."""
        largest = np.sqrt(np.finfo(np.float64).max / (4.0 * shape[0] * shape[1]))
        step = max(1, _BLOCK_VALUES * len(values) // max(1, values.size))
        for first in range(0, len(values), step):
            block = values[first : first + step]
            if block.dtype == np.float16 and not np.any((block.view(np.uint16) & 0x7C00) == 0x7C00):
                continue  # finite by its exponents; NumPy's sums of halves take far longer to say so
            assert_all_finite(block, estimator_name=type(self).__name__, input_name="X")
            if block.itemsize >= 8 and max(block.max(), -block.min()) > largest:
                raise ValueError(
                    f"X has values above {largest:.1e} in magnitude, whose squared distances are too large for "
                    "float64; divide X by a constant."
                )

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

    def _seed(
        self, oracle: MemoryOracle, init: Any, state: np.random.RandomState, rng: np.random.Generator
    ) -> FloatArray:
        if callable(init):
            given = init(oracle.points, self.n_clusters, random_state=state)
            return self._checked_centers(given, oracle.n_features)
        return seed(init, oracle, self.n_clusters, rng)

    def _begin_partial(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[MemoryOracle, FloatArray]:
        """The points of a call of `partial_fit`, and the centers it begins with: the first call seeds them."""
        if not hasattr(self, "cluster_centers_"):
            oracle = self._oracle_to_fit(X, sample_weight)
            init = self._checked_init(oracle.n_features)
            self._state_and_rng = self._randomness()
            self.n_iter_, self.history_ = 0, []
            return oracle, self._seed(oracle, init, *self._state_and_rng)
        oracle = self._oracle_to_serve(X, sample_weight)
        if not hasattr(self, "_state_and_rng"):
            self._state_and_rng = self._randomness()
        return oracle, self.cluster_centers_.astype(np.float64)

    def _label(self, oracle: Oracle) -> Labeling:
        return oracle.label(self.cluster_centers_.astype(np.float64))

    def _settle(self, oracle: Oracle, centers: FloatArray) -> Labeling:
        """Set the fitted attributes that belong to the centers and the data they were fitted to."""
        self.cluster_centers_ = centers.astype(oracle.dtype)
        labeling = self._label(oracle)
        self.labels_ = labeling.labels
        self.inertia_ = labeling.moments.cost
        self.objective_ = labeling.moments.objective
        return labeling

    def _attributes_at(self, centers: NDArray[Any]) -> dict[str, Any]:
        """The fitted attributes that a model in the middle of its fit would need to predict."""
        return {"cluster_centers_": centers, "n_features_in_": self.n_features_in_}

    def _warn_of_duplicates(self, labeling: Labeling) -> None:
        found = int(np.count_nonzero(labeling.moments.counts))
        if found < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _weights(sample_weight: ArrayLike | None, points: Any) -> FloatArray | None:
    if sample_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; at least one must be positive.")
    return np.ascontiguousarray(weights)

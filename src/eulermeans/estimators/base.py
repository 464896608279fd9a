"""The base of the estimators: all methods that need only centers, and the steps that every fit takes."""

from __future__ import annotations

import copy
import os
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, FloatArray
from ..history import Record, StopReason
from ..moments import Moments
from ..oracles import Labeling, Oracle, unit_centers
from ..seeding import SEEDS
from ..sources import Blocks
from ..storage import pack, write
from .callbacks import CallbackSupportMixin
from .data_entrance import DataEntrance, RandomState
from .onnx_support import OnnxSupportMixin
from .validation import (
    Integers,
    check_centers,
    check_moments,
)

if TYPE_CHECKING:
    from sklearn.cluster import KMeans
    from sklearn.utils import Tags
    from typing_extensions import Self

    from ..oracles import RowAnswers


class KMeansEstimator(
    CallbackSupportMixin,
    OnnxSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    DataEntrance,
):
    """Base of the estimators; scikit-learn's protocol for k-means."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Integers(1)],
        "init": [StrOptions(set(SEEDS)), callable, "array-like"],
        "random_state": ["random_state"],
        "n_threads": [Integers(1, 2**31 - 1), None],
    }

    # Set by __init__ of the subclasses, with those of DataEntrance.
    random_state: RandomState
    verbose: int | bool = 0

    # Fitted.
    cluster_weights_: FloatArray  # (n_clusters,) total weight of each center's points
    labels_: RowAnswers  # (n_samples,)
    inertia_: float
    objective_: float
    n_iter_: int
    history_: list[Record]
    stop_reason_: StopReason

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
        """The index of the nearest center of each row of X.

        Parameters
        ----------
        X : anything that `fit` takes
            The rows to label.

        Returns
        -------
        array of shape (n_samples,)
            For files and streams an iterable of blocks, for Dask collections a lazy Dask array.
        """
        return self._oracle_to_serve(X).labels(self._centers())

    @overload
    def transform(self, X: Array) -> Array: ...
    @overload
    def transform(self, X: object) -> RowAnswers: ...
    def transform(self, X: object) -> RowAnswers:
        """The distance of each row of X to each center; with `metric="cosine"` 1 − cos.

        Parameters
        ----------
        X : anything that `fit` takes
            The rows.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            For files and streams an iterable of blocks, for Dask collections a lazy Dask array.
        """
        distances = self._oracle_to_serve(X).distances(self._centers())
        if self.metric != "cosine":
            return distances
        return distances.map(_half_square) if isinstance(distances, Blocks) else _half_square(distances)

    def score(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the (weighted) sum of squared distances of X to the nearest centers, so that higher is better.

        Parameters
        ----------
        X : anything that `fit` takes
            The rows.
        y : ignored
            There for scikit-learn's conventions.
        sample_weight : array of shape (n_samples,), default=None
            The weight of each row.

        Returns
        -------
        float
            For the data of the fit, minus `inertia_`.
        """
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
        """Write the fitted model to a file that `eulermeans.load` reads, without pickle and without labels.

        Parameters
        ----------
        path : str or Path
            The file. An existing one is replaced only once the new one is complete.
        """
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

    def _settle(self, oracle: Oracle, centers: FloatArray, *, by_size: bool = False) -> Moments:
        """Set the centers and the fitted attributes that a last pass over the data computes.

        `by_size`: number the clusters anew, the largest first.
        """
        self._set_centers(oracle, centers)
        if oracle.rows_in_memory:
            labeling = oracle.label(self._centers(), count_ties=by_size)
            if by_size:
                labeling = self._renumber_labels(oracle, labeling)
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

    def _renumber_labels(self, oracle: Oracle, labeling: Labeling) -> Labeling:
        """Do the same with labels, which then are what a pass about the reordered centers finds.

        The distance of a point to a center does not depend on the order of the centers. But of equally near ones
        a point belongs to the first, so where there are such points, all are labelled again.
        """
        order = labeling.moments.largest_first
        self._renumber(labeling.moments)
        if labeling.n_tied and not np.array_equal(order, np.arange(len(order))):
            return oracle.label(self._centers())
        return labeling.reordered(order)

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

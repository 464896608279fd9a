"""The estimator for clusters of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, FloatArray
from ..driver import Journal
from ..fitting import Phases
from ..oracles import Oracle, Placer, PricedLabels, PricedMoments, SizeBounds
from ..sized_fitting import SizedPhases
from .base import KMeansEstimator
from .callbacks import FitObserver, fit_method
from .data_entrance import Init, Metric, RandomState
from .fitted_state import all_or_nothing
from .size_bounds import Size, checked_bounds
from .validation import Integers

if TYPE_CHECKING:
    from ..oracles import RowAnswers


class SizedMeans(KMeansEstimator):
    """k-means with at least `size_min` and at most `size_max` points in every cluster.

    Every center has a price, and every point belongs to the center with the least squared distance plus price. The
    prices are those at which the sizes come out within the bounds at the least cost.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    size_min, size_max : int, float or None, default=None
        The least and the most points of a cluster: a number of points, or a fraction of all (a float from 0 to 1).
        None sets no bound. With `sample_weight` they bound weights: a number stands for weight, a fraction for a
        part of all weight. A point is never cut, so the weight of a cluster may miss a bound by that of a point or
        a few.
    init : {"k-means++", "random", "partition", "mean"}, array or callable, default="k-means++"
        The initial centers, as in `EulerMeans`.
    n_init : int, default=1
        The number of restarts from different seeds; the best is kept.
    effort : float, default=1.0
        How long to search, without bounds for a start and then within them. 0 turns both searches off.
    max_iter : int, default=300
        The maximum number of passes over all data, where the search reads only a sample.
    tol : float, default=1e-4
        Those passes end when the squared movement of the centers is below `tol` times the mean variance of the
        features, or when a pass lowers the objective by less than `tol` of it.
    max_time : float or None, default=None
        Time limit in seconds, after which the best centers so far are kept. The bounds hold even so: the last
        placement is always made.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" compares the directions of the rows only; see `EulerMeans`.
    memory_limit : int or str, default="1GiB"
        Memory for data that is not a NumPy or SciPy array: data that fits is read once, larger data in chunks.
    random_state : int, RandomState or None, default=None
        The source of all randomness.
    n_threads : int or None, default=None
        The number of threads; None means OpenMP's default. The result has the same bits for any number.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The mean of each cluster, the largest cluster first; if `init` is an array, in its order.
    prices_ : array of shape (n_clusters,)
        What is added to the squared distance to each center. Positive only for clusters at `size_max`, negative
        only for clusters at `size_min`.
    labels_ : array of shape (n_samples,)
        The cluster of each sample, within the bounds. An array in memory for every kind of data.
    cluster_weights_ : array of shape (n_clusters,)
        The size of each cluster; with `sample_weight` its weight.
    inertia_ : float
        Weighted sum of squared distances of the samples to the centers of their clusters.
    objective_ : float
        `inertia_` / (2 · total weight).
    size_bounds_ : array of shape (2,)
        The least and the most points, or weight, of a cluster.
    unbounded_objective_ : float
        The lowest objective without bounds that this fit has seen: what the bounds cost is the difference.
    n_iter_ : int
        The number of steps of the best restart within the bounds.
    history_ : list of Record
        One record for each of those steps: "search", then "polish" if the search read a sample.
    restarts_ : array of shape (n_restarts,)
        The final objective of each restart; if the search read a sample, over that sample except for the best.
    stop_reason_ : StopReason
        Why the fit ended.

    See Also
    --------
    EulerMeans : Clusters of any size.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from eulermeans import SizedMeans
    >>> X, _ = make_blobs(1000, random_state=0)
    >>> model = SizedMeans(n_clusters=10, size_min=95, size_max=105, random_state=0).fit(X)
    >>> sizes = np.bincount(model.labels_)
    >>> bool(sizes.min() >= 95 and sizes.max() <= 105)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KMeansEstimator._parameter_constraints,
        "size_min": [Integers(0), Interval(RealNotInt, 0, 1, closed="both"), None],
        "size_max": [Integers(0), Interval(RealNotInt, 0, 1, closed="both"), None],
        "n_init": [Integers(1)],
        "effort": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Integers(1)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "metric": [StrOptions({"euclidean", "cosine"})],
        "memory_limit": [Integers(1), str],
    }

    prices_: FloatArray
    size_bounds_: FloatArray
    unbounded_objective_: float
    restarts_: FloatArray
    labels_: NDArray[np.int32]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        size_min: Size = None,
        size_max: Size = None,
        init: Init = "k-means++",
        n_init: int = 1,
        effort: float = 1.0,
        max_iter: int = 300,
        tol: float = 1e-4,
        max_time: float | None = None,
        metric: Metric = "euclidean",
        memory_limit: int | str = "1GiB",
        random_state: RandomState = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.size_min = size_min
        self.size_max = size_max
        self.init = init
        self.n_init = n_init
        self.effort = effort
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.metric = metric
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_threads = n_threads

    @fit_method
    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> SizedMeans:
        """Cluster the rows of X within the bounds.

        Parameters
        ----------
        X : array, sparse matrix, frame, table, path, Dask collection, or function that returns batches
            The rows to cluster.
        y : ignored
            There for scikit-learn's conventions.
        sample_weight : array of shape (n_samples,), default=None
            The weight of each row. With it, bounds are on weights.
        columns : list of str, default=None
            The columns of a frame, table or file to use; the model remembers them.

        Returns
        -------
        SizedMeans
            The fitted estimator itself.
        """
        with all_or_nothing(self) as fitted:
            observer = fitted._fit(self, X, sample_weight, columns)
        observer.close()
        return self

    def _fit(
        self,
        estimator: SizedMeans,  # for the callbacks
        X: object,
        sample_weight: ArrayLike | None,
        columns: Sequence[str] | None,
    ) -> FitObserver:
        """Works on a copy of the estimator."""
        state, rng = self._randomness()
        oracle = self._oracle_to_fit(X, sample_weight, rng, columns)
        bounds = checked_bounds(self.size_min, self.size_max, self.n_clusters, oracle)
        observer = FitObserver(estimator, self, X, None)
        journal = Journal(max_time=self.max_time, observer=observer)
        phases = Phases(
            n_clusters=self.n_clusters,
            n_init=self.n_init,
            effort=self.effort,
            polish=True,
            batch_size="auto",
            max_iter=self.max_iter,
            tol=self.tol,
        )
        found = SizedPhases(phases, bounds).run(oracle, self._checked_init(oracle.n_features, state), journal, rng)
        self._settle_within(oracle, bounds, found.best.centers, found.prices)
        unbounded = min(oracle.full(centers).objective for centers in (found.unbounded, self._centers()))
        self.unbounded_objective_ = min(unbounded, self.objective_)
        self.restarts_ = found.objectives
        self.restarts_[np.argmin(self.restarts_)] = self.objective_
        self.n_iter_, self.history_ = found.best.n_iter, found.best.history
        self.stop_reason_ = found.best.stop_reason
        return observer

    @overload
    def predict(self, X: Array, bounded: bool = True) -> NDArray[np.int32]: ...
    @overload
    def predict(self, X: object, bounded: bool = True) -> RowAnswers: ...
    def predict(self, X: object, bounded: bool = True) -> RowAnswers:
        """The cluster of each row of X, (n_samples,).

        By default the center with the least squared distance plus price. For the data of the fit these are
        `labels_` but for points that are as well off in two clusters, of which `labels_` takes the one
        that the bounds need.
        For other data each row goes where such a row went in the fit, so sizes are near the bounds, in proportion,
        if the data are alike; no bound holds exactly, because a row's cluster does not depend on the other rows.
        With `bounded=False` the nearest center.

        Parameters
        ----------
        X : anything that `fit` takes
            The rows to label.
        bounded : bool, default=True
            Whether prices count.

        Returns
        -------
        array of shape (n_samples,)
            For files and streams an iterable of blocks, for Dask collections a lazy Dask array.
        """
        if not bounded:
            return super().predict(X)
        return self._oracle_to_serve(X).ask_by_row(PricedLabels(self._centers(), self._prices()))

    def score(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the (weighted) sum of squared distances of X to the centers that `predict` gives."""
        oracle = self._oracle_to_serve(X, sample_weight)
        blocks = oracle.ask(PricedMoments(self._centers(), self._prices(), share=0))
        return -sum(blocks[number].moments.cost for number in sorted(blocks))

    def _prices(self) -> FloatArray:
        check_is_fitted(self)
        return getattr(self, "prices_", np.zeros(self.n_clusters))  # a fit that was killed may have left none

    def _settle_within(self, oracle: Oracle, bounds: SizeBounds, centers: FloatArray, prices: FloatArray) -> None:
        """Set the centers, and the attributes that the last placement gives. The largest cluster comes first."""
        self._set_centers(oracle, centers)
        placer = Placer(oracle, bounds, self.n_clusters)
        placer.prices = prices
        placed = placer.place(self._centers(), with_labels=True)
        k = self.n_clusters
        order = placed.moments.largest_first if self._numbers_by_size else np.arange(k)
        numbers = np.empty(k, dtype=np.int32)
        numbers[order] = np.arange(k)
        self.cluster_centers_, self.prices_ = self.cluster_centers_[order], placed.prices[order]
        self.labels_ = numbers[placed.labels()]
        self.cluster_weights_ = placed.moments.counts[order]
        self.size_bounds_ = np.array([bounds.lowest, bounds.highest])
        self.inertia_, self.objective_ = placed.moments.cost, placed.moments.objective
        self._warn_of_duplicates(placed.moments)

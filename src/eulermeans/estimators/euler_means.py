"""The default estimator: seeds, searches by limited implicit steps, and polishes exactly."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import DType, FloatArray
from ..driver import Attempt, Journal, StoppingRules, run
from ..fitting import Phases
from ..history import PARTIAL_FIT, Record
from ..oracles import MemoryOracle, Oracle
from ..search_budget import SEARCH_POINTS
from ..solvers import relocate, running_means
from ..storage.checkpoint import Checkpoint
from ..stream_buffer import POINTS_PER_CLUSTER, Buffer
from .base import KMeansEstimator
from .callbacks import FitObserver, fit_method, validated
from .data_entrance import Init, Metric, RandomState
from .fitted_state import all_or_nothing
from .validation import Integers

PARTIAL_INNER = 1  # fixed-point iterations of each step of partial_fit
STREAM_EFFORT = 0.25  # of the effort of a fit, for the first points of a stream, once there are enough of them
PARTIAL_HISTORY = 1000  # records that partial_fit keeps


class EulerMeans(KMeansEstimator):
    """k-means that finds better minima: seeds, searches, and polishes exactly on all data.

    A replacement for scikit-learn's KMeans with the same names and conventions. The search relocates many
    centers at once with the help of implicit steps, then single ones, and keeps what lowers the cost. It begins on
    a sample where the data are many, and goes on with all points, or with 1000 for each cluster.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    init : {"k-means++", "random", "partition", "mean"}, array or callable, default="k-means++"
        The initial centers. They matter little, because the search improves a poor start. A callable is called
        with (X, n_clusters, random_state), where X is a sample if the data is not in memory.
    n_init : int or "auto", default=1
        The number of restarts from different seeds; the best is kept. More `effort` usually helps more.
        "auto" is 1.
    effort : float, default=1.0
        How long to search: the number of distances computed is proportional to it. 0 turns the search off. From 3
        on, several starts share it where all points are searched, and the best parts of their results are joined.
    polish : bool, default=True
        Whether to end with exact passes over all data. Without them only samples are read, whatever the size.
    batch_size : int or "auto", default="auto"
        Points in a mini-batch; "auto" depends on the number of clusters and points.
    max_iter : int, default=300
        The maximum number of passes over all data in the polish. Together with `effort=0` and an array as `init`,
        the fit is this many steps of Lloyd's algorithm from there and nothing else.
    tol : float, default=1e-4
        The polish ends when the squared movement of the centers is below `tol` times the mean variance of the
        features. Where the search read a sample and clusters are not few, also when a pass lowers the objective by
        less than 0.1 `tol` of it, with many points and clusters 0.3 `tol`.
        If the data is not in memory, a large sample is polished first; passes over all data then go on as long as
        each lowers the objective by more than the fraction `tol`.
    max_time : float or None, default=None
        Time limit in seconds, after which the fit ends with the best centers so far.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" is spherical k-means: only the directions of the rows count, and centers have unit length.
        `inertia_` is then twice the sum of 1 − cos, and `transform` returns 1 − cos.
    compute_labels : bool, default=True
        Whether to compute `labels_`, `inertia_` and `objective_`, which takes a last pass over all data.
    forgetting : float, default=0.0
        The fraction of earlier points that each call of `partial_fit` forgets. Use 0 for a stream that does not
        change, more for one that drifts; with 1 only the newest points count.
    memory_limit : int or str, default="1GiB"
        Memory for data that is not a NumPy or SciPy array: data that fits is read once, larger data in chunks.
    random_state : int, RandomState or None, default=None
        The source of all randomness.
    n_threads : int or None, default=None
        The number of threads; None means OpenMP's default. The result has the same bits for any number.
    verbose : int or bool, default=0
        Shows progress: 1 about once a second, 2 at every step. Lines go to stdout, or to the handlers of the
        logger "eulermeans" if it has any.
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        Accepted for compatibility with KMeans and has no effect: triangle bounds are used wherever they pay.
    copy_x : bool, default=True
        Accepted for compatibility with KMeans and has no effect: X is never changed, and never copied whole.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The center of the largest cluster comes first. If `init` is an array, centers stay in its order; centers of
        a stream keep their numbers.
    cluster_weights_ : array of shape (n_clusters,)
        The total weight of each cluster's points; after `partial_fit`, of those that are not forgotten.
    labels_ : array of shape (n_samples,)
        For files and streams an iterable of blocks, for Dask collections a lazy Dask array.
    inertia_ : float
        Weighted sum of squared distances to the nearest centers.
    objective_ : float
        The paper's φ: `inertia_` / (2 · total weight).
    n_iter_ : int
        The number of steps of the best restart, over all phases.
    history_ : list of Record
        One record for each of those steps. Its phase is "search", "descend" (if the search read a sample),
        "polish" or "finish" (passes over data that is not in memory).
    restarts_ : array of shape (n_restarts,)
        The final objective of each restart. If the search read a sample, only the best restart continues on all
        data; the objectives of the others are over the sample.
    stop_reason_ : StopReason
        Why the fit ended.

    See Also
    --------
    SizedMeans : Clusters of bounded size.
    StochasticBackwardEuler : The algorithm of the paper.
    sweep : Chooses `n_clusters`.

    Examples
    --------
    >>> from eulermeans import EulerMeans
    >>> X = [[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0], [10.0, 1.0]]
    >>> model = EulerMeans(n_clusters=2, random_state=0).fit(X)
    >>> model.labels_.tolist()
    [1, 1, 1, 0, 0, 0, 0]
    >>> model.cluster_centers_.tolist()
    [[10.0, 1.75], [1.0, 2.0]]
    >>> model.predict([[0.0, 0.0], [12.0, 3.0]]).tolist()
    [1, 0]
    >>> print(model.stop_reason_)
    converged: the centers moved less than the tolerance

    Files, streams, sparse matrices and Dask collections are data as well:

    >>> from scipy.sparse import csr_array
    >>> EulerMeans(2, random_state=0).fit(csr_array(X)).inertia_ == model.inertia_
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KMeansEstimator._parameter_constraints,
        "n_init": [Integers(1), StrOptions({"auto"})],
        "effort": [Interval(Real, 0, None, closed="left")],
        "polish": ["boolean"],
        "batch_size": [Integers(1), StrOptions({"auto"})],
        "max_iter": [Integers(1)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "metric": [StrOptions({"euclidean", "cosine"})],
        "compute_labels": ["boolean"],
        "forgetting": [Interval(Real, 0, 1, closed="both")],
        "memory_limit": [Integers(1), str],
        "verbose": ["verbose"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
        "copy_x": ["boolean"],
    }

    restarts_: FloatArray
    _buffer: Buffer | None = None

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Init = "k-means++",
        n_init: int | Literal["auto"] = 1,
        effort: float = 1.0,
        polish: bool = True,
        batch_size: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        max_time: float | None = None,
        metric: Metric = "euclidean",
        compute_labels: bool = True,
        forgetting: float = 0.0,
        memory_limit: int | str = "1GiB",
        random_state: RandomState = None,
        n_threads: int | None = None,
        verbose: int | bool = 0,
        algorithm: Literal["lloyd", "elkan"] = "lloyd",
        copy_x: bool = True,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.effort = effort
        self.polish = polish
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.metric = metric
        self.compute_labels = compute_labels
        self.forgetting = forgetting
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose
        self.algorithm = algorithm
        self.copy_x = copy_x

    @fit_method
    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        columns: Sequence[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> EulerMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array, sparse matrix, frame, table, path, Dask collection, or function that returns batches
            The rows to cluster.
        y : ignored
            There for scikit-learn's conventions.
        sample_weight : array of shape (n_samples,), default=None
            The weight of each row; None means equal weights.
        columns : list of str, default=None
            The columns of a frame, table or file to use. The model remembers them, so that `predict` takes the
            same frame.
        checkpoint : path, default=None
            A file to which the fit saves its state after each phase and every 30 seconds. If the file exists, the
            fit resumes from it and gives the same result as if it had not been interrupted.

        Returns
        -------
        EulerMeans
            The fitted estimator itself.
        """
        with all_or_nothing(self) as fitted:
            observer = fitted._fit(self, X, sample_weight, columns, checkpoint)
        observer.close()
        return self

    @validated
    def partial_fit(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> EulerMeans:
        """Update the centers with the points of X, starting from the result of earlier calls or of `fit`.

        The first points are buffered until there are enough to search for centers; there are centers from
        `n_clusters` points on. After that each call takes one implicit step, which moves each center to the mean
        of all points it has seen and not forgotten. `labels_`, `inertia_` and `objective_` are those of X.

        Parameters
        ----------
        X : array, sparse matrix or frame
            The rows of the batch.
        y : ignored
            There for scikit-learn's conventions.
        sample_weight : array of shape (n_samples,), default=None
            The weight of each row; None means that each weighs 1.

        Returns
        -------
        EulerMeans
            The estimator itself.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from eulermeans import EulerMeans
        >>> X, _ = make_blobs(1000, centers=[[-5, -5], [5, 5]], random_state=0)
        >>> model = EulerMeans(2, random_state=0)
        >>> for first in range(0, 1000, 50):
        ...     model = model.partial_fit(X[first : first + 50])
        >>> sorted(model.cluster_centers_[:, 0].round().tolist())
        [-5.0, 5.0]
        """
        with all_or_nothing(self) as fitted:
            fitted._partial_fit(X, sample_weight)
        return self

    # What follows works on a copy of the estimator, which may change its attributes but nothing in place.

    def _fit(
        self,
        estimator: EulerMeans,  # for the callbacks
        X: object,
        sample_weight: ArrayLike | None,
        columns: Sequence[str] | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> FitObserver:
        state, rng = self._randomness()
        saved = None if checkpoint is None else Checkpoint(checkpoint, self, rng)
        oracle = self._oracle_to_fit(X, sample_weight, rng, columns, drop_equal=True)
        if saved is not None:
            saved.check_data(oracle)
        observer = FitObserver(estimator, self, X, None)
        journal = Journal(max_time=self.max_time, observer=observer, checkpoint=saved)
        best = self._run_phases(oracle, journal, state, rng, effort=self.effort, polish=self.polish)
        if self.compute_labels:
            moments = self._settle(oracle, best.centers, by_size=self._numbers_by_size)
            self._warn_of_duplicates(moments)
            self.restarts_[np.argmin(self.restarts_)] = moments.objective
        else:
            self._settle_unlabelled(oracle, best.centers, rng)
        self.n_iter_, self.history_, self.stop_reason_ = best.n_iter, best.history, best.stop_reason
        self._buffer = None
        self.__dict__.pop("_state_and_rng", None)  # a later partial_fit starts with fresh randomness
        return observer

    def _partial_fit(self, X: object, sample_weight: ArrayLike | None) -> None:
        first = not hasattr(self, "n_features_in_")
        oracle = self._oracle_of_batch(X, sample_weight, reset=first, at_least=self._dtype_so_far())
        if first:
            self._buffer = Buffer(self.n_clusters)
            self.n_iter_, self.history_ = 0, []
        self._begin_step()
        if self._buffer is None:
            self._follow(oracle)
        else:
            self._seed_stream(oracle, self._buffer)
        self.n_iter_ += 1
        del self.history_[:-PARTIAL_HISTORY]

    def _dtype_so_far(self) -> DType | None:
        of_centers, of_buffer = super()._dtype_so_far(), None if self._buffer is None else self._buffer.dtype
        return of_centers if of_buffer is None or of_centers == np.float64 else of_buffer

    def _run_phases(
        self,
        oracle: Oracle,
        journal: Journal,
        state: np.random.RandomState,
        rng: np.random.Generator,
        *,
        effort: float,
        polish: bool,
    ) -> Attempt:
        phases = Phases(
            n_clusters=self.n_clusters,
            n_init=1 if self.n_init == "auto" else int(self.n_init),
            effort=effort,
            polish=polish,
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        restarts = phases.run(oracle, self._checked_init(oracle.n_features, state), journal, rng)
        self.restarts_ = restarts.objectives
        return restarts.best

    def _settle_unlabelled(self, oracle: Oracle, centers: FloatArray, rng: np.random.Generator) -> None:
        """Set the attributes that need no pass over all data; weights are scaled up from a sample."""
        self._set_centers(oracle, centers)
        for name in ("labels_", "inertia_", "objective_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        moments = oracle.sample(SEARCH_POINTS, rng).full(self._centers())
        if self._numbers_by_size:
            moments = self._renumber(moments)
        scale = oracle.point_weight * oracle.total_weight / moments.total_weight
        self.cluster_weights_ = moments.counts * scale

    # Steps of partial_fit.

    def _seed_stream(self, oracle: MemoryOracle, buffer: Buffer) -> None:
        """Buffer the points, and search for centers among those buffered if enough are new."""
        self._buffer = buffer = buffer.with_points(oracle.points)
        if buffer.n_points < self.n_clusters:
            return
        if buffer.worth_seeding:
            first = MemoryOracle(buffer.contents(), spherical=oracle.spherical)
            effort = STREAM_EFFORT * self.effort if buffer.full else 0.0
            polish = self.polish and buffer.full  # until then the centers are soon replaced
            best = self._run_phases(first, Journal(), *self._state_and_rng, effort=effort, polish=polish)
            found = first.full(best.centers)
            order = found.largest_first if self._numbers_by_size else np.arange(self.n_clusters)
            centers, weights = best.centers[order], found.counts[order]
            self.stop_reason_ = best.stop_reason
        else:
            centers, weights = self._centers(), self.cluster_weights_
        moments = self._settle(oracle, centers)
        self.cluster_weights_ = weights
        self.history_.append(
            Record(PARTIAL_FIT, 1, moments.objective, True, None, 0.0, buffer.n_points, moments.n_distances)
        )
        if buffer.full:
            self._buffer = None

    def _follow(self, oracle: MemoryOracle) -> None:
        """One implicit step on new points."""
        seen = getattr(self, "cluster_weights_", None)
        if seen is None:  # the fit was interrupted before the weights were known
            seen = np.full(self.n_clusters, float(POINTS_PER_CLUSTER))
        centers, weights = self._centers(), (1 - self.forgetting) * seen
        if self.forgetting > 0:
            centers, weights = relocate(oracle, centers, weights, self._state_and_rng[1])
        solver = running_means(oracle, centers, weights, n_inner=PARTIAL_INNER)
        ended = run(solver, centers, Journal(history=self.history_), PARTIAL_FIT, StoppingRules(1))
        moments = self._settle(oracle, ended.centers)
        self.cluster_weights_ = weights + moments.counts
        self.stop_reason_ = ended.stop_reason

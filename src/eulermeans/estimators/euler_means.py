"""The default estimator: seed, search by limited implicit steps, polish exactly."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import FloatArray
from ..driver import Journal, StoppingRules, run
from ..fitting import POINTS_PER_CLUSTER, SEARCH_POINTS, Attempt, Buffer, Phases
from ..history import PARTIAL_FIT, Record
from ..oracles import MemoryOracle, Oracle
from ..solvers import relocate, running_means
from ..storage import Checkpoint
from .base import Init, KMeansEstimator, Metric, RandomState
from .callbacks import FitObserver, fit_method, validated

PARTIAL_INNER = 3  # fixed-point iterations of each step of partial_fit
PARTIAL_HISTORY = 1000  # records that an endless stream keeps


class EulerMeans(KMeansEstimator):
    """k-means that finds better minima: seeded and searched on a sample, polished exactly on all data.

    A replacement for scikit-learn's KMeans, with its names and conventions. The search moves centers to where they
    are needed and lets implicit steps carry the others along; where the data are many its cost does not depend on
    how many.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    init : {"k-means++", "random", "partition", "mean"}, array or callable, default="k-means++"
        Where the centers start. The search makes up for a poor start, so that this matters little. A callable gets
        (X, n_clusters, random_state), or a sample of X where that is not in memory.
    n_init : int, default=1
        Restarts from different seeds, of which the best is kept. More `effort` is mostly the better way to spend
        time.
    effort : float, default=1.0
        How long to search: the number of relocations tried is in proportion to it. 0 does not search at all.
    polish : bool, default=True
        Whether to end with exact passes over all data. Without them, data of any size are fitted from samples.
    batch_size : int or "auto", default="auto"
        Points in a mini-batch; "auto" follows from the number of clusters and of points.
    max_iter : int, default=300
        The most passes over all data that the polish may take.
    tol : float, default=1e-4
        The polish ends when the squared movement of the centers is below `tol` times the mean variance of the
        features. Where the data are not in memory, it is made on a large sample, and passes over all data follow
        only as long as each lowers the objective by more than the part `tol`.
    max_time : float or None, default=None
        Seconds after which the best centers so far are taken.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" is spherical k-means: only the directions of the rows of X count, and centers have unit length.
        `inertia_` is then twice the sum of 1 − cos, and `transform` gives 1 − cos.
    compute_labels : bool, default=True
        Whether to end with a pass that gives `labels_`, `inertia_` and `objective_`; they are missing without it.
    forgetting : float, default=0.0
        The part of what it has learned that each call of `partial_fit` forgets: 0 for a stream that stays as it
        is, more where it drifts; 1 learns from the newest points alone.
    memory_limit : int or str, default="1GiB"
        Memory for data that are not NumPy or SciPy arrays: what fits is read once, the rest in chunks.
    random_state : int, RandomState or None, default=None
        The source of all randomness.
    n_threads : int or None, default=None
        Threads of the kernels; None follows OpenMP's limits. The result has the same bits for any number.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    cluster_weights_ : array of shape (n_clusters,)
        The weight of the points that belong to each center; of a stream, of those that it remembers.
    labels_ : array of shape (n_samples,)
        In kind for data that are not at hand: blocks to iterate over for files and streams, a lazy array for Dask.
    inertia_ : float
        Weighted sum of squared distances to the nearest centers.
    objective_ : float
        The paper's φ, which is inertia_ / (2 · total weight).
    n_iter_ : int
        Steps of the best restart, over all phases.
    history_ : list of Record
        One record for each of those steps; its phase is "search", "descend" (where the search read a sample),
        "polish" or "finish" (passes over data that are not in memory).
    restarts_ : array of shape (n_restarts,)
        The objective that each restart ended with. Where the search read a sample, only the best restart goes on
        to all data; the objectives of the others are over the sample.
    stop_reason_ : StopReason
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KMeansEstimator._parameter_constraints,
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "effort": [Interval(Real, 0, None, closed="left")],
        "polish": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "metric": [StrOptions({"euclidean", "cosine"})],
        "compute_labels": ["boolean"],
        "forgetting": [Interval(Real, 0, 1, closed="both")],
        "memory_limit": [Interval(Integral, 1, None, closed="left"), str],
    }

    restarts_: FloatArray
    _buffer: Buffer | None = None

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Init = "k-means++",
        n_init: int = 1,
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

    @fit_method
    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> EulerMeans:
        """Cluster the rows of X.

        With `checkpoint`, the path of a file, the fit saves its state there at every phase and every half minute.
        If the file is there already, the fit that it holds goes on, and ends as if it had never been stopped.
        """
        state, rng = self._randomness()
        saved = None if checkpoint is None else Checkpoint(checkpoint, self, rng)
        oracle = self._oracle_to_fit(X, sample_weight, rng)
        if saved is not None:
            saved.check_data(oracle)
        observer = FitObserver(self, X, None)
        journal = Journal(max_time=self.max_time, observer=observer, checkpoint=saved)
        best = self._run_phases(oracle, journal, state, rng)
        if self.compute_labels:
            moments = self._settle(oracle, best.centers)
            self._warn_of_duplicates(moments)
            self.restarts_[np.argmin(self.restarts_)] = moments.objective
        else:
            self._settle_unlabelled(oracle, best.centers, rng)
        self.n_iter_, self.history_, self.stop_reason_ = best.n_iter, best.history, best.stop_reason
        self._buffer = None
        self.__dict__.pop("_state_and_rng", None)  # a later partial_fit begins its own
        observer.close()
        return self

    @validated
    def partial_fit(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> EulerMeans:
        """Learn from the points of X, and go on from what earlier calls, or `fit`, have learned.

        The first points are kept until they are enough to search for centers among them; centers are there as soon
        as `n_clusters` points are. After that each call is one implicit step, which takes every center to the mean
        of all points that it has seen; with `forgetting`, of those that it still remembers.
        `labels_`, `inertia_` and `objective_` are those of X.
        """
        first = not hasattr(self, "n_features_in_")
        oracle = self._oracle_of_batch(X, sample_weight, reset=first)
        if first:
            self._buffer = Buffer(self.n_clusters)
            self.n_iter_, self.history_ = 0, []
        if not hasattr(self, "_state_and_rng"):
            self._state_and_rng = self._randomness()
        if self._buffer is None:
            self._follow(oracle)
        else:
            self._seed_stream(oracle, self._buffer)
        self.n_iter_ += 1
        del self.history_[:-PARTIAL_HISTORY]
        return self

    def _run_phases(
        self, oracle: Oracle, journal: Journal, state: np.random.RandomState, rng: np.random.Generator
    ) -> Attempt:
        init = self._checked_init(oracle.n_features, state)
        phases = Phases(
            n_clusters=self.n_clusters,
            n_init=self.n_init,
            effort=self.effort,
            polish=self.polish,
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        restarts = phases.run(oracle, init, journal, rng)
        self.restarts_ = restarts.objectives
        return restarts.best

    def _settle_unlabelled(self, oracle: Oracle, centers: FloatArray, rng: np.random.Generator) -> None:
        """Set what can be said without a pass over all data; weights are those of a sample, scaled up."""
        self._set_centers(oracle, centers)
        for name in ("labels_", "inertia_", "objective_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        moments = oracle.sample(SEARCH_POINTS, rng).full(self._centers())
        self.cluster_weights_ = moments.counts * (oracle.total_weight / moments.total_weight)

    # The parts of a stream.

    def _seed_stream(self, oracle: MemoryOracle, buffer: Buffer) -> None:
        """Search for centers among the first points, where there are so many more of them that it is worth it."""
        buffer.add(oracle.points)
        if buffer.n_points < self.n_clusters:
            return
        if buffer.worth_seeding:
            first = MemoryOracle(buffer.contents(), spherical=oracle.spherical)
            best = self._run_phases(first, Journal(), *self._state_and_rng)
            centers, weights = best.centers, first.full(best.centers).counts
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
        if seen is None:  # a fit that was interrupted before it could count
            seen = np.full(self.n_clusters, float(POINTS_PER_CLUSTER))
        centers, weights = self._centers(), (1 - self.forgetting) * seen
        if self.forgetting > 0:
            centers, weights = relocate(oracle, centers, weights, self._state_and_rng[1])
        solver = running_means(oracle, centers, weights, n_inner=PARTIAL_INNER)
        ended = run(solver, centers, Journal(history=self.history_), PARTIAL_FIT, StoppingRules(1))
        moments = self._settle(oracle, ended.centers)
        self.cluster_weights_ = weights + moments.counts
        self.stop_reason_ = ended.stop_reason

"""The default estimator: seed, search by limited implicit steps, polish exactly."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..driver import Journal, Record, StopReason, run
from ..moments import FloatArray
from ..oracles import ArrayOracle
from ..solvers import backward_euler, em
from .base import KMeansEstimator
from .callbacks import observe, with_callbacks

# The search: step sizes from n_clusters down, and the largest factor by which an inner iteration may multiply a
# center's error. At 2 a center that covers two clusters is still thrown out of its minimum, and nothing blows up.
SEARCH_STEPS = 30
SEARCH_DECAY = 0.9
SEARCH_INNER = 5
AVERAGING = 0.75
LIMIT = 2.0


@dataclass(frozen=True)
class _Attempt:
    """How one restart ended."""

    centers: FloatArray  # (n_clusters, n_features)
    objective: float
    n_iter: int
    stop_reason: StopReason
    history: list[Record]


class EulerMeans(KMeansEstimator):
    """k-means that finds better minima: seeded on a sample, searched by implicit steps, polished exactly.

    A replacement for scikit-learn's KMeans, with its names and conventions.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    init : {"k-means++", "random", "partition", "mean"}, array or callable, default="k-means++"
        Where the centers start. A callable gets (X, n_clusters, random_state).
    n_init : int, default=1
        Restarts from different seeds, of which the best is kept.
    batch_size : int or "auto", default="auto"
        Points in a mini-batch of the search; "auto" is max(500, 10 · n_clusters).
    max_iter : int, default=300
        The most passes over all data that the exact polish may take.
    tol : float, default=1e-4
        The polish ends when the squared movement of the centers is below `tol` times the mean variance of the
        features.
    max_time : float or None, default=None
        Seconds after which the best centers so far are taken.
    random_state : int, RandomState or None, default=None
        The source of all randomness.
    n_threads : int or None, default=None
        Threads of the kernels; None follows OpenMP's limits. The result has the same bits for any number.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)
    inertia_ : float
        Weighted sum of squared distances to the nearest centers.
    objective_ : float
        The paper's φ, which is inertia_ / (2 · total weight).
    n_iter_ : int
        Steps of the best restart, over all phases.
    history_ : list of Record
        One record for each of those steps.
    restarts_ : array of shape (n_restarts,)
        The objective that each restart ended with.
    stop_reason_ : StopReason
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KMeansEstimator._parameter_constraints,
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
    }

    n_iter_: int
    history_: list[Record]
    restarts_: FloatArray
    stop_reason_: StopReason

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 1,
        batch_size: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        max_time: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.random_state = random_state
        self.n_threads = n_threads

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> EulerMeans:
        """Cluster the rows of X."""
        oracle = self._oracle_to_fit(X, sample_weight)
        init = self._checked_init(oracle.n_features)
        state, rng = self._randomness()
        observer = observe(self, X, self.n_init * (SEARCH_STEPS + self.max_iter))
        journal = Journal(max_time=self.max_time, observer=observer)
        attempts = []
        for _ in range(self.n_init):
            centers = self._seed(oracle, init, state, rng)
            attempts.append(self._attempt(oracle, centers, journal, rng))
            if journal.out_of_time or attempts[-1].stop_reason is StopReason.CALLBACK:
                break
        best = min(attempts, key=lambda attempt: attempt.objective)
        labeling = self._settle(oracle, best.centers)
        self._warn_of_duplicates(labeling)
        self.n_iter_, self.history_, self.stop_reason_ = best.n_iter, best.history, best.stop_reason
        self.restarts_ = np.array([attempt.objective for attempt in attempts])
        self.__dict__.pop("_state_and_rng", None)  # a later partial_fit begins its own
        if observer is not None:
            observer.close()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> EulerMeans:
        """One implicit step on the points of X; the first call also seeds the centers from them.

        The step size falls from call to call to a value at which a center still follows its points.
        `labels_`, `inertia_` and `objective_` are those of X.
        """
        if not hasattr(self, "cluster_centers_"):
            oracle = self._oracle_to_fit(X, sample_weight)
            init = self._checked_init(oracle.n_features)
            self._state_and_rng = self._randomness()
            centers = self._seed(oracle, init, *self._state_and_rng)
            self.n_iter_, self.history_ = 0, []
        else:
            oracle = self._oracle_to_serve(X, sample_weight)
            centers = self.cluster_centers_.astype(np.float64)
            if not hasattr(self, "_state_and_rng"):
                self._state_and_rng = self._randomness()
        step_size = max(1.0, self.n_clusters * SEARCH_DECAY**self.n_iter_)
        batch_size = None if oracle.n_points <= self._batch_size() else self._batch_size()
        solver = backward_euler(
            oracle,
            centers,
            step_size=step_size,
            batch_size=batch_size,
            averaging=AVERAGING,
            decay=SEARCH_DECAY,
            n_inner=SEARCH_INNER,
            rng=self._state_and_rng[1],
            limit=LIMIT,
        )
        ended = run(solver, centers, Journal(history=self.history_), phase="partial_fit", max_iter=1)
        self._settle(oracle, ended.centers)
        self.stop_reason_ = ended.stop_reason
        self.n_iter_ += 1
        return self

    def _attempt(
        self, oracle: ArrayOracle, centers: FloatArray, journal: Journal, rng: np.random.Generator
    ) -> _Attempt:
        journal.history = []
        search = backward_euler(
            oracle,
            centers,
            step_size=float(self.n_clusters),
            batch_size=self._batch_size(),
            averaging=AVERAGING,
            decay=SEARCH_DECAY,
            n_inner=SEARCH_INNER,
            rng=rng,
            limit=LIMIT,
        )
        searched = run(search, centers, journal, phase="search", max_iter=SEARCH_STEPS)
        tolerance = self.tol * float(oracle.variance().mean())
        polish = em(oracle, searched.centers)
        if searched.stop_reason is StopReason.CALLBACK:
            ended, n_iter = searched, searched.n_iter
        else:
            ended = run(
                polish, searched.centers, journal, phase="polish", max_iter=self.max_iter, tolerance=tolerance
            )
            n_iter = searched.n_iter + ended.n_iter
        objective = oracle.full(ended.centers).objective
        return _Attempt(ended.centers, objective, n_iter, ended.stop_reason, journal.history)

    def _batch_size(self) -> int:
        return max(500, 10 * self.n_clusters) if self.batch_size == "auto" else int(self.batch_size)

"""The default estimator: seed, search by limited implicit steps, polish exactly."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..driver import Journal, Record, StopReason, run
from ..moments import FloatArray
from ..oracles import MemoryOracle
from ..solvers import Solver, backward_euler, breathe, polish
from .base import KMeansEstimator
from .callbacks import observe, with_callbacks

# The search reads a sample where the data are many: so many points, or so many for each center if that is more.
# More would not change which minimum it finds, fewer would make minima of their own.
SEARCH_POINTS, SEARCH_POINTS_PER_CLUSTER = 10_000, 100
WHOLE = 0.75  # a sample that would be more than this part of the data is the data
SEED_POINTS_PER_CLUSTER = 20  # the search makes up for a poor start
SEARCH_BATCH, SEARCH_BATCH_PER_CLUSTER = 100, 5
SEARCH_BATCH_PART = (
    1 / 3
)  # of the points searched, at most: a batch as large as the data has no noise to search by

# The descent takes the centers found on a sample to the minimum of all data, by mini-batches of them.
DESCENT_STEPS, DESCENT_INNER, DESCENT_DECAY = 40, 5, 0.93
DESCENT_STEP = 0.5  # of n_clusters, at first
BATCH, BATCH_PER_CLUSTER = 500, 10  # the larger of the two, here and in partial_fit
AVERAGING, LIMIT = 0.75, 2.0  # see solvers.relocation

# partial_fit
PARTIAL_INNER, PARTIAL_DECAY = 5, 0.9


@dataclass
class _Attempt:
    """One restart: where its centers are, and how they got there."""

    centers: FloatArray  # (n_clusters, n_features)
    history: list[Record] = field(default_factory=list)
    n_iter: int = 0
    stop_reason: StopReason = StopReason.MAX_ITER

    @property
    def stopped(self) -> bool:
        """Whether whoever called wants no more of it."""
        return self.stop_reason in (StopReason.MAX_TIME, StopReason.CALLBACK)

    def advance(self, solver: Solver, journal: Journal, **options: Any) -> None:
        """Run one phase, unless the attempt was stopped."""
        if self.stopped:
            return
        journal.history = self.history
        ended = run(solver, self.centers, journal, **options)
        self.centers, self.stop_reason = ended.centers, ended.stop_reason
        self.n_iter += ended.n_iter


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
        (X, n_clusters, random_state).
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
        One record for each of those steps; its phase is "search", "descend" (where the search read a sample) or
        "polish".
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
    }

    restarts_: FloatArray

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 1,
        effort: float = 1.0,
        polish: bool = True,
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
        self.effort = effort
        self.polish = polish
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
        observer = observe(self, X, None)
        journal = Journal(max_time=self.max_time, observer=observer)
        searched = self._points_to_search(oracle, rng)
        whole = searched is oracle
        attempts: list[_Attempt] = []
        while len(attempts) < self.n_init and not (attempts and attempts[-1].stopped):
            attempt = _Attempt(self._start(oracle, searched, init, state, rng))
            self._search(attempt, searched, journal, rng)
            if whole:
                self._refine(attempt, oracle, searched, journal, rng)
            attempts.append(attempt)
        self.restarts_ = np.array([searched.full(attempt.centers).objective for attempt in attempts])
        best = int(np.argmin(self.restarts_))
        if not whole:
            self._refine(attempts[best], oracle, searched, journal, rng)
        self._warn_of_duplicates(self._settle(oracle, attempts[best].centers))
        self.restarts_[best] = self.objective_
        self.n_iter_, self.history_ = attempts[best].n_iter, attempts[best].history
        self.stop_reason_ = attempts[best].stop_reason
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
        oracle, centers = self._begin_partial(X, sample_weight)
        step_size = max(1.0, self.n_clusters * PARTIAL_DECAY**self.n_iter_)
        batch_size = self._batch_size(BATCH, BATCH_PER_CLUSTER)
        solver = backward_euler(
            oracle,
            centers,
            step_size=step_size,
            batch_size=None if oracle.n_points <= batch_size else batch_size,
            averaging=AVERAGING,
            decay=PARTIAL_DECAY,
            n_inner=PARTIAL_INNER,
            rng=self._state_and_rng[1],
            limit=LIMIT,
        )
        ended = run(solver, centers, Journal(history=self.history_), phase="partial_fit", max_iter=1)
        self._settle(oracle, ended.centers)
        self.stop_reason_ = ended.stop_reason
        self.n_iter_ += 1
        return self

    # The phases of a fit.

    def _points_to_search(self, oracle: MemoryOracle, rng: np.random.Generator) -> MemoryOracle:
        """A sample, or the data themselves where they are few."""
        size = max(SEARCH_POINTS, SEARCH_POINTS_PER_CLUSTER * self.n_clusters)
        return oracle if size > WHOLE * oracle.n_points else oracle.sample(size, rng)

    def _start(
        self,
        oracle: MemoryOracle,
        searched: MemoryOracle,
        init: Any,
        state: np.random.RandomState,
        rng: np.random.Generator,
    ) -> FloatArray:
        if callable(init):
            return self._seed(oracle, init, state, rng)
        size = SEED_POINTS_PER_CLUSTER * self.n_clusters
        few = isinstance(init, str) and init == "k-means++" and size < searched.n_points
        return self._seed(searched.sample(size, rng) if few else searched, init, state, rng)

    def _search(
        self, attempt: _Attempt, searched: MemoryOracle, journal: Journal, rng: np.random.Generator
    ) -> None:
        """Relocate centers."""
        wanted = self._batch_size(SEARCH_BATCH, SEARCH_BATCH_PER_CLUSTER)
        batch_size = min(wanted, max(1, int(SEARCH_BATCH_PART * searched.n_points)))
        solver = breathe(searched, attempt.centers, batch_size=batch_size, effort=self.effort, rng=rng)
        attempt.advance(solver, journal, phase="search", max_iter=sys.maxsize)

    def _refine(
        self,
        attempt: _Attempt,
        oracle: MemoryOracle,
        searched: MemoryOracle,
        journal: Journal,
        rng: np.random.Generator,
    ) -> None:
        """Take the centers that were found to the minimum of all data: by mini-batches of them, then exactly."""
        if searched is not oracle:
            solver = backward_euler(
                oracle,
                attempt.centers,
                step_size=max(1.0, DESCENT_STEP * self.n_clusters),
                batch_size=self._batch_size(BATCH, BATCH_PER_CLUSTER),
                averaging=AVERAGING,
                decay=DESCENT_DECAY,
                n_inner=DESCENT_INNER,
                rng=rng,
                limit=LIMIT,
            )
            found = attempt.centers
            attempt.advance(solver, journal, phase="descend", max_iter=DESCENT_STEPS)
            # The large steps of the descent may leave a good minimum: points that neither has seen decide.
            judge = oracle.sample(searched.n_points, rng)
            attempt.centers = min(found, attempt.centers, key=lambda centers: judge.full(centers).cost)
        if self.polish:
            tolerance = self.tol * float(searched.variance().mean())
            solver = polish(oracle, attempt.centers)
            attempt.advance(solver, journal, phase="polish", max_iter=self.max_iter, tolerance=tolerance)

    def _batch_size(self, smallest: int, per_cluster: int) -> int:
        automatic = max(smallest, per_cluster * self.n_clusters)
        return automatic if self.batch_size == "auto" else int(self.batch_size)

"""The paper's algorithm as an estimator, verbatim."""

from __future__ import annotations

import os
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from ..arrays import FloatArray
from ..driver import Journal, Run, StoppingRules, run, run_or_resume
from ..history import PARTIAL_FIT, SEARCH, StopReason
from ..moments import Moments
from ..oracles import Oracle
from ..seeding import seed
from ..solvers import Memory, Solver, backward_euler
from ..storage import Checkpoint
from .base import Init, KMeansEstimator, RandomState
from .callbacks import FitObserver, fit_method, validated
from .warnings import DivergenceWarning


class StochasticBackwardEuler(KMeansEstimator):
    """k-means by stochastic backward Euler: Algorithm 1 of Yin, Pham, Oberman and Osher, and no more.

    It is at its best with few clusters of similar size. On unbalanced data with many clusters its steps throw
    centers out of the data, which it reports: `EulerMeans` is the estimator to use there.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters, the paper's K.
    step_size : float or None, default=None
        The first implicit step γ⁰; None means `n_clusters`.
    batch_size : int or None, default=500
        Points in a mini-batch, M, drawn with replacement. None takes the full gradient, which makes this the
        deterministic backward Euler method.
    averaging : float, default=0.75
        The weight α of the average so far against the new iterate; 0 is no averaging.
    decay : float, default=1/1.01
        The factor β by which the step size shrinks after each outer iteration.
    n_outer, n_inner : int, default=100 and 5
        Backward Euler steps, and fixed-point iterations for each.
    init : {"partition", "mean", "random", "k-means++"}, array or callable, default="partition"
        Where the centers start; "partition" (the means of a random partition) lets them split apart as the
        steps go. A callable gets (X, n_clusters, random_state).
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
        Outer iterations done.
    history_ : list of Record
        One record for each outer iteration.
    stop_reason_ : StopReason
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KMeansEstimator._parameter_constraints,
        "step_size": [Interval(Real, 0, None, closed="neither"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "averaging": [Interval(Real, 0, 1, closed="left")],
        "decay": [Interval(Real, 0, 1, closed="right")],
        "n_outer": [Interval(Integral, 1, None, closed="left")],
        "n_inner": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        step_size: float | None = None,
        batch_size: int | None = 500,
        averaging: float = 0.75,
        decay: float = 1 / 1.01,
        n_outer: int = 100,
        n_inner: int = 5,
        init: Init = "partition",
        random_state: RandomState = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.step_size = step_size
        self.batch_size = batch_size
        self.averaging = averaging
        self.decay = decay
        self.n_outer = n_outer
        self.n_inner = n_inner
        self.init = init
        self.random_state = random_state
        self.n_threads = n_threads

    @fit_method
    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> StochasticBackwardEuler:
        """Cluster the rows of X.

        With `checkpoint`, the path of a file, the fit saves its state there every half minute. If the file is
        there already, the fit that it holds goes on, and ends as if it had never been stopped.
        """
        state, rng = self._randomness()
        saved = None if checkpoint is None else Checkpoint(checkpoint, self, rng)
        oracle = self._oracle_to_fit(X, sample_weight, rng)
        if saved is not None:
            saved.check_data(oracle)
        observer = FitObserver(self, X, self.n_outer)
        journal = Journal(observer=observer, checkpoint=saved)

        def begin(centers: FloatArray, memory: Memory | None) -> Solver:
            return self._solver(oracle, centers, self._first_step(), self.batch_size, rng, memory)

        start = self._seed(oracle, state, rng)
        ended = run_or_resume(begin, start, journal, SEARCH, StoppingRules(self.n_outer))
        moments = self._settle(oracle, ended.centers)
        self.n_iter_, self.history_ = ended.n_iter, journal.history
        self.stop_reason_ = self._verdict(oracle, ended, moments)
        self._next_step = self._first_step() * self.decay**self.n_iter_
        self.__dict__.pop("_state_and_rng", None)  # a later partial_fit begins its own
        observer.close()
        return self

    @validated
    def partial_fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> StochasticBackwardEuler:
        """One backward Euler step on the points of X; the first call also seeds the centers from them.

        The step size decays from call to call. `labels_`, `inertia_` and `objective_` are those of X.
        """
        oracle, centers = self._begin_partial(X, sample_weight)
        if self.n_iter_ == 0:
            self._next_step = self._first_step()
        whole = self.batch_size is None or oracle.n_points <= self.batch_size
        solver = self._solver(
            oracle, centers, self._next_step, None if whole else self.batch_size, self._state_and_rng[1]
        )
        journal = Journal(history=self.history_)
        ended = run(solver, centers, journal, PARTIAL_FIT, StoppingRules(1))
        moments = self._settle(oracle, ended.centers)
        self.stop_reason_ = self._verdict(oracle, ended, moments)
        self._next_step *= self.decay
        self.n_iter_ += 1
        return self

    def _begin_partial(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Oracle, FloatArray]:
        """The points of a call of `partial_fit`, and the centers it begins with: the first call seeds them."""
        first = not hasattr(self, "cluster_centers_")
        oracle = self._oracle_of_batch(X, sample_weight, reset=first)
        if not hasattr(self, "_state_and_rng"):
            self._state_and_rng = self._randomness()
        if not first:
            return oracle, self._centers()
        self._check_enough(oracle)
        self.n_iter_, self.history_ = 0, []
        return oracle, self._seed(oracle, *self._state_and_rng)

    def _seed(self, oracle: Oracle, state: np.random.RandomState, rng: np.random.Generator) -> FloatArray:
        init = self._checked_init(oracle.n_features, state)
        return init(oracle, rng) if callable(init) else seed(init, oracle, self.n_clusters, rng)

    def _first_step(self) -> float:
        return float(self.n_clusters if self.step_size is None else self.step_size)

    def _solver(
        self,
        oracle: Oracle,
        centers: FloatArray,
        step_size: float,
        batch_size: int | None,
        rng: np.random.Generator,
        memory: Memory | None = None,
    ) -> Solver:
        return backward_euler(
            oracle,
            centers,
            step_size=step_size,
            batch_size=batch_size,
            averaging=self.averaging,
            decay=self.decay,
            n_inner=self.n_inner,
            rng=rng,
            memory=memory,
        )

    def _verdict(self, oracle: Oracle, ended: Run, moments: Moments) -> StopReason:
        """Why the run ended, told to the user if it went wrong."""
        if ended.stop_reason is StopReason.DIVERGED:
            self._warn_of_divergence("The centers ran away; those of the step before are kept.")
            return StopReason.DIVERGED
        empty = moments.counts == 0
        if empty.any():
            mean = oracle.mean()
            radius = oracle.farthest(mean[None, :], 1).distances[0]
            lost = int(np.sum(empty & (np.sum((self.cluster_centers_ - mean) ** 2, axis=1) > radius)))
            if lost:
                self._warn_of_divergence(f"{lost} of {self.n_clusters} centers were thrown out of the data.")
                return StopReason.DIVERGED
            self._warn_of_duplicates(moments)
        return ended.stop_reason

    def _warn_of_divergence(self, what: str) -> None:
        warnings.warn(
            f"{what} The step size {self._first_step():g} is too large for clusters of such different sizes: "
            "use EulerMeans, whose steps are limited, or a smaller step_size.",
            DivergenceWarning,
            stacklevel=4,
        )

"""The paper's algorithm as an estimator, without changes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from ..arrays import FloatArray
from ..driver import Journal, Run, StoppingRules, run, run_or_resume
from ..history import PARTIAL_FIT, SEARCH, StopReason
from ..moments import Moments
from ..oracles import Oracle
from ..seeding import seed
from ..solvers import Begin, backward_euler
from ..storage.checkpoint import Checkpoint
from .base import KMeansEstimator
from .callbacks import FitObserver, fit_method, validated
from .data_entrance import Init, RandomState
from .fitted_state import all_or_nothing
from .validation import Integers, largest_center


class DivergenceWarning(ConvergenceWarning):
    """The implicit steps were too large and moved centers away from the data.

    Examples
    --------
    Make it an error where a fit must not end that way:

    >>> import warnings
    >>> from eulermeans import DivergenceWarning, StochasticBackwardEuler
    >>> X = [[0.0], [0.1], [0.2], [50.0]]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DivergenceWarning)
    ...     try:
    ...         StochasticBackwardEuler(3, step_size=1e6, random_state=0).fit(X)
    ...     except DivergenceWarning as warning:
    ...         print("use EulerMeans" in str(warning))
    True
    """


class StochasticBackwardEuler(KMeansEstimator):
    """k-means by stochastic backward Euler: Algorithm 1 of Yin, Pham, Oberman and Osher, without additions.

    It works best with few clusters of similar size. On unbalanced data with many clusters its steps may move
    centers far away from the data, which it reports with a warning; use `EulerMeans` for such data.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters, the paper's K.
    step_size : float or None, default=None
        The step size γ⁰ of the first implicit step; None means `n_clusters`.
    batch_size : int or None, default=500
        Points in a mini-batch, M, drawn with replacement. None computes the full gradient, which makes this the
        deterministic backward Euler method.
    averaging : float, default=0.75
        The weight α of the average so far; the new iterate has 1 − α. 0 turns averaging off.
    decay : float, default=1/1.01
        The factor β by which the step size shrinks after each outer iteration.
    n_outer, n_inner : int, default=100 and 5
        The number of backward Euler steps, and of fixed-point iterations in each step.
    init : {"partition", "mean", "random", "k-means++"}, array or callable, default="partition"
        The initial centers. "partition" takes the means of a random partition, which lie close together and move
        apart during the fit. A callable is called with (X, n_clusters, random_state).
    random_state : int, RandomState or None, default=None
        The source of all randomness.
    n_threads : int or None, default=None
        The number of threads; None means OpenMP's default. The result has the same bits for any number.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The center of the largest cluster comes first; if `init` is an array, centers stay in its order.
    labels_ : array of shape (n_samples,)
        The cluster of each sample.
    inertia_ : float
        Weighted sum of squared distances to the nearest centers.
    objective_ : float
        The paper's φ: `inertia_` / (2 · total weight).
    n_iter_ : int
        The number of outer iterations.
    history_ : list of Record
        One record for each outer iteration.
    stop_reason_ : StopReason
        Why the fit ended.

    See Also
    --------
    EulerMeans : The default estimator, whose steps are limited.

    Examples
    --------
    The paper's first experiment: Lloyd's algorithm is stuck, and the implicit steps leave its minimum.

    >>> from eulermeans import EulerMeans, StochasticBackwardEuler
    >>> from eulermeans.datasets import GAUSSIAN_START, paper_gaussians
    >>> X = paper_gaussians(seed=0)
    >>> stuck = EulerMeans(4, init=GAUSSIAN_START, effort=0).fit(X)
    >>> round(stuck.objective_, 2)
    1.34
    >>> start = stuck.cluster_centers_
    >>> model = StochasticBackwardEuler(4, init=start, batch_size=400, n_inner=10, random_state=0).fit(X)
    >>> round(model.objective_, 1)
    0.9
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KMeansEstimator._parameter_constraints,
        "step_size": [Interval(Real, 0, None, closed="neither"), None],
        "batch_size": [Integers(1), None],
        "averaging": [Interval(Real, 0, 1, closed="left")],
        "decay": [Interval(Real, 0, 1, closed="right")],
        "n_outer": [Integers(1)],
        "n_inner": [Integers(1)],
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
        columns: Sequence[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> StochasticBackwardEuler:
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
            A file to which the fit saves its state every 30 seconds. If the file exists, the fit
            resumes from it and gives the same result as if it had not been interrupted.

        Returns
        -------
        StochasticBackwardEuler
            The fitted estimator itself.
        """
        with all_or_nothing(self) as fitted:
            observer = fitted._fit(self, X, sample_weight, columns, checkpoint)
        observer.close()
        return self

    @validated
    def partial_fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> StochasticBackwardEuler:
        """Take one backward Euler step on the points of X. The first call also seeds the centers from them.

        The step size decays from call to call. `labels_`, `inertia_` and `objective_` are those of X.

        Parameters
        ----------
        X : array, sparse matrix or frame
            The rows of the batch.
        y : ignored
            There for scikit-learn's conventions.
        sample_weight : array of shape (n_samples,), default=None
            The weight of each row; None means equal weights.

        Returns
        -------
        StochasticBackwardEuler
            The estimator itself.
        """
        with all_or_nothing(self) as fitted:
            fitted._partial_fit(X, sample_weight)
        return self

    # What follows works on a copy of the estimator, which may change its attributes but nothing in place.

    def _fit(
        self,
        estimator: StochasticBackwardEuler,  # for the callbacks
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
        observer = FitObserver(estimator, self, X, self.n_outer)
        journal = Journal(observer=observer, checkpoint=saved)
        begin = self._algorithm(oracle, self._first_step(), self.batch_size, rng)
        start = self._seed(oracle, state, rng)
        ended = run_or_resume(begin, start, journal, SEARCH, self._rules(oracle, self.n_outer))
        moments = self._settle(oracle, ended.centers, by_size=self._numbers_by_size)
        self.n_iter_, self.history_ = ended.n_iter, journal.history
        self.stop_reason_ = self._verdict(oracle, ended, moments)
        self._next_step = self._first_step() * self.decay**self.n_iter_
        self.__dict__.pop("_state_and_rng", None)  # a later partial_fit starts with fresh randomness
        return observer

    def _partial_fit(self, X: ArrayLike, sample_weight: ArrayLike | None) -> None:
        first = not hasattr(self, "cluster_centers_")
        oracle = self._oracle_of_batch(
            X, sample_weight, reset=first, drop_equal=True, at_least=self._dtype_so_far()
        )
        if first:
            self._check_enough(oracle)
            self.n_iter_, self.history_ = 0, []
        self._begin_step()
        if self.n_iter_ == 0:
            self._next_step = self._first_step()
        centers = self._seed(oracle, *self._state_and_rng) if first else self._centers()
        whole = self.batch_size is None or oracle.n_points <= self.batch_size
        batch_size = None if whole else self.batch_size
        begin = self._algorithm(oracle, self._next_step, batch_size, self._state_and_rng[1])
        journal = Journal(history=self.history_)
        ended = run(begin(centers, None), centers, journal, PARTIAL_FIT, self._rules(oracle, 1))
        moments = self._settle(oracle, ended.centers)
        self.stop_reason_ = self._verdict(oracle, ended, moments)
        self._next_step *= self.decay
        self.n_iter_ += 1

    def _rules(self, oracle: Oracle, n_steps: int) -> StoppingRules:
        return StoppingRules(n_steps, largest=largest_center(oracle.dtype, oracle.n_features))

    def _seed(self, oracle: Oracle, state: np.random.RandomState, rng: np.random.Generator) -> FloatArray:
        init = self._checked_init(oracle.n_features, state)
        return init(oracle, rng) if callable(init) else seed(init, oracle, self.n_clusters, rng)

    def _first_step(self) -> float:
        return float(self.n_clusters if self.step_size is None else self.step_size)

    def _algorithm(
        self, oracle: Oracle, step_size: float, batch_size: int | None, rng: np.random.Generator
    ) -> Begin:
        return partial(
            backward_euler,
            oracle,
            step_size=step_size,
            batch_size=batch_size,
            averaging=self.averaging,
            decay=self.decay,
            n_inner=self.n_inner,
            rng=rng,
        )

    def _verdict(self, oracle: Oracle, ended: Run, moments: Moments) -> StopReason:
        """Why the run ended; warns if it diverged or if clusters are empty."""
        problem, empty = "", moments.counts == 0
        if ended.stop_reason is StopReason.DIVERGED:
            problem = "The centers diverged; those of the previous step are kept."
        elif empty.any():
            mean = oracle.mean()
            radius = oracle.farthest(mean[None, :], 1).distances[0]
            lost = int(np.sum(empty & (np.sum((self.cluster_centers_ - mean) ** 2, axis=1) > radius)))
            if lost:
                problem = f"{lost} of {self.n_clusters} centers were moved out of the data."
            else:
                self._warn_of_duplicates(moments)
        if not problem:
            return ended.stop_reason
        warnings.warn(
            f"{problem} The step size {self._first_step():g} is too large for clusters of such different sizes; "
            "use EulerMeans, which limits its steps, or a smaller step_size.",
            DivergenceWarning,
            stacklevel=4,
        )
        return StopReason.DIVERGED

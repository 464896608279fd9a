"""`certify`: how far from the optimum a clustering can be at most."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from ..estimators import EulerMeans
from ..oracles import MemoryOracle, Oracle
from ..plot.fitted_model import as_fitted_model
from .certificate_record import BoundStep, Certificate
from .methods import Task, improve
from .parts import Clock

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..arrays import FloatArray

DEFAULT_CONFIDENCE = 0.99  # for data that can't be held in memory, if none is given


def certify(
    X: object,
    model_or_centers: BaseEstimator | ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    max_time: float = 60,
    confidence: float | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_threads: int | None = None,
    on_progress: Callable[[BoundStep], object] | None = None,
) -> Certificate:
    """Find out how far from the optimum a clustering of X can be at most.

    A lower bound on the inertia of any K clusters is computed and improved until it meets the inertia of the given
    centers, until nothing more is gained, or until the time is up. It holds for any clustering, whoever found it.

    Parameters
    ----------
    X : anything that `EulerMeans.fit` takes
        The data. If they do not fit in half of the model's `memory_limit` (1 GiB), they are sampled.
    model_or_centers : fitted estimator, or array of shape (n_clusters, n_features)
        A model with `cluster_centers_`, such as `EulerMeans` or scikit-learn's `KMeans`, or the centers
        themselves. A model with metric="cosine" is compared with the best unit centers.
    sample_weight : array of shape (n_samples,), default=None
        The weight of each row.
    max_time : float, default=60
        Seconds after which the best bound so far is returned. Ctrl-C does the same at once.
    confidence : float between 0 and 1, or None, default=None
        None: the bound is proven. A number such as 0.99: if the data are too large to prove a good bound, it is
        computed from random samples, and holds with this probability. Data that do not fit in memory are always
        sampled, with 0.99 if None is given.
    random_state : int, RandomState or None, default=None
        The source of all randomness.
    n_threads : int or None, default=None
        Number of threads. Unless the time runs out, the bound has the same bits for any number.
    on_progress : callable, default=None
        Called with a `BoundStep` whenever the bound is improved.

    Returns
    -------
    Certificate
        `lower_bound`, `inertia`, `gap`, `proven`, `confidence`, `method`, `history`; `str()` gives a sentence.

    Examples
    --------
    >>> from eulermeans import EulerMeans, certify
    >>> from eulermeans.datasets import iris
    >>> X = iris()
    >>> model = EulerMeans(2, random_state=0).fit(X)
    >>> certificate = certify(X, model, max_time=30, random_state=0)
    >>> certificate.excess < 0.01  # proven: less than 1 % above the best two clusters
    True
    """
    _check(max_time, confidence, n_threads)
    centers, metric = _clustering(model_or_centers)
    memory_limit = getattr(model_or_centers, "memory_limit", EulerMeans.memory_limit)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
    estimator = EulerMeans(
        len(centers),
        metric="cosine" if metric == "cosine" else "euclidean",
        memory_limit=memory_limit,
        n_threads=n_threads,
    )
    clock = Clock(max_time)
    oracle = estimator._oracle_to_fit(X, sample_weight, rng)
    if centers.shape[1] != oracle.n_features:
        raise ValueError(f"The centers have {centers.shape[1]} features, but X has {oracle.n_features}.")
    if confidence is None and not isinstance(oracle, MemoryOracle):
        confidence = DEFAULT_CONFIDENCE
    inertia = oracle.full(centers).cost
    log = BoundLog(clock, on_progress)
    log.add(0.0, "no bound yet")
    interrupted = False
    try:
        with threadpool_limits(1, user_api="blas"):  # the same bits, however many threads the machine has
            improve(Task(oracle, centers, inertia, clock, confidence, rng, n_threads), log)
    except KeyboardInterrupt:
        interrupted = True
    return _certificate(oracle, len(centers), inertia, log, interrupted=interrupted)


@dataclass
class BoundLog:
    """The best bound so far, and its history."""

    clock: Clock
    on_progress: Callable[[BoundStep], object] | None
    best: float = -1.0
    method: str = ""
    confidence: float | None = None
    history: list[BoundStep] = field(default_factory=list)

    def add(self, bound: float, method: str, confidence: float | None = None) -> None:
        """A valid bound; kept if it is the best, or if it is as good and proven."""
        proves = bound == self.best and confidence is None and self.confidence is not None
        if not (bound > self.best or proves):
            return
        self.best, self.method, self.confidence = bound, method, confidence
        step = BoundStep(self.clock.elapsed, bound)
        self.history.append(step)
        if self.on_progress is not None:
            self.on_progress(step)


def _certificate(
    oracle: Oracle, n_clusters: int, inertia: float, log: BoundLog, *, interrupted: bool
) -> Certificate:
    return Certificate(
        lower_bound=log.best,
        inertia=inertia,
        proven=log.confidence is None,
        confidence=log.confidence,
        method=log.method,
        n_clusters=n_clusters,
        n_points=oracle.n_points,
        seconds=log.clock.elapsed,
        interrupted=interrupted,
        history=tuple(log.history),
    )


def _clustering(model_or_centers: BaseEstimator | ArrayLike) -> tuple[FloatArray, str]:
    """Centers, (n_clusters, n_features), and the metric."""
    if hasattr(model_or_centers, "fit") or hasattr(model_or_centers, "cluster_centers_"):
        fitted = as_fitted_model(model_or_centers)
        if fitted.scalers:
            raise TypeError(
                "a pipeline can't be certified as a whole: give the rows as the scalers transform them, and the "
                "last step of the pipeline as the model."
            )
        return fitted.centers, fitted.metric
    centers = np.array(model_or_centers, dtype=np.float64)
    if centers.ndim != 2 or not centers.size:
        raise ValueError(f"the centers have shape {centers.shape}; expected (n_clusters, n_features).")
    if not np.isfinite(centers).all():
        raise ValueError("the centers contain NaN or infinity.")
    return centers, "euclidean"


def _check(max_time: float, confidence: float | None, n_threads: int | None) -> None:
    if isinstance(max_time, bool) or not isinstance(max_time, Real) or not max_time > 0 or math.isinf(max_time):
        raise ValueError(f"max_time must be a positive number of seconds; got {max_time!r}.")
    if confidence is not None and not (isinstance(confidence, Real) and 0 < confidence < 1):
        raise ValueError(f"confidence must be between 0 and 1, such as 0.99, or None; got {confidence!r}.")
    if n_threads is not None and (not isinstance(n_threads, Integral) or n_threads < 1):
        raise ValueError(f"n_threads must be an integer from 1 on, or None; got {n_threads!r}.")

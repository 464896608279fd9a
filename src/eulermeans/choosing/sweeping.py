"""The sweep: every K of a range in turn, with as little work as the K before leaves to do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..estimators import EulerMeans
from ..oracles import MemoryOracle, as_oracle
from .criteria import Silhouettes, compactness
from .fitting import Chain, Clock
from .halves import Halves
from .records import Row, Sweep
from .rule import recommend

SAMPLE, SAMPLE_PER_CLUSTER = 100_000, 1000  # rows that are taken of data that are not in memory: more would not
# change which K is taken
PAIRS, ROWS_OF_PAIRS = (3, 10), 4000  # where rows are few, much depends on how they are halved
HALF_PER_CLUSTER = 100  # rows of a half, at least, for each cluster: fewer would not tell clusters from noise


def sweep(
    X: Any,
    n_clusters: str | Iterable[int] = range(2, 21),
    *,
    sample_weight: ArrayLike | None = None,
    estimator: EulerMeans | None = None,
    n_restarts: int | None = None,
    sample_size: int = 2000,
    random_state: Any = None,
    max_time: float | None = None,
    n_threads: int | None = None,
    on_result: Callable[[Row], object] | None = None,
) -> Sweep:
    """Cluster X with every K of a range, and say which K to take and why.

    Parameters
    ----------
    X : whatever `EulerMeans.fit` takes
    n_clusters : range, list of int, or str, default=range(2, 21)
        The K to try. As a string "2:20" means 2 to 20, "2:20:3" every third of them, "2,4,8" those three.
    sample_weight : array of shape (n_samples,), default=None
    estimator : EulerMeans, default=None
        Its parameters are those of every fit; None means `EulerMeans()`.
    n_restarts : int or None, default=None
        How many pairs of separate halves are clustered with each K to see whether clusters come out again. None
        means 3, and up to 10 where the rows are few.
    sample_size : int, default=2000
        Rows that the silhouette looks at, and that a half has (more if there are many clusters).
    random_state : int, RandomState or None, default=None
        The source of all randomness.
    max_time : float or None, default=None
        Seconds after which no further K is begun; those left out are named in `skipped`.
    n_threads : int or None, default=None
        Threads of the kernels.
    on_result : callable, default=None
        Called with the `Row` of each K as soon as it is known.

    Returns
    -------
    Sweep
        `recommended`, `confidence` and `reason`; `rows`, one for each K; `models`, fitted; `plot()`; `to_frame()`.
        Of data that are not in memory a large sample is clustered: `n_points` says how many rows.
    """
    tried = ks(n_clusters)
    _check_counts(n_restarts=3 if n_restarts is None else n_restarts, sample_size=sample_size)
    if max_time is not None and not max_time > 0:
        raise ValueError(f"max_time must be a positive number of seconds, or None; got {max_time!r}.")
    if not (estimator is None or isinstance(estimator, EulerMeans)):
        raise TypeError(f"estimator must be an EulerMeans, or None for one with its defaults; got {estimator!r}.")
    clock = Clock(time.perf_counter(), max_time)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
    base = clone(EulerMeans() if estimator is None else estimator).set_params(n_clusters=tried[-1])
    if n_threads is not None:
        base.set_params(n_threads=n_threads)
    rows = _rows_at_hand(base, X, sample_weight, rng)
    judge = _Judge(rows, base, n_restarts, sample_size, rng)
    found: list[Row] = []
    models: dict[int, Any] = {}
    for k in tried:
        if found and clock.over:
            break
        row, models[k] = judge.row(k, clock)
        found.append(row)
        if on_result is not None:
            on_result(row)
    advice = recommend(found)
    return Sweep(
        rows=tuple(found),
        recommended=advice.n_clusters,
        confidence=advice.confidence,
        reason=advice.reason,
        models=models,
        n_points=rows.n_points,
        skipped=tuple(tried[len(found) :]),
    )


def _rows_at_hand(base: EulerMeans, X: Any, sample_weight: Any, rng: np.random.Generator) -> MemoryOracle:
    """The rows as the estimator measures them, or a sample of them where they are not all in memory."""
    oracle = base._oracle_to_fit(X, sample_weight, rng)
    at_hand: Any = oracle.at_hand
    if at_hand is None or at_hand.n_points < oracle.n_points:
        at_hand = oracle.sample(max(SAMPLE, SAMPLE_PER_CLUSTER * base.n_clusters), rng)
    rows = as_oracle(at_hand.points, at_hand.weights, n_threads=base.n_threads)
    assert isinstance(rows, MemoryOracle)
    return rows


class _Judge:
    """Fits and judges one K after the other; holds what they share."""

    def __init__(
        self,
        rows: MemoryOracle,
        base: EulerMeans,
        n_pairs: int | None,
        sample_size: int,
        rng: np.random.Generator,
    ) -> None:
        self._rows, self._base = rows, base
        self._sample = rows.sample(sample_size, rng)
        self._silhouettes = Silhouettes(self._sample)
        half = max(sample_size, HALF_PER_CLUSTER * base.n_clusters)
        if n_pairs is None:
            n_pairs = int(np.clip(ROWS_OF_PAIRS // rows.n_points, *PAIRS))
        self._halves = Halves(rows, n_pairs, half, self._sample, base, rng)
        self._chain = Chain(rows, self._sample, base, rng)

    def row(self, n_clusters: int, clock: Clock) -> tuple[Row, EulerMeans]:
        start, points_read, n_distances = time.perf_counter(), *self._work
        model = self._chain.fit(n_clusters, clock)
        if hasattr(self._base, "feature_names_in_"):
            model.feature_names_in_ = self._base.feature_names_in_
        centers = model.cluster_centers_.astype(np.float64)
        compact = compactness(self._rows, centers)
        confirmed = self._halves.at(n_clusters, clock)
        row = Row(
            n_clusters=n_clusters,
            objective=model.objective_,
            inertia=model.inertia_,
            silhouette=self._silhouettes.mean(self._sample.label(centers).labels, n_clusters),
            calinski_harabasz=compact.calinski_harabasz,
            davies_bouldin=compact.davies_bouldin,
            stability=confirmed.stability,
            strength=confirmed.strength,
            valley=confirmed.valley,
            smallest=compact.smallest,
            seconds=time.perf_counter() - start,
            points_read=self._work[0] - points_read,
            n_distances=self._work[1] - n_distances,
        )
        return row, model

    @property
    def _work(self) -> tuple[int, int]:
        """Points read and distances computed by all fits so far."""
        chain, halves = self._chain, self._halves
        return chain.points_read + halves.points_read, chain.n_distances + halves.n_distances


def ks(given: str | Iterable[int]) -> list[int]:
    """The K to try, in rising order and none twice."""
    wrong = ValueError(
        f"n_clusters must name K from 1 on: a range, a list of integers, or a string such as '2:20', '2:20:3' or "
        f"'2,4,8'; got {given!r}."
    )
    values: list[Any]
    if isinstance(given, str):
        try:
            values = [k for part in given.split(",") for k in _range(part)]
        except ValueError:
            raise wrong from None
    elif isinstance(given, Iterable):
        values = list(given)
    else:
        raise wrong
    if not values or not all(isinstance(k, Integral) and not isinstance(k, bool) and int(k) >= 1 for k in values):
        raise wrong
    return sorted({int(k) for k in values})


def _range(part: str) -> range:
    """What "7", "2:20" and "2:20:3" mean; the end is included."""
    first, last, step = ([int(number) for number in part.split(":")] + [0, 0])[:3]
    if part.count(":") == 0:
        return range(first, first + 1)
    if part.count(":") > 2 or (part.count(":") == 2 and step < 1):
        raise ValueError
    return range(first, last + 1, step or 1)


def _check_counts(**given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be an integer from 1 on; got {value!r}.")

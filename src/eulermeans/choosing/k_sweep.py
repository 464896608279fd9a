"""The sweep: fit and measure every K of a range; each K builds on the fit of the one before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..estimators import EulerMeans
from ..oracles import MemoryOracle
from .criteria import Silhouettes, compactness
from .recommendation import recommend
from .sweep_fits import Budget, SplitHalves, WarmStartedFits
from .sweep_result import Row, Sweep

SAMPLE = 100_000  # rows sampled from data that are not in memory; more would not change which K is chosen
SAMPLE_PER_CLUSTER = 1000  # the sample has at least this many rows per cluster
FEWEST_PAIRS, MOST_PAIRS = 3, 10  # pairs of halves; results on few rows depend on how they are halved
ROWS_OF_PAIRS = 4000  # the number of pairs is this over the number of rows, within the limits above
HALF_PER_CLUSTER = 100  # rows of a half per cluster; with fewer, clusters can't be told from noise


def sweep(
    X: Any,
    n_clusters: str | Iterable[int] = range(2, 21),
    *,
    sample_weight: ArrayLike | None = None,
    estimator: EulerMeans | None = None,
    n_restarts: int | None = None,
    sample_size: int = 2000,
    random_state: int | np.random.RandomState | None = None,
    max_time: float | None = None,
    n_threads: int | None = None,
    on_result: Callable[[Row], object] | None = None,
) -> Sweep:
    """Cluster X with every K of a range, and recommend a K with the reasons for it.

    Parameters
    ----------
    X : anything that `EulerMeans.fit` takes
        The rows to cluster.
    n_clusters : range, list of int, or str, default=range(2, 21)
        The values of K to try. As a string: "2:20" means 2 to 20, "2:20:3" every third, "2,4,8" these three.
    sample_weight : array of shape (n_samples,), default=None
        The weight of each row.
    estimator : EulerMeans, default=None
        Its parameters are used for every fit; None means `EulerMeans()`.
    n_restarts : int or None, default=None
        How many pairs of separate halves are clustered with each K, to see whether clusters are found again. None
        means 3, and up to 10 if there are few rows.
    sample_size : int, default=2000
        Number of rows for the silhouette, and of each half (more if there are many clusters).
    random_state : int, RandomState or None, default=None
        The source of all randomness.
    max_time : float or None, default=None
        Seconds after which no further K is started; those left out are listed in `skipped`.
    n_threads : int or None, default=None
        Number of threads of the kernels.
    on_result : callable, default=None
        Called with the `Row` of each K as soon as it is known.

    Returns
    -------
    Sweep
        `recommended`, `confidence` and `reason`; `rows`, one for each K; `models`, fitted; `plot()`; `to_frame()`.
        If the data are not in memory, a large sample is clustered: `n_points` is its number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from eulermeans import sweep
    >>> rng = np.random.default_rng(0)
    >>> corners = np.array([[0, 0], [9, 0], [0, 9]])
    >>> X = corners[rng.integers(3, size=300)] + rng.standard_normal((300, 2))
    >>> found = sweep(X, "2:5", random_state=0)
    >>> found.recommended, str(found.confidence)
    (3, 'high')
    """
    tried = k_values(n_clusters)
    counts = {"n_restarts": FEWEST_PAIRS if n_restarts is None else n_restarts, "sample_size": sample_size}
    for name, value in counts.items():
        if not _is_positive_integer(value):
            raise ValueError(f"{name} must be an integer from 1 on; got {value!r}.")
    if max_time is not None and not max_time > 0:
        raise ValueError(f"max_time must be a positive number of seconds, or None; got {max_time!r}.")
    if not (estimator is None or isinstance(estimator, EulerMeans)):
        raise TypeError(f"estimator must be an EulerMeans, or None for one with its defaults; got {estimator!r}.")
    budget = Budget(max_time)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
    base = clone(EulerMeans() if estimator is None else estimator).set_params(n_clusters=tried[-1])
    if n_threads is not None:
        base.set_params(n_threads=n_threads)
    rows = _rows_in_memory(base, X, sample_weight, rng)
    if n_restarts is None:
        n_restarts = int(np.clip(ROWS_OF_PAIRS // rows.n_points, FEWEST_PAIRS, MOST_PAIRS))
    fits = WarmStartedFits(rows, rows.sample(sample_size, rng), base, budget, rng)
    halves = SplitHalves(fits, n_restarts, max(sample_size, HALF_PER_CLUSTER * base.n_clusters))
    silhouettes = Silhouettes(fits.candidates)
    found: list[Row] = []
    models: dict[int, EulerMeans] = {}
    for k in tried:
        if found and budget.used_up:
            break
        row, models[k] = _evaluate(k, fits, halves, silhouettes)
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


def _rows_in_memory(base: EulerMeans, X: Any, sample_weight: ArrayLike | None, rng: Generator) -> MemoryOracle:
    """The rows as the estimator measures them, or a sample of them if they are not all in memory."""
    oracle = base._oracle_to_fit(X, sample_weight, rng)
    at_hand = oracle.at_hand
    if at_hand is None or at_hand.n_points < oracle.n_points:
        at_hand = oracle.sample(max(SAMPLE, SAMPLE_PER_CLUSTER * base.n_clusters), rng)
    return MemoryOracle(at_hand.points)


def _evaluate(
    n_clusters: int, fits: WarmStartedFits, halves: SplitHalves, silhouettes: Silhouettes
) -> tuple[Row, EulerMeans]:
    """The measurements and the model for this K."""
    start, budget = time.perf_counter(), fits.budget
    points_read, n_distances = budget.points_read, budget.n_distances
    model = fits.fit(n_clusters)
    if hasattr(fits.estimator, "feature_names_in_"):
        model.feature_names_in_ = fits.estimator.feature_names_in_
    centers = model.cluster_centers_.astype(np.float64)
    measured = asdict(compactness(fits.rows, centers)) | asdict(halves.measure(n_clusters))
    row = Row(
        n_clusters=n_clusters,
        objective=model.objective_,
        inertia=model.inertia_,
        silhouette=silhouettes.mean(fits.candidates.label(centers).labels, n_clusters),
        **measured,
        seconds=time.perf_counter() - start,
        points_read=budget.points_read - points_read,
        n_distances=budget.n_distances - n_distances,
    )
    return row, model


def k_values(given: str | Iterable[int]) -> list[int]:
    """The values of K to try, sorted and without repeats."""
    try:
        parts = map(_parse_range, given.split(",")) if isinstance(given, str) else [given]
        values = [k for part in parts for k in part]
    except (TypeError, ValueError):
        values = []
    if not values or not all(map(_is_positive_integer, values)):
        raise ValueError(
            "n_clusters must be values of K from 1 on: a range, a list of integers, or a string such as '2:20', "
            f"'2:20:3' or '2,4,8'; got {given!r}."
        )
    return sorted({int(k) for k in values})


def _parse_range(part: str) -> range:
    """What "7", "2:20" and "2:20:3" mean; the end is included."""
    first, last, step = ([int(number) for number in part.split(":")] + [0, 0])[:3]
    if part.count(":") == 0:
        return range(first, first + 1)
    if part.count(":") > 2 or (part.count(":") == 2 and step < 1):
        raise ValueError
    return range(first, last + 1, step or 1)


def _is_positive_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1

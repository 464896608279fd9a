"""The fits of a sweep: of all rows and of halves, for one K after the other, each from the centers of the last.

Halves show whether clusters are found again: what k-means finds in one half is partly the noise of that half; what
the other half confirms is not.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array, FloatArray
from ..estimators import EulerMeans
from ..oracles import MemoryOracle
from ..seeding import add_centers
from .criteria import border_density, unit_mean_weights

WARM_EFFORT = 0.5  # fraction of the effort that a search needs when it starts from good centers
CANDIDATES = 5  # positions tried for each new center


@dataclass
class Budget:
    """Shared by all fits of a sweep: the time limit, and a count of the work done."""

    max_time: float | None  # seconds
    start: float = field(default_factory=time.perf_counter)
    points_read: int = 0
    n_distances: int = 0

    @property
    def seconds_left(self) -> float | None:
        """At least a millisecond, so that a fit that was started returns a model; None without a limit."""
        if self.max_time is None:
            return None
        return max(1e-3, self.max_time - (time.perf_counter() - self.start))

    @property
    def used_up(self) -> bool:
        """Whether the time limit, if there is one, is reached."""
        return self.max_time is not None and time.perf_counter() - self.start >= self.max_time


@dataclass
class WarmStartedFits:
    """Fits the same rows for one K after the other, in ascending order."""

    rows: MemoryOracle
    candidates: MemoryOracle  # a sample of the rows, or all of them: new centers are chosen from these
    estimator: EulerMeans
    budget: Budget
    rng: np.random.Generator
    _centers: FloatArray | None = None  # of the previous K

    def fit(self, n_clusters: int, *, quiet: bool = False) -> EulerMeans:
        """The model for this K. `quiet` suppresses the warning about too few distinct rows."""
        model: EulerMeans = clone(self.estimator).set_params(
            n_clusters=n_clusters, random_state=int(self.rng.integers(2**31)), max_time=self.budget.seconds_left
        )
        if self._centers is not None:
            weights = unit_mean_weights(self.candidates)
            init = add_centers(
                self.candidates, self._centers, n_clusters, self.rng, weights=weights, n_candidates=CANDIDATES
            )
            model.set_params(init=init, n_init=1, effort=WARM_EFFORT * model.effort)
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.rows.points.stored, sample_weight=self.rows.points.weights)
        model.set_params(**{name: self.estimator.get_params()[name] for name in ("init", "n_init", "effort")})
        self._centers = model.cluster_centers_.astype(np.float64)
        self.budget.points_read += sum(record.points_read for record in model.history_)
        self.budget.n_distances += sum(record.n_distances for record in model.history_)
        return model


@dataclass(frozen=True)
class Stability:
    """The stability at one K. NaN if a half has fewer rows than clusters."""

    stability: float  # mean adjusted Rand index between the halves of a pair
    strength: float  # median prediction strength over all halves
    valley: float  # median density at the worst border over all halves


class SplitHalves:
    """Pairs of disjoint halves of samples; each half has its own warm-started fits."""

    def __init__(self, fits: WarmStartedFits, n_pairs: int, half_size: int) -> None:
        self._common = fits.candidates  # all halves label these rows, to compare the labels
        self._pairs: list[list[WarmStartedFits]] = []
        labeling = clone(fits.estimator).set_params(compute_labels=True)
        for _ in range(n_pairs):
            sample = fits.rows.sample(2 * half_size, fits.rng)
            order = fits.rng.permutation(sample.n_points)
            halves = [MemoryOracle(sample.points.take(np.sort(half))) for half in np.array_split(order, 2)]
            self._pairs.append([WarmStartedFits(half, half, labeling, fits.budget, fits.rng) for half in halves])

    def measure(self, n_clusters: int) -> Stability:
        """Fit all halves with this K, and compare each with the other half of its pair."""
        if min(fits.rows.n_points for pair in self._pairs for fits in pair) < n_clusters or n_clusters < 2:
            return Stability(np.nan, np.nan, np.nan)
        indices, strengths, valleys = [], [], []
        for pair in self._pairs:
            models = [fits.fit(n_clusters, quiet=True) for fits in pair]
            one, other = (model.predict(self._common.points.stored) for model in models)
            indices.append(adjusted_rand(one, other, unit_mean_weights(self._common)))
            for model, judge, unseen in zip(models, models[::-1], (fits.rows for fits in pair[::-1]), strict=True):
                own, given = np.asarray(judge.labels_), model.predict(unseen.points.stored)
                strengths.append(prediction_strength(own, given, unit_mean_weights(unseen), n_clusters))
                valleys.append(border_density(unseen, model.cluster_centers_.astype(np.float64)))
        return Stability(float(np.mean(indices)), float(np.median(strengths)), float(np.median(valleys)))


def adjusted_rand(
    one: Array,  # (n_points,) labels, IN
    other: Array,  # (n_points,) labels, IN
    weights: FloatArray,  # (n_points,), IN
) -> float:
    """The adjusted Rand index: 1 for the same clusters, about 0 for unrelated labels."""
    in_one, in_other = _pair_weights(one, weights).sum(), _pair_weights(other, weights).sum()
    in_both = _pair_weights(_combined_labels(one, other), weights).sum()
    expected = in_one * in_other / (weights.sum() ** 2 - np.sum(weights**2))
    most = (in_one + in_other) / 2
    return 1.0 if most <= expected else float((in_both - expected) / (most - expected))


def prediction_strength(
    own: Array,  # (n_points,) labels by the clusters found in these points, IN
    given: Array,  # (n_points,) labels by clusters found in other points, IN
    weights: FloatArray,  # (n_points,), IN
    n_clusters: int,
) -> float:
    """Prediction strength (Tibshirani and Walther, 2005): that of the worst of the own clusters.

    It is the fraction of the cluster's pairs of points that the given labels also put together. A cluster without
    a pair counts as 0.
    """
    together = _pair_weights(own, weights, n_clusters)
    kept_by_combination = _pair_weights(_combined_labels(own, given), weights)
    own_label = np.arange(len(kept_by_combination)) // (int(given.max()) + 1)
    kept = np.bincount(own_label, kept_by_combination, n_clusters)
    return float(np.divide(kept, together, out=np.zeros(n_clusters), where=together > 0).min())


def _combined_labels(one: Array, other: Array) -> Array:
    """One label for each combination of two, (n_points,)."""
    combined: Array = one.astype(np.intp) * (int(other.max()) + 1) + other
    return combined


def _pair_weights(labels: Array, weights: FloatArray, n_labels: int = 0) -> FloatArray:
    """The weight of the ordered pairs of points with each label: n (n − 1) if every point weighs one."""
    total, self_pairs = np.bincount(labels, weights, n_labels), np.bincount(labels, weights**2, n_labels)
    pairs: FloatArray = total.astype(np.float64) ** 2 - self_pairs
    return pairs

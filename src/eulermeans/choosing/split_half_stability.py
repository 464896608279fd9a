"""Whether clusters are found again: separate halves of a sample are clustered, and each is judged on the other.

What k-means finds in one half is partly the noise of that half. What the other half confirms is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from ..arrays import Array, FloatArray
from ..estimators import EulerMeans
from ..oracles import MemoryOracle
from .criteria import border_density, select_rows, unit_mean_weights
from .warm_start import Budget, WarmStartedFits


@dataclass(frozen=True)
class Stability:
    """The stability at one K. NaN if a half has fewer rows than clusters."""

    stability: float  # mean adjusted Rand index between the halves of a pair
    strength: float  # median prediction strength over all halves
    valley: float  # median density at the worst border over all halves


class SplitHalves:
    """Pairs of disjoint halves of samples; each half has its own warm-started fits."""

    def __init__(
        self,
        rows: MemoryOracle,
        n_pairs: int,
        half_size: int,
        common: MemoryOracle,  # rows that all fits label, to compare the labels
        estimator: EulerMeans,
        budget: Budget,
        rng: np.random.Generator,
    ) -> None:
        self._common = common
        self._pairs: list[list[WarmStartedFits]] = []
        for _ in range(n_pairs):
            sample = rows.sample(2 * half_size, rng)
            order = rng.permutation(sample.n_points)
            halves = [select_rows(sample, np.sort(half)) for half in np.array_split(order, 2)]
            labeling = clone(estimator).set_params(compute_labels=True)
            self._pairs.append([WarmStartedFits(half, half, labeling, budget, rng) for half in halves])

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
                given = model.predict(unseen.points.stored)
                strength = prediction_strength(
                    np.asarray(judge.labels_), given, unit_mean_weights(unseen), n_clusters
                )
                strengths.append(strength)
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

"""How well the clusters are found again when parts of the data are clustered anew, from other seeds."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..arrays import FloatArray
from ..choosing.sweep_fits import adjusted_rand
from ..estimators import EulerMeans
from ..plot.fitted_model import FittedModel
from .report_records import Sample, Stability

REFITS = 4
MOST_CLUSTERS = 200
ROWS_PER_CLUSTER = 4  # of the sample; with fewer, clusters cannot be found again
HALF_ROWS, HALF_PER_CLUSTER = 2000, 100  # a half has at least the larger of the two, if there are so many rows
WORK = 2e8  # rows times features times clusters; more rows than that are not clustered anew


def measure_stability(model: FittedModel, sample: Sample, rng: np.random.Generator) -> Stability | None:
    """Cluster random halves of the sample, and compare how all of the sample falls to the centers found.

    None for a single cluster, very many clusters, or too few rows.
    """
    n_rows, n_clusters = sample.points.shape[0], model.n_clusters
    if not 1 < n_clusters <= MOST_CLUSTERS or n_rows < ROWS_PER_CLUSTER * n_clusters:
        return None
    affordable = int(WORK / (n_clusters * sample.points.shape[1]))
    half = min(n_rows // 2, max(HALF_ROWS, HALF_PER_CLUSTER * n_clusters, affordable))
    indices, overlaps = [], []
    for _ in range(REFITS):
        labels = _refit(model, sample, np.sort(rng.choice(n_rows, half, replace=False)), rng)
        indices.append(adjusted_rand(sample.labels, labels, np.ones(n_rows)))
        overlaps.append(best_overlaps(sample.labels, labels, n_clusters))
    return Stability(max(0.0, float(np.mean(indices))), np.mean(overlaps, axis=0), REFITS, half)


def _refit(
    model: FittedModel, sample: Sample, rows: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.int32]:
    """The labels of the whole sample by centers found in these rows of it."""
    estimator = EulerMeans(
        model.n_clusters,
        metric="cosine" if model.metric == "cosine" else "euclidean",
        random_state=int(rng.integers(2**31)),
        compute_labels=False,
        n_threads=getattr(model.estimator, "n_threads", None),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        estimator.fit(sample.points[rows])
    labels: NDArray[np.int32] = np.asarray(estimator.predict(sample.points))
    return labels


def best_overlaps(
    labels: NDArray[np.int32],  # (n_points,), IN
    others: NDArray[np.int32],  # (n_points,), IN
    n_clusters: int,
) -> FloatArray:
    """For each cluster, the largest Jaccard index with one of the other clusters, (n_clusters,).

    The Jaccard index is the number of points in both clusters, relative to that in either. NaN without points.
    """
    pairs = labels.astype(np.int64) * n_clusters + others
    both = np.bincount(pairs, minlength=n_clusters**2).reshape(n_clusters, n_clusters).astype(np.float64)
    own, other = both.sum(axis=1), both.sum(axis=0)
    either = own[:, None] + other - both
    jaccard = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    return np.where(own > 0, jaccard.max(axis=1), np.nan)

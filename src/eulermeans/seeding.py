"""Where centers start.

Knows how to choose centers with an oracle's help. Does not know how they will be improved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, FloatArray
from .oracles import InMemory, Oracle, draw

SMALLEST_SAMPLE = 20_000  # points that seeding looks at where the data are many,
SAMPLE_PER_CLUSTER = 100  # or this many a center if that is more,
SAMPLE_BYTES = 32 << 20  # but not more than this much memory,
FEWEST_PER_CLUSTER = 20  # unless that left too few a center
MEAN_NOISE = 1e-3  # of each feature's standard deviation


def seed_random(oracle: Oracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """`n_clusters` distinct data points, each as likely as its weight says."""
    sample = oracle.sample(n_clusters if oracle.unweighted else sample_size(oracle, n_clusters), rng)
    n = sample.n_points
    likelihoods = None if sample.weights is None else sample.weights / sample.weights.sum()
    rows = rng.choice(n, size=min(n, n_clusters), replace=False, p=likelihoods)
    # Fewer points with weight than clusters: some centers start together.
    return sample.rows(rows[np.arange(n_clusters) % len(rows)])


def seed_partition(oracle: Oracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """The means of the parts of a random partition of the data, which all lie near the data's mean.

    Where the data are many, a sample is partitioned, and its means are drawn in to the spread that means of
    n_points / n_clusters points have.
    """
    sample = oracle.sample(sample_size(oracle, n_clusters), rng)
    n = sample.n_points
    means = np.tile(oracle.mean(), (n_clusters, 1))
    for j, part in enumerate(np.array_split(rng.permutation(n), n_clusters)):
        if len(part):
            means[j] = sample.mean_of(part)
    drawn_in = np.sqrt(n / oracle.n_points)
    spread: FloatArray = oracle.mean() + drawn_in * (means - means.mean(axis=0))
    return spread


def seed_mean(oracle: Oracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """The data's mean, each time with a little noise of its own."""
    noise = MEAN_NOISE * np.sqrt(oracle.variance())
    return oracle.mean() + noise * rng.standard_normal((n_clusters, oracle.n_features))


def seed_plus_plus(oracle: Oracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Greedy k-means++ on a sample, or on all points if there are few."""
    sample = oracle.sample(sample_size(oracle, n_clusters), rng)
    weights = np.ones(sample.n_points) if sample.weights is None else sample.weights
    first = sample.rows(_draw(weights, 1, rng))
    return add_centers(sample, first, n_clusters, rng, weights=weights, n_candidates=2 + int(np.log(n_clusters)))


def add_centers(
    sample: InMemory,
    centers: FloatArray,  # (n_centers, n_features), IN
    n_clusters: int,
    rng: np.random.Generator,
    *,
    weights: FloatArray,  # (n_points,), IN
    n_candidates: int,
) -> FloatArray:
    """The given centers and new ones by greedy k-means++, (n_clusters, n_features).

    Each new center is the best of `n_candidates` points drawn with probability weight × squared distance so far.
    """
    nearest = sample.distances(centers).min(axis=1).astype(np.float64) ** 2
    while len(centers) < n_clusters:
        candidates = sample.rows(_draw(weights * nearest, n_candidates, rng))
        reduced = np.minimum(nearest[:, None], sample.distances(candidates).astype(np.float64) ** 2)
        best = int(np.argmin(weights @ reduced))
        centers, nearest = np.concatenate([centers, candidates[best : best + 1]]), reduced[:, best]
    return centers


def sample_size(oracle: Oracle, n_clusters: int) -> int:
    """How many points seeding looks at: enough for every cluster, and no more memory than it needs."""
    affordable = int(SAMPLE_BYTES / oracle.row_bytes)
    wanted = max(SMALLEST_SAMPLE, SAMPLE_PER_CLUSTER * n_clusters)
    return max(min(wanted, affordable), FEWEST_PER_CLUSTER * n_clusters)


def _draw(likelihoods: FloatArray, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices drawn as likely as said; uniformly where all likelihoods are zero (every point is a center)."""
    cumulative = np.cumsum(likelihoods)
    return draw(cumulative, size, rng) if cumulative[-1] > 0 else rng.integers(len(likelihoods), size=size)


SEEDS: dict[str, Callable[[Oracle, int, np.random.Generator], FloatArray]] = {
    "k-means++": seed_plus_plus,
    "random": seed_random,
    "partition": seed_partition,
    "mean": seed_mean,
}


def seed(
    init: str | Array | Callable[..., Any],
    oracle: Oracle,
    n_clusters: int,
    rng: np.random.Generator,
) -> FloatArray:
    """The first centers: by the name of a method or as given. `init` has been checked."""
    if isinstance(init, str):
        return SEEDS[init](oracle, n_clusters, rng)
    return np.array(init, dtype=np.float64)

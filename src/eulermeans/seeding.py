"""Initial centers, chosen with the help of an oracle. Does not know how they will be improved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, FloatArray
from .oracles import CenterDistances, MemoryOracle, Oracle, OutOfTime, indices_at

SMALLEST_SAMPLE = 20_000  # points in the sample that seeding reads
SAMPLE_PER_CLUSTER = 100  # points in the sample for each center, if that is more
SAMPLE_BYTES = 32 << 20  # memory limit for the sample
FEWEST_PER_CLUSTER = 20  # points in the sample for each center, whatever the memory limit
MOST_GREEDY = 300  # centers; with more, only one candidate is drawn for each: several would cost too much
DRAWN_TOGETHER = 1 / 16  # of the centers so far, where only one candidate is drawn for each
MEAN_NOISE = 1e-3  # noise of `seed_mean`, in standard deviations of each feature


@dataclass(frozen=True)
class Candidate:
    """A point chosen as a new center, and the cost with it."""

    point: FloatArray  # (n_features,)
    nearest: FloatArray  # (n_points,) squared distance of each point to its nearest center, including this one
    cost: float  # the weighted sum of `nearest`


def seed_random(oracle: Oracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """`n_clusters` distinct data points, drawn in proportion to their weights."""
    sample = oracle.sample(n_clusters if oracle.unweighted else sample_size(oracle, n_clusters), rng)
    n, weights = sample.n_points, sample.points.weights
    likelihoods = None if weights is None else weights / weights.sum()
    rows = rng.choice(n, size=min(n, n_clusters), replace=False, p=likelihoods)
    # If fewer points than clusters have weight, some centers start at the same point.
    return sample.points.dense(rows[np.arange(n_clusters) % len(rows)])


def seed_partition(oracle: Oracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """The means of the parts of a random partition, which all lie near the mean of the data.

    Large data is sampled, and the means are contracted to the spread that means of n_points / n_clusters points
    would have.
    """
    sample = oracle.sample(sample_size(oracle, n_clusters), rng)
    n = sample.n_points
    means = np.tile(oracle.mean(), (n_clusters, 1))
    for j, part in enumerate(np.array_split(rng.permutation(n), n_clusters)):
        if len(part):
            means[j] = sample.points.mean_of(part)
    contraction = np.sqrt(n / oracle.n_points)
    spread: FloatArray = oracle.mean() + contraction * (means - means.mean(axis=0))
    return spread


def seed_mean(oracle: Oracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """The mean of the data plus a little noise for each center."""
    noise = MEAN_NOISE * np.sqrt(oracle.variance())
    return oracle.mean() + noise * rng.standard_normal((n_clusters, oracle.n_features))


def seed_plus_plus(oracle: Oracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """k-means++ on a sample, or on all points if there are few; greedy unless there are many centers."""
    sample = oracle.sample(sample_size(oracle, n_clusters), rng)
    weights = np.ones(sample.n_points) if sample.points.weights is None else sample.points.weights
    first = sample.points.dense(draw_in_proportion(weights, 1, rng))
    n_candidates = 1 if n_clusters > MOST_GREEDY else 2 + int(np.log(n_clusters))
    return add_centers(sample, first, n_clusters, rng, weights=weights, n_candidates=n_candidates)


def add_centers(
    sample: MemoryOracle,
    centers: FloatArray,  # (n_centers, n_features), IN
    n_clusters: int,
    rng: np.random.Generator,
    *,
    weights: FloatArray,  # (n_points,), IN
    n_candidates: int,
) -> FloatArray:
    """The given centers plus new ones by greedy k-means++, (n_clusters, n_features).

    When the time is over, the rest are points drawn in proportion to their weights.
    """
    grown = np.empty((n_clusters, centers.shape[1]))
    grown[: len(centers)] = centers
    n_known = len(centers)
    try:
        for added in _additions(sample, centers, n_clusters, rng, weights, n_candidates):
            grown[n_known : n_known + len(added)] = added
            n_known += len(added)
    except OutOfTime:
        pass
    if n_known < n_clusters:
        grown[n_known:] = sample.points.dense(draw_in_proportion(weights, n_clusters - n_known, rng))
    return grown


def _additions(
    sample: MemoryOracle,
    centers: FloatArray,  # (n_centers, n_features), IN
    n_clusters: int,
    rng: np.random.Generator,
    weights: FloatArray,  # (n_points,), IN
    n_candidates: int,
) -> Iterator[FloatArray]:
    """New centers by greedy k-means++, one or several at a time, (n_added, n_features).

    With a single candidate for each center, several centers are drawn before distances are measured again: a pass
    for many centers takes far less time than as many passes.
    """
    n_known, labeling = len(centers), sample.label(centers, nearest=True)
    nearest = labeling.nearest
    assert nearest is not None
    if n_candidates > 1:
        numbers = rng.random((n_clusters - n_known, n_candidates))
        compiled = sample.points.seed_greedily(sample.project(centers), labeling.labels, nearest, numbers)
        if compiled is not None:
            yield compiled
            return
        # The same with all distances measured. Points are drawn cluster after cluster, the newest last, as there.
        order = np.argsort(labeling.labels, kind="stable")
        for of_center in numbers:
            rows = order[_places((weights * nearest)[order], of_center)]
            best = best_candidate(sample, weights, nearest, rows)
            yield best.point[None]
            gone = (best.nearest < nearest)[order]
            order, nearest = np.concatenate([order[~gone], order[gone]]), best.nearest
        return
    while n_known < n_clusters:
        size = min(max(1, int(DRAWN_TOGETHER * n_known)), n_clusters - n_known)
        added = sample.points.dense(np.unique(draw_in_proportion(weights * nearest, size, rng)))
        nearest = np.minimum(nearest, nearest_distances(sample, added))
        yield added
        n_known += len(added)


def best_candidate(
    sample: MemoryOracle,
    weights: FloatArray,  # (n_points,), IN
    nearest: FloatArray,  # (n_points,) squared distance to the nearest center so far, IN
    rows: NDArray[np.int64],  # (n_candidates,) the points that may become a center, IN
) -> Candidate:
    """The best next center of a few points."""
    candidates = sample.points.dense(rows)
    reduced = squared_distances(sample, candidates)
    np.minimum(nearest[:, None], reduced, out=reduced)
    costs = weights @ reduced
    best = int(np.argmin(costs))
    return Candidate(candidates[best], reduced[:, best], float(costs[best]))


def squared_distances(sample: MemoryOracle, centers: FloatArray) -> FloatArray:
    """The squared distance of every point to every center, (n_points, n_centers)."""
    distances = sample.ask(CenterDistances(centers))
    squared: FloatArray = np.multiply(distances, distances, dtype=np.float64)
    return squared


def nearest_distances(sample: MemoryOracle, centers: FloatArray) -> FloatArray:
    """The squared distance of every point to the nearest of these centers, (n_points,)."""
    nearest = sample.label(centers, nearest=True).nearest
    assert nearest is not None
    return nearest


def sample_size(oracle: Oracle, n_clusters: int) -> int:
    """How many points seeding reads: enough for every cluster, within the memory limit if possible."""
    affordable = int(SAMPLE_BYTES / oracle.row_bytes)
    wanted = max(SMALLEST_SAMPLE, SAMPLE_PER_CLUSTER * n_clusters)
    return max(min(wanted, affordable), FEWEST_PER_CLUSTER * n_clusters)


def draw_in_proportion(likelihoods: FloatArray, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw indices in proportion to likelihoods; uniformly if all are zero (each point is a center)."""
    return _places(likelihoods, rng.random(size))


def _places(likelihoods: FloatArray, numbers: FloatArray) -> NDArray[np.int64]:
    """The indices that numbers from 0 up to 1 draw, in proportion to likelihoods; uniformly if all are zero."""
    cumulative = np.cumsum(likelihoods)
    if not cumulative[-1] > 0:
        return (numbers * len(likelihoods)).astype(np.int64)
    return indices_at(numbers * cumulative[-1], cumulative)


SEEDS: dict[str, Callable[[Oracle, int, np.random.Generator], FloatArray]] = {
    "k-means++": seed_plus_plus,
    "random": seed_random,
    "partition": seed_partition,
    "mean": seed_mean,
}


def seed(init: str | Array, oracle: Oracle, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """The initial centers: by a method's name, or as given; random points when the time is over.

    `init` has been checked.
    """
    if isinstance(init, str):
        try:
            return SEEDS[init](oracle, n_clusters, rng)
        except OutOfTime:
            return seed_random(oracle, n_clusters, rng)
    return np.array(init, dtype=np.float64)

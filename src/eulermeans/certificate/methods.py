"""Which bound for which data: exact on a line, one relaxation, many parts, or random samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..oracles import MemoryOracle, Oracle, Points, memory_oracle
from .anticlusters import anticlusters
from .confidence import checkpoints, from_disjoint_parts, from_independent_samples
from .one_dimension import MOST_WORK, optimum_on_line
from .parts import Clock, PartBound, Parts, bounds_of
from .principal_components import MOST_FEATURES, Components, dense_blocks, principal_components
from .problem import merge_duplicates
from .random_samples import BLOCK_PARTS, sampled_parts
from .sphere_bound import on_sphere

CLOSED = 1e-5  # a gap that is as good as none
LARGEST_PROBLEM = 400  # distinct points in one relaxation
SMALLEST_PART, LARGEST_PART, PART_PER_CLUSTER = 100, 400, 20  # points in a part
N_AXES = 64  # axes along which the parts are balanced
LARGEST_PARTITION = 20_000_000  # values that are balanced over the parts of all data
LARGEST_MERGE = 1_000_000  # values that are searched for duplicates
FEWEST_SAMPLES, MOST_SAMPLES = 20, 400
MOST_BLOCKS = 200  # independent samples: each takes time to be balanced as well
NEARLY_ALL = 0.75  # of the parts: then all of them are bounded, for a proof
SECONDS_TO_BALANCE, SHARE_TO_BALANCE = 3e-5, 0.15  # for each point; of the time that is left
SECONDS_PER_PART = 0.35  # for a part of SIZE points: what makes its bound good
FEWEST_SECONDS = 0.03  # for a part of SIZE points: with less, parts are not worth a try
SIZE = 150
COST_SHARE = 4.0  # how much the costs of the points count when parts are balanced


class Log(Protocol):
    """Where bounds go."""

    best: float

    def add(self, bound: float, method: str, confidence: float | None = None) -> None:
        """A valid bound."""


@dataclass(frozen=True)
class Task:
    """What is to be certified."""

    oracle: Oracle
    centers: FloatArray  # (n_clusters, n_features)
    inertia: float
    clock: Clock
    confidence: float | None
    rng: np.random.Generator
    n_threads: int | None

    @property
    def n_clusters(self) -> int:
        """The number of centers."""
        return len(self.centers)

    @property
    def spherical(self) -> bool:
        """Whether centers are unit vectors."""
        return self.oracle.spherical

    @property
    def part_size(self) -> int:
        """How many points a part should have."""
        return int(np.clip(PART_PER_CLUSTER * self.n_clusters, SMALLEST_PART, LARGEST_PART))

    def seconds(self, seconds: float) -> float:
        """The time for a part, from that for a part of `SIZE` points: an iteration takes a cubic time."""
        return seconds * (self.part_size / SIZE) ** 3


def improve(task: Task, log: Log) -> None:
    """Find better and better bounds until one is good enough, nothing more is gained, or the time is up."""
    if not isinstance(task.oracle, MemoryOracle):
        _from_samples(task, task.oracle, log)
        return
    points = _with_weight(task.oracle.points)
    if points.n_features == 1 and points.n_points * task.n_clusters <= MOST_WORK and not task.spherical:
        rows = np.arange(points.n_points)
        log.add(optimum_on_line(points.dense(rows), points.weights, task.n_clusters), "exact, on a line")
        if log.best > 0:
            return
    if points.n_points <= LARGEST_PROBLEM:
        _whole(task, points, log)
        return
    components = _components(task, points, log)
    if _is_closed(task, log) or not task.clock.left:
        return
    n_values = points.n_points * min(points.n_features, N_AXES)
    in_time = points.n_points * SECONDS_TO_BALANCE <= SHARE_TO_BALANCE * task.clock.left
    if n_values <= LARGEST_PARTITION and in_time:
        _from_parts(task, points, components, log)
    elif task.confidence is not None:
        _from_samples(task, MemoryOracle(points, spherical=task.spherical), log)


def _is_closed(task: Task, log: Log) -> bool:
    return log.best >= (1 - CLOSED) * task.inertia


def _with_weight(points: Points) -> Points:
    """The points that have weight; with duplicates merged, if that is quick to do and shortens the data."""
    if points.n_points * points.n_features <= LARGEST_MERGE:
        rows = points.dense(np.arange(points.n_points))
        distinct, weights = merge_duplicates(rows, points.weights)
        if len(distinct) < 0.9 * points.n_points:
            return memory_oracle(distinct, weights, n_threads=points.n_threads).points
    if points.weights is not None and not points.weights.all():
        return points.view(np.flatnonzero(points.weights))
    return points


def _whole(task: Task, points: Points, log: Log) -> None:
    rows, labels = points.dense(np.arange(points.n_points)), _labels(task, points)
    bounds = bounds_of(
        rows,
        points.weights,
        labels,
        task.n_clusters,
        task.clock,
        spherical=task.spherical,
        tolerance=CLOSED,
    )
    for bound in bounds:
        log.add(bound, "semidefinite relaxation with cutting planes")
        if _is_closed(task, log):
            return


def _components(task: Task, points: Points, log: Log) -> Components | None:
    """The bound of principal components; None with too many features."""
    if points.n_features > MOST_FEATURES:
        return None
    components = principal_components(points, task.n_clusters, N_AXES)
    bound = components.bound
    if task.spherical:
        blocks = dense_blocks(points)
        squares = math.fsum(float(weights @ np.einsum("if,if->i", rows, rows)) for rows, weights in blocks)
        bound = on_sphere(bound, squares, points.total_weight, points.n_points + points.n_features)
    log.add(bound, "principal components")
    return components


def _from_parts(task: Task, points: Points, components: Components | None, log: Log) -> None:
    """The sum over all parts of a partition; with confidence, from as many random parts as there is time for."""
    n_parts = -(-points.n_points // task.part_size)
    n_drawn = n_parts if task.confidence is None else _n_samples(task)
    n_drawn = n_drawn if n_drawn < NEARLY_ALL * n_parts else n_parts
    if task.confidence is None and n_parts * task.seconds(FEWEST_SECONDS) > 2 * task.clock.left:
        return  # hopeless
    labeling = MemoryOracle(points, spherical=task.spherical).label(task.centers, nearest=True)
    assert labeling.nearest is not None
    features = _features(points, components, labeling.nearest, task.rng)
    parts = anticlusters(features, labeling.labels, n_parts, task.rng)
    drawn = [parts[number] for number in task.rng.permutation(n_parts)[:n_drawn]]
    found: dict[int, float] = {}
    bounds = _recorded(_bounds(task, points, drawn, labeling.labels), found)
    in_words = f"sum over {n_parts} parts, each by a semidefinite relaxation with cutting planes"
    if task.confidence is None:
        for _ in bounds:
            log.add(_sum_down(found), in_words)
        return
    for values, error in _at_checkpoints(bounds, n_drawn, 1 - task.confidence):
        if len(found) == n_parts:  # all of them: this needs no confidence
            log.add(_sum_down(found), in_words)
        total = from_disjoint_parts(values, n_parts, error) * (1 - 1e-12)
        log.add(total, f"semidefinite relaxations of {len(values)} of {n_parts} parts", task.confidence)


def _recorded(bounds: Iterator[PartBound], found: dict[int, float]) -> Iterator[PartBound]:
    """The same bounds; the last of each part is put into `found`."""
    for bound in bounds:
        found[bound.number] = bound.value
        yield bound


def _sum_down(found: dict[int, float]) -> float:
    return float(np.nextafter(math.fsum(found.values()), 0))


def _from_samples(task: Task, oracle: Oracle, log: Log) -> None:
    """Independent samples, each as large as a part."""
    if not oracle.unweighted and not isinstance(oracle, MemoryOracle):
        raise ValueError(
            "X has weights and does not fit in memory; weighted data can only be certified in memory."
        )
    confidence, size, n_samples = task.confidence or 0.0, task.part_size, min(_n_samples(task), MOST_BLOCKS)
    pool = oracle.sample(n_samples * size * BLOCK_PARTS, task.rng)
    shuffled = pool.points.view(task.rng.permutation(pool.n_points))
    n_samples = min(n_samples, shuffled.n_points // size)
    if n_samples == 0:
        return
    labeling = MemoryOracle(shuffled, spherical=task.spherical).label(task.centers, nearest=True)
    assert labeling.nearest is not None
    components = None
    if shuffled.n_features <= MOST_FEATURES:
        components = principal_components(shuffled, task.n_clusters, N_AXES)
    features = _features(shuffled, components, labeling.nearest, task.rng)
    parts = sampled_parts(features, labeling.labels, oracle.n_points, n_samples, size, task.rng)
    bounds = _bounds(task, shuffled, parts, labeling.labels)
    for values, error in _at_checkpoints(bounds, n_samples, 1 - confidence):
        total = from_independent_samples(values, error) / size * oracle.n_points * (1 - 1e-12)
        log.add(total, f"semidefinite relaxations of {len(values)} samples of {size} points", confidence)


def _bounds(
    task: Task, points: Points, parts: Sequence[NDArray[np.int64]], labels: NDArray[np.int32]
) -> Iterator[PartBound]:
    return Parts(points, parts, labels, task.n_clusters, task.spherical, task.clock, task.n_threads).bounds()


def _at_checkpoints(
    bounds: Iterator[PartBound], n_planned: int, error: float
) -> Iterator[tuple[list[float], float]]:
    """The values of the first parts and the probability of error, when all of these are known or have improved.

    The number of parts is fixed before any is seen, so that when it ends does not depend on what was found.
    """
    shares, found, complete, reached = checkpoints(n_planned, error), dict[int, float](), 0, 0
    for number, value in bounds:
        found[number] = value
        while complete in found:
            complete += 1
            reached = complete if complete in shares else reached
        if reached:
            yield [found[i] for i in range(reached)], shares[reached]


def _n_samples(task: Task) -> int:
    """As many as two threads can bound well. Not more on a larger machine, so that the result is the same."""
    n_samples = 2 * task.clock.seconds / task.seconds(SECONDS_PER_PART)
    return int(np.clip(n_samples, FEWEST_SAMPLES, MOST_SAMPLES))


def _labels(task: Task, points: Points) -> NDArray[np.int32]:
    return MemoryOracle(points, spherical=task.spherical).label(task.centers).labels


def _features(
    points: Points,
    components: Components | None,
    costs: FloatArray,  # (n_points,), IN: squared distances to the centers
    rng: np.random.Generator,
) -> FloatArray:
    """What is balanced over the parts, (n_points, n_axes + 1): the points and what they cost, times their weights.

    The points along their longest axes, or along random ones if there are too many features for a scatter matrix.
    """
    if components is not None:
        mean, axes = components.mean, components.axes
    else:
        mean = np.zeros(points.n_features)
        axes = rng.standard_normal((points.n_features, N_AXES)) / math.sqrt(points.n_features)
    blocks = [((rows - mean) @ axes) * weights[:, None] for rows, weights in dense_blocks(points)]
    features = np.concatenate(blocks)
    weighted = costs if points.weights is None else costs * points.weights
    spread = float(weighted.std())
    scale = COST_SHARE * float(np.sqrt(np.mean(features**2))) / spread if spread > 0 else 0.0
    return np.column_stack([features, scale * weighted])

"""Breathing: relocates centers to where they lower the cost most, without trying single moves.

It is the whole search where moves cannot be tried, as on sparse points, and the beginning of it elsewhere. After
B. Fritzke, "The breathing k-means algorithm" (2020): breathing in adds centers where the error is large, breathing
out removes as many of the least useful ones. Here a few limited implicit steps follow every breath: they move the
other centers over the small barriers that stop Lloyd's algorithm. On sparse points sweeps follow instead. Early
breaths are deep and repair the seeding, later ones are shallow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..moments import Moments
from ..oracles import DensePoints, MemoryOracle, Partition, StepRun
from .backward_euler import take_steps
from .iterate import Iterate, Memory, Solver, scalar

DEEPEST = 0.25  # fraction of the centers that the first breath adds and removes
FEWEST_DEEP = 8  # the first breath adds and removes at least min(8, n_clusters)
DEEPEST_AT_FIRST, FEWEST_DEEP_AT_FIRST = 0.1, 4  # the same, where other moves follow, which repair the seeding too
BREATHS_AT_A_DEPTH = 1.5  # on average before the depth is halved, at effort 1
SWEPT_BREATHS_AT_A_DEPTH = 2.0  # the same, where there are sweeps
PASSES_OF_A_BREATH = 5  # over all points: most end early
BREATH_WORK = 1e7  # arithmetic operations that a breath takes the time of, at least
OPERATIONS = 8  # for a distance, besides those for each feature
STEPS = 3  # implicit steps after every breath
INNER_STEPS = 5  # fixed-point iterations in each step
STEP_DECAY = 0.6  # of the step size, which starts at n_clusters
AVERAGING = 0.75
LIMIT = 2.0  # on the factor by which a step multiplies a center's error, so that no center leaves the data
PASSES_AT_FIRST = 6  # at most, before the first breath
PASSES_IN = 3  # at most, after breathing in
PASSES_OUT = 5  # at most, after breathing out
PASSES_AT_LAST = 15  # at most, after the last breath
SWEEPS_AT_FIRST, SWEEPS_IN, SWEEPS_OUT, SWEEPS_AT_LAST = 3, 3, 2, 7  # at most, where there are sweeps
SETTLED = 1e-3  # passes end when one lowers the cost by less than this fraction
SETTLED_AT_LAST = 1e-5  # the same, after the last breath
GAIN = 1e-4  # a breath is repeated at the same depth if it lowered the best cost by more than this fraction
DRAWN = 20  # points for each center, among which sparse ones find new centers
ALONE = 2 / 3  # a point with more than this fraction of the weight of its cluster is not split off
NUDGE = 0.01  # distance of a new center from the one it is split from, in radii of the cluster
BLOCK_BYTES = 16 << 20  # memory for distances between centers

_ARRAYS = ("counts", "sums", "errors", "utilities")  # of the moments of a state


@dataclass(frozen=True)
class BreathPlan:
    """How many breaths are planned, and how deep they are. Each breath that gains adds one."""

    n_breaths: int
    deepest: float  # centers that the first breath adds and removes

    def depth(self, breath: int) -> int:
        """How many centers a breath adds and removes. Falls geometrically to one over all breaths."""
        gone = breath / max(1, self.n_breaths - 1)
        return int(np.rint(self.deepest ** (1 - gone)))


@dataclass(frozen=True)
class State:
    """Centers, the moments of the pass that moved them there, and the work that it took."""

    centers: FloatArray  # (n_centers, n_features)
    moments: Moments  # with errors and utilities
    points_read: int
    n_distances: int
    labels: NDArray[np.int32] | None = None  # (n_points,) after sweeps

    @property
    def cost(self) -> float:
        """The cost before the last move, so slightly above that of the centers."""
        return self.moments.cost

    @property
    def partition(self) -> Partition:
        """The clusters, after sweeps. They are not to be changed."""
        assert self.labels is not None
        return Partition(self.labels, self.moments.counts, self.moments.sums)


def breathe(
    oracle: MemoryOracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    batch_size: int,
    plan: BreathPlan,
    rng: np.random.Generator,
    memory: Memory | None = None,
) -> Solver:
    """Breathe in and out, less deeply each time. Keep the best centers, but continue from the newest.

    Every iterate holds the best centers so far.
    """
    if memory is None:
        state = best = settle(oracle, centers, PASSES_AT_FIRST, SWEEPS_AT_FIRST, SETTLED, rng)
        spread, breath = state.moments.spread(centers), 0
        yield report(oracle, best, state, spread, breath)
    else:
        state, best = recalled(memory, "state"), recalled(memory, "best")
        spread, breath = scalar(memory, "spread"), int(scalar(memory, "breath"))
    while breath < plan.n_breaths and best.cost > 0:
        grown = breathe_in(oracle, state, plan.depth(breath), batch_size, rng)
        yield report(oracle, best, grown, spread)
        state = breathe_out(oracle, grown, len(grown.centers) - len(centers), batch_size, rng)
        if state.cost >= (1 - GAIN) * best.cost:
            breath += 1
        if state.cost < best.cost:
            best = state
        yield report(oracle, best, state, spread, breath)
    best = settle(oracle, best.centers, PASSES_AT_LAST, SWEEPS_AT_LAST, SETTLED_AT_LAST, rng)
    yield replace(report(oracle, best, best, spread), last=True)


def plan_by_effort(n_clusters: int, effort: float, *, sparse: bool = False, spherical: bool = False) -> BreathPlan:
    """As many breaths as `effort` is worth, where they are the whole search.

    Sparse points are swept, which is cheap, unless they are on the sphere, where breaths take passes.
    """
    deepest = max(DEEPEST * n_clusters, min(n_clusters, FEWEST_DEEP))
    if n_clusters == 1 or effort == 0:
        return BreathPlan(0, deepest)
    at_a_depth = SWEPT_BREATHS_AT_A_DEPTH if sparse and not spherical else BREATHS_AT_A_DEPTH
    n_depths = math.log2(deepest) + (0 if sparse and spherical else 1)
    return BreathPlan(max(1, round(at_a_depth * effort * n_depths)), deepest)


def plan_by_work(oracle: MemoryOracle, n_clusters: int, work: float, batch_size: int) -> BreathPlan:
    """As many breaths as this many distances are enough for, where other moves follow."""
    deepest = min(float(n_clusters), max(DEEPEST_AT_FIRST * n_clusters, FEWEST_DEEP_AT_FIRST))
    n_points_read = PASSES_OF_A_BREATH * oracle.n_points + 2 * STEPS * INNER_STEPS * batch_size
    of_a_breath = max(n_points_read * n_clusters, BREATH_WORK / (oracle.n_features + OPERATIONS))
    return BreathPlan(int(work / of_a_breath) if n_clusters > 1 else 0, deepest)


def breathe_in(oracle: MemoryOracle, state: State, depth: int, batch_size: int, rng: np.random.Generator) -> State:
    """At most `depth` centers more, and all of them adapted."""
    if state.labels is not None:
        rows = crowded_points(oracle, state.labels, state.moments, depth, rng)
        centers = np.concatenate([state.centers, oracle.points.dense(rows)])
        return sweep(oracle, split_off(oracle, state.partition, rows), SWEEPS_IN, centers, rng)
    if isinstance(oracle.points, DensePoints):
        return calm(oracle, inhale(state, depth, rng), batch_size, PASSES_IN, rng)
    return calm(oracle, inhale_points(oracle, state, depth, rng), batch_size, PASSES_IN, rng)


def breathe_out(
    oracle: MemoryOracle, state: State, depth: int, batch_size: int, rng: np.random.Generator
) -> State:
    """`depth` centers less, and all of them adapted."""
    removed = exhale(state, depth)
    centers = state.centers[~removed]
    if state.labels is not None:
        return sweep(oracle, state.partition.without(removed), SWEEPS_OUT, centers, rng)
    return calm(oracle, centers, batch_size, PASSES_OUT, rng)


def inhale(state: State, depth: int, rng: np.random.Generator) -> FloatArray:
    """The centers plus `depth` new ones, each next to one with a large error."""
    moments, n_features = state.moments, state.centers.shape[1]
    assert moments.errors is not None
    crowded = np.argsort(-moments.errors, kind="stable")[:depth]
    weights = np.where(moments.counts > 0, moments.counts, 1.0)[crowded]
    radii = np.sqrt(moments.errors[crowded] / (n_features * weights))
    offsets = NUDGE * radii[:, None] * rng.standard_normal((len(crowded), n_features))
    return np.concatenate([state.centers, state.centers[crowded] + offsets])


def inhale_points(oracle: MemoryOracle, state: State, depth: int, rng: np.random.Generator) -> FloatArray:
    """The centers plus at most `depth` new ones, each at a point of a cluster with a large error.

    With very many features, a center that is nudged does not come near any of its points.
    """
    drawn = oracle.points.draw(DRAWN * len(state.centers), rng)
    labels = MemoryOracle(oracle.points.take(drawn)).label(state.centers).labels
    rows = drawn[one_of_each_crowded(labels, state.moments, depth)]
    return np.concatenate([state.centers, oracle.points.dense(rows)])


def crowded_points(
    oracle: MemoryOracle,
    labels: NDArray[np.int32],  # (n_points,), IN
    moments: Moments,
    depth: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """At most `depth` points, each of a cluster with a large error and hardly alone in it."""
    drawn = oracle.points.draw(DRAWN * len(moments.counts), rng)
    weights = 1.0 if oracle.points.weights is None else oracle.points.weights[drawn]
    drawn = drawn[weights <= ALONE * moments.counts[labels[drawn]]]
    return drawn[one_of_each_crowded(labels[drawn], moments, depth)]


def one_of_each_crowded(
    labels: NDArray[np.int32],  # (n_drawn,) of points that were drawn, IN
    moments: Moments,
    depth: int,
) -> NDArray[np.intp]:
    """Which of the points stand for the `depth` clusters with the largest errors among theirs."""
    assert moments.errors is not None
    met, first = np.unique(labels, return_index=True)
    chosen: NDArray[np.intp] = first[np.argsort(-moments.errors[met], kind="stable")[:depth]]
    return chosen


def split_off(
    oracle: MemoryOracle,
    partition: Partition,
    rows: NDArray[np.int64],  # (n_new,) of different clusters, IN
) -> Partition:
    """The clusters plus one for each of these points alone.

    A point alone is cheap to join, because the mean meets whoever joins halfway: sweeps let such a cluster grow.
    """
    weights = np.ones(len(rows)) if oracle.points.weights is None else oracle.points.weights[rows]
    weighted = weights[:, None] * oracle.points.dense(rows)
    labels = partition.labels.copy()
    counts, sums = np.concatenate([partition.counts, weights]), np.concatenate([partition.sums, weighted])
    counts[labels[rows]] -= weights
    sums[labels[rows]] -= weighted
    labels[rows] = len(partition.counts) + np.arange(len(rows))
    return Partition(labels, counts, sums)


def exhale(state: State, depth: int) -> NDArray[np.bool_]:
    """Which centers are removed, (n_centers,): the `depth` least useful ones, of two neighbours at most one.

    The utility of a center is how much the cost would grow if it alone were removed.
    """
    assert state.moments.utilities is not None
    # Each removal protects at most one neighbour, so twice as many candidates are enough.
    candidates = np.argsort(state.moments.utilities, kind="stable")[: 2 * depth]
    stays = np.zeros(len(state.centers), dtype=bool)
    goes = np.zeros(len(state.centers), dtype=bool)
    n_seen = n_gone = 0
    while n_gone < depth and n_seen < len(candidates):
        some = candidates[n_seen : n_seen + depth - n_gone]  # needed for sure: their neighbours take long to find
        for candidate, neighbour in zip(some, neighbours(state.centers, some), strict=True):
            if not stays[candidate]:
                goes[candidate] = stays[neighbour] = True
                n_gone += 1
        n_seen += len(some)
    return goes


def neighbours(centers: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The nearest other center of each of these centers."""
    nearest = np.empty(len(rows), dtype=np.intp)
    step = max(1, BLOCK_BYTES // (8 * len(centers)))
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        distances = DensePoints(centers[block], n_threads=1).distances(centers)
        distances[np.arange(len(block)), block] = np.inf
        nearest[first : first + step] = distances.argmin(axis=1)
    return nearest


def calm(
    oracle: MemoryOracle,
    centers: FloatArray,  # (n_centers, n_features), IN
    batch_size: int,
    n_passes: int,
    rng: np.random.Generator,
) -> State:
    """A few implicit steps and then passes, after a breath."""
    if batch_size * oracle.row_bytes < oracle.n_features * oracle.dtype.itemsize:
        # To move the centers takes longer than to read a batch.
        return make_passes(oracle, centers, n_passes, SETTLED)
    run = StepRun(STEPS, INNER_STEPS, batch_size, float(len(centers)), STEP_DECAY, AVERAGING, LIMIT)
    settled = make_passes(oracle, take_steps(oracle, centers, run, rng), n_passes, SETTLED)
    points_read = STEPS * INNER_STEPS * batch_size
    n_distances = settled.n_distances + points_read * len(centers)
    return replace(settled, points_read=settled.points_read + points_read, n_distances=n_distances)


def settle(
    oracle: MemoryOracle,
    centers: FloatArray,  # (n_centers, n_features), IN
    n_passes: int,
    n_sweeps: int,
    settled: float,
    rng: np.random.Generator,
) -> State:
    """Sweeps where there are any, otherwise passes."""
    partition = oracle.partition(centers)
    if partition is None:
        return make_passes(oracle, centers, n_passes, settled)
    swept = sweep(oracle, partition, n_sweeps, centers, rng)
    return replace(swept, n_distances=swept.n_distances + oracle.n_points * len(centers))


def sweep(
    oracle: MemoryOracle,
    partition: Partition,  # INOUT
    n_sweeps: int,
    centers: FloatArray,  # (n_centers, n_features) of clusters that have no points, IN
    rng: np.random.Generator,
) -> State:
    """Sweeps over the clusters of a partition, until few points move."""
    swept = oracle.sweep(partition, n_sweeps, rng)
    means = swept.means(otherwise=centers)
    return State(means, swept, oracle.n_points, swept.n_distances, partition.labels)


def make_passes(
    oracle: MemoryOracle,
    centers: FloatArray,  # (n_centers, n_features), IN
    n_passes: int,
    settled: float,
) -> State:
    """Passes that move every center to the mean of its points.

    They end early when one lowers the cost by less than the fraction `settled`.
    """
    points_read, n_distances, cost = 0, 0, np.inf
    for _ in range(n_passes):
        moments = oracle.full(centers, detail=True)
        centers = moments.means(otherwise=centers)
        points_read += oracle.n_points
        n_distances += moments.n_distances
        if moments.cost >= (1 - settled) * cost:
            break
        cost = moments.cost
    return State(centers, moments, points_read, n_distances)


def report(oracle: MemoryOracle, best: State, state: State, spread: float, breath: int | None = None) -> Iterate:
    """The best centers and the work of the newest state. With `breath` the search can resume from here."""
    moments = replace(best.moments, cost=best.cost + oracle.within)
    memory = None if breath is None else partial(remembered, best, state, spread, breath)
    n_read, n_distances = state.points_read, state.n_distances
    return Iterate(best.centers, moments.objective, spread, n_read, n_distances=n_distances, memory=memory)


def remembered(best: State, state: State, spread: float, breath: int) -> Memory:
    """What the search needs to resume after a breath."""
    memory = {"spread": np.array(spread), "breath": np.array(breath)}
    for role, each in (("best", best), ("state", state)):
        memory |= {f"{role}.centers": each.centers, f"{role}.cost": np.array(each.cost)}
        memory |= {f"{role}.{name}": getattr(each.moments, name) for name in _ARRAYS}
    if state.labels is not None:
        memory["state.labels"] = state.labels
    return memory


def recalled(memory: Memory, role: str) -> State:
    """The state that `remembered` stored under this role."""
    counts, sums, errors, utilities = (memory[f"{role}.{name}"] for name in _ARRAYS)
    moments = Moments(counts, sums, scalar(memory, f"{role}.cost"), errors, utilities)
    return State(memory[f"{role}.centers"], moments, 0, 0, memory.get(f"{role}.labels"))

"""Relocation: centers that move to where they are needed.

The search breathes, an idea of B. Fritzke ("The breathing k-means algorithm", 2020): centers are added where the
error is large, and as many are removed where they are of little use. Here a few limited implicit steps follow
every breath, which carry the other centers over the small barriers that passes stop at, and the passes transfer
single points. Deep breaths come first and repair what the seeding got wrong, shallow ones last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import FloatArray
from ..moments import Moments
from ..oracles import ImplicitSteps, Searchable
from .base import Iterate, Memory, Solver, scalar
from .transfers import transfer

DEEPEST = 0.25  # the part of the centers that the first breath adds and removes;
FEW = 8  # but so many where that is less, if there are so many
BREATHS_AT_A_DEPTH = 1.5  # on average, before it is halved, where the effort is 1
STEPS, INNER_STEPS = 3, 5  # implicit steps after every breath, and fixed-point iterations in each:
STEP_DECAY = 0.6  # from a step size of n_clusters down by this,
AVERAGING = 0.75
LIMIT = 2.0  # with the factor on a center's error never above this: it can leave its cluster, but not the data
PASSES_AT_FIRST, PASSES_IN, PASSES_OUT, PASSES_AT_LAST = 6, 3, 5, 15  # at most; they end where one lowers
SETTLED, SETTLED_AT_LAST = 1e-3, 1e-5  # the cost by less than this part of it
GAIN = 1e-4  # a breath that lowers the best cost by more than this part of it is followed by one as deep
NUDGE = 0.01  # how far beside an old center a new one starts, in radii of the cluster
BLOCK_BYTES = 16 << 20

_ARRAYS = ("counts", "sums", "errors", "utilities")  # of the moments of a state


@dataclass(frozen=True)
class State:
    """Centers, what the pass that moved them there learned before, and the work that led to them."""

    centers: FloatArray  # (n_centers, n_features)
    moments: Moments  # with errors and utilities
    points_read: int
    n_distances: int

    @property
    def cost(self) -> float:
        """Before the last move, so a little above that of the centers."""
        return self.moments.cost


def breathe(
    oracle: Searchable,
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    batch_size: int,
    effort: float,
    rng: np.random.Generator,
    memory: Memory | None = None,
) -> Solver:
    """Breathe in and out, ever less deeply. Keep the best centers, but go on from the newest.

    Every iterate holds the best centers so far. The number of breaths is in proportion to `effort`.
    """
    if memory is None:
        state = best = settle(oracle, centers, PASSES_AT_FIRST, SETTLED)
        spread, breath = state.moments.spread(centers), 0
        yield tell(best, state, spread, memory=partial(remembered, best, state, spread, breath))
    else:
        state, best = recalled(memory, "state"), recalled(memory, "best")
        spread, breath = scalar(memory, "spread"), int(scalar(memory, "breath"))
    n_breaths = breaths(len(centers), effort)
    while breath < n_breaths and best.cost > 0:
        depth = depth_of(breath, n_breaths, len(centers))
        grown = calm(oracle, inhale(state, depth, rng), batch_size, PASSES_IN, rng)
        yield tell(best, grown, spread)
        state = calm(oracle, exhale(grown, depth), batch_size, PASSES_OUT, rng)
        if state.cost >= (1 - GAIN) * best.cost:
            breath += 1
        if state.cost < best.cost:
            best = state
        yield tell(best, state, spread, memory=partial(remembered, best, state, spread, breath))
    best = settle(oracle, best.centers, PASSES_AT_LAST, SETTLED_AT_LAST)
    yield tell(best, best, spread, last=True)


def breaths(n_clusters: int, effort: float) -> int:
    """How many breaths are taken, but for those that follow one that gained."""
    if n_clusters == 1 or effort == 0:
        return 0
    return max(1, round(BREATHS_AT_A_DEPTH * effort * (1 + math.log2(_deepest(n_clusters)))))


def depth_of(breath: int, n_breaths: int, n_clusters: int) -> int:
    """How many centers a breath adds and removes: ever fewer, down to one, the more slowly the more breaths."""
    gone = breath / max(1, n_breaths - 1)
    return int(np.rint(_deepest(n_clusters) ** (1 - gone)))


def _deepest(n_clusters: int) -> float:
    return max(DEEPEST * n_clusters, min(n_clusters, FEW))


def inhale(state: State, depth: int, rng: np.random.Generator) -> FloatArray:
    """The centers and `depth` new ones, each beside one of those with the largest error."""
    moments, n_features = state.moments, state.centers.shape[1]
    assert moments.errors is not None
    crowded = np.argsort(-moments.errors, kind="stable")[:depth]
    weights = np.where(moments.counts > 0, moments.counts, 1.0)[crowded]
    radii = np.sqrt(moments.errors[crowded] / (n_features * weights))
    offsets = NUDGE * radii[:, None] * rng.standard_normal((len(crowded), n_features))
    return np.concatenate([state.centers, state.centers[crowded] + offsets])


def exhale(state: State, depth: int) -> FloatArray:
    """The centers without the `depth` least useful, but never without both of two neighbours.

    The utility of a center is what the cost would grow by without it, and it alone.
    """
    assert state.moments.utilities is not None
    # Who goes keeps one neighbour at most, so that twice as many candidates are enough.
    candidates = np.argsort(state.moments.utilities, kind="stable")[: 2 * depth]
    stays = np.zeros(len(state.centers), dtype=bool)
    goes = np.zeros(len(state.centers), dtype=bool)
    for candidate, neighbour in zip(candidates, neighbours(state.centers, candidates), strict=True):
        if not stays[candidate]:
            goes[candidate] = stays[neighbour] = True
        if np.count_nonzero(goes) == depth:
            break
    return state.centers[~goes]


def neighbours(centers: FloatArray, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The nearest other center of each of these."""
    nearest = np.empty(len(rows), dtype=np.intp)
    step = max(1, BLOCK_BYTES // (8 * len(centers)))
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        distances = np.empty((len(block), len(centers)))
        _core.distances(centers[block], centers, distances, n_threads=1)
        distances[np.arange(len(block)), block] = np.inf
        nearest[first : first + step] = distances.argmin(axis=1)
    return nearest


def calm(
    oracle: Searchable, centers: FloatArray, batch_size: int, n_passes: int, rng: np.random.Generator
) -> State:
    """After a breath: a few implicit steps, then passes."""
    steps = ImplicitSteps(
        n_steps=STEPS,
        n_inner=INNER_STEPS,
        batch_size=batch_size,
        step_size=float(len(centers)),
        decay=STEP_DECAY,
        averaging=AVERAGING,
        limit=LIMIT,
    )
    settled = settle(oracle, oracle.implicit_steps(centers, steps, rng), n_passes, SETTLED)
    points_read = STEPS * INNER_STEPS * batch_size
    return replace(
        settled,
        points_read=settled.points_read + points_read,
        n_distances=settled.n_distances + points_read * len(centers),
    )


def settle(oracle: Searchable, centers: FloatArray, n_passes: int, settled: float) -> State:
    """Passes that move every center to the mean of its points and single points to other centers.

    They end early where one finds the cost lower than the last by less than the part `settled`.
    """
    points_read, n_distances, cost = 0, 0, np.inf
    for _ in range(n_passes):
        contested = oracle.contested(centers, detail=True)
        centers = transfer(contested, centers).means(otherwise=centers)
        points_read += oracle.n_points
        n_distances += contested.moments.n_distances
        if contested.moments.cost >= (1 - settled) * cost:
            break
        cost = contested.moments.cost
    return State(centers, contested.moments, points_read, n_distances)


def tell(
    best: State,
    state: State,
    spread: float,
    *,
    last: bool = False,
    memory: Callable[[], Memory] | None = None,
) -> Iterate:
    """The best centers, and the work that the newest took."""
    return Iterate(
        best.centers,
        best.moments.objective,
        spread,
        state.points_read,
        n_distances=state.n_distances,
        last=last,
        memory=memory,
    )


def remembered(best: State, state: State, spread: float, breath: int) -> Memory:
    """What the search needs to go on after a breath."""
    memory = {"spread": np.array(spread), "breath": np.array(breath)}
    for role, each in (("best", best), ("state", state)):
        memory |= {f"{role}.centers": each.centers, f"{role}.cost": np.array(each.cost)}
        memory |= {f"{role}.{name}": getattr(each.moments, name) for name in _ARRAYS}
    return memory


def recalled(memory: Memory, role: str) -> State:
    """The state that `remembered` wrote down under this role."""
    counts, sums, errors, utilities = (memory[f"{role}.{name}"] for name in _ARRAYS)
    moments = Moments(counts, sums, scalar(memory, f"{role}.cost"), errors, utilities)
    return State(memory[f"{role}.centers"], moments, 0, 0)

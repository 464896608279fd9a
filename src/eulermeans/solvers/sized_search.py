"""The search for clusters of bounded size: moves of centers that lower the cost, kept only if they gain.

EM with prices ends in a local minimum, as EM without does. So it starts from several places: the best centers
without bounds, and parts of equal weight. A trial moves a single center, or kicks all of them,
settles from the prices at hand, and is kept if it is better. Last, single points are exchanged where that lowers
the cost if the means move along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ..arrays import FloatArray
from ..oracles import MemoryOracle, Placed, Placer, cost_at
from .balanced_start import balanced_start
from .iterate import Iterate, Solver

SETTLED = 1e-4  # steps of a trial end when one lowers the cost by less than this fraction
SETTLED_AT_LAST = 1e-7
TRIAL_STEPS = 30  # at most
LAST_STEPS = 100  # at most
HOPELESS = 4.0  # a trial is given up if this many steps like its last would not reach the best cost
NEAR = 6  # a center that is moved nearby goes to one of this many clusters
KICK = 0.3  # how far a kick moves centers, in units of the mean distance of a point to its center along an axis
CHANCES = (0.5, 0.25, 0.25)  # of the changes, in the order of `SizedSearch.changes`
GAIN = 1e-9  # a trial is kept if it lowers the cost by more than this fraction
PATIENCE = 0.25  # of the budget, and some times what settling took at first, may be spent without a gain
PATIENCE_OF_START = 4
RETURNS = 4  # trials and starts in a row that lead to a cost as good as the same end the search
START_SHARE = 0.5  # of the budget, after which no other start is tried
TRANSFERS = 30  # rounds of exchanges of single points, at most


@dataclass(frozen=True)
class Start:
    """Where a trial begins."""

    centers: FloatArray  # (n_clusters, n_features)
    prices: FloatArray  # (n_clusters,)


@dataclass(frozen=True)
class State:
    """Clusters within the bounds, with centers at their means."""

    centers: FloatArray  # (n_clusters, n_features)
    placed: Placed
    cost: float

    @property
    def objective(self) -> float:
        """φ of the clusters."""
        return self.cost / (2 * self.placed.moments.total_weight)


class SizedSearch:
    """Changes clusters within bounds, and counts the passes that takes."""

    def __init__(self, placer: Placer, oracle: MemoryOracle, rng: np.random.Generator) -> None:
        self._placer, self._oracle, self._rng = placer, oracle, rng
        self.n_passes = 0
        self.n_returns = 0  # the last trials or starts that have led to the same cost, in a row
        self.changes: tuple[Callable[[State], Start], ...] = (self.move_anywhere, self.move_nearby, self.kick)

    def settle(
        self, start: Start, *, n_steps: int = TRIAL_STEPS, settled: float = SETTLED, below: float = np.inf
    ) -> State:
        """Steps of EM with prices until they gain little, or will not get as low as `below`."""
        steps = self.steps(start)
        state = next(steps)
        for _ in range(n_steps - 1):
            before, state = state, next(steps)
            gain = before.cost - state.cost
            if gain <= settled * state.cost or HOPELESS * gain < state.cost - below:
                break
        return state

    def steps(self, start: Start) -> Iterator[State]:
        """Steps of EM with prices, without end."""
        self._placer.prices = start.prices
        centers = start.centers
        while True:
            state = self._step(centers)
            centers = state.centers
            yield state

    def start_again(self, best: State) -> State:
        """Clusters that start with equal weights, or the best if those are no better."""
        k = len(best.centers)
        start = Start(balanced_start(self._oracle, k, self._rng), np.zeros(k))
        return self._settle_again(start, best)

    def trial(self, best: State) -> State:
        """A change of the best clusters, or the same if the change is no better."""
        change = self.changes[self._rng.choice(len(CHANCES), p=CHANCES)]
        return self._settle_again(change(best), best)

    def move_anywhere(self, state: State) -> Start:
        """Move a center to a point of any other cluster."""
        k = len(state.centers)
        removed = int(self._rng.integers(k))
        return self._move(state, removed, (removed + int(self._rng.integers(1, k))) % k)

    def move_nearby(self, state: State) -> Start:
        """Move a center to a point of a cluster nearby."""
        removed = int(self._rng.integers(len(state.centers)))
        distances = np.sum((state.centers - state.centers[removed]) ** 2, axis=1)
        distances[removed] = -1
        near = np.argsort(distances, kind="stable")[1 : NEAR + 1]
        return self._move(state, removed, int(self._rng.choice(near)))

    def kick(self, state: State) -> Start:
        """Move all centers a little."""
        k, d = state.centers.shape
        step = KICK * np.sqrt(state.cost / self._oracle.total_weight / d)
        return Start(state.centers + step * self._rng.standard_normal((k, d)), state.placed.prices)

    def transfer(self, state: State) -> State:
        """Exchange single points while that lowers the cost, counting that the means follow."""
        for _ in range(TRANSFERS):
            placed = self._placer.transfer(state.placed, state.centers)
            self.n_passes += 1
            moved = None if placed is None else self._with_means(placed)
            if moved is None or moved.cost >= (1 - GAIN) * state.cost:
                break
            state = moved
        return state

    def _settle_again(self, start: Start, best: State) -> State:
        """What a start leads to, or the best if that is no better."""
        self._placer.contest_all()
        tried = self.settle(start, below=best.cost)
        self.n_returns = self.n_returns + 1 if abs(tried.cost - best.cost) <= SETTLED * best.cost else 0
        return tried if tried.cost < (1 - GAIN) * best.cost else best

    def _move(self, state: State, removed: int, inside: int) -> Start:
        """A center goes to a point of another cluster, and takes its price."""
        members = np.flatnonzero(state.placed.labels() == inside)
        row = self._rng.choice(members) if len(members) else self._rng.integers(self._oracle.n_points)
        centers, prices = state.centers.copy(), state.placed.prices.copy()
        centers[removed] = self._oracle.points.dense(np.array([row]))[0]
        prices[removed] = prices[inside]
        return Start(centers, prices)

    def _step(self, centers: FloatArray) -> State:
        placed = self._placer.place(centers, with_labels=True)
        self.n_passes += placed.n_passes
        return self._with_means(placed)

    def _with_means(self, placed: Placed) -> State:
        means = self._oracle.project(placed.moments.means(otherwise=placed.centers))
        return State(means, placed, cost_at(placed.moments, placed.centers, means))


def sized_search(
    placer: Placer,
    oracle: MemoryOracle,  # the points that the placer places
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    budget: float,  # passes over the points
    whole: bool,  # whether these are all points, so that no other solver takes the centers further
    n_starts: int,  # beside the given centers, at most
    rng: np.random.Generator,
) -> Solver:
    """Improve the centers until the budget is spent, or until that gains no more. The cost never rises."""
    search = SizedSearch(placer, oracle, rng)
    best, before = None, 0
    for step in islice(search.steps(Start(centers, placer.prices)), TRIAL_STEPS):  # one by one: time may be short
        gain = np.inf if best is None else best.cost - step.cost
        best = step
        yield report(best, oracle, search.n_passes - before)
        before = search.n_passes
        if gain <= SETTLED * best.cost:
            break
    assert best is not None
    binds = bool(np.any(best.placed.prices))  # otherwise the search without bounds has found what there is
    for _ in range(n_starts if binds and best.cost > 0 else 0):
        if search.n_passes >= START_SHARE * budget or search.n_returns > 0:
            break
        before = search.n_passes
        best = search.start_again(best)
        search.n_returns *= 2  # it came from elsewhere
        yield report(best, oracle, search.n_passes - before)
    patience = PATIENCE * budget + PATIENCE_OF_START * search.n_passes
    gained_at = search.n_passes
    while (
        len(centers) > 1
        and best.cost > 0
        and search.n_returns < RETURNS
        and search.n_passes < min(budget, gained_at + patience)
    ):
        before, last = search.n_passes, best
        best = search.trial(best)
        if best is not last:
            gained_at = search.n_passes
        yield report(best, oracle, search.n_passes - before)
    before = search.n_passes
    if budget > 0 and whole:
        start = Start(best.centers, best.placed.prices)
        best = min(best, search.settle(start, n_steps=LAST_STEPS, settled=SETTLED_AT_LAST), key=lambda s: s.cost)
        if placer.sees_all:
            best = search.transfer(best)
    placer.prices = best.placed.prices
    yield replace(report(best, oracle, search.n_passes - before), last=True)


def report(best: State, oracle: MemoryOracle, n_passes: int) -> Iterate:
    """The centers, and what a step has cost."""
    n_points = oracle.n_points * n_passes
    spread = best.placed.moments.spread(best.placed.centers)
    return Iterate(best.centers, best.objective, spread, n_points, n_distances=n_points * len(best.centers))

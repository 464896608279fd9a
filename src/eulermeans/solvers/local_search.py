"""The search: moves of centers that lower the cost, found near the centers and kept only if they gain.

It begins with breaths, which relocate many centers at once, where the budget is enough for some. The rest is for
single moves.

An *exchange* removes centers where that costs least and adds them where that gains most; loss and gain are judged
apart from each other. A round of *swaps* tries to remove one center of a neighbourhood and to add one beside it,
both at once. Where features are many, an *annealing* moves single points. The kind that gained most for its work
is used next.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import FloatArray
from ..moments import Moments
from ..oracles import (
    ADAPTING,
    NEIGHBOURS,
    TRIED_MOVE,
    Clustering,
    DensePoints,
    MemoryOracle,
    Moves,
    cluster,
)
from .annealing import Annealing
from .breathing import OPERATIONS, breathe, plan_by_work
from .iterate import Iterate, Memory, Solver, scalar
from .settling import SETTLED_AFTER_MOVES, go_back, settle

BREATHED = 0.5  # of the budget goes into breaths before the first round (of few points, as much again),
FEWEST_BREATHS = 3  # if it is enough for this many
HUGE = 0.2  # a cluster with more than this fraction of the points makes moves dear: breaths then get as much again
PASSES_AT_FIRST = 8  # at most, before the first round
PASSES = 4  # at most, after a move
PASSES_AT_LAST = 12  # at most
SETTLED = 1e-3  # passes end when one lowers the cost by less than this fraction
SETTLED_AT_LAST = 1e-6  # the same, after the last round
SETTLED_WITHOUT_ROUNDS = 5e-4  # the same, if there is no round
STEPS_APART = 4  # of Lloyd's algorithm, to judge a removal or an addition
STEPS_TOGETHER = 8  # the same, to judge a swap
NEAR = 6  # a swap adds a center to one of this many clusters near the one that it removes
FAR = 0.1  # of the swaps add one anywhere instead
TRIALS = 64  # swaps in a round, at least
TRIALS_PER_CLUSTER = 1.0
PART = 0.05  # of the budget that a round of swaps may take
APART = 2  # moves are made together if the centers at their ends and this many around each differ
ROUND_WORK = 1e7  # arithmetic operations that a round takes the time of, at least
COARSE, EXCHANGE, SWAPS, ANNEALING = range(4)  # the kinds of rounds
DEAR = 0.5  # of the budget is too much for a single round
NEVER = -1.0  # the rate of a kind of round that is not used any more
ANNEALED = 0.85  # of the budget goes into annealing, where points can be swept
GAIN = 1e-9  # a move counts if it lowers the cost by more than this fraction
LEAST_GAIN = 1e-6  # a round that lowers the cost by less than this fraction has gained nothing
REPAIR = 0.002  # a round that lowers the cost by more than this fraction is free: more such rounds pay
PATIENCE = 0.3  # of the budget, and what was spent until the last gain, may be spent without one
FEW_POINTS = 1000  # a search of no more takes little time, and may end at the optimum:
PATIENCE_WITH_FEW = 0.6  # it goes on for longer
# After an annealing, moves of centers gain little. They go on as long as they gain enough.
ENOUGH_AFTER_ANNEALING = 1e-4  # of the cost in a round
PATIENCE_AFTER_ANNEALING = 0.03  # of the budget
MOMENTS = ("counts", "sums", "errors")  # of a clustering


class Search:
    """A clustering that is being improved, and what each kind of round has gained so far."""

    def __init__(
        self, clustering: Clustering, budget: float, rng: np.random.Generator, *, anneal: bool = True
    ) -> None:
        self.clustering = clustering
        self._budget = budget
        self._gained_at = 0.0  # what was spent at the last gain
        self._least_work = ROUND_WORK / (clustering.centers.shape[1] + OPERATIONS)
        self._rng = rng
        self.annealing = Annealing(clustering, ANNEALED * budget if anneal else 0.0, rng)
        self._least_gain = ENOUGH_AFTER_ANNEALING if self.annealing.used else LEAST_GAIN
        self._kinds = (self.exchange_coarsely, self.exchange, self.swap, self.annealing.round)
        self._rates = np.full(len(self._kinds), np.inf)  # the gain of the last round for each distance computed
        self._work = np.zeros(len(self._kinds))  # distances computed so far
        if self.annealing.ended:
            self._rates[ANNEALING] = NEVER

    def round(self) -> None:
        """A round of the next kind."""
        cost, before = self.clustering.cost, self.clustering.work
        kind = self._next_kind()
        self._kinds[kind]()
        gain, work = cost - self.clustering.cost, max(self._least_work, self.clustering.work - before)
        self._rates[kind] = gain / work
        if not gain > REPAIR * cost:
            self._work[kind] += work
        if gain > self._least_gain * cost or kind == ANNEALING:
            self._gained_at = self.spent
        if kind == COARSE and gain < SETTLED * cost:
            self._rates[COARSE] = NEVER
        if kind == ANNEALING and self.annealing.ended:
            self._rates[ANNEALING] = NEVER

    def _next_kind(self) -> int:
        """The kind that gained most the last time; if none gained, the one used least.

        Where there is an annealing, it comes before all but the coarse exchanges: they are what it cannot do.
        """
        if not self.annealing.ended:
            return COARSE if self._rates[COARSE] != NEVER else ANNEALING
        if work_of_exchange(self.clustering) > self._budget:
            self._rates[EXCHANGE] = NEVER
        return int(np.lexsort((self._work, -self._rates))[0])

    @property
    def done(self) -> bool:
        """Whether the budget is spent, or so much of it without a gain that another is not likely."""
        vain = self.spent - self._gained_at
        part = PATIENCE_WITH_FEW if self.clustering.n_points <= FEW_POINTS else PATIENCE
        patience = part * self._budget + self._gained_at
        if self.annealing.used and self.annealing.ended:
            patience = PATIENCE_AFTER_ANNEALING * self._budget
        return self.spent >= self._budget or vain > patience

    @property
    def spent(self) -> float:
        """The work of all rounds, in distances."""
        return float(self._work.sum())

    def exchange_coarsely(self) -> None:
        """Move centers between clusters, judged by each cluster alone."""
        self._make(moves_by_parts(self.clustering, self._rng), STEPS_APART, n_adapting=0)

    def exchange(self) -> None:
        """Move centers from where they are missed least to where they gain most."""
        self._make(moves_apart(self.clustering, self._rng), STEPS_APART)

    def swap(self) -> None:
        """Try swaps within neighbourhoods, and make those that gain."""
        self._make(moves_together(self.clustering, self._rng, PART * self._budget), STEPS_TOGETHER, transfers=True)

    def memory(self) -> Memory:
        """What is needed to continue from here."""
        learned = {"rates": self._rates.copy(), "work": self._work.copy(), "gained_at": np.array(self._gained_at)}
        return learned | self.annealing.memory() | self.clustering.memory()

    def remember(self, memory: Memory) -> None:
        """Continue from what `memory` gave."""
        self._rates, self._work = memory["rates"].copy(), memory["work"].copy()
        self._gained_at = scalar(memory, "gained_at")
        self.annealing.remember(memory)
        self.clustering.remember(memory)

    def _make(self, moves: Moves, n_steps: int, *, n_adapting: int = ADAPTING, transfers: bool = False) -> None:
        """Make moves, the best first; fewer of them if all together turn out to raise the cost."""
        before, cost = self.clustering.memory() if len(moves) else {}, self.clustering.cost
        while len(moves) > 0:
            self.clustering.make_moves(moves, n_steps=n_steps, n_adapting=n_adapting, transfers=transfers)
            settle(self.clustering, PASSES, SETTLED_AFTER_MOVES, self._rng)
            if self.clustering.cost < cost:
                return
            go_back(self.clustering, before)
            moves = moves[: len(moves) // 2]


def moves_pay(oracle: MemoryOracle, n_clusters: int, budget: float) -> bool:
    """Whether moves of centers can be tried within the budget: not with few clusters of very many features.

    Then every move concerns all points, and trying it costs as much as several passes.
    """
    dense = isinstance(oracle.points, DensePoints)
    return dense and (n_clusters > NEIGHBOURS or budget == 0 or usual_exchange(oracle) <= DEAR * budget)


def search(
    oracle: MemoryOracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    batch_size: int,
    budget: float,
    rng: np.random.Generator,
    anneal: bool = True,
    memory: Memory | None = None,
) -> Solver:
    """Improve the centers by the work of `budget` distances, or until that gains no more. The cost never rises.

    Without `anneal`, it only moves centers.
    """
    assert isinstance(oracle.points, DensePoints)
    plan = plan_by_work(oracle, len(centers), BREATHED * budget, batch_size)
    enough = plan.n_breaths >= FEWEST_BREATHS
    if not enough:
        plan = plan_by_work(oracle, len(centers), budget, batch_size)
    if memory is None:
        breathes = enough or (plan.n_breaths > 0 and largest_share(oracle, centers) > HUGE)
    else:
        breathes = "breath" in memory
    if breathes:
        for iterate in breathe(oracle, centers, batch_size=batch_size, plan=plan, rng=rng, memory=memory):
            yield replace(iterate, last=False)
        centers, memory = iterate.centers, None
    if enough and oracle.n_points > FEW_POINTS:
        budget *= 1 - BREATHED
    clustering = cluster(oracle.points, centers, spherical=oracle.spherical, memory=memory)
    improved = Search(clustering, budget, rng, anneal=anneal)
    if memory is None:
        settle(clustering, PASSES_AT_FIRST, SETTLED, rng)
        yield report(improved, oracle)
    else:
        improved.remember(memory)
    while not improved.done and clustering.n_clusters > 1 and clustering.cost > 0:
        before = clustering.n_distances
        improved.round()
        yield report(improved, oracle, before)
    before, settled, cost = clustering.n_distances, clustering.memory(), clustering.cost
    settle(clustering, PASSES_AT_LAST, SETTLED_AT_LAST if budget > 0 else SETTLED_WITHOUT_ROUNDS, rng)
    if clustering.cost > cost:  # by rounding
        go_back(clustering, settled)
    yield replace(report(improved, oracle, before), last=True)


def largest_share(oracle: MemoryOracle, centers: FloatArray) -> float:
    """The weight of the largest cluster, as a fraction of that of all points."""
    counts = oracle.full(centers).counts
    return float(counts.max() / counts.sum())


def report(improved: Search, oracle: MemoryOracle, before: int = 0) -> Iterate:
    """The best centers so far, and the work since `before`."""
    clustering = improved.clustering
    best = improved.annealing.kept or {name: getattr(clustering, name) for name in ("centers", *MOMENTS)}
    counts, sums, cost = best["counts"], best["sums"], float(best["errors"].sum())
    if oracle.spherical:  # the sum of 2 (1 − cos) to unit centers, where the search may have compared with means
        cost = max(0.0, 2.0 * float(counts.sum() - np.linalg.norm(sums, axis=1).sum()))
    moments = Moments(counts, sums, cost + oracle.within)
    centers = oracle.project(best["centers"])
    return Iterate(
        centers.copy(),
        moments.objective,
        moments.spread(centers),
        oracle.n_points,
        n_distances=clustering.n_distances - before,
        memory=improved.memory,
    )


def moves_by_parts(clustering: Clustering, rng: np.random.Generator) -> Moves:
    """Exchanges, judged by each cluster alone: what two centers would gain, and what none would lose."""
    filled = np.flatnonzero(clustering.sizes > 1).astype(np.int32)
    moves = Moves.additions(filled, clustering.draw_members(filled, rng))
    gains = clustering.try_moves(moves, n_steps=STEPS_APART, n_adapting=0)
    return paired(clustering, clustering.utilities(), moves, gains, n_near=3, margin=1.5)


def work_of_exchange(clustering: Clustering) -> float:
    """The work of judging an exchange: each trial reads its own cluster and those nearby that adapt."""
    sizes = clustering.sizes
    adapting = np.where(sizes > clustering.largest_adapting, 0, sizes)
    return work_of_trials(int(sizes.sum() + adapting[clustering.neighbours[:, :ADAPTING]].sum()))


def usual_exchange(oracle: MemoryOracle) -> float:
    """The same, if clusters have the same size."""
    return work_of_trials((ADAPTING + 1) * oracle.n_points)


def work_of_trials(n_read: int) -> float:
    """The work of trying all removals and all additions, each of which reads this many points in all."""
    return 2 * STEPS_APART * TRIED_MOVE * (ADAPTING + 1) * n_read


def moves_apart(clustering: Clustering, rng: np.random.Generator) -> Moves:
    """Exchanges, judged after the centers around have adapted."""
    removals = Moves.removals(np.arange(clustering.n_clusters, dtype=np.int32))
    losses = -clustering.try_moves(removals, n_steps=STEPS_APART)
    filled = np.flatnonzero(clustering.sizes > 1).astype(np.int32)
    moves = Moves.additions(filled, clustering.draw_members(filled, rng))
    gains = clustering.try_moves(moves, n_steps=STEPS_APART)
    return paired(clustering, losses, moves, gains, n_near=APART)


def paired(
    clustering: Clustering,
    losses: FloatArray,  # (n_clusters,) of removing each center, IN
    additions: Moves,
    gains: FloatArray,  # (n_additions,), IN
    n_near: int,
    margin: float = 1.0,
) -> Moves:
    """The best additions, each with the cheapest removal that is far from it and from the others."""
    near = clustering.nearby(n_near)
    taken = np.zeros(clustering.n_clusters, dtype=bool)
    by_loss = np.argsort(losses, kind="stable")
    chosen: list[int] = []
    removed: list[int] = []
    for i in np.argsort(-gains, kind="stable"):
        around = near[additions.inside[i]]
        if taken[around].any():
            continue
        taken[around] = True
        free = by_loss[: np.searchsorted(losses[by_loss], gains[i] / margin)]
        free = free[~taken[near[free]].any(axis=1)]
        if len(free) == 0:
            taken[around] = False
            if gains[i] / margin <= losses[by_loss[0]]:
                break
            continue
        taken[near[free[0]]] = True
        chosen.append(int(i))
        removed.append(int(free[0]))
    moves = additions[np.array(chosen, dtype=np.intp)]
    return Moves(np.array(removed, dtype=np.int32), moves.inside, moves.added)


def moves_together(clustering: Clustering, rng: np.random.Generator, work: float) -> Moves:
    """Swaps that gain, and that are not near each other."""
    k = clustering.n_clusters
    size = clustering.n_points * min(2 * NEAR, k) / k * min(2 * NEAR, k) * STEPS_TOGETHER  # distances of a trial
    n = int(max(2, min(max(TRIALS, round(TRIALS_PER_CLUSTER * k)), work / size)))
    removed = rng.integers(k, size=n)
    near = clustering.neighbours[removed, rng.integers(min(NEAR, k - 1), size=n)]
    anywhere = (removed + rng.integers(1, k, size=n)) % k
    inside = np.where(rng.random(n) < FAR, anywhere, near)
    filled = clustering.sizes[inside] > 0
    ends = removed[filled].astype(np.int32), inside[filled].astype(np.int32)
    moves = Moves(*ends, clustering.draw_members(ends[1], rng))
    gains = clustering.try_moves(moves, n_steps=STEPS_TOGETHER, only_if_good=True)
    around = clustering.nearby(APART)
    taken = np.zeros(k, dtype=bool)
    chosen = []
    for i in np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > GAIN * clustering.cost)]:
        both = around[[moves.removed[i], moves.inside[i]]]
        if not taken[both].any():
            taken[both] = True
            chosen.append(i)
    return moves[np.array(chosen, dtype=np.intp)]

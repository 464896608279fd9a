"""The search: moves of centers that lower the cost, found near the centers and kept only if they gain.

It has three kinds of rounds. An *exchange* removes centers where that costs least and adds them where that gains
most; loss and gain are judged apart from each other. A round of *swaps* tries to remove one center of a
neighbourhood and to add one beside it, both at once. A *kick* takes a few implicit steps from the present centers:
the noise of their mini-batches carries centers over the barriers that stop Lloyd's algorithm, and what has become
better is kept, region by region. The kind that gained most for its work is used next.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..arrays import FloatArray
from ..moments import Moments
from ..oracles import ADAPTING, Clustering, DensePoints, MemoryOracle, Moves, StepRun
from .backward_euler import take_steps
from .iterate import Iterate, Memory, Solver, scalar

PASSES_AT_FIRST = 8  # at most, before the first round
PASSES = 4  # at most, after a move
PASSES_AT_LAST = 12  # at most
SETTLED = 1e-3  # passes end when one lowers the cost by less than this fraction
SETTLED_AFTER_MOVES = 1e-4
SETTLED_AT_LAST = 1e-6
CALM = 0.02  # single points are transferred when at most this fraction of the points changes centers in a pass
STEPS_APART = 4  # of Lloyd's algorithm, to judge a removal or an addition
STEPS_TOGETHER = 8  # the same, to judge a swap
NEAR = 6  # a swap adds a center to one of this many clusters near the one that it removes
FAR = 0.1  # of the swaps add one anywhere instead
TRIALS = 64  # swaps in a round, at least
TRIALS_PER_CLUSTER = 1.0
PART = 0.05  # of the budget that a round of swaps may take
APART = 2  # moves are made together if the centers at their ends and this many around each differ
ROUND_WORK = 1e7  # arithmetic operations that a round takes the time of, at least
OPERATIONS = 8  # for a distance, besides those for each feature
COARSE = 0  # the index of the first kind of round, which is used only while it gains much
GAIN = 1e-9  # a move counts if it lowers the cost by more than this fraction
LEAST_GAIN = 1e-6  # a round that lowers the cost by less than this fraction has gained nothing
PATIENCE = 0.3  # of the budget, and what was spent until the last gain, may be spent without one
KICK_STEPS, KICK_INNER = 3, 5
KICK_DECAY = 0.6  # of the step size, which starts at n_clusters
KICK_AVERAGING, KICK_LIMIT = 0.75, 2.0  # the limit keeps centers from leaving the data
SHARED = 0.2  # clusters of two clusterings are in one region if they share this fraction of the smaller one


class Search:
    """A clustering that is being improved, and what each kind of round has gained so far."""

    def __init__(self, clustering: Clustering, batch_size: int, budget: float, rng: np.random.Generator) -> None:
        self.clustering = clustering
        self._budget = budget
        self._gained_at = 0.0  # what was spent at the last gain
        self._least_work = ROUND_WORK / (clustering.centers.shape[1] + OPERATIONS)
        self._rng = rng
        step_size = float(clustering.n_clusters)
        self._kick = StepRun(KICK_STEPS, KICK_INNER, batch_size, step_size, KICK_DECAY, KICK_AVERAGING, KICK_LIMIT)
        self._kinds = (self.exchange_coarsely, self.exchange, self.swap, self.kick)
        self._rates = np.full(len(self._kinds), np.inf)  # the gain of the last round for each distance computed
        self._work = np.zeros(len(self._kinds))  # distances computed so far

    def round(self) -> None:
        """A round of the kind that gained most the last time; if none gained, of the one used least."""
        cost, before = self.clustering.cost, self.clustering.work
        kind = np.lexsort((self._work, -self._rates))[0]
        self._kinds[kind]()
        gain, work = cost - self.clustering.cost, max(self._least_work, self.clustering.work - before)
        self._rates[kind] = gain / work
        self._work[kind] += work
        if gain > LEAST_GAIN * cost:
            self._gained_at = self.spent
        if kind == COARSE and gain < SETTLED * cost:
            self._rates[kind] = -1.0  # never again

    @property
    def done(self) -> bool:
        """Whether the budget is spent, or so much of it without a gain that another is not likely."""
        vain = self.spent - self._gained_at
        return self.spent >= self._budget or vain > PATIENCE * self._budget + self._gained_at

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

    def kick(self) -> None:
        """Take implicit steps and settle again; keep the result where it is better."""
        clustering = self.clustering
        before, cost = clustering.memory(), clustering.cost
        clustering.move(take_steps(clustering, clustering.centers, self._kick, self._rng))
        settle(clustering, PASSES_AT_FIRST, SETTLED_AFTER_MOVES)
        recombine(clustering, before, cost)

    def memory(self) -> Memory:
        """What is needed to continue from here."""
        learned = {"rates": self._rates.copy(), "work": self._work.copy(), "gained_at": np.array(self._gained_at)}
        return learned | self.clustering.memory()

    def remember(self, memory: Memory) -> None:
        """Continue from what `memory` gave."""
        self._rates, self._work = memory["rates"].copy(), memory["work"].copy()
        self._gained_at = scalar(memory, "gained_at")
        self.clustering.remember(memory)

    def _make(self, moves: Moves, n_steps: int, *, n_adapting: int = ADAPTING, transfers: bool = False) -> None:
        """Make moves, the best first; fewer of them if all together turn out to raise the cost."""
        before, cost = self.clustering.memory() if len(moves) else {}, self.clustering.cost
        while len(moves) > 0:
            self.clustering.make_moves(moves, n_steps=n_steps, n_adapting=n_adapting, transfers=transfers)
            settle(self.clustering, PASSES, SETTLED_AFTER_MOVES)
            if self.clustering.cost < cost:
                return
            go_back(self.clustering, before)
            moves = moves[: len(moves) // 2]


def search(
    oracle: MemoryOracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    batch_size: int,
    budget: float,
    rng: np.random.Generator,
    memory: Memory | None = None,
) -> Solver:
    """Improve the centers by the work of `budget` distances, or until that gains no more. The cost never rises."""
    assert isinstance(oracle.points, DensePoints)
    clustering = Clustering(oracle.points, centers, spherical=oracle.spherical)
    improved = Search(clustering, batch_size, budget, rng)
    if memory is None:
        settle(clustering, PASSES_AT_FIRST, SETTLED)
        yield report(improved, oracle)
    else:
        improved.remember(memory)
    while not improved.done and clustering.n_clusters > 1 and clustering.cost > 0:
        before = clustering.n_distances
        improved.round()
        yield report(improved, oracle, before)
    before, settled, cost = clustering.n_distances, clustering.memory(), clustering.cost
    settle(clustering, PASSES_AT_LAST, SETTLED_AT_LAST)
    if clustering.cost > cost:  # by rounding
        go_back(clustering, settled)
    yield replace(report(improved, oracle, before), last=True)


def report(improved: Search, oracle: MemoryOracle, before: int = 0) -> Iterate:
    """The centers, and the work since `before`."""
    clustering = improved.clustering
    moments = Moments(clustering.counts, clustering.sums, clustering.cost)
    return Iterate(
        clustering.centers.copy(),
        moments.objective,
        moments.spread(clustering.centers),
        oracle.n_points,
        n_distances=clustering.n_distances - before,
        memory=improved.memory,
    )


def go_back(clustering: Clustering, before: Memory) -> None:
    """Undo what was done since, but not the work."""
    n_distances, work = clustering.n_distances, clustering.work
    clustering.remember(before)
    clustering.n_distances, clustering.work = n_distances, work


def settle(clustering: Clustering, n_passes: int, settled: float) -> None:
    """Passes nearby, until one lowers the cost by less than the fraction `settled`."""
    cost = np.inf
    for _ in range(n_passes):
        n_changed = clustering.reassign()
        if n_changed <= CALM * clustering.n_points:
            n_changed += clustering.transfer()
        if n_changed == 0 or clustering.cost >= (1 - settled) * cost:
            break
        cost = clustering.cost


def moves_by_parts(clustering: Clustering, rng: np.random.Generator) -> Moves:
    """Exchanges, judged by each cluster alone: what two centers would gain, and what none would lose."""
    filled = np.flatnonzero(clustering.sizes > 1).astype(np.int32)
    moves = Moves.additions(filled, clustering.draw_members(filled, rng))
    gains = clustering.try_moves(moves, n_steps=STEPS_APART, n_adapting=0)
    return paired(clustering, clustering.utilities(), moves, gains, n_near=3, margin=1.5)


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


def recombine(clustering: Clustering, before: Memory, cost: float) -> None:
    """Go back to an earlier clustering, except in the regions that have become better since.

    A region is a set of clusters of both clusterings that share points. It is taken over if both have the same
    number of centers there and the new ones have the lower error.
    """
    after = clustering.memory()
    labels, centers, errors, new_cost = clustering.labels(), clustering.centers, clustering.errors, clustering.cost
    go_back(clustering, before)
    k = clustering.n_clusters
    shared = coo_array((np.ones(len(labels)), (clustering.labels(), labels)), shape=(k, k)).tocsr().tocoo()
    sizes, new_sizes = clustering.sizes, np.bincount(labels, minlength=k)
    much = shared.data > SHARED * np.minimum(sizes[shared.row], new_sizes[shared.col])
    edges = coo_array(
        (np.ones(np.count_nonzero(much)), (shared.row[much], k + shared.col[much])), shape=(2 * k, 2 * k)
    )
    n_regions, region = connected_components(edges, directed=False)
    old, new = region[:k], region[k:]
    gains = np.bincount(old, clustering.errors, n_regions) - np.bincount(new, errors, n_regions)
    balanced = np.bincount(old, minlength=n_regions) == np.bincount(new, minlength=n_regions)
    better = balanced & (gains > GAIN * cost)
    if better.any() and not better.all():
        mixed = clustering.centers.copy()
        for i in np.flatnonzero(better):
            mixed[old == i] = centers[new == i]
        clustering.move(mixed)
        settle(clustering, PASSES, SETTLED_AFTER_MOVES)
    if clustering.cost >= min(cost, new_cost):
        go_back(clustering, after if new_cost < cost else before)

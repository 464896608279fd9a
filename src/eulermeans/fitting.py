"""How a fit of `EulerMeans` proceeds: search on points at hand, descend by mini-batches of all, polish exactly.

Knows which solver does what. Does not know scikit-learn, nor where the data are.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from .arrays import Array, FloatArray
from .driver import Attempt, Journal, StoppingRules
from .history import DESCEND, FINISH, POLISH, SEARCH
from .moments import Moments
from .oracles import DensePoints, MemoryOracle, Oracle, Summary, neighbours_suffice, sample_with_far
from .search_budget import CLUSTERS_OF_DESCENT, SEARCH_POINTS, SearchBudget
from .seeding import seed
from .solvers import (
    Memory,
    Solver,
    backward_euler,
    backward_euler_in_runs,
    breathe,
    differ_in_places,
    moves_pay,
    plan_by_effort,
    polish,
    recombine,
    search,
    usual_exchange,
)

FAITHFUL = 0.03  # a summary whose cells cost at most this fraction needs no larger search by default
SEARCH_BATCH = 100  # points in a mini-batch of the search
SEARCH_BATCH_PER_CLUSTER = 5  # if that is more
SEARCH_BATCH_PART = 1 / 3  # of the points, at most: a batch as large as the data has no noise to search by
DESCENT_BATCH = 300  # points in a mini-batch of the descent
DESCENT_BATCH_PER_CLUSTER = 5  # if that is more

JUDGED_PER_CLUSTER = 30  # points that decide whether a descent is kept, if that is more than SEARCH_POINTS
EXCHANGES = 5  # that a search of a sample may take the time of where it would anneal: the descent finds more
AFTER_DESCENT = 0.3  # of a search on all points

MOST_JOINED = 4  # ends of searches that are joined with what the next one finds

GAIN_LEFT = 0.3  # a second pass over all data gains this fraction of what the first one gained
GAIN_AT_HAND = 0.1  # of `tol`: a pass over points in memory is cheap, so a smaller gain is worth it
# Where all points were searched or clusters are few, the polish ends when the centers rest. Elsewhere not after
# hundreds of passes that gain next to nothing: the same time gains more in the descent. If passes take long, they
# have to gain more.
GAIN_OF_MANY = 0.3  # of `tol`
GAIN_WITHOUT_SEARCH = 5.0  # the same, with an effort of 0: then time counts more

NEXT_STAGE = 4.0  # times the effort of the stage before, with a time limit
MOST_MATCHED = 1000  # centers that are numbered like those that they started from: more take long

Init = str | Array | Callable[[Oracle, np.random.Generator], FloatArray]  # a method's name, centers, or a function


@dataclass(frozen=True)
class Restarts:
    """All restarts of a fit."""

    best: Attempt
    objectives: FloatArray  # (n_restarts,) of each, over the points that were searched


@dataclass(frozen=True)
class Phases:
    """What is done to the centers of an attempt; see the parameters of `EulerMeans`."""

    n_clusters: int
    n_init: int
    effort: float
    polish: bool
    batch_size: int | str
    max_iter: int
    tol: float

    @property
    def budget(self) -> SearchBudget:
        """What its searches may read and compute."""
        return SearchBudget(self.n_clusters, self.effort)

    def run(self, oracle: Oracle, init: Init, journal: Journal, rng: np.random.Generator) -> Restarts:
        """All phases. With a time limit, a large effort on a sample comes after smaller ones."""
        if self.effort == 0 and isinstance(init, np.ndarray):
            return self._improve_given(oracle, init, journal)
        searched = self.budget.points(oracle, rng)
        if journal.max_time is None or searched is oracle or self.effort <= 1:
            return self._run_once(oracle, searched, init, journal, rng)
        return self._run_in_stages(oracle, searched, init, journal, rng)

    def _run_in_stages(
        self, oracle: Oracle, searched: MemoryOracle, init: Init, journal: Journal, rng: np.random.Generator
    ) -> Restarts:
        """The best of whole runs with more and more effort: what is found on a sample is lost if one is cut."""
        stage = replace(self, effort=1.0)
        best = newest = stage._run_once(oracle, searched, init, journal, rng)
        judge = oracle.at_hand or searched
        while stage.effort < self.effort and not newest.best.stop_reason.interrupted:
            stage = replace(self, effort=min(self.effort, NEXT_STAGE * stage.effort))
            newest = stage._run_once(oracle, searched, init, journal, rng)
            best = min(best, newest, key=lambda restarts: judge.full(restarts.best.centers).cost)
        best.best.stop_reason = newest.best.stop_reason
        return best

    def _run_once(
        self, oracle: Oracle, searched: MemoryOracle, init: Init, journal: Journal, rng: np.random.Generator
    ) -> Restarts:
        """Search from each start; where the search read a sample, take the best result on to all data."""
        whole = searched is oracle
        attempts: list[Attempt] = []
        while len(attempts) < self.n_init and not (attempts and attempts[-1].stop_reason.interrupted):
            attempt = self._best_start(oracle, searched, init, journal, rng)
            if whole and self.polish:
                self._settle(attempt, oracle, searched, journal)
            attempts.append(attempt)
        if len(attempts) == 1 and attempts[0].history:  # there is nothing to compare
            objectives = np.array([attempts[0].history[-1].objective])
        else:
            objectives = np.array([self._objective(attempt, searched, rng) for attempt in attempts])
        best = attempts[int(np.argmin(objectives))]
        if not whole:
            self._leave_sample(best, oracle, searched, journal, rng)
            if self.polish:
                self._settle(best, oracle, searched, journal)
        return Restarts(best, objectives)

    def _best_start(
        self, oracle: Oracle, searched: MemoryOracle, init: Init, journal: Journal, rng: np.random.Generator
    ) -> Attempt:
        """What searches from several starts find together, which share the effort; by default there is one."""
        whole = searched is oracle or isinstance(searched, Summary)
        n_starts = 1 if isinstance(init, np.ndarray) else self.budget.n_starts(searched, whole=whole)
        sharing, n_left = replace(self, effort=self.effort / n_starts), n_starts - 1
        best = sharing._search_from_start(oracle, searched, init, journal, rng)
        others = deque[FloatArray](maxlen=MOST_JOINED)
        while n_left > 0 and not best.stop_reason.interrupted:
            newest = sharing._search_from_start(oracle, searched, init, journal, rng)
            n_left -= 1
            if n_left > 1 and not others and not differ_in_places(searched, best.centers, newest.centers):
                sharing, n_left = replace(self, effort=n_left * sharing.effort), 1  # a long search finds more
            best = self._join(best, newest, others, searched, journal, rng)
        return best

    def _join(
        self,
        best: Attempt,
        newest: Attempt,
        others: deque[FloatArray],  # ends of earlier searches, INOUT
        searched: MemoryOracle,
        journal: Journal,
        rng: np.random.Generator,
    ) -> Attempt:
        """The better of two attempts, with the better regions of others where points are dense."""
        better, other = sorted((best, newest), key=lambda attempt: self._objective(attempt, searched, rng))
        others.append(other.centers)
        if newest.stop_reason.interrupted:
            better.stop_reason = newest.stop_reason
        elif isinstance(searched.points, DensePoints):
            begin = partial(recombine, searched, others=tuple(others), rng=rng)
            better.advance(begin, journal, SEARCH, StoppingRules(sys.maxsize))
        return better

    def _search_from_start(
        self, oracle: Oracle, searched: MemoryOracle, init: Init, journal: Journal, rng: np.random.Generator
    ) -> Attempt:
        start = self._start(oracle, searched, init, journal, rng)
        attempt, budget = Attempt(start), self.budget.of_first(searched)
        if oracle.at_hand is oracle and searched is not oracle and anneals(searched, start):
            attempt.would_anneal = True
            budget = min(budget, EXCHANGES * usual_exchange(searched))
        self._search(attempt, searched, journal, rng, budget, anneal=not attempt.would_anneal)
        if isinstance(init, np.ndarray):
            attempt.centers = in_order_of(start, attempt.centers)
        return attempt

    def _leave_sample(
        self,
        best: Attempt,
        oracle: Oracle,
        searched: MemoryOracle,
        journal: Journal,
        rng: np.random.Generator,
    ) -> None:
        """Take the centers found on a sample or a summary on to more points, and to all by a descent.

        Where the next search has all points, it comes last; on another sample it comes before the descent, which
        would be in vain if a sample had the last word. Where it would anneal that sample, a descent by all points
        finds more.
        """
        faithful = isinstance(searched, Summary) and searched.within <= FAITHFUL * searched.full(best.centers).cost
        unneeded = best.out_of_time or (faithful and self.effort <= 1)
        sampled = not best.would_anneal
        larger = None if unneeded else self.budget.larger_sample(oracle, searched, rng, sampled=sampled)
        if larger is not None:
            budget = self.budget.of_larger(oracle, larger)
            # A large effort has made the sample larger, not its breaths more.
            once = replace(self, effort=min(1.0, self.effort))
            if larger is oracle:
                self._descend(best, oracle, searched, journal, rng)
                once._search(best, larger, journal, rng, AFTER_DESCENT * budget)
                return
            once._search(best, larger, journal, rng, budget, anneal=not anneals(larger, best.centers))
        if not (faithful and oracle.at_hand is oracle):
            self._descend(best, oracle, searched, journal, rng)

    def _improve_given(self, oracle: Oracle, centers: FloatArray, journal: Journal) -> Restarts:
        """Improve given centers by exact passes over all data alone: with `max_iter=1`, one step of Lloyd."""
        attempt, near = Attempt(centers), oracle.at_hand or oracle
        if self.polish:
            rules = StoppingRules(self.max_iter, self.tol * near.variance_of_features())
            phase = POLISH if near is oracle else FINISH
            attempt.advance(partial(polish, oracle), journal, phase, rules)
        known = attempt.history[-1].objective if attempt.history else near.full(attempt.centers).objective
        return Restarts(attempt, np.array([known]))

    def _objective(self, attempt: Attempt, searched: MemoryOracle, rng: np.random.Generator) -> float:
        """Over the points that were searched; when the time is over, as far as it is known or cheap."""
        if attempt.out_of_time and attempt.history:
            return attempt.history[-1].objective
        few = attempt.out_of_time and searched.n_points > SEARCH_POINTS
        return objective(searched.sample(SEARCH_POINTS, rng) if few else searched, attempt.centers)

    def _start(
        self, oracle: Oracle, searched: MemoryOracle, init: Init, journal: Journal, rng: np.random.Generator
    ) -> FloatArray:
        if callable(init):
            return init(oracle, rng)
        size = self.budget.n_seeded(searched)
        few = isinstance(init, str) and init == "k-means++" and size < searched.n_points
        sample = sample_with_far(searched, size, rng) if few else searched
        with journal.limit():
            return seed(init, sample, self.n_clusters, rng)

    def _search(
        self,
        attempt: Attempt,
        searched: MemoryOracle,
        journal: Journal,
        rng: np.random.Generator,
        budget: float,  # distances
        *,
        anneal: bool = True,
    ) -> None:
        """Move centers, and unless `anneal` is off single points, to where they lower the cost."""
        wanted = self._batch_size(SEARCH_BATCH, SEARCH_BATCH_PER_CLUSTER)
        batch_size = min(wanted, max(1, int(SEARCH_BATCH_PART * searched.n_points)))

        def begin(centers: FloatArray, memory: Memory | None) -> Solver:
            if moves_pay(searched, self.n_clusters, budget):
                return search(
                    searched,
                    centers,
                    batch_size=batch_size,
                    budget=budget,
                    rng=rng,
                    anneal=anneal,
                    memory=memory,
                )
            sparse = not isinstance(searched.points, DensePoints)
            plan = plan_by_effort(self.n_clusters, self.effort, sparse=sparse, spherical=searched.spherical)
            return breathe(searched, centers, batch_size=batch_size, plan=plan, rng=rng, memory=memory)

        attempt.advance(begin, journal, SEARCH, StoppingRules(sys.maxsize))

    def _descend(
        self,
        attempt: Attempt,
        oracle: Oracle,
        searched: MemoryOracle,
        journal: Journal,
        rng: np.random.Generator,
    ) -> None:
        """Take the centers found on a sample towards the minimum of all data, by mini-batches of all data."""
        run, n_runs = self.budget.descent(oracle, self._batch_size(DESCENT_BATCH, DESCENT_BATCH_PER_CLUSTER))
        near = oracle.at_hand

        def begin(centers: FloatArray, memory: Memory | None) -> Solver:
            if near is oracle:
                return backward_euler_in_runs(near, centers, memory, run=run, rng=rng)
            parameters = asdict(run)
            del parameters["n_steps"]
            return backward_euler(oracle, centers, memory, rng=rng, **parameters)

        found = attempt.centers
        attempt.advance(begin, journal, DESCEND, StoppingRules(n_runs))
        if attempt.out_of_time:
            attempt.centers = found
            return
        # The large steps of the descent may leave a good minimum: a fresh sample decides which centers to keep.
        size = min(searched.n_points, max(SEARCH_POINTS, JUDGED_PER_CLUSTER * self.n_clusters))
        judge = oracle.sample(size, rng) if near is None else sample_with_far(near, size, rng)
        attempt.centers = min(found, attempt.centers, key=lambda centers: cost_at_means(judge, centers))

    def _settle(self, attempt: Attempt, oracle: Oracle, searched: MemoryOracle, journal: Journal) -> None:
        """Polish by exact passes; where the data are not in memory, only as long as each pass gains enough."""
        if attempt.stop_reason.interrupted:
            return
        tolerance = self.tol * searched.variance_of_features()
        at_hand = oracle.at_hand
        near = at_hand or oracle  # in memory, here or on the workers of a cluster
        gain = self._least_gain(at_hand, searched) if at_hand is oracle else GAIN_AT_HAND * self.tol
        before = attempt.history[-1].objective if searched is near and attempt.history else np.inf
        # With an effort of 0, a move that gains little is not worth the pass that labels the moved centers.
        keep_measured = at_hand is oracle and self.effort == 0
        rules = StoppingRules(self.max_iter, tolerance, gain, before, keep_measured=keep_measured)
        attempt.advance(partial(polish, near), journal, POLISH, rules)
        n_passes = self._passes_that_gain(near.n_points, oracle.n_points)
        if n_passes > 0:
            rules = StoppingRules(n_passes, tolerance, gain=self.tol, keep_measured=oracle.remembers)
            attempt.advance(partial(polish, oracle), journal, FINISH, rules)

    def _least_gain(self, at_hand: MemoryOracle, searched: MemoryOracle) -> float | None:
        """The fraction of the objective that a pass over all points in memory has to gain; None: any."""
        if self.budget.passes_take_long(at_hand):
            return (GAIN_OF_MANY if self.effort > 0 else GAIN_WITHOUT_SEARCH) * self.tol
        if searched is at_hand or not isinstance(at_hand.points, DensePoints) or self.tol == 0:
            return None
        many = self.n_clusters > CLUSTERS_OF_DESCENT or self.effort == 0
        return GAIN_AT_HAND * self.tol if many else None

    def _passes_that_gain(self, n_polished: int, n_points: int) -> int:
        """How many passes over all points may lower the objective by more than the fraction `tol`.

        Centers that are exact for n of N points can still gain about K (1/n − 1/N) of the objective.
        """
        expected = self.n_clusters * (1 / n_polished - 1 / n_points)
        if expected <= self.tol:
            return 0
        return 1 if GAIN_LEFT * expected <= self.tol else self.max_iter

    def _batch_size(self, smallest: int, per_cluster: int) -> int:
        automatic = max(smallest, per_cluster * self.n_clusters)
        return automatic if self.batch_size == "auto" else int(self.batch_size)


def anneals(searched: MemoryOracle, centers: FloatArray) -> bool:
    """Whether a search of these points anneals: where features are many, moves of single centers gain little."""
    return (
        isinstance(searched.points, DensePoints)
        and not isinstance(searched, Summary)
        and not neighbours_suffice(searched.points, centers)
    )


def in_order_of(
    start: FloatArray,  # (n_clusters, n_features), IN
    centers: FloatArray,  # (n_clusters, n_features), IN
) -> FloatArray:
    """The centers, numbered like those that they started from: breathing adds and removes some."""
    if len(centers) > MOST_MATCHED or np.array_equal(start, centers):
        return centers
    _, matched = linear_sum_assignment(cdist(start, centers, "sqeuclidean"))
    ordered: FloatArray = centers[matched]
    return ordered


def cost_at_means(sample: MemoryOracle, centers: FloatArray) -> float:
    """The cost of a sample after a pass: steps on mini-batches do not end at the means of points."""
    return sample.full(sample.full(centers).means(otherwise=centers)).cost


def objective(searched: MemoryOracle, centers: FloatArray) -> float:
    """φ over the points that were searched."""
    found = searched.full(centers)
    return Moments(found.counts, found.sums, found.cost + searched.within).objective

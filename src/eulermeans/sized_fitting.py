"""How a fit of `SizedMeans` proceeds: without bounds first, then a search with prices, then passes over all data.

Knows which solver does what and for how long. Does not know scikit-learn, nor where the data are.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np

from .arrays import FloatArray
from .driver import Attempt, Journal, StoppingRules
from .fitting import Init, Phases
from .history import POLISH, SEARCH, StopReason
from .oracles import MemoryOracle, Oracle, Placer, SizeBounds
from .solvers import OPERATIONS, Memory, Solver, priced_em, sized_search

START_EFFORT = 0.25  # of the effort, for the search without bounds that gives the start
START_TIME = 0.4  # of the time limit, for the same
WHOLE_DISTANCES = 3e6  # of a pass: up to these,
WHOLE_OPERATIONS = 1.2e8  # and up to these, all data are searched
SEARCH_PASSES = 5.0  # of the search with prices over its points,
SEARCH_PASSES_PER_CLUSTER = 6.0  # and this many for each cluster more,
FEW_POINTS = 4000  # if there are no more points than these: with more, they grow with the square root,
SEARCH_WORK = 1.2e9  # but no more arithmetic operations than this,
SEARCH_DISTANCES = 80.0  # and these many distances of each point to every center,
SEARCH_DISTANCES_OF_ALL = 300.0  # or these, if the search reads all points: nothing follows that mends it;
MANY_CLUSTERS = 100  # but with more, no longer than with this many: the placement takes longer then
FEW_CLUSTERS = 30  # with fewer, the search is as long as with this many
WORK_OF_A_PASS = 3  # a pass with prices and the placement take as long as this many passes without
FEWEST_PASSES = 16.0
STARTS = 4  # with equal weights, beside the centers without bounds


@dataclass(frozen=True)
class SizedFit:
    """What a fit found: the centers and prices of the best restart, and how it got there."""

    best: Attempt
    prices: FloatArray  # (n_clusters,)
    objectives: FloatArray  # (n_restarts,) over the points that were searched
    unbounded: FloatArray  # (n_clusters, n_features) the best centers without bounds


@dataclass(frozen=True)
class SizedPhases:
    """What is done to the centers; see the parameters of `SizedMeans`."""

    phases: Phases  # without bounds
    bounds: SizeBounds

    def run(self, oracle: Oracle, init: Init, journal: Journal, rng: np.random.Generator) -> SizedFit:
        """Search from each start; take the best result on to all data."""
        phases = replace(self.phases, n_init=1, effort=START_EFFORT * self.phases.effort)
        searched = self._points(phases, oracle, rng)
        attempts: list[Attempt] = []
        starts: list[FloatArray] = []
        prices: list[FloatArray] = []
        while len(attempts) < self.phases.n_init and not (attempts and attempts[-1].stop_reason.interrupted):
            limit = None if journal.max_time is None else START_TIME * journal.max_time
            early = replace(journal, max_time=limit, history=[])
            start = phases.run(oracle, init, early, rng).best
            starts.append(start.centers)
            attempt = Attempt(start.centers)
            if start.stop_reason is StopReason.CALLBACK:
                attempt.stop_reason = start.stop_reason
            n_starts = 0 if isinstance(init, np.ndarray) else STARTS
            prices.append(self._search(attempt, oracle, searched, n_starts, journal, rng))
            attempts.append(attempt)
        objectives = np.array(
            [attempt.history[-1].objective if attempt.history else np.inf for attempt in attempts]
        )
        which = int(np.argmin(objectives))
        best, found = attempts[which], prices[which]
        if searched is not oracle:
            found = self._polish(best, found, oracle, searched, journal)
        unbounded = min(starts, key=lambda centers: searched.full(centers).cost)
        return SizedFit(best, found, objectives, unbounded)

    def _points(self, phases: Phases, oracle: Oracle, rng: np.random.Generator) -> MemoryOracle:
        """All data if passes are cheap. A summary of them would be no better: its points have weights."""
        distances = self._distances(oracle)
        cheap = distances <= min(WHOLE_DISTANCES, WHOLE_OPERATIONS / _operations(oracle))
        if cheap and oracle.at_hand is oracle:
            return oracle.at_hand
        return phases.budget.points(oracle, rng)

    def _distances(self, oracle: Oracle) -> int:
        """How many a pass computes."""
        return oracle.n_points * self.phases.n_clusters

    def bounds_of(self, oracle: Oracle, part: Oracle) -> SizeBounds:
        """The bounds for a part of the points: in proportion to its weight."""
        share = part.total_weight / oracle.total_weight
        if share == 1:
            return self.bounds
        lowest, highest = self.bounds.lowest * share, self.bounds.highest * share
        if part.unweighted:
            equal = part.n_points / self.phases.n_clusters
            lowest, highest = min(np.ceil(lowest), np.floor(equal)), max(np.floor(highest), np.ceil(equal))
        return SizeBounds(float(lowest), float(highest))

    def _search(
        self,
        attempt: Attempt,
        oracle: Oracle,
        searched: MemoryOracle,
        n_starts: int,
        journal: Journal,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Move centers to where they lower the cost within the bounds. Returns the prices."""
        placer = Placer(searched, self.bounds_of(oracle, searched), self.phases.n_clusters)
        whole = searched is oracle
        budget = self.phases.effort * self._passes(searched, whole)

        def begin(centers: FloatArray, memory: Memory | None) -> Solver:
            return sized_search(placer, searched, centers, budget=budget, whole=whole, n_starts=n_starts, rng=rng)

        attempt.advance(begin, journal, SEARCH, StoppingRules(sys.maxsize))
        return placer.prices

    def _passes(self, searched: MemoryOracle, whole: bool) -> float:
        k = self.phases.n_clusters
        of_each = SEARCH_DISTANCES * max(FEW_CLUSTERS, k)
        if whole:
            of_each = max(of_each, SEARCH_DISTANCES_OF_ALL * min(max(FEW_CLUSTERS, k), MANY_CLUSTERS))
        distances = SEARCH_WORK / _operations(searched) + of_each * searched.n_points
        affordable = distances / (WORK_OF_A_PASS * self._distances(searched))
        longer = np.sqrt(max(1.0, searched.n_points / FEW_POINTS))
        wanted = longer * (SEARCH_PASSES + SEARCH_PASSES_PER_CLUSTER * k)
        return max(FEWEST_PASSES, min(float(wanted), affordable))

    def _polish(
        self, best: Attempt, prices: FloatArray, oracle: Oracle, searched: MemoryOracle, journal: Journal
    ) -> FloatArray:
        """Passes over all data. Returns the prices."""
        placer = Placer(oracle, self.bounds, self.phases.n_clusters)
        placer.prices = prices
        tolerance = self.phases.tol * float(searched.variance().mean())
        rules = StoppingRules(self.phases.max_iter, tolerance, self.phases.tol)
        best.advance(lambda centers, memory: priced_em(placer, centers), journal, POLISH, rules)
        return placer.prices


def _operations(oracle: Oracle) -> float:
    """Arithmetic operations of a distance."""
    return oracle.row_bytes / oracle.dtype.itemsize + OPERATIONS

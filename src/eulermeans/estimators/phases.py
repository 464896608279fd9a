"""The phases of a fit of `EulerMeans`: search on points at hand, descend by mini-batches of all, polish exactly.

Knows which solver does what, and how long. Does not know scikit-learn, nor where the data are.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..arrays import FloatArray
from ..driver import Journal, StoppingRules, run_or_resume
from ..history import DESCEND, FINISH, POLISH, SEARCH, Record, StopReason
from ..oracles import Oracle, Searchable
from ..solvers import Begin, Memory, Solver, backward_euler, breathe, polish

# The search reads a sample where the data are many: so many points, or so many for each center if that is more.
# More would not change which minimum it finds, fewer would make minima of their own.
SEARCH_POINTS, SEARCH_POINTS_PER_CLUSTER = 10_000, 100
WHOLE = 0.75  # a sample that would be more than this part of the data is the data
SEARCH_BATCH, SEARCH_BATCH_PER_CLUSTER = 100, 5
SEARCH_BATCH_PART = 1 / 3  # of the points, at most: a batch as large as the data has no noise to search by

# The descent takes the centers found on a sample to the minimum of all data, by mini-batches of them.
DESCENT_STEPS, DESCENT_INNER, DESCENT_DECAY = 40, 5, 0.93
DESCENT_STEP = 0.5  # of n_clusters, at first
BATCH, BATCH_PER_CLUSTER = 500, 10  # the larger of the two
AVERAGING, LIMIT = 0.75, 2.0  # see solvers.relocation

GAIN_LEFT = 0.3  # what the second pass over all data gains, of what the first one gained
GAIN_AT_HAND = 0.1  # of `tol`: a pass over points in memory costs less, and may gain less


@dataclass
class Attempt:
    """One restart: where its centers are, and how they got there."""

    centers: FloatArray  # (n_clusters, n_features)
    history: list[Record] = field(default_factory=list)
    n_iter: int = 0
    stop_reason: StopReason = StopReason.MAX_ITER

    def advance(self, begin: Begin, journal: Journal, phase: str, rules: StoppingRules) -> None:
        """Run one phase, unless the attempt was interrupted."""
        if self.stop_reason.interrupted:
            return
        journal.history = self.history
        ended = run_or_resume(begin, self.centers, journal, phase, rules)
        self.centers, self.stop_reason = ended.centers, ended.stop_reason
        self.n_iter += ended.n_iter


@dataclass(frozen=True)
class Phases:
    """What is done to the centers of an attempt; see the parameters of `EulerMeans`."""

    n_clusters: int
    effort: float
    batch_size: int | str
    max_iter: int
    tol: float

    def points_to_search(self, oracle: Oracle, rng: np.random.Generator) -> Searchable:
        """A sample, or the data themselves where they are few."""
        size = max(SEARCH_POINTS, SEARCH_POINTS_PER_CLUSTER * self.n_clusters)
        at_hand = oracle.at_hand
        if at_hand is not None and at_hand.n_points == oracle.n_points and size > WHOLE * oracle.n_points:
            return at_hand
        return oracle.sample(size, rng)

    def search(self, attempt: Attempt, searched: Searchable, journal: Journal, rng: np.random.Generator) -> None:
        """Relocate centers."""
        wanted = self._batch_size(SEARCH_BATCH, SEARCH_BATCH_PER_CLUSTER)
        batch_size = min(wanted, max(1, int(SEARCH_BATCH_PART * searched.n_points)))

        def begin(centers: FloatArray, memory: Memory | None) -> Solver:
            return breathe(searched, centers, batch_size=batch_size, effort=self.effort, rng=rng, memory=memory)

        attempt.advance(begin, journal, SEARCH, StoppingRules(sys.maxsize))

    def descend(
        self,
        attempt: Attempt,
        oracle: Oracle,
        searched: Searchable,
        journal: Journal,
        rng: np.random.Generator,
    ) -> None:
        """Take the centers found on a sample towards the minimum of all data, by mini-batches of them."""

        def begin(centers: FloatArray, memory: Memory | None) -> Solver:
            return backward_euler(
                oracle,
                centers,
                step_size=max(1.0, DESCENT_STEP * self.n_clusters),
                batch_size=self._batch_size(BATCH, BATCH_PER_CLUSTER),
                averaging=AVERAGING,
                decay=DESCENT_DECAY,
                n_inner=DESCENT_INNER,
                rng=rng,
                limit=LIMIT,
                memory=memory,
            )

        found = attempt.centers
        attempt.advance(begin, journal, DESCEND, StoppingRules(DESCENT_STEPS))
        # The large steps of the descent may leave a good minimum: points that neither has seen decide.
        judge = oracle.sample(searched.n_points, rng)
        attempt.centers = min(found, attempt.centers, key=lambda centers: judge.full(centers).cost)

    def settle(self, attempt: Attempt, oracle: Oracle, searched: Searchable, journal: Journal) -> None:
        """Go on with exact passes to the minimum; where the data are not in memory, only as long as they gain."""
        tolerance = self.tol * float(searched.variance().mean())
        at_hand = oracle.at_hand
        near = at_hand or oracle  # in memory, here or on the workers of a cluster
        gain = None if at_hand is oracle else GAIN_AT_HAND * self.tol
        attempt.advance(partial(_polish, near), journal, POLISH, StoppingRules(self.max_iter, tolerance, gain))
        n_passes = self._passes_that_gain(near.n_points, oracle.n_points)
        if n_passes > 0:
            rules = StoppingRules(n_passes, tolerance, gain=self.tol)
            attempt.advance(partial(_polish, oracle), journal, FINISH, rules)

    def _passes_that_gain(self, n_polished: int, n_points: int) -> int:
        """How many passes over all points may lower the objective by more than the part `tol`.

        Centers that are exact for n of N points have about K (1/n − 1/N) of the objective yet to gain.
        """
        expected = self.n_clusters * (1 / n_polished - 1 / n_points)
        if expected <= self.tol:
            return 0
        return 1 if GAIN_LEFT * expected <= self.tol else self.max_iter

    def _batch_size(self, smallest: int, per_cluster: int) -> int:
        automatic = max(smallest, per_cluster * self.n_clusters)
        return automatic if self.batch_size == "auto" else int(self.batch_size)


def _polish(oracle: Oracle, centers: FloatArray, memory: Memory | None) -> Solver:
    return polish(oracle, centers, memory=memory)

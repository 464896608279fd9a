"""How many points a search and a descent read, and for how long: so that results do not depend on the clock, a
search is given a number of distances and a descent a number of steps.

Knows what passes cost. Does not know what a search does with its budget.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .oracles import DensePoints, MemoryOracle, Oracle, StepRun, Summary, sample_with_far, summarize
from .solvers import OPERATIONS

# The search begins on a sample where the data are many, and goes on with a larger one: the minima of few points
# are not those of all.
SEARCH_POINTS = 10_000
SEARCH_POINTS_PER_CLUSTER = 100  # if that is more
LARGER_PER_CLUSTER = 1000  # points in the larger sample for each cluster
LARGER_OF_MANY = 700  # the same, where a pass over all data takes more than MANY_OPERATIONS
LARGER_BYTES = 256 << 20  # of it, if it has to be copied
WHOLE = 0.75  # a sample larger than this fraction of the data is replaced by the data
WHOLE_WITHOUT_SEARCH = 0.3  # the same, with an effort of 0 and passes that take long: a descent would take longer
WHOLE_OPERATIONS = 1.2e8  # so are samples where a pass over the data takes no more than this
WHOLE_SWEPT_OPERATIONS = 1e9  # the same, of sparse points that are swept: a descent takes longer
MANY_OPERATIONS = 1e9  # of a pass that takes long

SEARCH_PASSES = 28.0  # the search computes as many distances as this many passes over its points
SUMMARY_PASSES = 56.0  # the same in a summary, whose passes read a part of its points
LARGER_OVER_ALL = 5.0  # on a larger sample, as many as this many passes over all points at hand
SEARCH_WORK = 4e8  # and this many arithmetic operations more, which is little time for few points
LONGER_WORK = 1.5e9  # of few points it takes twice as long, if that is at most so many operations more
FEW_CLUSTERS = 30  # with fewer, every move concerns most of the points: the search is as long as with this many
MANY_CLUSTERS = 1000  # beyond, the search grows with the square root: sweeps take as long for more clusters
START_EFFORT = 2.0  # a larger effort is shared by several starts

SEED_POINTS_PER_CLUSTER = 5  # for k-means++, at least; the search makes up for a poor start
SEED_WORK = 1e7  # arithmetic operations for each new center: more points are read if they allow it

# The descent takes the centers found on a sample towards the minimum of all data by the paper's algorithm:
# implicit steps on mini-batches of all data. Their noise carries centers over barriers, and falls with their size.
DESCENT_STEPS = 67  # at least, and of data that are not at hand
LONG_PASSES = 12.0  # at hand, it reads as many points as this many passes over all data where they take long,
MOST_STEPS = 5000  # if they are enough for no more than so many steps
LEAST_EFFORT = 0.5  # of a descent where passes take long; elsewhere it is 1
# Where passes do not take long, a descent reads more for more clusters. It saves passes of the polish.
SHORT_PASSES, MOST_PASSES = 8.0, 16.0  # at least and at most
CLUSTERS_OF_DESCENT = 25  # that SHORT_PASSES are enough for
DESCENT_INNER = 3
FIRST_STEP, LAST_STEP = 1.0, 0.05  # sizes, in units of n_clusters
STEPS_OF_A_RUN, MOST_RUNS = 6, 50  # at least and at most: a run is what is reported
AVERAGING, LIMIT = 0.75, 2.0  # as in solvers.breathing


@dataclass(frozen=True)
class SearchBudget:
    """What a search for this many clusters may read and compute."""

    n_clusters: int
    effort: float

    def points(self, oracle: Oracle, rng: np.random.Generator) -> MemoryOracle:
        """All data if they are few, otherwise a summary or a sample."""
        size = max(SEARCH_POINTS, SEARCH_POINTS_PER_CLUSTER * self.n_clusters)
        at_hand = oracle.at_hand
        if at_hand is None:
            return oracle.sample(size, rng)
        summary = summarize(at_hand, size, rng)
        if summary is not None:
            return summary
        swept = not (at_hand.spherical or isinstance(at_hand.points, DensePoints))
        most = WHOLE_SWEPT_OPERATIONS if swept else WHOLE_OPERATIONS
        cheap = self._operations(at_hand) * max(1, FEW_CLUSTERS / self.n_clusters) <= most
        part = WHOLE_WITHOUT_SEARCH if self.effort == 0 and self.passes_take_long(at_hand) else WHOLE
        whole = at_hand.n_points == oracle.n_points and (cheap or size > part * oracle.n_points)
        return at_hand if whole else sample_with_far(at_hand, size, rng)

    def larger_sample(
        self, oracle: Oracle, searched: MemoryOracle, rng: np.random.Generator, *, sampled: bool
    ) -> MemoryOracle | None:
        """All data or, if `sampled`, a larger sample than was searched; None if that would not help."""
        at_hand = oracle.at_hand
        if at_hand is None or self.effort == 0 or not isinstance(at_hand.points, DensePoints):
            return None
        per_cluster = LARGER_OF_MANY if self.passes_take_long(at_hand) else LARGER_PER_CLUSTER
        # The minimum of a sample is a ceiling: a larger effort needs a larger sample.
        size = int(per_cluster * max(1.0, self.effort) * self.n_clusters)
        if at_hand.points.in_place and size > WHOLE * at_hand.n_points:
            return at_hand if at_hand.n_points > searched.n_points else None
        if not sampled:
            return None
        if not at_hand.points.in_place:
            size = min(size, int(LARGER_BYTES / at_hand.row_bytes))
        return sample_with_far(at_hand, size, rng) if size > searched.n_points else None

    def n_seeded(self, searched: MemoryOracle) -> int:
        """How many of the points k-means++ chooses from."""
        affordable = int(SEED_WORK / (searched.row_bytes / searched.dtype.itemsize + OPERATIONS))
        return max(SEED_POINTS_PER_CLUSTER * self.n_clusters, affordable // self.n_clusters)

    def n_starts(self, searched: MemoryOracle, *, whole: bool) -> int:
        """How many starts share the effort. Several share a large one, where what they find can be recombined.

        So they do where points are few: there a search ends where more rounds gain nothing.
        """
        few = self._work(searched, SEARCH_PASSES) <= _distances_of(SEARCH_WORK, searched)
        several = few or (whole and isinstance(searched.points, DensePoints))
        return max(1, round(self.effort / START_EFFORT)) if several else 1

    def of_first(self, searched: MemoryOracle) -> float:
        """The distances that the first search computes."""
        return self._distances(searched, SUMMARY_PASSES if isinstance(searched, Summary) else SEARCH_PASSES)

    def of_larger(self, oracle: Oracle, searched: MemoryOracle) -> float:
        """The distances that the search on a larger sample computes."""
        at_hand = oracle.at_hand or oracle
        if searched.n_points == at_hand.n_points:
            return self._distances(searched, SEARCH_PASSES)
        least = 0.0 if self.passes_take_long(at_hand) else SEARCH_PASSES
        return self._distances(searched, max(least, LARGER_OVER_ALL * at_hand.n_points / searched.n_points))

    def descent(self, oracle: Oracle, batch_size: int) -> tuple[StepRun, int]:
        """A run of steps of a descent, and how many runs. Steps are many where dense data are at hand."""
        n_steps, n_runs = DESCENT_STEPS, DESCENT_STEPS
        near = oracle.at_hand
        if near is oracle:
            if isinstance(near.points, DensePoints):
                n_passes, least = LONG_PASSES, LEAST_EFFORT
                if not self.passes_take_long(near):
                    n_passes, least = SHORT_PASSES * max(1.0, self.n_clusters / CLUSTERS_OF_DESCENT), 1.0
                    n_passes = min(MOST_PASSES, n_passes)
                most = min(MOST_STEPS, n_passes * oracle.n_points / (DESCENT_INNER * batch_size))
                n_steps = max(n_steps, round(max(least, self.effort) * most))
            n_runs = min(MOST_RUNS, n_steps // STEPS_OF_A_RUN)
        decay = (LAST_STEP / FIRST_STEP) ** (1 / n_steps)
        step_size = max(1.0, FIRST_STEP * self.n_clusters)
        run = StepRun(n_steps // n_runs, DESCENT_INNER, batch_size, step_size, decay, AVERAGING, LIMIT)
        return run, n_runs

    def passes_take_long(self, oracle: Oracle) -> bool:
        """Whether a pass takes more than a fraction of a second."""
        return self._operations(oracle) > MANY_OPERATIONS

    def _distances(self, searched: MemoryOracle, passes: float) -> float:
        work = self._work(searched, passes)
        longer = 0.0 if isinstance(searched, Summary) else min(work, _distances_of(LONGER_WORK, searched))
        return self.effort * (work + longer + _distances_of(SEARCH_WORK, searched))

    def _work(self, searched: MemoryOracle, passes: float) -> float:
        """The distances of this many passes."""
        n_points = searched.n_summarized if isinstance(searched, Summary) else searched.n_points
        most = np.sqrt(MANY_CLUSTERS * self.n_clusters)
        return float(passes * n_points * max(FEW_CLUSTERS, min(self.n_clusters, most)))

    def _operations(self, oracle: Oracle) -> float:
        """Arithmetic operations of a pass."""
        return oracle.n_points * self.n_clusters * (oracle.row_bytes / oracle.dtype.itemsize + OPERATIONS)


def _distances_of(work: float, searched: MemoryOracle) -> float:
    """How many distances take this many arithmetic operations."""
    return work / (searched.n_features + OPERATIONS / 2)

"""Annealing: sweeps at a temperature that falls to zero.

At a temperature T, a point goes to a cluster with a probability proportional to exp(−cost / T): a Gibbs sampler of
the measure exp(−φ / T) behind the paper's local entropy. Its noise carries points over barriers between minima,
one by one, where features are many and no move of single centers gains. As T falls, fewer points go where it costs
more, and the last sweeps only lower the cost.
"""

from __future__ import annotations

import numpy as np

from ..oracles import SWEEP_WORK, Clustering, ListedClustering
from .iterate import Memory, scalar
from .settling import SETTLED_AFTER_MOVES, go_back, settle

HEAT = 0.5  # the first temperature, in units of the median gap
SWEEPS = 16  # in a round, at least; then the lists are renewed, which takes at most as long as the sweeps
PASSES = 8  # at most, at the end
KEPT = "kept."  # before the names of what is kept, in a memory


class Annealing:
    """An annealing of a clustering, in rounds. It is undone at its end unless it lowers the cost."""

    def __init__(self, clustering: Clustering, budget: float, rng: np.random.Generator) -> None:
        self._clustering, self._rng = clustering, rng
        self._n_sweeps = max(SWEEPS, round(clustering.n_clusters / SWEEP_WORK))  # in a round
        work = clustering.n_points * (clustering.n_clusters + self._n_sweeps * SWEEP_WORK)
        self._n_rounds = int(budget / work) if isinstance(clustering, ListedClustering) else 0
        self._n_done = 0
        self._temperature = 0.0  # the first
        self.kept: Memory = {}  # the clustering before; empty before the first round and after the last

    @property
    def used(self) -> bool:
        """Whether the budget is enough for a round."""
        return self._n_rounds > 0

    @property
    def ended(self) -> bool:
        """Whether no round is left."""
        return self._n_done >= self._n_rounds

    def round(self) -> None:
        """Some sweeps, and new lists."""
        clustering = self._clustering
        assert isinstance(clustering, ListedClustering)
        if self._n_done == 0:
            self.kept, self._temperature = clustering.memory(), HEAT * clustering.median_gap
        passed = self._n_done + np.arange(self._n_sweeps) / self._n_sweeps
        clustering.sweep(self._rng, self._temperature * (1 - passed / self._n_rounds))
        clustering.renew_lists()
        self._n_done += 1
        if self.ended:
            clustering.find_neighbours()
            settle(clustering, PASSES, SETTLED_AFTER_MOVES, self._rng)
            if clustering.cost >= self.kept["errors"].sum():
                go_back(clustering, self.kept)
            self.kept = {}

    def memory(self) -> Memory:
        """What is needed to continue from here, besides the clustering."""
        state = {"annealed": np.array(self._n_done), "temperature": np.array(self._temperature)}
        return state | {KEPT + name: array for name, array in self.kept.items()}

    def remember(self, memory: Memory) -> None:
        """Continue from what `memory` gave."""
        self._n_done, self._temperature = int(scalar(memory, "annealed")), scalar(memory, "temperature")
        self.kept = {name.removeprefix(KEPT): each for name, each in memory.items() if name.startswith(KEPT)}

"""Passes that lower the cost of a clustering after something has changed, and how to undo the change."""

from __future__ import annotations

import numpy as np

from ..oracles import Clustering
from .iterate import Memory

SETTLED_AFTER_MOVES = 1e-4  # passes end when one lowers the cost by less than this fraction


def settle(clustering: Clustering, n_passes: int, settled: float, rng: np.random.Generator) -> None:
    """Passes nearby, until one lowers the cost by less than the fraction `settled`."""
    cost = np.inf
    for _ in range(n_passes):
        if clustering.descend(rng) == 0 or clustering.cost >= (1 - settled) * cost:
            break
        cost = clustering.cost


def go_back(clustering: Clustering, before: Memory) -> None:
    """Undo what was done since, but not the work."""
    n_distances, work = clustering.n_distances, clustering.work
    clustering.remember(before)
    clustering.n_distances, clustering.work = n_distances, work

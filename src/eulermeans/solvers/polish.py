"""The exact polish: EM over an oracle that remembers bounds on the distances from pass to pass."""

from __future__ import annotations

from dataclasses import replace

from ..arrays import FloatArray
from ..oracles import Oracle
from .base import Memory, Solver
from .em import em


def polish(
    oracle: Oracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    memory: Memory | None = None,
) -> Solver:
    """The steps of `em`, from a fraction of its distances once the centers move little."""
    tracked = oracle.tracked()
    if memory is not None:
        tracked.remember(memory)
    for iterate in em(tracked, centers):
        yield replace(iterate, memory=tracked.memory)

"""What a solver yields: one record for each outer step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..moments import FloatArray


@dataclass(frozen=True)
class Iterate:
    """Where a solver stands after an outer step, and what it has learned on the way."""

    centers: FloatArray  # (n_clusters, n_features)
    objective: float  # φ where the data were last asked about it: before the last move
    spread: float  # what φ would be there with one center, at the mean of the same points
    points_read: int  # in this step
    exact: bool = False  # whether φ is over all points, or an estimate
    step_size: float | None = None
    n_distances: int = 0  # computed in this step
    last: bool = False  # whether the solver has nothing left to try


Solver = Iterator[Iterate]

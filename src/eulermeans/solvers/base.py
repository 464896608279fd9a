"""What a solver yields: one record for each outer step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..arrays import Array, FloatArray

Memory = dict[str, Array]  # what a solver needs beside its centers to go on as if it had never stopped


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
    memory: Callable[[], Memory] | None = None  # None: the solver can't be stopped and begun again here


Solver = Iterator[Iterate]
Begin = Callable[[FloatArray, Memory | None], Solver]  # at these centers, anew or with what was remembered


def scalar(memory: Memory, name: str) -> float:
    """A number among the arrays that were remembered."""
    return float(memory[name].item())

"""What a solver yields: one record for each outer step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..arrays import Array, FloatArray

Memory = dict[str, Array]  # what a solver needs besides its centers to resume


@dataclass(frozen=True)
class Iterate:
    """The state of a solver after an outer step, and what the step measured."""

    centers: FloatArray  # (n_clusters, n_features)
    objective: float  # φ at the centers of the last question to the oracle, before the last move
    spread: float  # φ of a single center at the mean of the same points
    points_read: int  # in this step
    exact: bool = False  # whether φ is over all points; otherwise it is an estimate
    step_size: float | None = None
    n_distances: int = 0  # computed in this step
    last: bool = False  # whether the solver has finished
    measured: FloatArray | None = None  # (n_clusters, n_features) at which `objective` was measured, if kept
    memory: Callable[[], Memory] | None = None  # None: the solver cannot be resumed from here


Solver = Iterator[Iterate]
Begin = Callable[[FloatArray, Memory | None], Solver]  # starts at these centers, or resumes with this memory


def scalar(memory: Memory, name: str) -> float:
    """A number stored in a memory."""
    return float(memory[name].item())

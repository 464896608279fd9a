"""What the history of a fit consists of: the phases, one record for each step, and why the fit stopped.

Knows no algorithm and no data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SEARCH = "search"  # relocates centers, on a sample of the data if they are many; also every step of Algorithm 1
DESCEND = "descend"  # mini-batch steps on all data, after a search on a sample
POLISH = "polish"  # exact passes over the points in memory
FINISH = "finish"  # exact passes over data that are not in memory
PARTIAL_FIT = "partial_fit"  # one step for each call of `partial_fit`


class StopReason(str, Enum):
    """Why a fit stopped. The value is a message for the user."""

    CONVERGED = "converged: the centers moved less than the tolerance"
    SEARCHED = "search budget (effort) used up"
    MAX_ITER = "reached the maximum number of iterations"
    MAX_TIME = "reached the time limit"
    CALLBACK = "stopped by a callback"
    DIVERGED = "diverged: the steps were too large and moved centers away from the data"

    def __str__(self) -> str:
        return self.value

    @property
    def interrupted(self) -> bool:
        """Whether the caller stopped a fit that would have continued."""
        return self in (StopReason.MAX_TIME, StopReason.CALLBACK)


@dataclass(frozen=True)
class Record:
    """One outer step of one phase."""

    phase: str
    step: int  # within the phase, from 1
    objective: float  # φ, exact or estimated by the solver
    exact: bool  # whether φ was computed over all points
    step_size: float | None
    seconds: float  # since the fit began
    points_read: int  # in this step
    n_distances: int = 0  # point-to-center distances computed in this step

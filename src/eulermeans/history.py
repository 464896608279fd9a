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
    """Why a fit stopped. The value is a message for the user.

    Examples
    --------
    >>> from eulermeans import EulerMeans, StopReason
    >>> model = EulerMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> model.stop_reason_ is StopReason.CONVERGED
    True
    >>> model.stop_reason_.interrupted
    False
    """

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
    """One outer step of one phase; `history_` of an estimator is a list of them.

    Examples
    --------
    >>> from eulermeans import EulerMeans
    >>> model = EulerMeans(2, random_state=0).fit([[0.0], [1.0], [9.0]])
    >>> last = model.history_[-1]
    >>> last.phase, last.exact, last.objective == model.objective_
    ('polish', True, True)
    """

    phase: str  #: "search", "descend", "polish", "finish" or "partial_fit"
    step: int  #: within the phase, from 1
    objective: float  #: φ, exact or estimated by the solver
    exact: bool  #: whether φ was computed over all points
    step_size: float | None  #: of an implicit step; None for other steps
    seconds: float  #: since the fit began
    points_read: int  #: in this step
    n_distances: int = 0  #: point-to-center distances computed in this step

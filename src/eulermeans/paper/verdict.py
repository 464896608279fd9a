"""A claim, judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Verdict:
    """A claim, judged."""

    claim: str
    criterion: str
    figure: str  # what was measured
    reproduced: bool


def share(which: NDArray[np.bool_]) -> str:
    """How many of the runs."""
    return f"{int(np.sum(which))} of {len(which)} runs"

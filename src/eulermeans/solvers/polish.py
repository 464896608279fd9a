"""The exact polish: EM over an oracle that remembers bounds on the distances from pass to pass."""

from __future__ import annotations

from ..moments import FloatArray
from ..oracles import Oracle
from .base import Solver
from .em import em


def polish(
    oracle: Oracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
) -> Solver:
    """The steps of `em`, from a fraction of its distances once the centers move little."""
    return em(oracle.tracked(), centers)

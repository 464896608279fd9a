"""Mini-batch EM, by either of the two rules that go under this name."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import FloatArray
from ..oracles import Oracle
from .iterate import Iterate, Solver

Rule = Literal["mean", "count"]


def minibatch_em(
    oracle: Oracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    batch_size: int,
    rule: Rule,
    rng: np.random.Generator,
) -> Solver:
    """Assign a batch, move its centers; a center with no points in the batch stays where it is.

    Rule "mean": the center becomes the mean of its points in this batch (the rule of the paper's tables).
    Rule "count": the mean of all points it was ever given, a learning rate of 1/count for each center.
    """
    seen = np.zeros(len(centers))
    while True:
        moments = oracle.minibatch(centers, batch_size, rng)
        spread = moments.spread(centers)
        if rule == "mean":
            centers = moments.means(otherwise=centers)
        else:
            seen += moments.counts
            rate = np.divide(1.0, seen, out=np.zeros_like(seen), where=seen > 0)
            centers = centers + rate[:, None] * (moments.sums - moments.counts[:, None] * centers)
        yield Iterate(centers, moments.objective, spread, batch_size, n_distances=moments.n_distances)

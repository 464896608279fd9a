"""Entropy-SGD for k-means: gradient descent on the local entropy. Backward Euler is a simple case of it."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray
from ..oracles import Oracle
from .iterate import Iterate, Solver


def entropy_sgd(
    oracle: Oracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    *,
    scope: float,
    outer_step: float | None,
    inner_step: float | None,
    temperature: float,
    batch_size: int,
    averaging: float,
    decay: float,
    n_inner: int,
    rng: np.random.Generator,
) -> Solver:
    """Inner loop: Langevin steps on φ(y) + ‖y − x‖²/(2γ). Outer loop: x moves towards the average of y.

    `scope` is γ, `outer_step` and `inner_step` are η_x and η_y (None: equal to γ as it decays), and `temperature`
    is β⁻¹. Without noise and with both steps equal to γ this is stochastic backward Euler. A center without points
    in a batch is only pulled to the anchor.
    """
    anchor, points_read = centers, n_inner * batch_size
    while True:
        along_x = scope if outer_step is None else outer_step
        along_y = scope if inner_step is None else inner_step
        iterate = average = anchor
        for _ in range(n_inner):
            moments = oracle.minibatch(iterate, batch_size, rng)
            asked = iterate
            noise = np.sqrt(along_y * temperature) * rng.standard_normal(centers.shape) if temperature else 0.0
            pull = (iterate - anchor) / scope
            iterate = iterate - along_y * (moments.gradient(iterate) + pull) + noise
            average = averaging * average + (1 - averaging) * iterate
        anchor = anchor - along_x * (anchor - average) / scope
        spread, n_distances = moments.spread(asked), points_read * len(centers)
        yield Iterate(anchor, moments.objective, spread, points_read, step_size=scope, n_distances=n_distances)
        scope *= decay

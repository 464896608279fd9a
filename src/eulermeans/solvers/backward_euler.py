"""Stochastic backward Euler (Algorithm 1 of the paper), and its deterministic form with the full gradient."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import islice

import numpy as np

from ..arrays import FloatArray
from ..oracles import MemoryOracle, Oracle, StepRun
from .iterate import Iterate, Memory, Solver, scalar


def backward_euler(
    oracle: Oracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    memory: Memory | None = None,
    *,
    step_size: float,
    batch_size: int | None,
    averaging: float,
    decay: float,
    n_inner: int,
    rng: np.random.Generator,
    limit: float | None = None,
) -> Solver:
    """Implicit gradient steps x ← x − γ ∇φ(x⁺), each solved by a few averaged fixed-point iterations.

    `batch_size=None` takes the full gradient. A center without points in a batch has no gradient, so its iterate
    returns to the anchor. `limit` is not in the paper: it caps γ·n_j/M, the factor by which an inner iteration
    multiplies the error of center j.
    """
    anchor = centers
    points_read = n_inner * (oracle.n_points if batch_size is None else batch_size)
    if memory is not None:
        step_size = scalar(memory, "step_size")
    while True:
        iterate = average = anchor
        n_distances = 0
        for _ in range(n_inner):
            moments = oracle.full(iterate) if batch_size is None else oracle.minibatch(iterate, batch_size, rng)
            n_distances += moments.n_distances
            asked, step = iterate, step_size if limit is None else moments.limited(step_size, limit)
            iterate = anchor - step * moments.gradient(iterate)
            average = averaging * average + (1 - averaging) * iterate
        anchor = average
        used, step_size = step_size, decay * step_size
        memory = {"step_size": np.array(step_size)}
        yield Iterate(
            anchor,
            moments.objective,
            moments.spread(asked),
            points_read,
            exact=batch_size is None,
            step_size=used,
            n_distances=n_distances,
            memory=memory.copy,
        )


def backward_euler_in_runs(
    oracle: MemoryOracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    memory: Memory | None = None,
    *,
    run: StepRun,
    rng: np.random.Generator,
) -> Solver:
    """The same steps with an iterate for each run of them: to yield every one would take longer than the steps."""
    step_size = run.step_size if memory is None else scalar(memory, "step_size")
    n_read = (run.n_steps * run.n_inner + 1) * run.batch_size
    while True:
        moved = take_steps(oracle, centers, replace(run, step_size=step_size), rng)
        centers = oracle.project(moved)
        used, step_size = step_size, step_size * run.decay**run.n_steps
        moments = oracle.minibatch(centers, run.batch_size, rng)
        memory = {"step_size": np.array(step_size)}
        yield Iterate(
            centers,
            moments.objective,
            moments.spread(centers),
            n_read,
            step_size=used,
            n_distances=n_read * len(centers),
            memory=memory.copy,
        )


def take_steps(
    oracle: MemoryOracle,
    centers: FloatArray,  # (n_clusters, n_features), IN
    run: StepRun,
    rng: np.random.Generator,
) -> FloatArray:
    """The centers after a run of steps: by a compiled kernel if the points have one, else by `backward_euler`.

    On the sphere only the start is projected. The steps themselves take Euclidean means, which finds better minima
    than staying on the sphere.
    """
    start = oracle.project(centers)
    moved = oracle.take_steps(start, run, rng)
    if moved is not None:
        return moved
    parameters = asdict(run)  # those of the solver, and the number of steps
    n_steps = parameters.pop("n_steps")
    for iterate in islice(backward_euler(oracle.euclidean(), start, rng=rng, **parameters), n_steps):
        start = iterate.centers
    return start

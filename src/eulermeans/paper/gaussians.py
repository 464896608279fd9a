"""Sec. 3.1: four Gaussian clusters in the plane, where EM is stuck and backward Euler climbs out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..datasets import GAUSSIAN_START, paper_gaussians
from ..oracles import Oracle, memory_oracle
from ..solvers import Solver, backward_euler, em, minibatch_em
from .drawing import Walk, draw_walks

BATCH_SIZE = 400
N_INNER = 10
N_OUTER = 100


@dataclass(frozen=True)
class Path2D:
    """The way of one method: its centers at the end, and the exact objective at the start and after each step."""

    method: str
    start: str
    centers: FloatArray  # (4, 2)
    objectives: FloatArray  # (n_steps + 1,)


@dataclass(frozen=True)
class Escape:
    """What Fig. 1 shows."""

    points: FloatArray  # (4000, 2)
    paths: list[Path2D]  # EM, mb-EM, SBE


def escape(seed: int, on_step: Any = None) -> Escape:
    """EM and mini-batch EM from the paper's start, then backward Euler from where EM is stuck.

    `on_step` is called without arguments after each of `total_steps()` steps.
    """
    points = paper_gaussians(seed)
    oracle = memory_oracle(points)
    rng = np.random.default_rng(seed)
    given = "the paper's start"

    def follow(method: str, start: str, solver: Solver, centers: FloatArray) -> Path2D:
        return _follow(method, start, solver, centers, oracle, on_step)

    by_em = follow("EM", given, em(oracle, GAUSSIAN_START), GAUSSIAN_START)
    by_batch = follow(
        "mb-EM",
        given,
        minibatch_em(oracle, GAUSSIAN_START, batch_size=BATCH_SIZE, rule="mean", rng=rng),
        GAUSSIAN_START,
    )
    stuck = by_em.centers
    solver = backward_euler(
        oracle,
        stuck,
        step_size=4.0,
        batch_size=BATCH_SIZE,
        averaging=0.75,
        decay=1 / 1.01,
        n_inner=N_INNER,
        rng=rng,
    )
    by_sbe = follow("SBE", "EM's minimum", solver, stuck)
    return Escape(points, [by_em, by_batch, by_sbe])


def total_steps() -> int:
    """How many steps `escape` takes."""
    return 3 * N_OUTER


def _follow(method: str, start: str, solver: Solver, centers: FloatArray, oracle: Oracle, on_step: Any) -> Path2D:
    objectives = [oracle.full(centers).objective]
    for iterate in islice(solver, N_OUTER):
        centers = iterate.centers
        objectives.append(oracle.full(centers).objective)
        if on_step is not None:
            on_step()
    return Path2D(method, start, centers, np.array(objectives))


def draw_escape(result: Escape, path: Path) -> None:
    """Fig. 1."""
    walks = [Walk(walk.method, walk.centers, walk.objectives.tolist()) for walk in result.paths]
    draw_walks(result.points, walks).savefig(path, dpi=150)

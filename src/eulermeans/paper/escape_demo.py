"""The demo, Sec. 3.1: four Gaussian clusters in the plane, where EM gets stuck and backward Euler escapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from ..arrays import FloatArray
from ..datasets import GAUSSIAN_START, paper_gaussians
from ..oracles import memory_oracle
from .experiment_runs import solver_for
from .experiments import Settings, load_experiments
from .figure_elements import Walk, draw_walks


@dataclass(frozen=True)
class Escape:
    """The contents of Fig. 1."""

    points: FloatArray  # (4000, 2)
    paths: list[Walk]  # EM, mb-EM, SBE


def escape(seed: int, on_step: Callable[[], object] = lambda: None) -> Escape:
    """EM and mini-batch EM from the paper's start, then backward Euler from where EM gets stuck.

    `on_step` is called after each of `total_steps()` steps.
    """
    points = paper_gaussians(seed)
    oracle = memory_oracle(points)
    rng = np.random.default_rng(seed)
    walks: list[Walk] = []
    for settings in _settings():  # EM is the first
        centers = walks[0].centers if settings.after_em else GAUSSIAN_START
        start = "EM's minimum" if settings.after_em else "the paper's start"
        objectives = [oracle.full(centers).objective]
        for iterate in islice(solver_for(settings, oracle, centers, rng), settings.steps):
            centers = iterate.centers
            objectives.append(oracle.full(centers).objective)
            on_step()
        walks.append(Walk(settings.method, start, centers, objectives))
    return Escape(points, walks)


def total_steps() -> int:
    """The number of steps that `escape` takes."""
    return sum(settings.steps for settings in _settings())


def _settings() -> list[Settings]:
    return [row.settings for row in load_experiments()["gaussians"].rows]


def method_settings() -> dict[str, Settings]:
    """The settings of EM, mb-EM and SBE, by the name of the method."""
    return {settings.method: settings for settings in _settings()}


def draw_escape(result: Escape, path: Path) -> None:
    """Fig. 1."""
    draw_walks(result.points, result.paths).savefig(path, dpi=150)

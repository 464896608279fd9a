"""The paper's discussion in one dimension: why an implicit stochastic step finds better valleys.

Everything in the figure is computed: the Moreau envelope and the local entropy on a grid, the solutions of
backward Euler from its equation, and the steps by taking them. Like the objective of k-means, the function is
the minimum of a few parabolas, so its gradient is only piecewise Lipschitz.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import logsumexp

from ..arrays import FloatArray
from .experiments import Verdict
from .figure_elements import COLORS, Picture, new_figure, remove_frame

BOTTOMS: FloatArray = np.array([-3.0, -1.0, 1.2, 3.2])  # position of each parabola's minimum
HEIGHTS: FloatArray = np.array([1.0, 0.5, 0.0, 0.75])  # value of each parabola at its minimum
CURVATURE = 1.0  # second derivative of all parabolas
ANCHOR = -2.7  # x^k
STEP_SIZE = 1.6  # γ; more than 1/L = 1, as in the paper's experiments
INVERSE_TEMPERATURE = 1.0  # β of the local entropy
NOISE = 0.6  # standard deviation of the mini-batch gradient
AVERAGING, N_INNER, N_OUTER, DECAY = 0.75, 10, 150, 1 / 1.02
N_RUNS = 2000
SHRINKS = (1, 2, 8, 64)  # divisors of γ, to show the limit γ → 0
GRID = np.linspace(-7.0, 7.0, 1401)


@dataclass(frozen=True)
class Smoothed:
    """The function, smoothed at the scale of the step size γ."""

    moreau: FloatArray  # on GRID: inf_y f(y) + (y − x)²/(2γ)
    entropy: FloatArray  # on GRID: f_γ, the same with a soft minimum

    @property
    def lowest(self) -> float:
        """The position of the minimum of the local entropy."""
        return float(GRID[np.argmin(self.entropy)])


@dataclass(frozen=True)
class Steps:
    """One step of each method from the anchor, and the ends of whole runs from there."""

    explicit: FloatArray  # (N_RUNS,) after one step x − γ(∇f(x) + noise)
    implicit: FloatArray  # (N_RUNS,) after one step of SBE
    trajectory: FloatArray  # (N_INNER + 1,) the iterates of one inner loop
    solutions: FloatArray  # the solutions of x = x^k − γ∇f(x)
    explicit_ends: FloatArray  # (N_RUNS,)
    implicit_ends: FloatArray  # (N_RUNS,)


def value(x: FloatArray) -> FloatArray:
    """f, the minimum of the parabolas."""
    lowest: FloatArray = np.min(HEIGHTS + CURVATURE / 2 * (x[..., None] - BOTTOMS) ** 2, axis=-1)
    return lowest


def valley(x: FloatArray) -> NDArray[np.intp]:
    """The index of the parabola that is lowest at x."""
    lowest: NDArray[np.intp] = np.argmin(HEIGHTS + CURVATURE / 2 * (x[..., None] - BOTTOMS) ** 2, axis=-1)
    return lowest


def gradient(x: FloatArray) -> FloatArray:
    """∇f, piecewise."""
    return CURVATURE * (x - BOTTOMS[valley(x)])


def smooth(step_size: float) -> Smoothed:
    """The Moreau envelope by minimization over the grid, and the local entropy by convolution on it."""
    penalized = value(GRID) + (GRID - GRID[:, None]) ** 2 / (2 * step_size)  # (x, y)
    width = GRID[1] - GRID[0]
    heat = 0.5 * np.log(2 * np.pi * step_size / INVERSE_TEMPERATURE)
    soft = -(logsumexp(-INVERSE_TEMPERATURE * penalized, axis=1) + np.log(width) - heat) / INVERSE_TEMPERATURE
    return Smoothed(moreau=penalized.min(axis=1), entropy=soft)


def solve_backward_euler(anchor: float, step_size: float) -> FloatArray:
    """All x with x = anchor − γ∇f(x): one candidate per parabola, valid if that parabola is the lowest there."""
    pull = step_size * CURVATURE
    candidates = (anchor + pull * BOTTOMS) / (1 + pull)
    solutions: FloatArray = candidates[valley(candidates) == np.arange(len(BOTTOMS))]
    return solutions


def implicit_step(anchors: FloatArray, step_size: float, rng: Generator) -> tuple[FloatArray, FloatArray]:
    """One step of SBE from each anchor: the averages (n,), and all iterates (N_INNER + 1, n)."""
    iterate = average = anchors
    iterates = [anchors]
    for _ in range(N_INNER):
        iterate = anchors - step_size * (gradient(iterate) + NOISE * rng.standard_normal(len(anchors)))
        average = AVERAGING * average + (1 - AVERAGING) * iterate
        iterates.append(iterate)
    return average, np.array(iterates)


def explicit_step(anchors: FloatArray, step_size: float, rng: Generator) -> FloatArray:
    """One step of SGD from each anchor, with the noise of a batch as large as all of SBE's inner batches."""
    noise: FloatArray = NOISE / np.sqrt(N_INNER) * rng.standard_normal(len(anchors))
    return anchors - step_size * (gradient(anchors) + noise)


def compare(seed: int) -> Steps:
    """One step and whole runs of both methods, with the same step sizes and the same number of gradients."""
    rng = np.random.default_rng(seed)
    anchors = np.full(N_RUNS, ANCHOR)
    implicit, iterates = implicit_step(anchors, STEP_SIZE, rng)
    explicit = explicit_step(anchors, STEP_SIZE, rng)
    implicit_ends = explicit_ends = anchors
    for k in range(N_OUTER):
        implicit_ends, _ = implicit_step(implicit_ends, STEP_SIZE * DECAY**k, rng)
        explicit_ends = explicit_step(explicit_ends, STEP_SIZE * DECAY**k, rng)
    return Steps(
        explicit=explicit,
        implicit=implicit,
        trajectory=iterates[:, 0],
        solutions=solve_backward_euler(ANCHOR, STEP_SIZE),
        explicit_ends=explicit_ends,
        implicit_ends=implicit_ends,
    )


def judge_claims(steps: Steps) -> list[Verdict]:
    """The claims in the paper's discussion, judged by the computation."""
    entropies = np.interp(steps.solutions, GRID, smooth(STEP_SIZE).entropy)
    two = len(steps.solutions) == 2 and valley(steps.solutions).tolist() == [0, 1]
    goal = int(np.argmin(HEIGHTS))
    sbe_leaves, sgd_leaves = (float(np.mean(valley(x) != 0)) for x in (steps.implicit, steps.explicit))
    sbe_best, sgd_best = (float(np.mean(valley(x) == goal)) for x in (steps.implicit_ends, steps.explicit_ends))
    errors = [float(abs(smooth(STEP_SIZE / shrink).lowest - BOTTOMS[goal])) for shrink in SHRINKS]
    return [
        Verdict(
            "Backward Euler has two solutions, and the one in the next valley has the lower local entropy",
            "the equation has one solution in each of the first two valleys, and f_γ is lower at the second",
            "; ".join(f"x = {x:.3f}: f_γ = {u:.3f}" for x, u in zip(steps.solutions, entropies, strict=True)),
            two and bool(entropies[1] < entropies[0]),
        ),
        Verdict(
            "SBE's step leaves the valley, SGD's stays in it",
            "SBE ends in another valley in more than half of the draws, SGD in less than a tenth",
            f"SBE {sbe_leaves:.0%}, SGD {sgd_leaves:.0%}",
            sbe_leaves > 0.5 and sgd_leaves < 0.1,
        ),
        Verdict(
            "SBE often finds a better minimum than SGD",
            "with decaying steps, SBE ends in the lowest valley in more than 9 of 10 runs, SGD in less than half",
            f"SBE {sbe_best:.1%}, SGD {sgd_best:.1%}",
            sbe_best > 0.9 and sgd_best < 0.5,
        ),
        Verdict(
            "γ must go to 0 for the minimum of f_γ to approach that of f",
            "the distance between the two decreases with γ to less than 0.01",
            "; ".join(f"γ = {STEP_SIZE / s:g}: {e:.2f}" for s, e in zip(SHRINKS, errors, strict=True)),
            errors == sorted(errors, reverse=True) and errors[0] > errors[-1] and errors[-1] < 0.01,
        ),
    ]


def draw_landscape(steps: Steps) -> Picture:
    """Left: one step of both methods. Middle: local entropies. Right: the ends of whole runs."""
    figure = new_figure(13, 4.2)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.25, 1.1, 0.8])
    for axes in (left, middle):
        axes.plot(GRID, value(GRID), color="black", linewidth=1.6, label="f")
        axes.set(xlim=(-5, 5), ylim=(-0.15, 2.6), xlabel="x")
    smoothed = smooth(STEP_SIZE)
    left.plot(GRID, smoothed.moreau, color="0.5", linestyle="--", label="Moreau envelope")
    left.plot(GRID, smoothed.entropy, color="#6a4c93", label="local entropy $f_γ$")
    solutions = {"color": "white", "markeredgecolor": "black", "label": "backward Euler"}
    left.plot(steps.solutions, value(steps.solutions), "D", **solutions)
    mark = {"markersize": 11, "markeredgecolor": "black"}
    left.plot(ANCHOR, value(np.array(ANCHOR)), "o", color="0.3", label="$x^k$", **mark)
    places = np.arange(len(BOTTOMS))
    for name, color, marker, shift, ends_of_step, ends in (
        ("SGD", COLORS["EM"], "v", -0.2, steps.explicit, steps.explicit_ends),
        ("SBE", COLORS["SBE"], "*", 0.2, steps.implicit, steps.implicit_ends),
    ):
        mean = ends_of_step.mean(keepdims=True)
        left.plot(mean, value(mean), marker, color=color, label=f"{name}, mean", **mark)
        shares = np.bincount(valley(ends), minlength=len(BOTTOMS)) / len(ends)
        right.bar(places + shift, 100 * shares, width=0.4, color=color, label=name)
    left.set_title(f"One step, γ = {STEP_SIZE:g}")
    for shrink, shade in zip(SHRINKS, ("#c8b6e2", "#9d7fc9", "#6a4c93", "#3f2a63"), strict=True):
        level = smooth(STEP_SIZE / shrink)
        middle.plot(GRID, level.entropy, color=shade, label=f"$f_γ$, γ = {STEP_SIZE / shrink:g}")
        middle.plot(level.lowest, level.entropy.min(), "o", color=shade, markeredgecolor="black")
    middle.set_title("The minimum of $f_γ$ as γ → 0")
    names = [f"x = {x:g}\nf = {height:g}" for x, height in zip(BOTTOMS, HEIGHTS, strict=True)]
    right.set_xticks(places, names, fontsize=8)
    right.set(title="Where whole runs end", ylabel="% of runs")
    for axes, loc, n_columns in ((left, "upper center", 2), (middle, "upper center", 1), (right, "upper left", 1)):
        axes.legend(fontsize=8, loc=loc, ncols=n_columns)
        remove_frame(axes)
    caption = (
        "Fig. 6, computed: one step of SGD and of SBE from the same point, local entropies, and ends of runs."
    )
    return Picture("landscape", caption, figure)

"""Draw the pictures of docs/how-it-works: one implicit step, a swap and a breath.

    python docs/_pictures/how_it_works.py [FOLDER]

Writes inner-iteration.png, swap.png and breath.png, by default to docs/how-it-works. The same seed gives the same
pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from eulermeans import EulerMeans
from eulermeans.datasets import GAUSSIAN_START, paper_gaussians
from eulermeans.oracles import MemoryOracle, memory_oracle
from eulermeans.solvers.breathing import calm, exhale, inhale, make_passes

HOME = Path(__file__).resolve().parents[1] / "how-it-works"
TEAL, RED, GREY = "#00798c", "#d1495b", "0.78"


def main(folder: Path = HOME) -> None:
    """Draw all pictures."""
    for name, draw in (("inner-iteration", draw_inner_iteration), ("swap", draw_swap), ("breath", draw_breath)):
        figure = draw()
        for ax in figure.axes:
            ax.set(xticks=[], yticks=[])
        figure.savefig(folder / f"{name}.png", dpi=110)


def draw_inner_iteration() -> plt.Figure:
    """The iterates and averages of the first implicit steps, from the minimum that Lloyd's algorithm finds."""
    points = paper_gaussians(0)
    oracle, rng = memory_oracle(points), np.random.default_rng(0)
    anchor = EulerMeans(4, init=GAUSSIAN_START, effort=0).fit(points).cluster_centers_
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True, layout="constrained")
    step_size = 4.0
    for number, ax in enumerate(axes, start=1):
        iterates, averages = [anchor], [anchor]
        for _ in range(10):  # fixed-point iterations
            gradient = oracle.minibatch(iterates[-1], 400, rng).gradient(iterates[-1])
            iterates.append(anchor - step_size * gradient)
            averages.append(0.75 * averages[-1] + 0.25 * iterates[-1])
        ax.scatter(*points.T, s=1, color=GREY, linewidths=0)
        for center in range(4):
            ax.plot(*np.array(iterates)[:, center].T, color=TEAL, linewidth=0.7, marker=".", alpha=0.6)
            ax.plot(*np.array(averages)[:, center].T, color="black", linewidth=1.4)
        ax.scatter(*anchor.T, s=70, color=RED, edgecolor="black", zorder=3, label="anchor")
        ax.scatter(*averages[-1].T, s=130, marker="*", color=TEAL, edgecolor="black", zorder=3, label="average")
        before, after = (oracle.full(centers).objective for centers in (anchor, averages[-1]))
        ax.set_title(f"step {number}: φ from {before:.2f} to {after:.2f}", fontsize=10)
        anchor, step_size = averages[-1], step_size / 1.01
    axes[0].legend(fontsize=8, loc="lower right")
    return figure


def draw_swap() -> plt.Figure:
    """A swap: a center goes elsewhere, and is judged after a few Lloyd steps of the centers nearby."""
    points = paper_gaussians(0)
    stuck = EulerMeans(4, init=GAUSSIAN_START, effort=0).fit(points).cluster_centers_
    moved = stuck.copy()
    crowded, spare = (int(np.argmax(value)) for value in (stuck[:, 1], -stuck[:, 0] - stuck[:, 1]))
    moved[spare] = stuck[crowded] + [1.2, -0.4]
    adapted = EulerMeans(4, init=moved, effort=0, max_iter=8, tol=0).fit(points).cluster_centers_
    titles = ("stuck", "one center moved", "after eight Lloyd steps")
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True, layout="constrained")
    for ax, title, centers in zip(axes, titles, (stuck, moved, adapted), strict=True):
        draw_centers(ax, memory_oracle(points), points, centers, title)
    axes[1].annotate("", moved[spare], stuck[spare], arrowprops={"arrowstyle": "->", "color": RED})
    return figure


def draw_breath() -> plt.Figure:
    """A breath: centers are added where the error is large, then as many of the least useful are removed."""
    rng = np.random.default_rng(4)
    means = 5 * rng.standard_normal((16, 2))
    points = np.concatenate([mean + 0.5 * rng.standard_normal((150, 2)) for mean in means])
    oracle = MemoryOracle(memory_oracle(points).points)
    first = make_passes(oracle, points[rng.choice(len(points), 16, replace=False)], 20, 1e-3)
    grown = calm(oracle, inhale(first, 5, rng), 100, 3, rng)
    shrunk = grown.centers[~exhale(grown, 5)]
    ended = calm(oracle, shrunk, 100, 20, rng)
    states = (first.centers, grown.centers, shrunk, ended.centers)
    titles = ("16 centers, settled", "in: 5 more", "out: the 5 least useful gone", "settled again")
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.9), sharex=True, sharey=True, layout="constrained")
    for ax, title, centers in zip(axes, titles, states, strict=True):
        draw_centers(ax, oracle, points, centers, title)
    return figure


def draw_centers(ax: Axes, oracle: MemoryOracle, points: np.ndarray, centers: np.ndarray, title: str) -> None:
    """Points, centers, and the objective in the title."""
    ax.scatter(*points.T, s=1, color=GREY, linewidths=0)
    ax.scatter(*centers.T, s=55, color=TEAL, edgecolor="black", zorder=3)
    ax.set_title(f"{title}: φ = {oracle.full(centers).objective:.3f}", fontsize=10)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

"""The pictures of the quality benchmark."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
from quality_methods import METHODS, OURS
from quality_report import Results, profile

COLORS = ["#d1495b", "#edae49", "#00798c", "#30638e", "#003d5b", "#66a182", "#8d6a9f", "#5c4742", "#7fb7be",
          "#a5be00", "#9c6644", "#444444", "#888888"]  # fmt: skip
FLOOR = 1e-2  # per cent: less is drawn here
COLOR_OF = {method.name: color for method, color in zip(METHODS, COLORS, strict=True)}


def draw_profile(results: Results, path: Path) -> None:
    """One curve a method: higher and further left is better."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    within = np.geomspace(FLOOR, 50, 400)
    for method in results.methods:
        if not any(name == method and problem != "large" for problem, name in results.scores):
            continue
        width = 2.6 if method == OURS else 1.3
        axes.plot(within, 100 * profile(results, method, within), label=method, lw=width, color=COLOR_OF[method])
    axes.set_xscale("log")
    axes.set(
        xlabel="excess over the best known objective, %",
        ylabel="set-seed pairs within it, %",
        ylim=(0, 102),
        title="How often a method comes how near to the best known",
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(path)


def draw_tradeoff(results: Results, path: Path) -> None:
    """Mean excess against time: lower and further left is better. Faint points are single sets."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    for i, method in enumerate(results.methods):
        names = results.shared(method)
        if not names:
            continue
        times = [results.relative_time(name, method) for name in names]
        excesses = [max(FLOOR, results.scores[name, method].mean) for name in names]
        color = COLOR_OF[method]
        axes.scatter(times, excesses, s=12, color=color, alpha=0.35, linewidths=0)
        center = (statistics.geometric_mean(times), max(FLOOR, statistics.mean(excesses)))
        axes.scatter(*center, s=110 if method == OURS else 60, color=color, edgecolors="white", zorder=3)
        place = (7, -11 if i % 2 else 5)  # neighbours in time are often neighbours in the list
        axes.annotate(method, center, place, textcoords="offset points", fontsize=8, color=color, zorder=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set(
        xlabel=f"{results.clock} time relative to ours (geometric mean over the sets)",
        ylabel="mean excess over the best known, %",
        title="Objective against time",
    )
    axes.grid(alpha=0.3)
    figure.savefig(path)

"""The pictures of search_parts.py."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from quality_drawing import new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WHOLE, NO_ROUNDS = "whole search", "no rounds"
WHOLE_COLOR, PART_COLOR = "#d1495b", "#7fb7be"
NARROWEST = 0.1  # per cent: an axis that ends earlier would show rounding
COLORS = {
    "seeding": "#6c757d",
    "first and last passes": "#00798c",
    "breaths": "#7fb7be",
    "coarse exchanges": "#edae49",
    "exchanges": "#d98324",
    "swaps": "#d1495b",
    "annealing": "#4a4e69",
    "polish, labels": "#66a182",
    "full passes": "#003d5b",
    "passes nearby": "#00798c",
    "neighbours of centers": "#7fb7be",
    "sweeps": "#4a4e69",
    "trials of moves": "#d1495b",
    "implicit steps": "#8d6a9f",
    "transfers": "#edae49",
    "labels, means, copies": "#66a182",
    "the rest": "#c4c4c4",
}


def draw_parts(excesses: dict[tuple[str, str], list[float]], path: Path) -> None:
    """For each set one bar for each part that is switched off; the dots are the runs."""
    names = list(dict.fromkeys(problem for problem, _ in excesses))
    parts = [part for part in dict.fromkeys(part for _, part in excesses) if part != NO_ROUNDS]
    columns = min(4, len(names) + 1)
    rows = -(-(len(names) + 1) // columns)
    figure = new_figure(3.1 * columns, 2.2 * rows + 0.4)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for axes, name in zip(panels, names, strict=False):
        bars(axes, parts, [excesses[name, part] for part in parts])
        without = statistics.mean(excesses[name, NO_ROUNDS])
        axes.set_title(f"{name} (without rounds {without:.1f} %)", fontsize=9)
    everywhere = [[statistics.mean(excesses[name, part]) for name in names] for part in parts]
    bars(panels[len(names)], parts, everywhere)
    panels[len(names)].set_title("mean over the sets (dots: sets)", fontsize=9)
    for axes in panels[len(names) + 1 :]:
        axes.set_visible(False)
    figure.supxlabel("mean excess over the best of all runs, % (dots: single runs)", fontsize=9)
    save(figure, path)


def bars(axes: Axes, parts: list[str], values: list[list[float]]) -> None:
    """Horizontal bars of means, the first part on top."""
    heights = range(len(parts))
    means = [statistics.mean(each) for each in values]
    axes.barh(heights, means, color=[WHOLE_COLOR if part == WHOLE else PART_COLOR for part in parts], height=0.7)
    for height, each, mean in zip(heights, values, means, strict=True):
        axes.plot(each, [height] * len(each), ".", color="#333333", ms=3.5)
        axes.annotate(f"{mean:.2f}", (max(*each, mean), height), (5, 0), textcoords="offset points", va="center",
                      fontsize=8)  # fmt: skip
    axes.set_yticks(heights, parts, fontsize=8)
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.set_xlim(0, 1.22 * max(NARROWEST, *(max(each) for each in values)))
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def draw_time(stages: dict[str, dict[str, float]], kernels: dict[str, dict[str, float]], path: Path) -> None:
    """Shares of the CPU time of a fit: by stage on the left, by computation on the right."""
    figure = new_figure(11.0, 0.42 * len(stages) + 1.9)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, title, seconds in zip(panels, ("by stage", "by computation"), (stages, kernels), strict=True):
        stacked(axes, seconds)
        axes.set_title(title, fontsize=10)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, fontsize=8, frameon=False)
        axes.set_xlabel("CPU time of a fit, %", fontsize=9)
    save(figure, path)


def stacked(axes: Axes, seconds: dict[str, dict[str, float]]) -> None:
    """One bar for each set, whose parts add up to 100 %."""
    names = list(seconds)
    totals = {name: sum(seconds[name].values()) for name in names}
    left = dict.fromkeys(names, 0.0)
    for part in (part for part in COLORS if any(part in seconds[name] for name in names)):
        widths = [100 * seconds[name].get(part, 0.0) / totals[name] for name in names]
        axes.barh(range(len(names)), widths, left=[left[name] for name in names], color=COLORS[part], label=part,
                  height=0.75)  # fmt: skip
        for at, (name, width) in enumerate(zip(names, widths, strict=True)):
            if width >= 6:
                axes.text(left[name] + width / 2, at, f"{width:.0f}", ha="center", va="center", color="white",
                          fontsize=8)  # fmt: skip
            left[name] += width
    axes.set_yticks(range(len(names)), [f"{name}, {totals[name]:.2f} s" for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)

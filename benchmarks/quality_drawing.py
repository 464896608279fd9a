"""The pictures of the quality benchmark."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import quality_methods as methods
from quality_curves import curve
from quality_growth import Growth
from quality_methods import EFFORTS, METHODS, OURS
from quality_results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOR_OF = {
    OURS: "#d1495b",
    EFFORTS[0]: "#f3a6b0",
    EFFORTS[0.3]: "#e77887",
    EFFORTS[3]: "#a02c40",
    EFFORTS[10]: "#701c2c",
    methods.OURS_RANDOM: "#edae49",
    methods.OURS_STREAM: "#d1495b",
    methods.KMEANS_1: "#00798c",
    methods.KMEANS_3: "#2f8f9f",
    methods.KMEANS_10: "#003d5b",
    methods.KMEANS_30: "#001d2b",
    methods.MINIBATCH: "#7fb7be",
    methods.MINIBATCH_8192: "#5c9ea6",
    methods.MINIBATCH_STREAM: "#7fb7be",
    methods.BKMEANS: "#66a182",
    methods.FLSPP: "#8d6a9f",
    methods.FAISS: "#a5be00",
    methods.FAISS_PLUS_PLUS: "#6b7d00",
    methods.FAISS_SUPER: "#9c6644",
    methods.SUPER: "#f4845f",
    methods.INTELEX: "#888888",
}
FLOOR = 1e-2  # per cent: a smaller excess is drawn here
EFFORT_OF = {name: f"{effort:g}" for effort, name in EFFORTS.items()}


def new_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})


def methods_of(parts: list[Results]) -> list[str]:
    """The methods that ran in any of them."""
    return [name for name in METHODS if any(name in results.methods for results in parts)]


def draw_profile(parts: list[Results], path: Path, title: str) -> None:
    """One curve a method: higher and further left is better."""
    figure = new_figure(7.5, 4.6)
    axes = figure.subplots()
    within = np.geomspace(FLOOR, 50, 200)
    for method in methods_of(parts):
        excesses = [
            excess
            for results in parts
            for (_, name), score in results.scores.items()
            if name == method
            for excess in score.excesses
        ]
        share = np.searchsorted(np.sort(excesses), within, side="right") / len(excesses)
        width = 2.6 if method == OURS else 1.3
        axes.plot(within, 100 * share, label=method, lw=width, color=COLOR_OF[method])
    axes.set_xscale("log")
    axes.set(
        xlabel="excess over the best known objective, %", ylabel="runs within it, %", ylim=(0, 102), title=title
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, path)


def draw_tradeoff(parts: list[Results], path: Path) -> None:
    """Mean excess against time: lower and further left is better. Faint points are single sets."""
    figure = new_figure(7.5, 4.6)
    axes = figure.subplots()
    for method in methods_of(parts):
        pairs = [
            (results.relative_time(name, method), max(FLOOR, results.scores[name, method].mean))
            for results in parts
            for name in results.shared(OURS, method)
        ]
        if not pairs:
            continue
        times, excesses = zip(*pairs, strict=True)
        color = COLOR_OF[method]
        axes.scatter(times, excesses, s=12, color=color, alpha=0.35, linewidths=0)
        center = (statistics.geometric_mean(times), statistics.mean(excesses))
        size = 130 if method == OURS else 60
        axes.scatter(*center, s=size, color=color, edgecolors="white", zorder=3, label=method)
    log_axes(
        axes,
        f"{parts[0].clock} time relative to ours (geometric mean over the sets)",
        "mean excess over the best known, %",
        "Objective against time",
    )
    figure.legend(loc="outside right upper", fontsize=8)
    save(figure, path)


def draw_curves(results: Results, path: Path) -> None:
    """For each problem the mean excess against seconds: our efforts as a line, the peers as points or lines."""
    columns = min(3, len(results.problems))
    rows = -(-len(results.problems) // columns)
    figure = new_figure(4.2 * columns, 3.3 * rows + 0.5)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    families = list(dict.fromkeys(METHODS[name].family for name in results.methods))
    for axes, problem in zip(panels, results.problems, strict=False):
        for family in families:
            points = curve(results, problem, family)
            if not points:
                continue
            names, seconds, excesses = zip(*points, strict=True)
            heights = np.maximum(FLOOR, excesses)
            style = (
                {"lw": 2.4, "marker": "o", "zorder": 3} if family == OURS else {"lw": 1.2, "marker": "s", "ms": 5}
            )
            axes.plot(seconds, heights, color=COLOR_OF[family], label=family, **style)
            for name, x, y in zip(names, seconds, heights, strict=True):
                text = EFFORT_OF.get(name) or (name.split()[-1] if len(points) > 1 else None)
                if text:
                    axes.annotate(text, (x, y), (3, 4), textcoords="offset points", fontsize=7,
                                  color=COLOR_OF[family])  # fmt: skip
        axes.margins(0.1)
        log_axes(axes, "", "", problem)
    for axes in panels[len(results.problems) :]:
        axes.set_visible(False)
    figure.supxlabel(f"{results.clock} seconds", fontsize=10)
    figure.supylabel(f"mean excess over the best known, % (less than {FLOOR} is drawn there)", fontsize=10)
    shared_legend(figure, panels)
    save(figure, path)


def draw_growth(found: list[Growth], path: Path) -> None:
    """Seconds against K and against N, with the fitted exponents."""
    groups: dict[tuple[str, str], list[Growth]] = {}
    for growth in found:
        groups.setdefault((growth.along, growth.title), []).append(growth)
    figure = new_figure(4.6 * len(groups), 4.4)
    for axes, ((along, title), members) in zip(figure.subplots(1, len(groups), squeeze=False)[0], groups.items(),
                                               strict=True):  # fmt: skip
        for growth in members:
            width = 2.4 if growth.method == OURS else 1.2
            axes.plot(growth.sizes, growth.seconds, marker="o", ms=4, lw=width, color=COLOR_OF[growth.method],
                      label=f"{growth.method}: {along}^{growth.exponent:.2f}")  # fmt: skip
        log_axes(axes, along, "seconds", title)
        sizes = sorted({size for growth in members for size in growth.sizes})
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.legend(fontsize=7)
    save(figure, path)


def log_axes(axes: Axes, across: str, up: str, title: str) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter("{x:g}")
    axes.tick_params(labelsize=8)
    axes.set(xlabel=across, ylabel=up)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)


def shared_legend(figure: Figure, panels: np.ndarray) -> None:
    """One legend above all panels."""
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles), fontsize=8)

"""Shared parts of the figures: colors, histograms, images, curves. Draws numbers; does not compute them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, FloatArray
from ..optional import optional
from .run_records import RowResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {"EM": "#d1495b", "mb-EM": "#edae49", "SBE": "#00798c"}
MARKERS = {"EM": "o", "mb-EM": "s", "SBE": "*"}
SIZES = {"EM": 150, "mb-EM": 55, "SBE": 240}


@dataclass(frozen=True)
class Picture:
    """A figure, the name of its files and its caption."""

    name: str
    caption: str
    figure: Figure

    def save(self, folder: Path) -> None:
        """Write it as SVG and as PNG."""
        self.figure.savefig(folder / f"{self.name}.svg", metadata={"Date": None})
        self.figure.savefig(folder / f"{self.name}.png", dpi=130)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, without a window or global state."""
    figure: Figure = optional("matplotlib.figure", "plot").Figure(figsize=(width, height), layout="constrained")
    return figure


def remove_frame(axes: Axes) -> None:
    """Hide the frame at the top and on the right."""
    axes.spines[["top", "right"]].set_visible(False)


def draw_histograms(places: Iterable[Axes], panels: dict[str, RowResult]) -> None:
    """How many runs of each row ended at which objective, by the title of the panel and over shared limits."""
    everything = np.concatenate([result.objectives for result in panels.values()])
    margin = 0.03 * max(float(np.ptp(everything)), 1e-3 * abs(float(everything.mean())))
    limits = float(everything.min() - margin), float(everything.max() + margin)
    bins = np.linspace(*limits, 41).tolist()
    for axes, (title, result) in zip(places, panels.items(), strict=False):
        color = COLORS[result.row.settings.method]
        axes.hist(result.objectives, bins=bins, color=color, edgecolor="white", linewidth=0.4)
        axes.set(xlabel="objective φ", ylabel="runs", xlim=limits)
        axes.set_title(title, fontsize=10)
        axes.locator_params(axis="y", integer=True)
        remove_frame(axes)


def draw_images(figure: Figure, rows: Sequence[tuple[str, Array]]) -> None:
    """Rows of images of 28 × 28 pixels, each row with its title."""
    grid = figure.subplots(len(rows), max(len(images) for _, images in rows), squeeze=False)
    for (title, images), places in zip(rows, grid, strict=True):
        for axes in places:
            axes.axis("off")
        for axes, image in zip(places, images, strict=False):
            axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        places[0].set_title(title, loc="left", fontsize=9)


@dataclass(frozen=True)
class Walk:
    """The path of one method through the plane."""

    method: str
    start: str  # the name of its initial centers
    centers: FloatArray  # (n_clusters, 2) at the end
    objectives: list[float]  # at the start and after each step, exact


def draw_walks(points: Array, walks: Sequence[Walk]) -> Figure:
    """Fig. 1: the final centers on the data, and the objective against the outer iteration."""
    figure = new_figure(11, 4.6)
    data, curve = figure.subplots(1, 2)
    draw_points(data, points)
    for walk in walks:
        label = f"{walk.method}: {walk.objectives[-1]:.3f}"
        draw_centers(data, walk.method, label, walk.centers)
        curve.plot(walk.objectives, linewidth=2, color=COLORS[walk.method], label=label)
    data.set(title="Final centers", aspect="equal", xlabel="first feature", ylabel="second feature")
    data.legend(title="objective", loc="upper left")
    curve.set(title="SBE leaves the minimum that EM is stuck in", xlabel="outer iteration", ylabel="objective φ")
    curve.legend(title="final objective")
    curve.grid(alpha=0.3)
    remove_frame(curve)
    return figure


def draw_points(axes: Axes, points: Array) -> None:  # (n_points, 2), IN
    """The data in the plane, in grey."""
    axes.scatter(points[:, 0], points[:, 1], s=3, color="0.78", linewidths=0, rasterized=True)
    remove_frame(axes)


def draw_centers(axes: Axes, method: str, label: str, centers: FloatArray) -> None:  # (n_clusters, 2), IN
    """The centers of a method, in its color and with its marker."""
    size, marker, color = SIZES[method], MARKERS[method], COLORS[method]
    x, y = centers.T
    axes.scatter(x, y, s=size, marker=marker, color=color, edgecolors="black", zorder=3, label=label)

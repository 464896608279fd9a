"""What the figures share: colors, histograms, images, curves. Draws numbers; does not compute them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array, FloatArray
from ..optional import optional

COLORS = {"EM": "#d1495b", "mb-EM": "#edae49", "SBE": "#00798c"}
MARKERS = {"EM": "o", "mb-EM": "s", "SBE": "*"}
SIZES = {"EM": 150, "mb-EM": 55, "SBE": 240}


@dataclass(frozen=True)
class Picture:
    """A figure, the name of its files and what it shows."""

    name: str
    caption: str
    figure: Any

    def save(self, folder: Path) -> None:
        """As SVG and as PNG."""
        for suffix, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 130})):
            self.figure.savefig(folder / f"{self.name}.{suffix}", **options)


def new_figure(width: float, height: float) -> Any:
    """An empty figure, of no window and no global state."""
    return optional("matplotlib.figure", "plot").Figure(figsize=(width, height), layout="constrained")


def plain(axes: Any) -> None:
    """Take the frame off where nothing is read."""
    axes.spines[["top", "right"]].set_visible(False)


def draw_histogram(axes: Any, values: FloatArray, limits: tuple[float, float], color: str, title: str) -> None:
    """How many runs ended at which objective, over limits that several histograms share."""
    inside = np.linspace(*limits, 41)
    axes.hist(values, bins=inside, color=color, edgecolor="white", linewidth=0.4)
    axes.set(title=title, xlabel="objective φ", ylabel="runs", xlim=limits)
    axes.locator_params(axis="y", integer=True)
    axes.title.set_fontsize(10)
    plain(axes)


def shared_limits(groups: Sequence[FloatArray]) -> tuple[float, float]:
    """Limits that hold all values, with a margin."""
    values = np.concatenate(groups)
    margin = 0.03 * max(float(np.ptp(values)), 1e-3 * abs(float(values.mean())))
    return float(values.min() - margin), float(values.max() + margin)


def draw_images(figure: Any, rows: Sequence[tuple[str, Array]]) -> None:
    """Rows of images of 28 × 28 pixels, each row with its name."""
    grid = figure.subplots(len(rows), max(len(images) for _, images in rows), squeeze=False)
    for (name, images), places in zip(rows, grid, strict=True):
        for axes in places:
            axes.axis("off")
        for axes, image in zip(places, images, strict=False):
            axes.imshow(image.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        places[0].set_title(name, loc="left", fontsize=9)


@dataclass(frozen=True)
class Walk:
    """The way of one method through the plane."""

    method: str
    centers: FloatArray  # (n_clusters, 2) at the end
    objectives: Sequence[float]  # at the start and after each step, exact


def draw_walks(points: Array, walks: Sequence[Walk]) -> Any:
    """Fig. 1: the centers on the data; the objective against the outer iteration."""
    figure = new_figure(11, 4.6)
    data, curve = figure.subplots(1, 2)
    labels = [f"{walk.method}: {walk.objectives[-1]:.3f}" for walk in walks]
    draw_centers(
        data, points, [(walk.method, label, walk.centers) for walk, label in zip(walks, labels, strict=True)]
    )
    for walk, label in zip(walks, labels, strict=True):
        curve.plot(walk.objectives, linewidth=2, color=COLORS[walk.method], label=label)
    data.set(title="Centers on the data", aspect="equal", xlabel="first feature", ylabel="second feature")
    data.legend(title="objective", loc="upper left")
    curve.set(title="SBE leaves the minimum that EM is stuck in", xlabel="outer iteration", ylabel="objective φ")
    curve.legend(title="objective at the end")
    curve.grid(alpha=0.3)
    plain(curve)
    return figure


def draw_centers(axes: Any, points: Array, centers: Sequence[tuple[str, str, FloatArray]]) -> None:
    """Points in the plane and the centers of some methods: (method, label, (n_clusters, 2))."""
    axes.scatter(*points.T, s=3, color="0.78", linewidths=0, rasterized=True)
    for method, label, where in centers:
        axes.scatter(
            *where.T,
            s=SIZES[method],
            marker=MARKERS[method],
            color=COLORS[method],
            edgecolors="black",
            zorder=3,
            label=label,
        )
    plain(axes)

"""The look of all plots: colors, axes and number formats. Does not know models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ..arrays import FloatArray
from ..optional import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colors, which color-blind people can tell apart. Black is left out, yellow is darker so that it
# shows on white, and a violet is added. Most neighbors differ in lightness too, for prints in black and white.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8c6bb1")
ACCENT, WARM = "#0072b2", "#d55e00"
INK = "#24292f"  # text
QUIET = "#6e7781"  # less important text and lines
FAINT = "#d0d7de"  # grid lines and spines

MOST_SHAPES = 1000  # points or bars drawn as vectors; more are rasterized, so that files stay small


def new_axes(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """The axes to draw into: `ax`, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    pyplot = optional("matplotlib.pyplot", "plot")
    created: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return created


def finish(
    ax: Axes, *, title: str = "", xlabel: str = "", ylabel: str = "", grid: Literal["", "x", "y"] = ""
) -> Axes:
    """Set title and labels, hide the top and right spines, and draw a faint grid along one axis if asked to."""
    ax.set_title(title, loc="left", fontsize=11, color=INK, pad=8)
    ax.set_xlabel(xlabel, color=INK)
    ax.set_ylabel(ylabel, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=QUIET, labelcolor=INK, labelsize=9, length=3)
    if grid:
        ax.grid(axis=grid, color=FAINT, linewidth=0.6, alpha=0.7)
        ax.set_axisbelow(True)
    return ax


def draw_message(ax: Axes, message: str, title: str) -> Axes:
    """Say why there is nothing to plot."""
    ax.text(0.5, 0.5, message, transform=ax.transAxes, ha="center", va="center", color=QUIET)
    ax.set(xticks=[], yticks=[])
    return finish(ax, title=title)


def cluster_colors(centers: FloatArray) -> list[str]:  # (n_clusters, n_features), IN
    """A color from the palette for each cluster. As on a map, colors repeat, but not between close neighbors."""
    n_clusters = len(centers)
    if n_clusters <= len(PALETTE):
        return list(PALETTE[:n_clusters])
    chosen = np.empty(n_clusters, dtype=np.intp)
    for cluster in range(n_clusters):
        squares = np.sum((centers[:cluster] - centers[cluster]) ** 2, axis=1)
        nearest = [squares[chosen[:cluster] == color].min(initial=np.inf) for color in range(len(PALETTE))]
        chosen[cluster] = np.argmax(nearest)
    return [PALETTE[color] for color in chosen]


def shorten(name: object, longest: int = 60) -> str:
    """A name from the data on one line, cut to this many characters."""
    text = " ".join(str(name).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def short_label(name: object, longest: int = 24) -> str:
    """A name from the data as a Matplotlib label: one line, not too long, and never read as a formula."""
    printable = "".join(c if c.isprintable() else " " for c in str(name))
    return shorten(printable, longest).replace("$", r"\$")


def format_number(value: float, digits: int = 4) -> str:
    """A number with this many significant digits: 12,345, 0.1235 or 1.23e-09."""
    if not np.isfinite(value):
        return "–"
    size = abs(float(value))
    if size >= 1e12 or 0 < size < 1e-4:
        return f"{value:.{max(1, digits - 2)}e}"
    whole = int(np.floor(np.log10(size))) + 1 if size > 0 else 1
    text = f"{value:,.{max(0, digits - whole)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_count(count: float, noun: str) -> str:
    """`1 row`, `12,000 rows`."""
    return f"{format_number(count, 12)} {noun}{'' if count == 1 else 's'}"

"""How pictures look: colors that people tell apart, quiet axes, numbers people read.

Knows Matplotlib's axes and nothing of models.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, FloatArray
from ..optional import optional

# Okabe and Ito's colors, which color-blind people tell apart: without black, with a yellow that shows on white,
# and with a violet. Their lightness differs, so that most neighbors also differ in a print without color.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8c6bb1")
ACCENT, WARM = "#0072b2", "#d55e00"
INK, QUIET, FAINT = "#24292f", "#6e7781", "#d0d7de"  # text; less important text; lines that only guide the eye

LONGEST_NAME = 24
MOST_SHAPES = 1000  # points and bars that are drawn as such; more are pixels where a file has shapes


def new_axes(ax: Any, width: float = 6.4, height: float = 4.0) -> Any:
    """The axes to draw into: those given, or new ones in a figure of its own."""
    if ax is not None:
        return ax
    pyplot = optional("matplotlib.pyplot", "plot")
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def finish(ax: Any, *, title: str = "", xlabel: str = "", ylabel: str = "", grid: str = "") -> Any:
    """Words on the axes, no frame where nothing is read, a faint grid along the axis named."""
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


def bare(ax: Any, title: str = "") -> Any:
    """Axes without ticks and frame, for what has no scale."""
    finish(ax, title=title)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return ax


def cluster_colors(centers: FloatArray) -> list[str]:  # (n_clusters, n_features), IN
    """A color for each cluster, from few: as on a map, neighbors get different ones, and numbers tell the rest."""
    n_clusters = len(centers)
    if n_clusters <= len(PALETTE):
        return list(PALETTE[:n_clusters])
    chosen = np.empty(n_clusters, dtype=np.intp)
    for cluster in range(n_clusters):
        squares = np.sum((centers[:cluster] - centers[cluster]) ** 2, axis=1)
        nearest = np.array(
            [squares[chosen[:cluster] == color].min(initial=np.inf) for color in range(len(PALETTE))]
        )
        chosen[cluster] = int(np.argmax(nearest))
    return [PALETTE[color] for color in chosen]


def shown(name: object, longest: int = LONGEST_NAME) -> str:
    """A name from the data as Matplotlib shows it letter by letter: on one line, not too long, and no formula."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return text.replace("$", r"\$")


def number(value: float, digits: int = 4) -> str:
    """A number with so many digits that count: 12,345 and 0.1235 and 1.2e-09."""
    if not np.isfinite(value):
        return "–"
    size = abs(float(value))
    if size >= 1e12 or 0 < size < 1e-4:
        return f"{value:.{max(1, digits - 2)}e}"
    whole = int(np.floor(np.log10(size))) + 1 if size > 0 else 1
    text = f"{value:,.{max(0, digits - whole)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def counted(count: float, what: str) -> str:
    """`1 row`, `12,000 rows`."""
    return f"{number(count, 12)} {what}{'' if count == 1 else 's'}"


def strongest(values: Array, most: int) -> NDArray[np.intp]:
    """The places of the largest values, at most so many, in their own order."""
    return np.sort(np.argsort(-values, kind="stable")[:most])

"""The picture of a sweep: what speaks for each K, and the one to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import FloatArray
from ..optional import optional
from ..plot.style import ACCENT, INK, PALETTE, QUIET, WARM, finish
from .records import Confidence
from .rule import STRENGTH, VALLEY

if TYPE_CHECKING:
    from .records import Sweep

HIGHEST_VALLEY = 2.0  # that is drawn: above 1 it does not matter by how much


def draw(sweep: Sweep, axes: Any = None) -> Any:
    """Draw into four Axes, or into a new figure; returns them, (2, 2)."""
    if axes is None:
        pyplot = optional("matplotlib.pyplot", "plot")
        figure, axes = pyplot.subplots(2, 2, figsize=(9.5, 6.6), sharex=True, layout="constrained")
        figure.suptitle(_headline(sweep), color=INK, fontsize=13, x=0.01, ha="left")
    axes = np.asarray(axes)
    if axes.size != 4:
        raise ValueError(f"axes must be four Axes, one for each picture; got {axes.size}.")
    objective, silhouette, repeats, border = axes.ravel()
    k = _column(sweep, "n_clusters")
    mark = QUIET if sweep.confidence is Confidence.LOW else WARM
    for ax in axes.ravel():
        ax.axvline(sweep.recommended, color=mark, linewidth=7, alpha=0.18, zorder=0)
        ax.locator_params(axis="x", integer=True)
    _draw_objective(objective, k, _column(sweep, "objective"))
    _draw_compactness(silhouette, k, sweep)
    _draw_repeats(repeats, k, sweep)
    _draw_border(border, k, _column(sweep, "valley"))
    return axes.reshape(2, 2)


def _headline(sweep: Sweep) -> str:
    if sweep.confidence is Confidence.LOW:
        return f"No K stands out (K = {sweep.recommended} has the best silhouette)"
    return f"K = {sweep.recommended} is recommended, with {sweep.confidence} confidence"


def _draw_objective(ax: Any, k: FloatArray, objective: FloatArray) -> None:
    ax.plot(k, objective, color=ACCENT, marker="o", markersize=4)
    ax.set_ylim(bottom=0)
    finish(ax, title="Error: falls with every K", ylabel="objective φ", grid="y")


def _draw_compactness(ax: Any, k: FloatArray, sweep: Sweep) -> None:
    ax.plot(k, _column(sweep, "silhouette"), color=ACCENT, marker="o", markersize=4, label="silhouette")
    relative = _column(sweep, "calinski_harabasz")
    finite = relative[np.isfinite(relative)]
    if finite.size:
        ax.plot(k, relative / finite.max(), color=PALETTE[1], label="Calinski-Harabasz, of its best")
    ax.plot(k, 1 / (1 + _column(sweep, "davies_bouldin")), color=PALETTE[2], label="1 / (1 + Davies-Bouldin)")
    _legend(ax)
    finish(ax, title="Compact and apart: more is better", grid="y")


def _draw_repeats(ax: Any, k: FloatArray, sweep: Sweep) -> None:
    ax.plot(k, _column(sweep, "strength"), color=ACCENT, marker="o", markersize=4, label="the worst cluster")
    ax.plot(k, _column(sweep, "stability"), color=PALETTE[1], label="all (adjusted Rand)")
    ax.axhline(STRENGTH, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_ylim(-0.03, 1.05)
    _legend(ax)
    finish(ax, title=f"Comes out again on the other half: {STRENGTH:g} is needed", xlabel="K", grid="y")


def _draw_border(ax: Any, k: FloatArray, valley: FloatArray) -> None:
    ax.plot(k, np.minimum(valley, HIGHEST_VALLEY), color=ACCENT, marker="o", markersize=4)
    ax.axhline(VALLEY, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_ylim(-0.06, 1.05 * HIGHEST_VALLEY)
    title = f"Density at the worst border: below {VALLEY:g} is needed"
    finish(ax, title=title, xlabel="K", ylabel="of that at the centers", grid="y")


def _legend(ax: Any) -> None:
    ax.legend(fontsize=8.5, labelcolor=INK, facecolor="white", edgecolor="none", framealpha=0.8)


def _column(sweep: Sweep, name: str) -> FloatArray:
    return np.array([getattr(row, name) for row in sweep.rows], dtype=np.float64)

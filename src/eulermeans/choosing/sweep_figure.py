"""The figure of a sweep: four plots of the measurements against K, with the recommended K marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..optional import optional
from ..plot.style import ACCENT, INK, PALETTE, QUIET, WARM, finish
from .recommendation import STRENGTH, VALLEY
from .sweep_result import Confidence, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    FourAxes: TypeAlias = NDArray[np.object_] | Sequence[Axes]

HIGHEST_VALLEY = 2.0  # larger values are drawn here: above 1 the exact value does not matter


def draw_sweep(sweep: Sweep, axes: FourAxes | None = None) -> NDArray[np.object_]:
    """Draw into four Axes, or into a new figure; return the Axes, (2, 2)."""
    if axes is None:
        pyplot = optional("matplotlib.pyplot", "plot")
        figure, axes = pyplot.subplots(2, 2, figsize=(9.5, 6.6), sharex=True, layout="constrained")
        headline = f"K = {sweep.recommended} is recommended, with {sweep.confidence} confidence"
        if sweep.confidence is Confidence.LOW:
            headline = f"No K stands out (K = {sweep.recommended} has the best silhouette)"
        figure.suptitle(headline, color=INK, fontsize=13, x=0.01, ha="left")
    panels = np.asarray(axes, dtype=object)
    if panels.size != 4:
        raise ValueError(f"axes must be four Axes, one for each plot; got {panels.size}.")
    objective, compactness, stability, border = panels.ravel()
    mark = QUIET if sweep.confidence is Confidence.LOW else WARM
    for ax in panels.ravel():
        ax.axvline(sweep.recommended, color=mark, linewidth=7, alpha=0.18, zorder=0)
        ax.locator_params(axis="x", integer=True)
    k = _column(sweep, "n_clusters")
    _draw_objective(objective, k, sweep)
    _draw_compactness(compactness, k, sweep)
    _draw_stability(stability, k, sweep)
    _draw_border_density(border, k, sweep)
    return panels.reshape(2, 2)


def _draw_objective(ax: Axes, k: FloatArray, sweep: Sweep) -> None:
    ax.plot(k, _column(sweep, "objective"), color=ACCENT, marker="o", markersize=4)
    ax.set_ylim(bottom=0)
    finish(ax, title="Objective: always falls as K grows", ylabel="objective φ", grid="y")


def _draw_compactness(ax: Axes, k: FloatArray, sweep: Sweep) -> None:
    ax.plot(k, _column(sweep, "silhouette"), color=ACCENT, marker="o", markersize=4, label="silhouette")
    relative = _column(sweep, "calinski_harabasz")
    finite = relative[np.isfinite(relative)]
    if finite.size:
        ax.plot(k, relative / finite.max(), color=PALETTE[1], label="Calinski-Harabasz / its maximum")
    ax.plot(k, 1 / (1 + _column(sweep, "davies_bouldin")), color=PALETTE[2], label="1 / (1 + Davies-Bouldin)")
    _add_legend(ax)
    finish(ax, title="Compact and separated: higher is better", grid="y")


def _draw_stability(ax: Axes, k: FloatArray, sweep: Sweep) -> None:
    ax.plot(k, _column(sweep, "strength"), color=ACCENT, marker="o", markersize=4, label="worst cluster")
    ax.plot(k, _column(sweep, "stability"), color=PALETTE[1], label="all clusters (adjusted Rand)")
    _draw_threshold(ax, STRENGTH)
    ax.set_ylim(-0.03, 1.05)
    _add_legend(ax)
    finish(ax, title=f"Found again on the other half: at least {STRENGTH:g} required", xlabel="K", grid="y")


def _draw_border_density(ax: Axes, k: FloatArray, sweep: Sweep) -> None:
    ax.plot(k, np.minimum(_column(sweep, "valley"), HIGHEST_VALLEY), color=ACCENT, marker="o", markersize=4)
    _draw_threshold(ax, VALLEY)
    ax.set_ylim(-0.06, 1.05 * HIGHEST_VALLEY)
    title = f"Density at the worst border: below {VALLEY:g} required"
    finish(ax, title=title, xlabel="K", ylabel="relative to the centers", grid="y")


def _draw_threshold(ax: Axes, value: float) -> None:
    ax.axhline(value, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))


def _add_legend(ax: Axes) -> None:
    ax.legend(fontsize=8.5, labelcolor=INK, facecolor="white", edgecolor="none", framealpha=0.8)


def _column(sweep: Sweep, name: str) -> FloatArray:
    return np.array([getattr(row, name) for row in sweep.rows], dtype=np.float64)

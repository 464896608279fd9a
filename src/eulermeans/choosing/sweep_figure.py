"""The figure of a sweep: four plots of the measurements against K, with the recommended K marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..optional import optional
from ..plot.style import INK, PALETTE, QUIET, WARM, finish
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

    _draw_lines(objective, sweep, {"objective": _column(sweep, "objective")})
    objective.set_ylim(bottom=0)
    finish(objective, title="Objective: always falls as K grows", ylabel="objective φ", grid="y")

    criteria = {"silhouette": _column(sweep, "silhouette")}
    calinski_harabasz = _column(sweep, "calinski_harabasz")
    finite = calinski_harabasz[np.isfinite(calinski_harabasz)]
    if finite.size:
        criteria["Calinski-Harabasz / its maximum"] = calinski_harabasz / finite.max()
    criteria["1 / (1 + Davies-Bouldin)"] = 1 / (1 + _column(sweep, "davies_bouldin"))
    _draw_lines(compactness, sweep, criteria)
    finish(compactness, title="Compact and separated: higher is better", grid="y")

    repeated = {"worst cluster": "strength", "all clusters (adjusted Rand)": "stability"}
    _draw_lines(stability, sweep, {label: _column(sweep, name) for label, name in repeated.items()}, STRENGTH)
    stability.set_ylim(-0.03, 1.05)
    title = f"Found again on the other half: at least {STRENGTH:g} required"
    finish(stability, title=title, xlabel="K", grid="y")

    valley = _column(sweep, "valley")
    _draw_lines(border, sweep, {"density": np.minimum(valley, HIGHEST_VALLEY)}, VALLEY)
    border.set_ylim(-0.06, 1.05 * HIGHEST_VALLEY)
    _mark_cut(border, _column(sweep, "n_clusters")[valley > HIGHEST_VALLEY])
    title = f"Density at the worst border: below {VALLEY:g} required"
    finish(border, title=title, xlabel="K", ylabel="relative to the centers", grid="y")
    return panels.reshape(2, 2)


def _mark_cut(
    ax: Axes,
    cut: FloatArray,  # (n,) the K whose values lie above the axis, IN
) -> None:
    """Arrows in place of the points that are drawn at the upper end of the axis, and what they mean."""
    if not cut.size:
        return
    ax.plot(cut, np.full(cut.size, HIGHEST_VALLEY), "^", color=PALETTE[0], markersize=8, label="above the axis")
    text = f"▲ above {HIGHEST_VALLEY:g}: the axis is cut there"
    ax.annotate(text, (0.02, 0.97), xycoords="axes fraction", va="top", fontsize=8.5, color=INK)


def _draw_lines(ax: Axes, sweep: Sweep, lines: dict[str, FloatArray], threshold: float | None = None) -> None:
    """Lines against K by their labels, the most important one first; the recommended K; a dashed threshold."""
    mark = QUIET if sweep.confidence is Confidence.LOW else WARM
    ax.axvline(sweep.recommended, color=mark, linewidth=7, alpha=0.18, zorder=0)
    ax.locator_params(axis="x", integer=True)
    for i, (label, values) in enumerate(lines.items()):
        marker = "" if i else "o"
        ax.plot(_column(sweep, "n_clusters"), values, color=PALETTE[i], marker=marker, markersize=4, label=label)
    if threshold is not None:
        ax.axhline(threshold, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    if len(lines) > 1:
        ax.legend(fontsize=8.5, labelcolor=INK, frameon=False)  # a white frame would hide the words on dark pages


def _column(sweep: Sweep, name: str) -> FloatArray:
    return np.array([getattr(row, name) for row in sweep.rows], dtype=np.float64)

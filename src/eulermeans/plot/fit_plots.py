"""How a fit went: the objective over time, and the final objectives of the restarts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from ..arrays import FloatArray
from ..history import DESCEND, FINISH, POLISH, SEARCH, Record
from .fitted_model import ModelLike, as_fitted_model
from .style import (
    ACCENT,
    FAINT,
    INK,
    MOST_SHAPES,
    PALETTE,
    QUIET,
    draw_message,
    finish,
    format_count,
    format_number,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY_RESTARTS = 12  # from this number on a histogram, below it a dot for each restart
SMALLEST_RANGE = 0.1  # % that the axis of the restarts spans at least, so that tiny differences look tiny
# Phases that are not listed take the next color of the palette.
_PHASE_COLORS = {SEARCH: PALETTE[1], DESCEND: PALETTE[2], POLISH: PALETTE[0], FINISH: PALETTE[5]}


def objective(model: ModelLike, *, ax: Axes | None = None) -> Axes:
    """Plot the objective after each step over time, with a color for each phase of the fit.

    On large data the search knows the objective only on its sample, and the descent only on mini-batches, which
    are drawn as dots without a line. Steps that are far worse than the others are cut off.
    """
    estimator = as_fitted_model(model).estimator
    history: list[Record] = list(getattr(estimator, "history_", []))
    ax = new_axes(ax)
    title = "Objective over time"
    if not history:
        return draw_message(ax, "the model has no history", title)
    final = float(getattr(estimator, "objective_", history[-1].objective))
    scale, unit = (1.0, "seconds") if history[-1].seconds >= 0.2 else (1e3, "milliseconds")
    for place, phase in enumerate(dict.fromkeys(record.phase for record in history)):
        records = [record for record in history if record.phase == phase]
        seconds = [scale * record.seconds for record in records]
        values = [record.objective for record in records]
        color = _PHASE_COLORS.get(phase, PALETTE[(place + 3) % len(PALETTE)])
        many = len(records) > MOST_SHAPES
        label = f"{phase}: {format_count(len(records), 'step')}{_data_read(phase, history)}"
        if phase == DESCEND:
            ax.scatter(seconds, values, s=9, color=color, alpha=0.6, linewidths=0, label=label, rasterized=many)
        else:
            (line,) = ax.plot(seconds, values, color=color, label=label, linewidth=1.8, rasterized=many)
            line.set(marker="o" if len(records) <= 40 else "none", markersize=4)
    _cut_off_worst(ax, np.array([record.objective for record in history]))
    ax.axhline(final, color=QUIET, linewidth=0.8, linestyle="--", zorder=1)
    legend = ax.legend(frameon=False, fontsize=9, labelcolor=INK, title_fontsize=9, alignment="left")
    legend.set_title(f"final value {format_number(final, 5)}")
    legend.get_title().set_color(INK)
    ax.yaxis.set_major_formatter(lambda value, place: format_number(value, 6))
    return finish(ax, title=title, xlabel=f"{unit} since the fit started", ylabel="objective φ", grid="y")


def restarts(model: ModelLike, *, ax: Axes | None = None) -> Axes:
    """Plot how far above the best each restart ended: a dot for each, or a histogram of many.

    If the search read a sample of the data, all restarts are compared on that sample.
    """
    ax = new_axes(ax, 6.4, 3.0)
    finals = final_objectives(as_fitted_model(model).estimator)
    title = "Final objectives of the restarts"
    if len(finals) == 0:
        return draw_message(ax, "the model has no restarts", title)
    if len(finals) == 1:
        return draw_message(ax, f"only one restart, final objective {format_number(finals[0], 5)}", title)
    worse = 100 * (finals / finals[0] - 1) if finals[0] > 0 else finals
    xlabel = f"% above the best ({format_number(finals[0], 5)})" if finals[0] > 0 else "objective φ"
    width = max(float(worse[-1]), SMALLEST_RANGE)
    if len(finals) >= MANY_RESTARTS:
        ax.hist(worse, bins=min(40, 2 * len(finals)), range=(0, width), color=ACCENT, linewidth=0)
        ax.locator_params(axis="y", integer=True)
        title = f"Final objectives of {len(finals):,} restarts"
        finish(ax, title=title, xlabel=xlabel, ylabel="restarts", grid="y")
    else:
        place = np.arange(1, len(finals) + 1)
        ax.hlines(place, 0, worse, color=FAINT, linewidth=1.5)
        ax.scatter(worse, place, s=36, color=ACCENT, zorder=3)
        ax.set_yticks(place)
        ax.set_ylim(len(finals) + 0.7, 0.3)
        finish(ax, title=title, xlabel=xlabel, ylabel="restart, best first", grid="x")
    ax.set_xlim(-0.03 * width, 1.05 * width)
    return ax


def final_objectives(estimator: BaseEstimator) -> FloatArray:
    """The final objectives of the restarts, (n_restarts,), best first, all on the same points.

    If the search read a sample, `restarts_` has the best restart's objective on all data and the others' on the
    sample. The best restart's objective on the sample is then taken from the history.
    """
    finals: FloatArray = np.sort(np.asarray(getattr(estimator, "restarts_", []), dtype=np.float64))
    history: list[Record] = list(getattr(estimator, "history_", []))
    on_sample = [record.objective for record in history if record.phase == SEARCH]
    sampled = on_sample and any(record.phase == DESCEND for record in history)
    if len(finals) > 1 and sampled and hasattr(estimator, "objective_"):
        others = np.delete(finals, int(np.argmin(np.abs(finals - estimator.objective_))))
        finals = np.sort(np.append(others, on_sample[-1]))
    return finals


def _data_read(phase: str, history: Sequence[Record]) -> str:
    """The part of the data on which a phase knows the objective; an empty string for all of it."""
    if phase == DESCEND:
        return ", on mini-batches"
    follower = {SEARCH: DESCEND, POLISH: FINISH}.get(phase)  # follows only if this phase read a sample
    return ", on a sample" if any(record.phase == follower for record in history) else ""


def _cut_off_worst(ax: Axes, values: FloatArray) -> None:
    """Limit the axis to the range of most steps: the first ones are often many times worse."""
    low, most, high = np.quantile(values, [0, 0.9, 1]).tolist()
    if high - low > 5 * (most - low) > 0:
        ax.set_ylim(low - 0.1 * (most - low), most + 0.6 * (most - low))

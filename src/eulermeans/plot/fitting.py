"""How a fit went: the objective against time, and where the restarts ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import FloatArray
from .fitted import fitted
from .style import ACCENT, FAINT, INK, MOST_SHAPES, PALETTE, QUIET, counted, finish, new_axes, number

MANY_RESTARTS = 12  # from here on a histogram, below it a dot for each
SAME = 0.1  # per cent: less does not matter, and is not made to look as if it did
_PHASES = {
    "search": PALETTE[1],
    "descend": PALETTE[2],
    "polish": PALETTE[0],
    "finish": PALETTE[5],
}  # others: in the palette's order


def objective(model: Any, *, ax: Any = None) -> Any:
    """The objective after each step against time, a color for each phase of the fit.

    Where the data are many, the search knows the objective on its sample and the descent on its mini-batches: dots
    without a line. Steps that are far worse than all others are cut off.
    """
    estimator = fitted(model).estimator
    history = list(getattr(estimator, "history_", []))
    ax = new_axes(ax)
    title = "Objective against time"
    if not history:
        return says(ax, "no history was kept", title)
    end = float(getattr(estimator, "objective_", history[-1].objective))
    unit, name = (1.0, "seconds") if history[-1].seconds >= 0.2 else (1e3, "milliseconds")
    for place, phase in enumerate(dict.fromkeys(record.phase for record in history)):
        records = [record for record in history if record.phase == phase]
        seconds = [unit * record.seconds for record in records]
        values = [record.objective for record in records]
        color = _PHASES.get(phase, PALETTE[(place + 3) % len(PALETTE)])
        many = len(records) > MOST_SHAPES
        label = f"{phase}: {counted(len(records), 'step')}{_seen(phase, history)}"
        if phase == "descend":
            ax.scatter(seconds, values, s=9, color=color, alpha=0.6, linewidths=0, label=label, rasterized=many)
        else:
            marker = "o" if len(records) <= 40 else None
            options = {"linewidth": 1.8, "marker": marker, "markersize": 4, "rasterized": many}
            ax.plot(seconds, values, color=color, label=label, **options)
    _leave_out_the_worst(ax, np.array([record.objective for record in history]))
    ax.axhline(end, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    legend = ax.legend(frameon=False, fontsize=9, labelcolor=INK, title_fontsize=9, alignment="left")
    legend.set_title(f"{number(end, 5)} at the end")
    legend.get_title().set_color(INK)
    ax.yaxis.set_major_formatter(lambda value, place: number(value, 6))
    return finish(ax, title=title, xlabel=f"{name} since the fit began", ylabel="objective φ", grid="y")


def restarts(model: Any, *, ax: Any = None) -> Any:
    """By how much each restart ended above the best: a dot for each, or a histogram of many.

    Where the search read a sample, all of them are compared on the sample.
    """
    estimator = fitted(model).estimator
    ax = new_axes(ax, 6.4, 3.0)
    ended = ended_restarts(estimator)
    title = "Where the restarts ended"
    if len(ended) == 0:
        return says(ax, "no restarts were kept", title)
    if len(ended) == 1:
        return says(ax, f"one restart, which ended at {number(ended[0], 5)}", title)
    worse = 100 * (ended / ended[0] - 1) if ended[0] > 0 else ended
    what = f"above the best ({number(ended[0], 5)}), in %" if ended[0] > 0 else "objective φ"
    width = max(float(worse[-1]), SAME)
    if len(ended) >= MANY_RESTARTS:
        ax.hist(worse, bins=np.linspace(0, width, min(40, 2 * len(ended)) + 1), color=ACCENT, linewidth=0)
        ax.locator_params(axis="y", integer=True)
        finish(ax, title=f"{title}: {len(ended):,} of them", xlabel=what, ylabel="restarts", grid="y")
    else:
        place = np.arange(1, len(ended) + 1)
        ax.hlines(place, 0, worse, color=FAINT, linewidth=1.5)
        ax.scatter(worse, place, s=36, color=ACCENT, zorder=3)
        ax.set_yticks(place)
        ax.set_ylim(len(ended) + 0.7, 0.3)
        finish(ax, title=title, xlabel=what, ylabel="restart, best first", grid="x")
    ax.set_xlim(-0.03 * width, 1.05 * width)
    return ax


def ended_restarts(estimator: Any) -> FloatArray:
    """The objectives that the restarts ended with, the best first, all on the same points.

    The estimator has the best on all data and the others on the sample that was searched, if there was one; what
    the best had there stands in its history.
    """
    ended: FloatArray = np.sort(np.asarray(getattr(estimator, "restarts_", []), dtype=np.float64))
    history = list(getattr(estimator, "history_", []))
    on_sample = [record.objective for record in history if record.phase == "search"]
    sampled = on_sample and any(record.phase == "descend" for record in history)
    if len(ended) > 1 and sampled and hasattr(estimator, "objective_"):
        others = np.delete(ended, int(np.argmin(np.abs(ended - estimator.objective_))))
        ended = np.sort(np.append(others, on_sample[-1]))
    return ended


def _seen(phase: str, history: list[Any]) -> str:
    """What part of the data a phase knows the objective on."""
    if phase == "descend":
        return ", on mini-batches"
    phases = {record.phase for record in history}
    later = {"search": "descend", "polish": "finish"}  # what follows a phase that read only a sample
    return ", on a sample" if later.get(phase) in phases else ""


def _leave_out_the_worst(ax: Any, values: FloatArray) -> None:
    """Show the part of the axis where most steps are: the first are often many times worse."""
    low, high = float(values.min()), float(values.max())
    usual = float(np.quantile(values, 0.9))
    if high - low > 5 * (usual - low) > 0:
        ax.set_ylim(low - 0.1 * (usual - low), usual + 0.6 * (usual - low))


def says(ax: Any, words: str, title: str) -> Any:
    """Words in the place of a picture."""
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=QUIET)
    ax.set_xticks([])
    ax.set_yticks([])
    return finish(ax, title=title)

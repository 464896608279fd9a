"""How a fit went: the objective over time, and the final objectives of the restarts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from ..arrays import FloatArray
from ..history import DESCEND, FINISH, PARTIAL_FIT, POLISH, SEARCH, Record
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
ALL_ROWS = "all rows"
SMALLEST_RANGE = 0.1  # % that the axis of the restarts spans at least, so that tiny differences look tiny
# Phases that are not listed take the next color of the palette.
_PHASE_COLORS = {SEARCH: PALETTE[1], DESCEND: PALETTE[2], POLISH: PALETTE[0], FINISH: PALETTE[5]}


@dataclass(frozen=True)
class Stretch:
    """Consecutive steps of one phase that know the objective on the same rows."""

    phase: str
    records: list[Record]
    basis: str  # "all rows", "a sample" or "mini-batches"

    @property
    def is_exact(self) -> bool:
        """Whether the objective is that of all rows."""
        return self.basis == ALL_ROWS

    @property
    def label(self) -> str:
        """For the legend."""
        basis = "exact" if self.is_exact else f"estimated on {self.basis}"
        return f"{self.phase}: {format_count(len(self.records), 'step')}, {basis}"


def stretches(estimator: BaseEstimator) -> list[Stretch]:
    """The history of a fit, split where the phase or the rows that it looks at change."""
    groups: list[list[Record]] = []
    for record in getattr(estimator, "history_", []):
        last = groups[-1][-1] if groups else None
        if last is None or record.phase != last.phase or record.step <= last.step:
            groups.append([])
        groups[-1].append(record)
    phases = [group[0].phase for group in groups]
    searches = hasattr(estimator, "effort")  # else every step is one of the paper's algorithm
    return [
        Stretch(phase, group, _basis(group, phases[place + 1 :], searches))
        for place, (phase, group) in enumerate(zip(phases, groups, strict=True))
    ]


def _basis(records: list[Record], later: list[str], searches: bool) -> str:
    """The rows on which a stretch knows the objective; `later` are the phases that follow it."""
    phase = records[0].phase
    if phase in (DESCEND, PARTIAL_FIT) or not (searches or records[0].exact):
        return "mini-batches"
    # A search of a sample is followed by that of a larger one, or by a descent; a polish of a sample by a finish.
    followers = {SEARCH: {SEARCH, DESCEND}, POLISH: {FINISH}}.get(phase, set())
    return "a sample" if followers & set(later) else ALL_ROWS


def objective(model: ModelLike, *, ax: Axes | None = None) -> Axes:
    """Plot the objective after each step over time, with a color for each phase of the fit.

    Filled marks on a line are exact values over all rows. Hollow marks are estimates: on large data the search
    knows the objective only on its sample, and the descent only on mini-batches. Estimates on different rows can
    not be compared with each other, or with the final value. Steps that are far worse than the others are cut off.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model to show.
    ax : Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    Axes
        What was drawn into.

    Examples
    --------
    >>> from eulermeans import EulerMeans, plot
    >>> from eulermeans.datasets import iris
    >>> X = iris()
    >>> model = EulerMeans(3, random_state=0).fit(X)
    >>> plot.objective(model).get_ylabel()
    'objective φ'
    """
    estimator = as_fitted_model(model).estimator
    history: list[Record] = list(getattr(estimator, "history_", []))
    ax = new_axes(ax)
    title = "Objective over time"
    if not history:
        return draw_message(ax, "the model has no history", title)
    final = float(getattr(estimator, "objective_", history[-1].objective))
    scale, unit = (1.0, "seconds") if history[-1].seconds >= 0.2 else (1e3, "milliseconds")
    for place, stretch in enumerate(stretches(estimator)):
        color = _PHASE_COLORS.get(stretch.phase, PALETTE[(place + 3) % len(PALETTE)])
        _draw_stretch(ax, stretch, color, scale)
    _cut_off_worst(ax, np.array([record.objective for record in history]))
    ax.axhline(final, color=QUIET, linewidth=0.8, linestyle="--", zorder=1)
    legend = ax.legend(frameon=False, fontsize=9, labelcolor=INK, title_fontsize=9, alignment="left")
    legend.set_title(f"final value {format_number(final, 5)}, exact")
    legend.get_title().set_color(INK)
    ax.yaxis.set_major_formatter(lambda value, place: format_number(value, 6))
    return finish(ax, title=title, xlabel=f"{unit} since the fit started", ylabel="objective φ", grid="y")


def _draw_stretch(ax: Axes, stretch: Stretch, color: str, scale: float) -> None:
    """Exact values as a line with filled marks, estimates as hollow marks."""
    seconds = [scale * record.seconds for record in stretch.records]
    values = [record.objective for record in stretch.records]
    many = len(values) > MOST_SHAPES
    if stretch.is_exact:
        (line,) = ax.plot(seconds, values, color=color, label=stretch.label, linewidth=1.8, rasterized=many)
        line.set(marker="o" if len(values) <= 40 else "none", markersize=4)
        return
    is_noisy = stretch.basis == "mini-batches"
    size, width = (9, 0.7) if is_noisy else (18, 1.1)
    dots = ax.scatter(seconds, values, s=size, linewidths=width, facecolors="none", edgecolors=color)
    dots.set(label=stretch.label, zorder=2, rasterized=many)


def restarts(model: ModelLike, *, ax: Axes | None = None) -> Axes:
    """Plot how far above the best each restart ended: a dot for each, or a histogram of many.

    If the search read a sample of the data, all restarts are compared on that sample.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model to show.
    ax : Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    Axes
        What was drawn into.

    Examples
    --------
    >>> from eulermeans import EulerMeans, plot
    >>> from eulermeans.datasets import iris
    >>> X = iris()
    >>> model = EulerMeans(3, n_init=5, random_state=0).fit(X)
    >>> plot.restarts(model).get_ylabel()
    'restart, best first'
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
    searched = next((stretch for stretch in stretches(estimator) if stretch.phase == SEARCH), None)
    if len(finals) > 1 and searched is not None and not searched.is_exact and hasattr(estimator, "objective_"):
        others = np.delete(finals, int(np.argmin(np.abs(finals - estimator.objective_))))
        finals = np.sort(np.append(others, searched.records[-1].objective))
    return finals


def _cut_off_worst(ax: Axes, values: FloatArray) -> None:
    """Limit the axis to the range of most steps: the first ones are often many times worse."""
    low, most, high = np.quantile(values, [0, 0.9, 1]).tolist()
    if high - low > 5 * (most - low) > 0:
        ax.set_ylim(low - 0.1 * (most - low), most + 0.6 * (most - low))

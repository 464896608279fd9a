"""The lower bound over time, below the inertia of the clustering, drawn with Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..plot.style import ACCENT, INK, WARM, finish, format_number, new_axes
from .certificate_chart import lowest_shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .certificate_record import Certificate


def draw_bound(certificate: Certificate, *, ax: Axes | None = None) -> Axes:
    """Draw the steps of the bound and a line at the inertia; the gap is what lies between them."""
    ax = new_axes(ax)
    steps = [step for step in certificate.history if step.lower_bound > 0] or list(certificate.history)
    seconds = [step.seconds for step in steps] + [max(certificate.seconds, steps[-1].seconds)]
    bounds = [step.lower_bound for step in steps] + [certificate.lower_bound]
    ax.step(seconds, bounds, where="post", color=ACCENT, linewidth=1.8, label="lower bound")
    ax.fill_between(seconds, bounds, certificate.inertia, step="post", color=ACCENT, alpha=0.08, linewidth=0)
    label = f"inertia {format_number(certificate.inertia, 5)}"
    ax.axhline(certificate.inertia, color=WARM, linewidth=1.5, linestyle="--", label=label)
    ax.legend(frameon=False, fontsize=9, labelcolor=INK, loc="best")
    ax.yaxis.set_major_formatter(lambda value, place: format_number(value, 6))
    ax.set_xlim(left=0)
    low = lowest_shown(certificate)
    if low < certificate.inertia:
        margin = 0.05 * (certificate.inertia - low)
        ax.set_ylim(low - margin, certificate.inertia + margin)
    return finish(ax, title="Lower bound on the optimum", xlabel="seconds", ylabel="inertia", grid="y")

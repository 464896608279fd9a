"""The summary that notebooks show below scikit-learn's diagram of an estimator. Needs no Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from sklearn.base import BaseEstimator

from ..arrays import Array
from ..estimators.size_bounds import bounds_cost
from .style import ACCENT, format_count

WIDTH, HEIGHT = 132, 30  # of an SVG, in pixels
MOST_BARS = 44


def summary(estimator: BaseEstimator) -> str:
    """A few lines of HTML on a fitted estimator; an empty string if it is not fitted."""
    if not hasattr(estimator, "cluster_centers_"):
        return ""
    n_clusters, n_features = estimator.cluster_centers_.shape
    facts = [f"<b>{n_clusters:,}</b> {'cluster' if n_clusters == 1 else 'clusters'} in {n_features:,} features"]
    weights = getattr(estimator, "cluster_weights_", np.empty(0))
    if len(weights):
        facts.append(f"{weights.min():,.6g} to {weights.max():,.6g} points each")
    if hasattr(estimator, "objective_"):
        facts.append(f"objective φ <b>{estimator.objective_:.5g}</b>")
    if (bounds := bounds_cost(estimator)) is not None:
        facts.append(str(bounds))
    history = list(getattr(estimator, "history_", []))
    if history:
        seconds = history[-1].seconds
        duration = f"{seconds:.3g} s" if seconds >= 0.1 else f"{1e3 * seconds:.3g} ms"
        facts.append(f"{format_count(len(history), 'step')} in {duration}")
    if hasattr(estimator, "stop_reason_"):
        facts.append(escape(str(estimator.stop_reason_)))
    plots = _line([record.objective for record in history])
    plots += _bars(weights) if len(weights) else ""
    return (
        '<div style="font: 13px/1.6 system-ui, sans-serif; margin: .5em 0 .3em">'
        f"<div>{' · '.join(facts)}</div>"
        f'<div style="display: flex; gap: 1.5em; flex-wrap: wrap">{plots}</div></div>'
    )


def _line(values: Sequence[float]) -> str:
    """The objective after each step."""
    if len(values) < 2:
        return ""
    low, high = min(values), float(np.quantile(values, 0.9))  # cut off above, if the first steps are far worse
    high = max(values) if max(values) - low < 5 * (high - low) else high
    span = high - low if high > low else 1.0
    heights = HEIGHT - 2 - (HEIGHT - 4) * np.minimum((np.asarray(values) - low) / span, 1.0)
    places = np.linspace(1, WIDTH - 1, len(values))
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), WIDTH)).astype(int))
    points = " ".join(f"{places[step]:.1f},{heights[step]:.1f}" for step in kept)
    return _svg("objective", f'<polyline points="{points}" fill="none" stroke="{ACCENT}" stroke-width="1.5"/>')


def _bars(weights: Array) -> str:  # (n_clusters,), IN
    """The cluster sizes, the largest first; if there are many, a bar for every few clusters."""
    ordered = np.sort(weights)[::-1]
    kept = ordered[np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_BARS)).astype(int)]
    width = WIDTH / len(kept)
    heights = (HEIGHT - 2) * kept / max(float(kept[0]), 1e-300)
    bars = "".join(
        f'<rect x="{place * width:.1f}" y="{HEIGHT - high:.1f}" width="{0.8 * width:.1f}" height="{high:.1f}"/>'
        for place, high in enumerate(heights)
    )
    return _svg("sizes", f'<g fill="{ACCENT}">{bars}</g>')


def _svg(name: str, shapes: str) -> str:
    return (
        '<span style="display: inline-flex; align-items: center; gap: .5em">'
        f'<span style="opacity: .7">{name}</span>'
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">'
        f"{shapes}</svg></span>"
    )

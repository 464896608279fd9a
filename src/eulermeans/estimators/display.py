"""What a notebook shows of a fitted estimator: scikit-learn's diagram, and below it how the fit ended.

Pictures are a few lines of SVG, drawn here, so that nothing needs to be installed for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ..arrays import Array

WIDTH, HEIGHT = 132, 30  # of a picture, in pixels
MOST_BARS = 44
WORST = 0.9  # the part of the steps whose objectives the picture has room for


class SummaryMixin:
    """Adds the summary to scikit-learn's HTML representation, once there is something to say."""

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        return diagram + summary(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += summary(self)
        return bundle


def summary(estimator: Any) -> str:
    """A few lines of HTML on a fitted estimator; nothing on one that is not."""
    if not hasattr(estimator, "cluster_centers_"):
        return ""
    facts = [_clusters(estimator)]
    if hasattr(estimator, "objective_"):
        facts.append(f"objective φ <b>{estimator.objective_:.5g}</b>")
    history = list(getattr(estimator, "history_", []))
    if history:
        steps = "1 step" if len(history) == 1 else f"{len(history):,} steps"
        facts.append(f"{steps} in {_time(history[-1].seconds)}")
    if hasattr(estimator, "stop_reason_"):
        facts.append(escape(str(estimator.stop_reason_)))
    pictures = [_line([record.objective for record in history])]
    weights = _sizes(estimator)
    if weights is not None:
        pictures.append(_bars(weights))
    return (
        '<div style="font: 13px/1.6 system-ui, sans-serif; margin: .5em 0 .3em">'
        f"<div>{' · '.join(facts)}</div>"
        f'<div style="display: flex; gap: 1.5em; flex-wrap: wrap">{"".join(pictures)}</div></div>'
    )


def _clusters(estimator: Any) -> str:
    n_clusters, n_features = estimator.cluster_centers_.shape
    words = f"<b>{n_clusters:,}</b> {'cluster' if n_clusters == 1 else 'clusters'} in {n_features:,} features"
    weights = _sizes(estimator)
    return words if weights is None else f"{words}, of {weights.min():,.6g} to {weights.max():,.6g} points"


def _sizes(estimator: Any) -> Array | None:
    weights = getattr(estimator, "cluster_weights_", None)
    return weights if weights is not None and len(weights) else None


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{1e3 * seconds:.3g} ms"


def _line(values: Sequence[float]) -> str:
    """The objective step by step; the first steps, which are often far worse, may leave the picture at the top."""
    if len(values) < 2:
        return ""
    low, high = min(values), float(np.quantile(values, WORST))
    high = max(values) if max(values) - low < 5 * (high - low) else high
    span = high - low if high > low else 1.0
    heights = HEIGHT - 2 - (HEIGHT - 4) * np.minimum((np.asarray(values) - low) / span, 1.0)
    places = np.linspace(1, WIDTH - 1, len(values))
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), WIDTH)).astype(int))
    points = " ".join(f"{places[step]:.1f},{heights[step]:.1f}" for step in kept)
    drawing = f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="1.5"/>'
    return _picture("objective", drawing)


def _bars(weights: Array) -> str:
    """The sizes in order, the largest first; of very many clusters every so many-th."""
    ordered = np.sort(weights)[::-1]
    kept = ordered[np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_BARS)).astype(int)]
    width = WIDTH / len(kept)
    heights = (HEIGHT - 2) * kept / max(float(kept[0]), 1e-300)
    bars = "".join(
        f'<rect x="{place * width:.1f}" y="{HEIGHT - high:.1f}" width="{0.8 * width:.1f}" height="{high:.1f}"/>'
        for place, high in enumerate(heights)
    )
    return _picture("sizes", f'<g fill="#0072b2">{bars}</g>')


def _picture(name: str, drawing: str) -> str:
    return (
        '<span style="display: inline-flex; align-items: center; gap: .5em">'
        f'<span style="opacity: .7">{name}</span>'
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">'
        f"{drawing}</svg></span>"
    )

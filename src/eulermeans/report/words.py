"""The numbers of a Description in words for people: what stands in the page's cards, tables and notes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..plot.style import cluster_colors, counted, number
from ..versions import versions
from .records import Cluster, Description, Feature, NearRow
from .repeat import parameters, python

MOST_FEATURES = 60  # rows of the features' table
LONGEST = 60  # letters of a name from the data


def title(description: Description) -> str:
    """The heading, where none was given."""
    return f"{counted(description.n_rows, 'row')} in {counted(description.model.n_clusters, 'cluster')}"


def lead(description: Description) -> str:
    """What was clustered, and how, in a sentence."""
    model = description.model
    steps = [type(scaler).__name__ for scaler in model.scalers]
    scaled = f", scaled by {' and '.join(steps)}" if steps else ", as they are"
    metric = ", by the cosine" if model.metric == "cosine" else ""
    size = f"{counted(description.n_rows, 'row')} of {counted(description.n_features, 'feature')}"
    return (
        f"{cut(description.source, 200)}: {size}{scaled}, in {counted(model.n_clusters, 'cluster')} by "
        f"{type(model.estimator).__name__}{metric}."
    )


def cards(description: Description) -> list[dict[str, str]]:
    """The few numbers that matter most."""
    found = [
        _card(number(description.n_rows, 12), "rows", f"{counted(description.n_features, 'feature')} each"),
        _card(number(description.model.n_clusters, 12), "clusters", _sizes(description)),
        _card(
            number(100 * description.explained, 3) + " %", "explained", "of the variance is between the clusters"
        ),
    ]
    if description.silhouette is not None and description.sample.silhouettes is not None:
        n_compared = len(description.sample.silhouettes)
        of = "all rows" if n_compared == description.n_rows else f"a sample of {n_compared:,} rows"
        found.append(_card(f"{description.silhouette:.2f}", "silhouette", f"mean over {of}; 1 is best"))
    found.append(
        _card(number(description.objective, 5), "objective φ", "half the mean squared distance to the centers")
    )
    estimator = description.model.estimator
    if getattr(estimator, "history_", None):
        took = estimator.history_[-1].seconds
        time = f"{number(took, 3)} s" if took >= 0.1 else f"{number(1e3 * took, 3)} ms"
        found.append(_card(time, "fit", f"{counted(estimator.n_iter_, 'step')}; {estimator.stop_reason_}"))
    return found


def clusters(description: Description) -> list[dict[str, Any]]:
    """The rows of the clusters' table."""
    colors = cluster_colors(description.model.centers)
    largest = max(float(description.counts.max()), 1e-300)
    return [_cluster_row(cluster, colors[cluster.number], largest) for cluster in description.clusters]


def clusters_note(description: Description) -> str:
    """What the table's columns mean, and what is left out."""
    sentences = []
    if len(description.clusters) < len(description.counts):
        listed = (
            f"Only the {len(description.clusters)} largest of {len(description.counts):,} clusters are listed."
        )
        sentences.append(listed)
    where = "after scaling" if description.model.scalers else "in the units of the data"
    where = "between directions" if description.model.metric == "cosine" else where
    sentences.append(
        f"The spread is the root of the mean squared distance to the center, {where}. ▲ and ▼ mark means that are "
        "above and below that of all rows, which stands beside them, the strongest difference first; the rows "
        "nearest to the center come with their values in the same features."
    )
    if any(row.id.startswith("row ") for cluster in description.clusters for row in cluster.nearest):
        sentences.append("Rows are counted from 0.")
    return " ".join(sentences)


def features(description: Description) -> list[dict[str, Any]]:
    """The rows of the features' table, those that separate most first."""
    order = np.argsort([-feature.separation for feature in description.features], kind="stable")[:MOST_FEATURES]
    return [_feature_row(description.features[place]) for place in order]


def features_note(description: Description) -> str:
    """What the table's columns mean, and what is left out."""
    note = (
        "“Separates” is the part of a feature's variance that is between clusters: near 100 % the clusters differ "
    )
    note += "in it, near 0 % they do not."
    if description.n_features > MOST_FEATURES:
        note += f" The {MOST_FEATURES} of {description.n_features:,} features that separate most are listed."
    return note


def repeat(description: Description, command: str | None) -> list[dict[str, str]]:
    """Ways to make the same clusters again."""
    blocks = [] if command is None else [{"words": "On the command line:", "code": command}]
    words = f"In Python, with X the {counted(description.n_rows, 'row')} of {cut(description.source, 200)}:"
    return [*blocks, {"words": words, "code": python(description.model)}]


def facts(description: Description) -> list[dict[str, str]]:
    """Everything else that someone may ask for."""
    estimator = description.model.estimator
    found = {
        "data": cut(description.source, 200),
        "rows": number(description.n_rows, 12),
        "features": number(description.n_features, 12),
        "metric": description.model.metric,
        "rows in the pictures": number(description.sample.points.shape[0], 12),
    }
    if description.weighted:
        found["total weight"] = number(description.total_weight, 12)
    for scaler in description.model.scalers:
        found["scaling"] = f"{found['scaling']}, {cut(scaler)}" if "scaling" in found else cut(scaler)
    if hasattr(estimator, "stop_reason_"):
        found["stopped because"] = str(estimator.stop_reason_)
    for name, value, default in parameters(description.model):
        found[name] = f"{value} (default)" if default else value
    return [{"name": name, "value": value} for name, value in {**found, **versions()}.items()]


def cut(name: object, longest: int = LONGEST) -> str:
    """A name from the data on one line, not too long."""
    text = " ".join(str(name).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _card(value: str, name: str, note: str) -> dict[str, str]:
    return {"value": value, "name": name, "note": note}


def _sizes(description: Description) -> str:
    low, high = float(description.counts.min()), float(description.counts.max())
    unit = "of weight" if description.weighted else "rows"
    return f"{number(low, 12)} to {number(high, 12)} {unit}" if low < high else f"{number(low, 12)} {unit} each"


def _cluster_row(cluster: Cluster, color: str, largest: float) -> dict[str, Any]:
    silhouette = cluster.silhouette
    return {
        "number": cluster.number,
        "color": color,
        "size": number(cluster.size, 12),
        "size_value": repr(cluster.size),
        "share": f"{number(100 * cluster.share, 3)} %",
        "bar": f"{cluster.size / largest:.3f}",
        "spread": number(cluster.spread),
        "spread_value": repr(cluster.spread),
        "silhouette": "–" if silhouette is None else f"{silhouette:.2f}",
        "silhouette_value": "" if silhouette is None else f"{silhouette:.4f}",
        "traits": [
            {
                "name": cut(trait.name),
                "mean": number(trait.mean),
                "overall": number(trait.overall),
                "above": trait.deviations > 0,
            }
            for trait in cluster.traits
        ],
        "nearest": [{"id": cut(row.id), "words": _near(row)} for row in cluster.nearest],
    }


def _near(row: NearRow) -> str:
    return ", ".join(number(value) for _, value in row.values)


def _feature_row(feature: Feature) -> dict[str, Any]:
    cells = {"mean": feature.mean, "deviation": feature.deviation, "lowest": feature.low, "highest": feature.high}
    return {
        "name": cut(feature.name),
        "separation": f"{number(100 * feature.separation, 3)} %",
        "separation_value": f"{feature.separation:.5f}",
        "bar": f"{feature.separation:.3f}",
        "cells": [{"name": name, "value": repr(value), "text": number(value)} for name, value in cells.items()],
    }

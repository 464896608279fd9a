"""The sentences, cards and notes of a report."""

from __future__ import annotations

from dataclasses import dataclass

from ..plot.style import format_count, format_number
from ..versions import versions
from .refit_code import parameters, python_code
from .report_records import Description

MOST_FEATURES = 60  # rows of the table of features
LONGEST_NAME = 60  # characters of a name from the data in a table
LONGEST_SOURCE = 200  # characters of the name of the data


@dataclass(frozen=True)
class Card:
    """One of the few numbers at the top."""

    value: str
    name: str
    note: str


def default_title(description: Description) -> str:
    """The heading if the caller gave none."""
    rows, clusters = description.n_rows, description.model.n_clusters
    return f"{format_count(rows, 'row')} in {format_count(clusters, 'cluster')}"


def introduction(description: Description) -> str:
    """One sentence on what was clustered, and how."""
    model = description.model
    scalers = " and ".join(type(scaler).__name__ for scaler in model.scalers)
    scaling = f"scaled by {scalers}" if scalers else "not scaled"
    metric = " with cosine similarity" if model.metric == "cosine" else ""
    return (
        f"{format_count(description.n_rows, 'row')} with {format_count(description.n_features, 'feature')} from "
        f"{shorten(description.source, LONGEST_SOURCE)}, {scaling}, grouped into "
        f"{format_count(model.n_clusters, 'cluster')} by {type(model.estimator).__name__}{metric}."
    )


def cards(description: Description) -> list[Card]:
    """The most important numbers."""
    found = [
        Card(
            format_number(description.n_rows, 12),
            "rows",
            f"{format_count(description.n_features, 'feature')} each",
        ),
        Card(format_number(description.model.n_clusters, 12), "clusters", _size_range(description)),
        Card(
            f"{format_number(100 * description.explained, 3)}%",
            "explained",
            "of the variance is between the clusters",
        ),
    ]
    if description.silhouette is not None and description.sample.silhouettes is not None:
        n_compared = len(description.sample.silhouettes)
        rows = "all rows" if n_compared == description.n_rows else f"a sample of {n_compared:,} rows"
        found.append(Card(f"{description.silhouette:.2f}", "silhouette", f"mean over {rows}; 1 is best"))
    objective = format_number(description.objective, 5)
    found.append(Card(objective, "objective φ", "half the mean squared distance to the nearest center"))
    estimator = description.model.estimator
    if getattr(estimator, "history_", None):
        seconds = estimator.history_[-1].seconds
        time = f"{format_number(seconds, 3)} s" if seconds >= 0.1 else f"{format_number(1e3 * seconds, 3)} ms"
        steps = format_count(estimator.n_iter_, "step")
        found.append(Card(time, "fit", f"{steps}; {estimator.stop_reason_}"))
    return found


def clusters_note(description: Description) -> str:
    """What the columns of the table of clusters mean, and what is left out."""
    sentences = []
    n_listed, n_clusters = len(description.clusters), len(description.counts)
    if n_listed < n_clusters:
        sentences.append(f"Only the {n_listed} largest of {n_clusters:,} clusters are listed.")
    space = "after scaling" if description.model.scalers else "in the units of the data"
    space = "between unit vectors" if description.model.metric == "cosine" else space
    sentences.append(
        f"Spread is the root mean squared distance to the center, {space}. ▲ and ▼ mark means above and below the "
        "overall mean, which is shown next to them, largest difference first. The rows nearest to the center are "
        "listed with their values in the same features."
    )
    if any(row.id.startswith("row ") for cluster in description.clusters for row in cluster.nearest):
        sentences.append("Rows are numbered from 0.")
    return " ".join(sentences)


def features_note(description: Description) -> str:
    """What the columns of the table of features mean, and what is left out."""
    note = (
        "Separation is the share of a feature's variance that is between clusters: near 100% the clusters differ "
        "in it, near 0% they do not."
    )
    if description.n_features > MOST_FEATURES:
        note += f" Only the {MOST_FEATURES} of {description.n_features:,} features that separate most are listed."
    return note


def reproduction(description: Description, command: str | None) -> dict[str, str]:
    """Code that makes the same clusters again, by the sentence that introduces it."""
    source = shorten(description.source, LONGEST_SOURCE)
    intro = f"In Python, where X holds the {format_count(description.n_rows, 'row')} of {source}:"
    blocks = {} if command is None else {"On the command line:": command}
    return {**blocks, intro: python_code(description.model)}


def facts(description: Description) -> dict[str, str]:
    """Parameters, versions and other details."""
    model = description.model
    found = {
        "data": shorten(description.source, LONGEST_SOURCE),
        "rows": format_number(description.n_rows, 12),
        "features": format_number(description.n_features, 12),
        "metric": model.metric,
        "rows in the plots": format_number(description.sample.points.shape[0], 12),
    }
    if description.weighted:
        found["total weight"] = format_number(description.total_weight, 12)
    if model.scalers:
        found["scaling"] = ", ".join(shorten(scaler) for scaler in model.scalers)
    if hasattr(model.estimator, "stop_reason_"):
        found["stop reason"] = str(model.estimator.stop_reason_)
    return {**found, **parameters(model), **versions()}


def shorten(name: object, longest: int = LONGEST_NAME) -> str:
    """A name from the data on one line, not too long."""
    text = " ".join(str(name).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _size_range(description: Description) -> str:
    low, high = (format_number(float(size), 12) for size in (description.counts.min(), description.counts.max()))
    unit = "of weight" if description.weighted else "rows"
    return f"{low} {unit} each" if low == high else f"{low} to {high} {unit}"

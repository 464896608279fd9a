"""Other numbers of clusters, from a sweep: what the same rows look like with each K, and what changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ..arrays import FloatArray
from ..choosing import Row, Sweep
from ..oracles import unit_centers
from ..plot.fitted_model import FittedModel
from ..plot.style import PALETTE, cluster_colors, format_number
from .cluster_sentences import Averages, cluster_sentences
from .report_records import Description

MOST_CLUSTERS = 60  # a larger K is in the table of criteria, but not shown in the plane
CLEAN = 0.8  # share of a cluster's rows that must stay together for it to be said to split or merge
SAME_DATA = 2.0  # the objective on the report's rows may differ from the sweep's by this factor
CRITERIA = {  # headings of the table, and what they mean
    "silhouette": "mean over a sample; 1 is best",
    "found again": "how much of the worst cluster another half of the data reproduces",
    "border density": "at the worst border between two clusters, relative to the centers",
    "smallest": "share of the smallest cluster",
    "objective": "half the mean squared distance to the nearest center",
}


def k_cells(row: Row) -> list[tuple[str, str]]:
    """The value to sort by and the text of each cell of a row, in the order of CRITERIA."""
    cells = [
        (row.silhouette, f"{row.silhouette:.2f}"),
        (row.strength, f"{row.strength:.0%}"),
        (row.valley, f"{row.valley:.0%}"),
        (row.smallest, f"{row.smallest:.1%}"),
        (row.objective, format_number(row.objective, 5)),
    ]
    return [(f"{value:.7g}", text) if np.isfinite(value) else ("", "–") for value, text in cells]


@dataclass(frozen=True)
class Alternative:
    """The clusters of one K."""

    n_clusters: int
    centers: FloatArray  # (n_clusters, n_features) after scaling
    labels: NDArray[np.int32]  # (n_shown,) of the rows that the page shows
    of_sample: NDArray[np.int32]  # (n_sample,) labels of the sample
    shares: FloatArray  # (n_clusters,) of the rows
    sentences: list[str]
    colors: list[str]


def alternatives(description: Description, sweep: Sweep) -> list[Alternative]:
    """The clusters of each K of the sweep; those of the report's own K are the report's."""
    own = description.model
    tried = {k: model.cluster_centers_ for k, model in sweep.models.items() if k <= MOST_CLUSTERS}
    models = {k: _with_scalers(own, centers) for k, centers in tried.items()}
    for k, model in models.items():
        _check(description, sweep[k], model)
    if own.n_clusters <= MOST_CLUSTERS:
        models[own.n_clusters] = own
    models = dict(sorted(models.items()))
    colors = _steady_colors(models, own)
    return [_alternative(description, model, colors[k]) for k, model in models.items()]


def _with_scalers(own: FittedModel, centers: FloatArray) -> FittedModel:
    """Centers of the sweep, which have no prices: a sweep knows no bounds on sizes."""
    centers = np.asarray(centers, dtype=np.float64)
    on_sphere = unit_centers(centers) if own.metric == "cosine" else centers
    return FittedModel(own.estimator, own.scalers, on_sphere, is_priced=False)


def _check(description: Description, row: Row, model: FittedModel) -> None:
    """Raise an error if the sweep's centers do not belong to the rows of the report."""
    n_features, expected = model.centers.shape[1], description.model.centers.shape[1]
    if n_features != expected:
        raise ValueError(f"the sweep has {n_features} features, but the model's centers have {expected}.")
    here = model.label(description.sample.points).moments.objective
    if not row.objective / SAME_DATA <= here <= row.objective * SAME_DATA and row.objective > 0:
        raise ValueError(
            f"the sweep's objective for K = {row.n_clusters} is {format_number(row.objective)}, but "
            f"{format_number(here)} on the rows of the report: give a sweep of the same rows, scaled in the "
            "same way."
        )


def _alternative(description: Description, model: FittedModel, colors: list[str]) -> Alternative:
    of_sample = model.label(description.sample.points)
    means, filled = _means(description, model), of_sample.moments.counts > 0
    averages = Averages(description.features, description.image_shape)
    sentences = cluster_sentences(averages, means) if means is not None else [""] * model.n_clusters
    if model is description.model:
        filled, shares = description.counts > 0, description.counts / description.counts.sum()
        own = {cluster.number: cluster.sentence for cluster in description.clusters}
        sentences = [own.get(cluster, sentence) for cluster, sentence in enumerate(sentences)]
    else:
        shares = of_sample.moments.counts / of_sample.moments.total_weight
    return Alternative(
        n_clusters=model.n_clusters,
        centers=model.centers,
        labels=model.label(description.shown.points).labels,
        of_sample=of_sample.labels,
        shares=shares,
        sentences=[text if full else "No rows" for text, full in zip(sentences, filled, strict=True)],
        colors=colors,
    )


def _means(description: Description, model: FittedModel) -> FloatArray | None:
    """The centers in the units of the features; None if the scaling cannot be undone."""
    n_features = len(description.features)
    means = model.inverse_transform(model.centers)
    if model.metric == "cosine" or means is None or means.shape[1] != n_features:
        # Means of the shown rows are less exact, but always in the right units.
        labels, rows = model.label(description.shown.points).labels, description.shown.rows
        if rows.shape[1] != n_features:
            return None
        overall = np.tile([feature.mean for feature in description.features], (model.n_clusters, 1))
        for cluster in np.unique(labels):
            overall[cluster] = rows[labels == cluster].mean(axis=0)
        return overall
    return np.asarray(means, dtype=np.float64)


def _steady_colors(models: dict[int, FittedModel], own: FittedModel) -> dict[int, list[str]]:
    """Colors for each K that stay with a cluster from one K to the next, starting at the report's own."""
    smaller = [k for k in models if k < own.n_clusters][::-1]
    larger = [k for k in models if k > own.n_clusters]
    colors = {own.n_clusters: cluster_colors(own.centers)}
    for ks in (smaller, larger):
        before = own
        for k in ks:
            colors[k] = _inherit(before.centers, colors[before.n_clusters], models[k].centers)
            before = models[k]
    return colors


def _inherit(before: FloatArray, colors: list[str], centers: FloatArray) -> list[str]:
    """Each new center takes the color of a near old one; those left over the color that is used least."""
    found = [""] * len(centers)
    for new, old in zip(*linear_sum_assignment(cdist(centers, before)), strict=True):
        found[new] = colors[old]
    for place, color in enumerate(found):
        if not color:
            found[place] = min(PALETTE, key=found.count)
    return found


def neighbor_sentences(description: Description, found: list[Alternative]) -> list[str]:
    """What changes with the next smaller and the next larger K of the sweep."""
    own, labels = description.model.n_clusters, description.sample.labels
    by_k = {alternative.n_clusters: alternative.of_sample for alternative in found}
    sentences = []
    if smaller := [k for k in by_k if k < own]:
        groups = _children(by_k[max(smaller)], labels)
        merged = [f"clusters {_and(children)} become one" for children in groups.values() if len(children) > 1]
        sentences.append(f"With K = {max(smaller)}, {_changes(merged)}.")
    if larger := [k for k in by_k if k > own]:
        groups = _children(labels, by_k[min(larger)])
        split = [f"cluster {one} splits into {len(parts)}" for one, parts in groups.items() if len(parts) > 1]
        sentences.append(f"With K = {min(larger)}, {_changes(split)}.")
    return sentences


def _changes(changes: list[str]) -> str:
    if not changes:
        return "the clusters are cut anew"
    more = [f"{len(changes) - 3} others change"] if len(changes) > 3 else []
    return ", ".join([*changes[:3], *more])


def _and(numbers: list[int]) -> str:
    *first, last = map(str, sorted(numbers))
    return f"{', '.join(first)} and {last}"


def _children(
    parents: NDArray[np.int32],  # (n_points,) labels with fewer clusters, IN
    labels: NDArray[np.int32],  # (n_points,) labels with more clusters, IN
) -> dict[int, list[int]]:
    """The clusters that lie within each parent; empty if too few of their rows do."""
    counts = np.zeros((int(parents.max()) + 1, int(labels.max()) + 1))
    np.add.at(counts, (parents, labels), 1)
    sizes = counts.sum(axis=0)
    found: dict[int, list[int]] = {}
    for child in np.flatnonzero(sizes):
        parent = int(np.argmax(counts[:, child]))
        if counts[parent, child] < CLEAN * sizes[child]:
            return {}
        found.setdefault(parent, []).append(int(child))
    return found

"""How large the clusters are, and how well each row fits into its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import FloatArray
from .fitted import Fitted, fitted
from .rows import as_rows
from .style import ACCENT, INK, MOST_SHAPES, QUIET, cluster_colors, counted, finish, new_axes, number

MOST_BARS = 40  # of clusters that get a bar and a number each; more are shown in order of size
MOST_BLADES = 30  # of clusters whose silhouettes are drawn row by row
SILHOUETTE_ROWS = 3000  # every pair of them is compared


def sizes(model: Any, X: Any = None, *, ax: Any = None) -> Any:
    """The number of rows in each cluster, the largest first: of X, or of the data that the model was fitted to."""
    parts = fitted(model)
    counts = parts.counts() if X is None else as_rows(parts, X).counts()
    if counts is None:
        raise ValueError("the model does not know the sizes of its clusters; give the data as X.")
    return draw_sizes(parts.centers, counts, ax=ax)


def draw_sizes(
    centers: FloatArray,  # (n_clusters, n_features) for the colors, IN
    counts: Any,  # (n_clusters,), IN
    *,
    ax: Any = None,
    unit: str = "rows",
) -> Any:
    """Sizes that are known."""
    ax = new_axes(ax, 6.4, 3.4)
    order = np.argsort(-counts, kind="stable")
    n_clusters, usual = len(counts), float(np.mean(counts))
    place, many = np.arange(n_clusters), n_clusters > MOST_SHAPES
    if n_clusters <= MOST_BARS:
        colors = cluster_colors(centers)
        ax.bar(place, counts[order], width=0.8, color=[colors[cluster] for cluster in order])
        ax.set_xticks(place, [str(cluster) for cluster in order], fontsize=9 if n_clusters <= 25 else 7)
        ax.set_xlim(-0.6, n_clusters - 0.4)
        label = "cluster"
    else:
        ax.fill_between(place, counts[order], step="mid", color=ACCENT, alpha=0.85, linewidth=0, rasterized=many)
        ax.set_xlim(-0.5, n_clusters - 0.5)
        label = f"the {n_clusters:,} clusters in order of size"
    if counts.min() > 0 and counts.max() > 50 * counts.min():
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, 1.08 * max(float(np.max(counts)), 1))
        ax.yaxis.set_major_formatter(lambda value, place: number(value, 12))
    ax.axhline(usual, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.annotate(
        f"mean {number(usual)}",
        (1, usual),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=9,
        color=INK,
    )
    finish(ax, title="Sizes of the clusters", xlabel=label, ylabel=unit, grid="y")
    if n_clusters <= MOST_BARS:
        ax.tick_params(axis="x", length=0)
    return ax


def silhouette(
    model: Any, X: Any, *, ax: Any = None, sample_size: int = SILHOUETTE_ROWS, random_state: int = 0
) -> Any:
    """How much nearer each row is to its own cluster than to the next: 1 is perfect, below 0 is misplaced.

    Of many rows a sample is taken, since every row is compared with every other.
    """
    parts = fitted(model)
    points = as_rows(parts, X).sample(sample_size, np.random.default_rng(random_state))
    labels = parts.label(points).labels
    return draw_silhouette(parts, labels, silhouettes(parts, points, labels), ax=ax)


def silhouettes(parts: Fitted, points: Any, labels: Any) -> FloatArray | None:
    """The silhouette of each point, (n_points,); None where there is but one cluster, or each has one point."""
    from sklearn.metrics import silhouette_samples

    if not 1 < len(np.unique(labels)) < points.shape[0]:
        return None
    values: FloatArray = silhouette_samples(points, labels, metric=parts.metric)
    return values


def draw_silhouette(parts: Fitted, labels: Any, values: FloatArray | None, *, ax: Any = None) -> Any:
    """Silhouettes that are known."""
    ax = new_axes(ax, 6.4, 4.6)
    if values is None:
        ax.text(0.5, 0.5, "needs rows of two clusters or more", transform=ax.transAxes, ha="center", color=QUIET)
        return finish(ax, title="Silhouettes")
    present = [int(cluster) for cluster in np.unique(labels)]
    if len(present) <= MOST_BLADES:
        _draw_blades(ax, parts, labels, values, present)
        ylabel = "cluster"
    else:
        _draw_means(ax, labels, values, present)
        ylabel = f"{len(present):,} clusters in order"
    mean = float(values.mean())
    ax.axvline(mean, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.axvline(0, color=QUIET, linewidth=0.8)
    ax.set_xlim(min(-0.1, float(values.min()) - 0.02), 1)
    title = f"Silhouettes of {counted(len(values), 'row')}: {mean:.2f} in the mean"
    finish(ax, title=title, xlabel="misplaced below 0, in the right place above", ylabel=ylabel, grid="x")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return ax


def _draw_blades(ax: Any, parts: Fitted, labels: Any, values: FloatArray, present: list[int]) -> None:
    """Every row a thin line, the rows of a cluster beside each other in order."""
    colors = cluster_colors(parts.centers)
    gap = max(1.0, 0.012 * len(values))
    top, middles = 0.0, []
    for cluster in present:
        blade = np.sort(values[labels == cluster])[::-1]
        heights = top + np.arange(len(blade) + 1)
        ax.fill_betweenx(
            heights,
            0,
            np.append(blade, blade[-1]),
            step="post",
            color=colors[cluster],
            linewidth=0,
            rasterized=True,
        )
        middles.append(top + len(blade) / 2)
        top += len(blade) + gap
    ax.set_yticks(middles, [str(cluster) for cluster in present], fontsize=9 if len(present) <= 20 else 7)
    ax.set_ylim(top, -gap)


def _draw_means(ax: Any, labels: Any, values: FloatArray, present: list[int]) -> None:
    """For each cluster its mean, and where the middle half of its rows is."""
    quartiles = np.array([np.quantile(values[labels == cluster], [0.25, 0.75]) for cluster in present])
    means = np.array([values[labels == cluster].mean() for cluster in present])
    order = np.argsort(-means)
    place = np.arange(len(present))
    ax.hlines(
        place,
        *quartiles[order].T,
        color=ACCENT,
        alpha=0.35,
        linewidth=max(0.4, 200 / len(present)),
        rasterized=True,
    )
    ax.scatter(means[order], place, s=6, color=ACCENT, linewidths=0, rasterized=True)
    ax.set_yticks([])
    ax.set_ylim(len(present), -1)

"""The sizes of the clusters, and the silhouettes of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from .fitted_model import FittedModel, Matrix, ModelLike, as_fitted_model
from .model_data import as_model_data
from .style import ACCENT, INK, MOST_SHAPES, QUIET, cluster_colors, draw_message, finish, format_number, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 40  # clusters that get a labeled bar each; more are drawn as one area
UPRIGHT_NUMBERS = 20  # clusters whose numbers stand side by side under narrow bars
MOST_BLADES = 40  # clusters whose rows are drawn one by one
SILHOUETTE_ROWS = 3000  # silhouettes need the distance between every two rows


def sizes(model: ModelLike, X: object = None, *, ax: Axes | None = None) -> Axes:
    """Plot the number of rows in each cluster, the largest first.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model to show.
    X : anything that `fit` takes, default=None
        The rows to count; None means those of the fit.
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
    >>> [int(bar.get_height()) for bar in plot.sizes(model).patches]
    [62, 50, 38]
    """
    fitted = as_fitted_model(model)
    counts = fitted.training_counts() if X is None else as_model_data(fitted, X).counts()
    if counts is None:
        raise ValueError("the model did not keep the sizes of its clusters; give the data as X.")
    return draw_sizes(fitted.centers, counts, ax=ax, bounds=fitted.size_bounds if X is None else None)


def draw_sizes(
    centers: FloatArray,  # (n_clusters, n_features) to choose colors that differ between neighbors, IN
    counts: FloatArray,  # (n_clusters,), IN
    *,
    ax: Axes | None = None,
    unit: str = "rows",
    bounds: tuple[float, float] | None = None,  # on the sizes
) -> Axes:
    """Plot given sizes, and what bounds them."""
    ax = new_axes(ax, 6.4, 3.4)
    order = np.argsort(-counts, kind="stable")
    n_clusters, mean = len(counts), float(np.mean(counts))
    place = np.arange(n_clusters)
    if n_clusters <= MOST_BARS:
        colors = cluster_colors(centers)
        ax.bar(place, counts[order], width=0.8, color=[colors[cluster] for cluster in order])
        ax.set_xticks(place, [str(cluster) for cluster in order])
        ax.set_xlim(-0.6, n_clusters - 0.4)
        label = "cluster"
    else:
        many = n_clusters > MOST_SHAPES
        ax.fill_between(place, counts[order], step="mid", color=ACCENT, alpha=0.85, linewidth=0, rasterized=many)
        ax.set_xlim(-0.5, n_clusters - 0.5)
        label = f"{n_clusters:,} clusters, largest first"
    if counts.min() > 0 and counts.max() > 50 * counts.min():
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, 1.08 * max(float(np.max(counts)), 1))
        ax.yaxis.set_major_formatter(lambda value, place: format_number(value, 12))
    ax.axhline(mean, color=QUIET, linewidth=0.8, linestyle="--")
    at_right = ("axes fraction", "data")
    text = ax.annotate(f"mean {format_number(mean)}", (1, mean), (0, 3), at_right, "offset points", color=INK)
    text.set(ha="right", fontsize=9)
    title = "Cluster sizes"
    if bounds is not None:
        title += f", bounded by {format_number(bounds[0], 12)} and {format_number(bounds[1], 12)}"
        for bound in bounds:
            if 0 < bound <= 1.05 * float(np.max(counts)):  # others would only shrink the bars
                ax.axhline(bound, color=INK, linewidth=0.9, linestyle=":")
    finish(ax, title=title, xlabel=label, ylabel=unit, grid="y")
    if n_clusters <= MOST_BARS:
        is_narrow = n_clusters > UPRIGHT_NUMBERS
        ax.tick_params(axis="x", length=0, rotation=90 if is_narrow else 0, labelsize=7.5 if is_narrow else 9)
    return ax


def silhouette(
    model: ModelLike,
    X: object,
    *,
    ax: Axes | None = None,
    sample_size: int = SILHOUETTE_ROWS,
    random_state: int = 0,
) -> Axes:
    """Plot how much closer each row is to its own cluster than to the next one.

    1 is best; a row below 0 is closer to another cluster. If there are many rows, a sample is used, because every
    row is compared with every other.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model to show.
    X : anything that `fit` takes
        The rows to show.
    ax : Axes, default=None
        Where to draw; None makes a new figure.
    sample_size : int, default=3000
        The most rows to show; of more, a random sample.
    random_state : int, default=0
        The seed of the sample.

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
    >>> plot.silhouette(model, X).get_title(loc="left")
    'Silhouettes of 150 rows, mean 0.55'
    """
    fitted = as_fitted_model(model)
    points = as_model_data(fitted, X).sample(sample_size, np.random.default_rng(random_state))
    labels = fitted.label(points).labels
    return draw_silhouette(fitted, labels, silhouettes(fitted, points, labels), ax=ax)


def silhouettes(
    model: FittedModel,
    points: Matrix,  # (n_points, n_features), IN
    labels: NDArray[np.int32],  # (n_points,), IN
) -> FloatArray | None:
    """The silhouette of each point, (n_points,); None for a single cluster, or if each point is a cluster."""
    from sklearn.metrics import silhouette_samples

    if not 1 < len(np.unique(labels)) < points.shape[0]:
        return None
    values: FloatArray = silhouette_samples(points, labels, metric=model.metric)
    return values


def draw_silhouette(
    model: FittedModel,
    labels: NDArray[np.int32],  # (n_points,), IN
    values: FloatArray | None,  # (n_points,), IN
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot given silhouettes."""
    ax = new_axes(ax, 6.4, 4.6)
    if values is None:
        return draw_message(ax, "needs two or more clusters, and fewer clusters than rows", "Silhouettes")
    of_clusters = {int(cluster): values[labels == cluster] for cluster in np.unique(labels)}
    if len(of_clusters) <= MOST_BLADES:
        _draw_blades(ax, of_clusters, cluster_colors(model.centers))
        ylabel = "cluster"
    else:
        _draw_means(ax, list(of_clusters.values()))
        ylabel = f"{len(of_clusters):,} clusters, best first"
    mean = float(values.mean())
    ax.axvline(mean, color=INK, linewidth=0.9, linestyle="--")
    ax.axvline(0, color=QUIET, linewidth=0.8)
    ax.set_xlim(min(-0.1, float(values.min()) - 0.02), 1)
    title = f"Silhouettes of {len(values):,} rows, mean {mean:.2f}"
    finish(ax, title=title, xlabel="silhouette (below 0: closer to another cluster)", ylabel=ylabel, grid="x")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return ax


def _draw_blades(ax: Axes, of_clusters: dict[int, FloatArray], colors: list[str]) -> None:
    """A thin line for each row, sorted within each cluster."""
    gap = max(1.0, 0.012 * sum(map(len, of_clusters.values())))
    top, middles = 0.0, []
    for cluster, values in of_clusters.items():
        blade = np.sort(values)[::-1]
        heights = top + np.arange(len(blade) + 1)
        ends = np.append(blade, blade[-1])
        ax.fill_betweenx(heights, 0, ends, step="post", color=colors[cluster], linewidth=0, rasterized=True)
        middles.append(top + len(blade) / 2)
        top += len(blade) + gap
    ax.set_yticks(middles, [str(cluster) for cluster in of_clusters], fontsize=9 if len(middles) <= 20 else 7)
    ax.set_ylim(top, -gap)


def _draw_means(ax: Axes, of_clusters: list[FloatArray]) -> None:
    """The mean of each cluster, and a bar from the first to the third quartile of its rows."""
    means = np.array([values.mean() for values in of_clusters])
    quartiles = np.array([np.quantile(values, [0.25, 0.75]) for values in of_clusters])
    order, place = np.argsort(-means), np.arange(len(means))
    width = max(0.4, 200 / len(means))
    ax.hlines(place, *quartiles[order].T, color=ACCENT, alpha=0.35, linewidth=width, rasterized=True)
    ax.scatter(means[order], place, s=6, color=ACCENT, linewidths=0, rasterized=True)
    ax.set_yticks([])
    ax.set_ylim(len(means), -1)

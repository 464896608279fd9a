"""Rows and centers in a plane: a few rows as points, many as a density, so that none hides another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..optional import optional
from .fitted_model import FittedModel, Matrix, ModelLike, as_fitted_model, to_dense
from .model_data import as_model_data
from .style import ACCENT, MOST_SHAPES, cluster_colors, finish, format_number, new_axes, short_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DENSITY_ROWS = 4000  # from this number of rows on the density is shown
MOST_ROWS = 200_000  # size of the sample
MOST_NUMBERS = 40  # centers that are labeled with their number
ROOM = 1.25  # distance between the middles of two numbers, in diameters of their discs
SPREAD_STEPS = 400  # of moving numbers apart


@dataclass(frozen=True)
class Projection:
    """The positions of rows and centers in the plot."""

    points: FloatArray  # (n_points, 2)
    centers: FloatArray  # (n_clusters, 2)
    labels: NDArray[np.int32]  # (n_points,)
    axis_labels: tuple[str, str]
    is_principal: bool = False  # whether the axes are principal components


def plane(
    model: ModelLike,
    X: object,
    *,
    ax: Axes | None = None,
    feature_names: Sequence[str] | None = None,
    sample_size: int = MOST_ROWS,
    random_state: int = 0,
) -> Axes:
    """Plot the rows of X, colored by cluster, and the centers, along the first two principal components.

    Data with two features is shown as it is. From 4000 rows on the density is shown: each cell has the mean color
    of its rows, and is the more opaque the more rows it has.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model to show.
    X : anything that `fit` takes
        The rows to show.
    ax : Axes, default=None
        Where to draw; None makes a new figure.
    feature_names : list of str, default=None
        Names of the features, if neither the model nor the data has them.
    sample_size : int, default=200000
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
    >>> plot.plane(model, X).get_xlabel()
    'first principal component, 92% of the variance'
    """
    fitted = as_fitted_model(model)
    data = as_model_data(fitted, X, feature_names=feature_names)
    points = data.sample(sample_size, np.random.default_rng(random_state))
    return draw_plane(fitted, project(fitted, points, data.feature_names, random_state=random_state), ax=ax)


def project(
    model: FittedModel,
    points: Matrix,  # (n_points, n_features) after the model's scalers, IN
    names: Sequence[str],
    *,
    random_state: int = 0,
) -> Projection:
    """Project points and centers to two dimensions."""
    labels = model.label(points).labels
    n_features = points.shape[1]
    if n_features > 2 or (n_features == 2 and model.metric == "cosine"):
        return _principal_components(model, points, labels, random_state)
    dense = to_dense(points).astype(np.float64)
    values, centers = model.inverse_transform(dense), model.inverse_transform(model.centers)
    if values is None or centers is None or values.shape != dense.shape:
        if n_features == 2:
            return _principal_components(model, points, labels, random_state)
        values, centers = dense, model.centers
    axis_labels = [short_label(name, longest=40) for name in names[:n_features]]
    if n_features == 2:
        return Projection(values, centers, labels, (axis_labels[0], axis_labels[1]))
    across = np.random.default_rng(0).uniform(-1, 1, len(values))  # so that rows do not hide each other
    return Projection(np.column_stack([values, across]), _two_columns(centers), labels, (axis_labels[0], ""))


def _principal_components(
    model: FittedModel, points: Matrix, labels: NDArray[np.int32], random_state: int
) -> Projection:
    from sklearn.decomposition import PCA

    is_dense = isinstance(points, np.ndarray)
    n_components = min(2, points.shape[0] - (not is_dense))  # the sparse solver needs more rows than components
    pca = PCA(n_components, svd_solver="auto" if is_dense else "arpack", random_state=random_state)
    with np.errstate(invalid="ignore", divide="ignore"):  # if all rows are the same
        values = _two_columns(pca.fit_transform(points.astype(np.float64) if is_dense else points))
    axis_labels = ["first principal component", "second"]
    for place, share in enumerate(pca.explained_variance_ratio_):
        if share > 0:
            axis_labels[place] += f", {format_number(100 * share, 2)}% of the variance"
    centers = _two_columns(pca.transform(model.centers))
    return Projection(values, centers, labels, (axis_labels[0], axis_labels[1]), is_principal=True)


def draw_plane(model: FittedModel, projection: Projection, *, ax: Axes | None = None) -> Axes:
    """Plot rows and centers that are projected already."""
    ax = new_axes(ax, 6.8, 5.0)
    # With very many clusters the colors of overlapping ones would mix to brown; one color for all is clearer.
    colors = cluster_colors(model.centers) if model.n_clusters <= MOST_NUMBERS else [ACCENT] * model.n_clusters
    points, centers = projection.points, projection.centers
    low = np.minimum(points.min(axis=0), centers.min(axis=0))
    high = np.maximum(points.max(axis=0), centers.max(axis=0))
    margin = 0.04 * np.where(high > low, high - low, 1)  # on each side
    low, high = low - margin, high + margin
    rgb: FloatArray = optional("matplotlib.colors", "plot").to_rgba_array(colors)[projection.labels, :3]
    if len(points) < DENSITY_ROWS:
        size = float(np.clip(9000 / len(points), 4, 30))
        ax.scatter(points[:, 0], points[:, 1], s=size, color=rgb, alpha=0.7, linewidths=0, rasterized=True)
    else:
        _draw_density(ax, points, rgb, low, high)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    _draw_centers(ax, centers, colors)
    finish(ax, title="Rows and centers", xlabel=projection.axis_labels[0], ylabel=projection.axis_labels[1])
    if not projection.axis_labels[1]:
        ax.set_yticks([])
    return ax


def _draw_density(ax: Axes, points: FloatArray, rgb: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """An image of cells: the mean color of a cell's rows, with the logarithm of their number as opacity."""
    n_across = int(np.clip(np.sqrt(len(points)) * 0.9, 70, 240))
    shape = (n_across * 3 // 4, n_across)
    cell = np.minimum(((points - low) / (high - low) * shape[::-1]).astype(np.int64), np.array(shape[::-1]) - 1)
    flat = cell[:, 1] * shape[1] + cell[:, 0]
    counts = np.bincount(flat, minlength=shape[0] * shape[1]).astype(np.float64)
    sums = [np.bincount(flat, weights=rgb[:, channel], minlength=len(counts)) for channel in range(3)]
    image = np.zeros((len(counts), 4))
    filled = counts > 0
    image[filled, :3] = np.column_stack(sums)[filled] / counts[filled, None]
    image[filled, 3] = 0.25 + 0.75 * np.log1p(counts[filled]) / np.log1p(counts.max())
    extent = (low[0], high[0], low[1], high[1])
    ax.imshow(image.reshape(*shape, 4), origin="lower", extent=extent, aspect="auto", interpolation="nearest")


def _draw_centers(ax: Axes, centers: FloatArray, colors: list[str]) -> None:
    """Each center with its number on a disc; discs that would overlap move aside, with a line to their center."""
    dark, (x, y) = "#1f2328", centers.T
    if len(centers) > MOST_NUMBERS:
        many = len(centers) > MOST_SHAPES
        size, width = (5, 0.5) if many else (14, 0.9)
        ax.scatter(x, y, s=size, linewidths=width, color="white", edgecolors=dark, zorder=3, rasterized=many)
        return
    diameter, fontsize = (13.8, 8.5) if len(centers) <= 20 else (11.5, 7)  # points
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
    # Points per unit of the data. The layout may shrink the axes a little, which the room between discs allows.
    scale = np.array([ax.bbox.width, ax.bbox.height]) * 72 / ax.figure.dpi / (high - low)
    places = spread_discs((centers - low) * scale, (high - low) * scale, ROOM * diameter) / scale + low
    moved = np.hypot(*((places - centers) * scale).T) > 0.3 * diameter
    for center, place, color in zip(centers[moved], places[moved], np.array(colors)[moved], strict=True):
        ax.plot(*np.array([center, place]).T, color=dark, linewidth=0.7, zorder=3)
        ax.plot(*center, "o", color=color, markeredgecolor=dark, markeredgewidth=0.7, markersize=4, zorder=3.5)
    ax.scatter(
        places[:, 0], places[:, 1], s=diameter**2, color="white", edgecolors=colors, linewidths=1.8, zorder=4
    )
    for cluster, (x, y) in enumerate(places):
        ax.text(x, y, str(cluster), ha="center", va="center_baseline", fontsize=fontsize, color=dark, zorder=5)


def spread_discs(
    places: FloatArray,  # (n, 2) where the middles of discs should be, IN
    size: FloatArray,  # (2,) of the area that they stay in, from (0, 0), IN
    diameter: float,
) -> FloatArray:
    """Places near those wanted where discs of this diameter do not overlap, (n, 2)."""
    moved = places
    for step in range(SPREAD_STEPS):
        apart = moved[:, None] - moved  # (n, n, 2)
        distance = np.hypot(apart[..., 0], apart[..., 1]) + np.eye(len(places)) * 1e9
        overlap = np.maximum(diameter - distance, 0)
        if not overlap.any():
            break
        if step == 0:  # discs at the same place move apart in different directions
            turn = 2.4 * np.arange(len(places))
            moved = moved + 1e-3 * diameter * np.column_stack([np.cos(turn), np.sin(turn)])
            continue
        moved = moved + 0.5 * np.sum(overlap[..., None] * apart / np.maximum(distance, 1e-9)[..., None], axis=1)
        moved = np.clip(moved, diameter / 2, np.maximum(size - diameter / 2, diameter / 2))
    return moved


def _two_columns(values: FloatArray) -> FloatArray:
    """The first column and zeros if there is only one."""
    return values if values.shape[1] == 2 else np.column_stack([values, np.zeros(len(values))])

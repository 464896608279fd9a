"""Rows and centers in a plane: the two directions in which the rows vary most.

Few rows are points; of many the density is shown, so that nothing hides below anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..arrays import FloatArray
from ..optional import optional
from .fitted import Fitted, fitted
from .rows import as_rows
from .style import ACCENT, MOST_SHAPES, cluster_colors, finish, new_axes, number, shown

MANY_ROWS = 4000  # from here on the density is shown
MOST_ROWS = 200_000  # that are read
MOST_NUMBERS = 40  # centers that get their number
_MARGIN = 0.04


@dataclass(frozen=True)
class Projection:
    """Where rows and centers lie in the picture."""

    points: FloatArray  # (n_points, 2)
    centers: FloatArray  # (n_clusters, 2)
    labels: NDArray[np.int32]  # (n_points,)
    axes: tuple[str, str]  # what is along each


def plane(
    model: Any,
    X: Any,
    *,
    ax: Any = None,
    feature_names: Sequence[str] | None = None,
    sample_size: int = MOST_ROWS,
    random_state: int = 0,
) -> Any:
    """The rows of X, colored by cluster, and the centers, in the plane of the first two principal components.

    Data of two features are shown as they are. From 4000 rows on the density is shown: each place has the color of
    the cluster that most of its rows belong to, and is the stronger the more rows there are.
    """
    parts = fitted(model)
    rows = as_rows(parts, X, feature_names=feature_names)
    points = rows.sample(sample_size, np.random.default_rng(random_state))
    return draw_plane(parts, project(parts, points, rows.feature_names, random_state=random_state), ax=ax)


def project(parts: Fitted, points: Any, names: Sequence[str], *, random_state: int = 0) -> Projection:
    """Points, which have entered, and the centers, in a plane."""
    labels = parts.label(points).labels
    original = parts.leave(parts.centers)
    if points.shape[1] == 2 and original is not None and parts.metric != "cosine":
        raw = parts.leave(points.toarray() if issparse(points) else points)
        assert raw is not None
        first, second = (shown(name, 40) for name in names)
        return Projection(np.asarray(raw, np.float64), original, labels, (first, second))
    if points.shape[1] == 1:
        return _line(parts, points, labels, names)
    from sklearn.decomposition import PCA

    sparse = issparse(points)
    values = points if sparse else points.astype(np.float64)
    n_components = min(2, points.shape[0] - sparse)
    pca = PCA(n_components, svd_solver="arpack" if sparse else "auto", random_state=random_state)
    with np.errstate(invalid="ignore", divide="ignore"):  # of rows that are all the same
        placed = _two_columns(pca.fit_transform(values))
    share = [
        f", {number(100 * part, 2)} % of the variance" if part > 0 else ""
        for part in pca.explained_variance_ratio_
    ]
    share += [""] * (2 - len(share))
    axes = (f"first principal component{share[0]}", f"second{share[1]}")
    return Projection(placed, _two_columns(pca.transform(parts.centers)), labels, axes)


def _line(parts: Fitted, points: Any, labels: Any, names: Sequence[str]) -> Projection:
    """One feature: along the axis; across it the rows are spread, so that they are seen."""
    dense = np.asarray(points.toarray() if issparse(points) else points, dtype=np.float64)
    values, centers = parts.leave(dense), parts.leave(parts.centers)
    if values is None or centers is None:
        values, centers = dense, parts.centers
    across = np.random.default_rng(0).uniform(-1, 1, len(values))
    placed, centers = np.column_stack([values, across]), np.column_stack([centers, np.zeros(len(centers))])
    return Projection(placed, centers, labels, (shown(names[0], 40), ""))


def draw_plane(parts: Fitted, projection: Projection, *, ax: Any = None) -> Any:
    """Rows and centers that are in a plane already."""
    ax = new_axes(ax, 6.8, 5.0)
    # The colors of very many clusters would mix to mud where they lie over each other.
    few = parts.n_clusters <= MOST_NUMBERS
    colors = cluster_colors(parts.centers) if few else [ACCENT] * parts.n_clusters
    points, labels = projection.points, projection.labels
    low, high = points.min(axis=0), points.max(axis=0)
    low, high = np.minimum(low, projection.centers.min(axis=0)), np.maximum(high, projection.centers.max(axis=0))
    room = _MARGIN * np.where(high > low, high - low, 1)
    low, high = low - room, high + room
    tints = _rgb(colors)
    if len(points) < MANY_ROWS:
        size = float(np.clip(9000 / len(points), 4, 30))
        ax.scatter(*points.T, s=size, color=tints[labels], alpha=0.7, linewidths=0, rasterized=True)
    else:
        _draw_density(ax, points, tints[labels], low, high)
    _draw_centers(ax, projection.centers, colors)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    finish(ax, title="Rows and centers", xlabel=projection.axes[0], ylabel=projection.axes[1])
    if not projection.axes[1]:
        ax.set_yticks([])
    return ax


def _draw_density(ax: Any, points: FloatArray, tints: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """A picture of cells: the mean color of a cell's rows, as strong as the logarithm of how many there are."""
    n_across = int(np.clip(np.sqrt(len(points)) * 0.9, 70, 240))
    shape = (n_across * 3 // 4, n_across)
    cell = np.minimum(((points - low) / (high - low) * shape[::-1]).astype(np.int64), np.array(shape[::-1]) - 1)
    flat = cell[:, 1] * shape[1] + cell[:, 0]
    counts = np.bincount(flat, minlength=shape[0] * shape[1]).astype(np.float64)
    sums = [np.bincount(flat, weights=tints[:, channel], minlength=len(counts)) for channel in range(3)]
    image = np.zeros((len(counts), 4))
    filled = counts > 0
    image[filled, :3] = np.column_stack(sums)[filled] / counts[filled, None]
    image[filled, 3] = 0.25 + 0.75 * np.log1p(counts[filled]) / np.log1p(counts.max())
    ax.imshow(
        image.reshape(*shape, 4),
        origin="lower",
        extent=(low[0], high[0], low[1], high[1]),
        aspect="auto",
        interpolation="nearest",
    )


def _draw_centers(ax: Any, centers: FloatArray, colors: list[str]) -> None:
    if len(centers) <= MOST_NUMBERS:
        ax.scatter(
            *centers.T,
            s=190 if len(centers) <= 20 else 120,
            color="white",
            edgecolors=colors,
            linewidths=1.8,
            zorder=3,
        )
        for cluster, (x, y) in enumerate(centers):
            ax.annotate(
                str(cluster),
                (x, y),
                ha="center",
                va="center_baseline",
                fontsize=8.5 if len(centers) <= 20 else 7,
                color="#1f2328",
                zorder=4,
            )
    else:
        many = len(centers) > MOST_SHAPES
        size, width = (14, 0.9) if not many else (5, 0.5)
        options = {"color": "white", "edgecolors": "#1f2328", "zorder": 3, "rasterized": many}
        ax.scatter(*centers.T, s=size, linewidths=width, **options)


def _two_columns(placed: FloatArray) -> FloatArray:
    return placed if placed.shape[1] == 2 else np.column_stack([placed, np.zeros(len(placed))])


def _rgb(colors: list[str]) -> FloatArray:
    rgb: FloatArray = optional("matplotlib.colors", "plot").to_rgba_array(colors)[:, :3]
    return rgb

"""The centers as images, as lines, or as a colored table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..sources import RunningVariance
from .fitted_model import ModelLike, as_fitted_model
from .style import INK, MOST_SHAPES, PALETTE, QUIET, cluster_colors, finish, format_number, new_axes, short_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_IMAGES = 100
MOST_LINES = len(PALETTE)
MOST_ROWS, MOST_COLUMNS = 30, 30  # clusters and features in a table
MOST_NUMBERS = 12  # with up to this many features a table shows the values too
MANY_FEATURES = 60  # more features without names are taken for a signal and drawn as lines


@dataclass(frozen=True)
class Spread:
    """What the colors of a table are relative to."""

    means: FloatArray  # (n_features,)
    deviations: FloatArray  # (n_features,) standard deviations
    differences: FloatArray  # (n_features,) how much the centers differ: if there are many, the largest are shown


Kind: TypeAlias = Literal["auto", "images", "lines", "table"]
_KINDS = ("auto", "images", "lines", "table")


def centers(
    model: ModelLike,
    *,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
    kind: Kind = "auto",
    ax: Axes | None = None,
) -> Axes:
    """Plot the centers, in the units of the data if the scaling can be undone.

    If there are many clusters, only the largest are shown.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        The model to show.
    image_shape : (height, width) or (height, width, 3), default=None
        Shows each center as an image of this shape.
    feature_names : list of str, default=None
        Names of the features, if the model has none.
    kind : {"auto", "images", "lines", "table"}, default="auto"
        "lines" is for signals: the features in order. "table" has a row for each cluster, whose colors show how
        far it is above or below the mean of the clusters. "auto" means images if there is an `image_shape`, lines
        for more than 60 features without names, and otherwise a table.
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
    >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
    >>> ax = plot.centers(model, feature_names=names)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['sepal length', 'sepal width', 'petal length', 'petal width']
    """
    fitted = as_fitted_model(model)
    original = fitted.inverse_transform(fitted.centers)
    if feature_names is None and original is not None:
        feature_names = fitted.feature_names
    values, counts = fitted.centers if original is None else original, fitted.training_counts()
    return draw_centers(
        values, counts, fitted.centers, image_shape=image_shape, feature_names=feature_names, kind=kind, ax=ax
    )


def draw_centers(
    values: FloatArray,  # (n_clusters, n_features) to show, IN
    counts: FloatArray | None,  # (n_clusters,) to find the largest, IN
    positions: FloatArray,  # (n_clusters, any) to choose colors that differ between neighbors, IN
    *,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
    kind: Kind = "auto",
    spread: Spread | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot given centers. A table is colored by the spread of the centers, or by another one."""
    if kind not in _KINDS:
        raise ValueError(f"kind={kind!r} is not known; use one of {', '.join(map(repr, _KINDS))}.")
    if feature_names is not None and len(feature_names) != values.shape[1]:
        raise ValueError(f"{len(feature_names)} feature_names were given for {values.shape[1]} features.")
    if kind == "auto":
        kind = automatic_kind(values.shape[1], feature_names, image_shape)
    weights = np.ones(len(values)) if counts is None or not counts.any() else counts
    if kind == "images":
        return _draw_images(values, weights, image_shape, ax)
    if kind == "lines":
        return _draw_lines(values, weights, positions, feature_names, ax)
    return _draw_table(values, weights, feature_names, spread, ax)


def automatic_kind(n_features: int, names: Sequence[str] | None, image_shape: tuple[int, ...] | None) -> Kind:
    """The kind that "auto" stands for."""
    if image_shape is not None:
        return "images"
    return "lines" if n_features > MANY_FEATURES and names is None else "table"


def check_image_shape(shape: tuple[int, ...] | None, n_features: int) -> None:
    """Raise an error if rows with this many features are not images of this shape; None means no images."""
    if shape is None:
        return
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3) or int(np.prod(shape)) != n_features:
        raise ValueError(
            f"image_shape={shape} does not fit {n_features:,} features; give (height, width) or "
            "(height, width, 3)."
        )


def square_shape(n_features: int) -> tuple[int, int]:
    """The shape of a square image with this many pixels."""
    side = round(n_features**0.5)
    if side * side != n_features:
        raise ValueError(
            f'image_shape="square" does not fit {n_features:,} features, which is not a square number; give '
            "(height, width) or (height, width, 3)."
        )
    return side, side


def _draw_images(values: FloatArray, weights: FloatArray, shape: tuple[int, ...] | None, ax: Axes | None) -> Axes:
    """All images in a grid, the largest cluster first."""
    if shape is None:
        raise ValueError('kind="images" needs image_shape=(height, width) or (height, width, 3).')
    check_image_shape(shape, values.shape[1])
    order = _largest(weights, MOST_IMAGES)
    height, width = shape[0] * 1.28, shape[1] * 1.08  # a cell: the image, its number above it, and a gap
    room = 2.2 if ax is None else ax.bbox.width / ax.bbox.height
    n_columns = max(
        range(1, len(order) + 1), key=lambda n: min(room / (n * width), 1 / (-(-len(order) // n) * height))
    )
    n_rows = -(-len(order) // n_columns)
    ax = new_axes(ax, 7.0, max(1.2, 7.0 * n_rows * height / (n_columns * width)))
    low, high = float(values.min()), float(values.max())
    for place, cluster in enumerate(order):
        row, column = divmod(place, n_columns)
        image = values[cluster].reshape(shape)
        image = image if len(shape) == 2 else (image - low) / max(high - low, 1e-300)
        left, top = column * width, row * height
        extent = (left, left + shape[1], top + shape[0], top)
        ax.imshow(image, cmap="gray", vmin=low, vmax=high, interpolation="nearest", extent=extent)
        ax.text(left, top - 0.03 * shape[0], str(cluster), va="bottom", fontsize=8, color=INK, clip_on=False)
    finish(ax, title=_title(len(values), len(order)))
    ax.set_axis_off()
    ax.set_xlim(0, n_columns * width - 0.08 * shape[1])
    ax.set_ylim(n_rows * height - 0.28 * shape[0], -0.28 * shape[0])
    ax.set_aspect("equal", anchor="NW")
    return ax


def _draw_lines(
    values: FloatArray, weights: FloatArray, positions: FloatArray, names: Sequence[str] | None, ax: Axes | None
) -> Axes:
    """A line over the features for each of the largest clusters."""
    ax = new_axes(ax, 7.0, 3.8)
    order = _largest(weights, MOST_LINES)
    colors = dict(enumerate(cluster_colors(positions)))
    if len(values) > len(PALETTE):
        colors = dict(zip(order, PALETTE, strict=False))
    many = values.shape[1] > MOST_SHAPES
    for cluster in order[::-1]:  # the largest on top
        ax.plot(values[cluster], color=colors[cluster], linewidth=1.3, label=str(cluster), rasterized=many)
    if names is not None and len(names) <= MOST_COLUMNS:
        _name_columns(ax, names)
    options = {"frameon": False, "fontsize": 8, "title_fontsize": 8, "labelcolor": INK, "reverse": True}
    legend = ax.legend(title="cluster", loc="center left", bbox_to_anchor=(1, 0.5), **options)
    legend.get_title().set_color(INK)
    ax.margins(x=0.01)
    return finish(ax, title=_title(len(values), len(order)), xlabel="feature", ylabel="value", grid="y")


def _draw_table(
    values: FloatArray, weights: FloatArray, names: Sequence[str] | None, spread: Spread | None, ax: Axes | None
) -> Axes:
    """A row for each cluster, and a column for each of the features in which the centers differ most."""
    n_features = values.shape[1]
    spread = spread or _spread_of_centers(values, weights)
    scores = (values - spread.means) / np.where(spread.deviations > 0, spread.deviations, 1)
    difference = spread.differences
    rows, columns = _largest(weights, MOST_ROWS), np.sort(_largest(difference, MOST_COLUMNS))
    ax = new_axes(ax, 1.6 + 0.42 * max(len(columns), 8), 1.7 + max(1.2, 0.28 * len(rows)))
    shown = scores[np.ix_(rows, columns)]
    largest = max(1.0, float(np.abs(shown).max()))
    image = ax.imshow(shown, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
    if len(columns) <= MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(values[np.ix_(rows, columns)]):
            color = "white" if abs(shown[row, column]) > 0.6 * largest else "#1f2328"
            text = format_number(value, 3)
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color=color)
    ax.set_yticks(np.arange(len(rows)), [str(row) for row in rows])
    _name_columns(ax, [names[column] if names is not None else f"feature {column}" for column in columns])
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02, aspect=25)
    bar.outline.set_visible(False)
    bar.set_label("σ from the mean", fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=8, colors=QUIET, labelcolor=INK)
    title = _title(len(values), len(rows))
    if len(columns) < n_features:
        title += f", {len(columns)} of {n_features:,} features"
    finish(ax, title=title, ylabel="cluster")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _spread_of_centers(values: FloatArray, weights: FloatArray) -> Spread:
    summary = RunningVariance(values.shape[1])
    summary.add(values, weights)
    deviation = np.sqrt(summary.variance)
    # The deviation relative to the root mean square does not depend on the unit of a feature.
    size = np.sqrt(deviation**2 + summary.mean**2)
    return Spread(summary.mean, deviation, np.divide(deviation, size, out=np.zeros(len(size)), where=size > 0))


def _name_columns(ax: Axes, names: Sequence[str]) -> None:
    labels = [short_label(name) for name in names]
    ax.set_xticks(np.arange(len(names)), labels)
    if max(len(str(name)) for name in names) * len(names) > 45:
        ax.set_xticks(np.arange(len(names)), labels, rotation=45, ha="right", rotation_mode="anchor")


def _largest(values: FloatArray, most: int) -> NDArray[np.intp]:
    """The indices of the largest values, at most this many, the largest first."""
    return np.argsort(-values, kind="stable")[:most]


def _title(n_clusters: int, n_shown: int) -> str:
    return "Centers" if n_shown == n_clusters else f"Centers of the {n_shown} largest of {n_clusters:,} clusters"

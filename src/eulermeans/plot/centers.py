"""What the centers are like: as images, as lines, or as a table in colors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array, FloatArray
from .fitted import fitted
from .style import (
    INK,
    MOST_SHAPES,
    PALETTE,
    QUIET,
    bare,
    cluster_colors,
    finish,
    new_axes,
    number,
    shown,
    strongest,
)

MOST_ROWS, MOST_COLUMNS, MOST_IMAGES, MOST_LINES = 30, 30, 100, len(PALETTE)
MOST_NUMBERS = 12  # features up to which the table has room for the values
MANY_FEATURES = 60  # from here on, and without names, they are taken as a signal
_KINDS = ("auto", "images", "lines", "table")


def centers(
    model: Any,
    *,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
    kind: str = "auto",
    ax: Any = None,
) -> Any:
    """The centers, in the units of the data where scaling can be undone.

    `image_shape`: (height, width) or (height, width, 3) shows each as an image. `kind`: "images", "lines" (the
    features in their order, as for signals), or "table" (a row for each cluster, a color for how far it is above
    or below the mean of the clusters). "auto" is images with an `image_shape`, lines with more than 60 features
    that have no names, else the table. Of many clusters the largest are shown.
    """
    parts = fitted(model)
    original = parts.leave(parts.centers)
    values = parts.centers if original is None else original
    given = feature_names if feature_names is not None else (parts.names if original is not None else None)
    return draw_centers(
        values, parts.counts(), parts.centers, image_shape=image_shape, feature_names=given, kind=kind, ax=ax
    )


def draw_centers(
    values: FloatArray,  # (n_clusters, n_features) to show, IN
    counts: FloatArray | None,  # (n_clusters,) to choose the largest, IN
    places: FloatArray,  # (n_clusters, any) where they are, for the colors, IN
    *,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
    kind: str = "auto",
    ax: Any = None,
) -> Any:
    """Centers that are known."""
    if kind not in _KINDS:
        raise ValueError(f"kind={kind!r} is not known; there are {', '.join(map(repr, _KINDS))}.")
    if feature_names is not None and len(feature_names) != values.shape[1]:
        raise ValueError(f"{len(feature_names)} feature_names were given for {values.shape[1]} features.")
    if kind == "auto":
        kind = kind_of_picture(values.shape[1], feature_names, image_shape)
    weights = np.ones(len(values)) if counts is None else counts
    if kind == "images":
        return _draw_images(values, weights, image_shape, ax)
    if kind == "lines":
        return _draw_lines(values, weights, places, feature_names, ax)
    return _draw_table(values, weights, feature_names, ax)


def kind_of_picture(n_features: int, names: Sequence[str] | None, image_shape: tuple[int, ...] | None) -> str:
    """What "auto" means; see `centers`."""
    if image_shape is not None:
        return "images"
    return "lines" if n_features > MANY_FEATURES and names is None else "table"


def _draw_images(values: FloatArray, weights: FloatArray, shape: tuple[int, ...] | None, ax: Any) -> Any:
    """All images side by side in one, the largest cluster first."""
    if shape is None or len(shape) not in (2, 3) or int(np.prod(shape)) != values.shape[1]:
        raise ValueError(
            f"image_shape={shape} does not fit {values.shape[1]} features; give (height, width) or "
            "(height, width, 3)."
        )
    order = np.argsort(-weights, kind="stable")[:MOST_IMAGES]
    height, width = shape[0] * 1.28, shape[1] * 1.08  # with room for the number and between
    room = 2.2 if ax is None else ax.bbox.width / ax.bbox.height
    n_columns = max(
        range(1, len(order) + 1), key=lambda n: min(room / (n * width), 1 / (-(-len(order) // n) * height))
    )
    n_rows = -(-len(order) // n_columns)
    ax = new_axes(ax, 7.0, max(1.2, 7.0 * n_rows * height / (n_columns * width)))
    low, high = float(values.min()), float(values.max())
    for number_, cluster in enumerate(order):
        row, column = divmod(number_, n_columns)
        image = values[cluster].reshape(shape)
        image = image if len(shape) == 2 else (image - low) / max(high - low, 1e-300)
        left, top = column * width, row * height
        ax.imshow(
            image,
            cmap="gray",
            vmin=low,
            vmax=high,
            interpolation="nearest",
            extent=(left, left + shape[1], top + shape[0], top),
        )
        ax.text(
            left, top - 0.03 * shape[0], str(cluster), ha="left", va="bottom", fontsize=8, color=INK, clip_on=False
        )
    ax.set_xlim(0, n_columns * width - 0.08 * shape[1])
    ax.set_ylim(n_rows * height - 0.28 * shape[0], -0.28 * shape[0])
    ax.set_aspect("equal", anchor="NW")
    return bare(ax, _title("Centers", len(values), len(order)))


def _draw_lines(
    values: FloatArray, weights: FloatArray, places: FloatArray, names: Sequence[str] | None, ax: Any
) -> Any:
    """A line for each center over the features in their order; the larger a cluster the stronger."""
    ax = new_axes(ax, 7.0, 3.8)
    order = np.argsort(-weights, kind="stable")[:MOST_LINES]
    colors = cluster_colors(places) if len(values) <= len(PALETTE) else dict(zip(order, PALETTE, strict=False))
    features, many = np.arange(values.shape[1]), values.shape[1] > MOST_SHAPES
    for cluster in order[::-1]:
        ax.plot(
            features, values[cluster], color=colors[cluster], linewidth=1.3, label=str(cluster), rasterized=many
        )
    if names is not None and len(names) <= MOST_COLUMNS:
        _name_columns(ax, [str(name) for name in names])
    handles, labels = ax.get_legend_handles_labels()
    legend = ax.legend(
        handles[::-1],
        labels[::-1],
        title="cluster",
        frameon=False,
        fontsize=8,
        title_fontsize=8,
        loc="center left",
        bbox_to_anchor=(1, 0.5),
        labelcolor=INK,
    )
    legend.get_title().set_color(INK)
    ax.margins(x=0.01)
    return finish(ax, title=_title("Centers", len(values), len(order)), xlabel="feature", ylabel="value", grid="y")


def _draw_table(values: FloatArray, weights: FloatArray, names: Sequence[str] | None, ax: Any) -> Any:
    """Rows of clusters, columns of features; the features in which the centers differ most if there are many."""
    shown_weights = weights if weights.any() else np.ones(len(weights))
    mean = np.average(values, axis=0, weights=shown_weights)
    spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=shown_weights))
    scores = (values - mean) / np.where(spread > 0, spread, 1)
    rows = np.argsort(-weights, kind="stable")[:MOST_ROWS]
    columns = strongest(_difference(spread, mean), MOST_COLUMNS)
    ax = new_axes(ax, 1.6 + 0.42 * max(len(columns), 8), 1.7 + max(1.2, 0.28 * len(rows)))
    largest = max(1.0, float(np.abs(scores[np.ix_(rows, columns)]).max()))
    image = ax.imshow(scores[np.ix_(rows, columns)], cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
    if len(columns) <= MOST_NUMBERS:
        _write_numbers(ax, values[np.ix_(rows, columns)], scores[np.ix_(rows, columns)] / largest)
    ax.set_yticks(np.arange(len(rows)), [str(row) for row in rows])
    _name_columns(ax, [names[column] if names is not None else f"feature {column}" for column in columns])
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02, aspect=25)
    bar.outline.set_visible(False)
    bar.set_label("σ from the mean", fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=8, colors=QUIET, labelcolor=INK)
    title = _title("Centers", len(values), len(rows))
    if len(columns) < values.shape[1]:
        title += f", in {len(columns)} of {values.shape[1]:,} features"
    finish(ax, title=title, ylabel="cluster")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _difference(spread: FloatArray, mean: FloatArray) -> FloatArray:
    """How much centers differ in a feature, in a way that does not depend on its unit."""
    size = np.sqrt(spread**2 + mean**2)
    return np.divide(spread, size, out=np.zeros_like(spread), where=size > 0)


def _name_columns(ax: Any, names: list[str]) -> None:
    long = max(len(name) for name in names) * len(names) > 45
    ax.set_xticks(
        np.arange(len(names)),
        [shown(name) for name in names],
        rotation=45 if long else 0,
        ha="right" if long else "center",
        rotation_mode="anchor",
    )


def _write_numbers(ax: Any, values: FloatArray, tints: Array) -> None:
    for (row, column), value in np.ndenumerate(values):
        dark = abs(tints[row, column]) > 0.6
        ax.text(
            column,
            row,
            number(value, 3),
            ha="center",
            va="center",
            fontsize=8,
            color="white" if dark else "#1f2328",
        )


def _title(what: str, n_clusters: int, n_shown: int) -> str:
    return what if n_shown == n_clusters else f"{what} of the {n_shown} largest of {n_clusters:,} clusters"

"""The pictures of a report as SVG that stands inside a page and follows its colors."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from ..optional import optional
from ..plot.centers import MOST_IMAGES, draw_centers
from ..plot.clusters import draw_silhouette, draw_sizes
from ..plot.fitting import objective, restarts
from ..plot.plane import draw_plane, project
from ..plot.style import FAINT, INK, QUIET
from .records import Description

RASTER_DPI = 150  # of points and densities, which would be too many as shapes
_THEME = {INK: "var(--ink)", QUIET: "var(--quiet)", FAINT: "var(--faint)"}
_SETTINGS = {"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9.0, "axes.unicode_minus": True}


@dataclass(frozen=True)
class Picture:
    """A picture and what it shows."""

    name: str
    svg: str
    caption: str
    wide: bool = False  # whether it needs the whole width


def pictures(description: Description, image_shape: tuple[int, ...] | None = None) -> list[Picture]:
    """All that can be drawn of this model and these data."""
    drawn = []
    with warnings.catch_warnings():
        # Names may have letters that the font for measuring lacks; the browser has its own.
        warnings.filterwarnings("ignore", message=".*missing from font")
        style = optional("matplotlib.style", "plot")
        for name, size, draw, caption, wide in _plans(description, image_shape):
            # The salt makes ids that are the same each time, and others in each picture.
            with style.context(["default", {**_SETTINGS, "svg.hashsalt": name}]):
                figure = optional("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
                draw(figure.subplots())
                drawn.append(Picture(name, to_svg(figure, name, caption), caption, wide))
    return drawn


_Plan = tuple[str, tuple[float, float], Callable[[Any], Any], str, bool]


def _plans(description: Description, image_shape: tuple[int, ...] | None) -> Iterator[_Plan]:
    """What to draw: name, inches, how, caption, whether it is wide."""
    model, sample = description.model, description.sample
    names = [feature.name for feature in description.features]
    n_clusters = model.n_clusters
    n_rows = sample.points.shape[0]
    part = (
        f"{n_rows:,} of {description.n_rows:,} rows, drawn at random"
        if n_rows < description.n_rows
        else "All rows"
    )
    projection = project(model, sample.points, names)
    yield (
        "plane",
        (5.0, 3.9),
        lambda ax: draw_plane(model, projection, ax=ax),
        f"{part}, and the centers." + _seen(projection.axes),
        False,
    )
    unit = "weight" if description.weighted else "rows"
    yield (
        "sizes",
        (5.0, 3.9),
        lambda ax: draw_sizes(model.centers, description.counts, ax=ax, unit=unit),
        "How many rows each cluster has, the largest first.",
        False,
    )
    yield (
        "centers",
        _centers_size(n_clusters, len(names), image_shape),
        lambda ax: draw_centers(
            description.means,
            description.counts,
            model.centers,
            image_shape=image_shape,
            feature_names=names,
            ax=ax,
        ),
        "The mean of each cluster, in the units of the data. Red is above the mean of the clusters, blue below."
        if image_shape is None
        else "The mean of each cluster as an image, the largest cluster first.",
        True,
    )
    if sample.silhouettes is not None:
        labels = sample.labels[: len(sample.silhouettes)]
        yield (
            "silhouette",
            (5.0, 3.9),
            lambda ax: draw_silhouette(model, labels, sample.silhouettes, ax=ax),
            "How much nearer each row is to its own cluster than to the next. A cluster whose rows end in a point "
            "near 0 touches another.",
            False,
        )
    if getattr(model.estimator, "history_", None):
        yield (
            "objective",
            (5.0, 3.9),
            lambda ax: objective(model, ax=ax),
            "How the fit went: the objective after each step. Lower is better.",
            False,
        )
    if len(getattr(model.estimator, "restarts_", ())) > 1:
        yield (
            "restarts",
            (5.0, 3.9),
            lambda ax: restarts(model, ax=ax),
            "How far each restart ended above the best.",
            False,
        )


def _seen(axes: tuple[str, str]) -> str:
    if not axes[0].startswith("first principal"):
        return ""
    return " Seen along the two directions in which the rows vary most, so that clusters apart may look mixed."


def _centers_size(n_clusters: int, n_features: int, image_shape: tuple[int, ...] | None) -> tuple[float, float]:
    if image_shape is None:
        return 10.0, 1.9 + 0.26 * min(max(n_clusters, 3), 30)
    n_images = min(n_clusters, MOST_IMAGES)
    across = min(10, max(5, n_images))
    return 10.0, 0.5 + 10.0 / across * -(-n_images // across) * 1.2 * image_shape[0] / image_shape[1]


def to_svg(figure: Any, name: str, title: str) -> str:
    """The figure as an element of a page: no ids that another has, no colors of text and lines but the page's."""
    buffer = io.StringIO()
    figure.savefig(
        buffer, format="svg", transparent=True, dpi=RASTER_DPI, metadata={"Date": None, "Creator": None}
    )
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {key: _themed(value, name) for key, value in _kept(element, name)}
    for length in ("width", "height"):
        root.attrib.pop(length, None)
    root.attrib.update({"role": "img", "aria-label": title})
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _kept(element: ElementTree.Element, name: str) -> Iterator[tuple[str, str]]:
    for key, value in element.attrib.items():
        if key == "id":
            yield key, f"{name}-{value}"
        elif key != "version":
            yield _local(key), value  # and xlink:href is href today


def _local(name: str) -> str:
    """A name without its namespace: inside a page elements of an svg are known by their place."""
    return name.rpartition("}")[2]


def _themed(value: str, name: str) -> str:
    """An attribute with the page's colors and fonts, and with ids that no other picture has."""
    if value.startswith("data:"):
        return value
    for color, variable in _THEME.items():
        value = value.replace(color, variable)
    value = re.sub(r"font: ([\w. ]*?px) [^;]*", r"font: \1 var(--font)", value)
    return re.sub(r"(^|url\()#", rf"\1#{name}-", value)

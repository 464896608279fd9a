"""The pictures of a report as SVG that stands inside a page and follows its colors."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from xml.etree import ElementTree

from ..optional import optional
from ..plot.centers import MOST_IMAGES, draw_centers, kind_of_picture
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


@dataclass(frozen=True)
class _Plan:
    """A picture that is to be drawn."""

    name: str
    draw: Callable[[Any], Any]  # into axes
    caption: str
    inches: tuple[float, float] = (5.0, 3.9)
    wide: bool = False


def pictures(description: Description, image_shape: tuple[int, ...] | None = None) -> list[Picture]:
    """All that can be drawn of this model and these data."""
    plans = [*_of_clusters(description), _of_centers(description, image_shape), *_of_fit(description)]
    with warnings.catch_warnings():
        # Names may have letters that the font for measuring lacks; the browser has its own.
        warnings.filterwarnings("ignore", message=".*missing from font")
        return [_drawn(plan) for plan in plans]


def _drawn(plan: _Plan) -> Picture:
    # The salt makes ids that are the same each time, and others in each picture.
    settings = {**_SETTINGS, "svg.hashsalt": plan.name}
    with optional("matplotlib.style", "plot").context(["default", settings]):
        figure = optional("matplotlib.figure", "plot").Figure(figsize=plan.inches, layout="constrained")
        plan.draw(figure.subplots())
        return Picture(plan.name, to_svg(figure, plan.name, plan.caption), plan.caption, plan.wide)


def _of_clusters(description: Description) -> Iterator[_Plan]:
    model, points = description.model, description.sample.points
    all_rows = points.shape[0] == description.n_rows
    part = "All rows" if all_rows else f"{points.shape[0]:,} of {description.n_rows:,} rows, drawn at random"
    projection = project(model, points, [feature.name for feature in description.features])
    seen = " Seen along the two directions in which the rows vary most, so that clusters apart may look mixed."
    caption = f"{part}, and the centers.{seen if projection.axes[0].startswith('first principal') else ''}"
    yield _Plan("plane", lambda ax: draw_plane(model, projection, ax=ax), caption)
    unit = "weight" if description.weighted else "rows"
    yield _Plan(
        "sizes",
        lambda ax: draw_sizes(model.centers, description.counts, ax=ax, unit=unit),
        f"How {'much weight' if description.weighted else 'many rows'} each cluster has, the largest first.",
    )


def _of_centers(description: Description, image_shape: tuple[int, ...] | None) -> _Plan:
    means, counts, centers = description.means, description.counts, description.model.centers
    names: list[str] | None = [feature.name for feature in description.features]
    if names == [f"feature {place}" for place in range(means.shape[1])]:
        names = None
    kind = kind_of_picture(means.shape[1], names, image_shape)
    caption = {
        "images": "The mean of each cluster as an image, the largest cluster first.",
        "lines": "The mean of each cluster in every feature.",
        "table": "The mean of each cluster, in the units of the data. Red is above the mean of the clusters, blue "
        "below.",
    }[kind]
    height = {"images": 0.0, "lines": 3.6, "table": 1.9 + 0.26 * min(max(len(means), 3), 30)}[kind]
    if image_shape is not None:
        n_images = min(len(means), MOST_IMAGES)
        across = min(10, max(5, n_images))
        height = 0.5 + 12.0 / across * -(-n_images // across) * image_shape[0] / image_shape[1]
    options: dict[str, Any] = {"image_shape": image_shape, "feature_names": names, "kind": kind}
    draw = partial(draw_centers, means, counts, centers, **options)
    return _Plan("centers", lambda ax: draw(ax=ax), caption, (10.0, height), wide=True)


def _of_fit(description: Description) -> Iterator[_Plan]:
    model, sample = description.model, description.sample
    if sample.silhouettes is not None:
        labels = sample.labels[: len(sample.silhouettes)]
        yield _Plan(
            "silhouette",
            lambda ax: draw_silhouette(model, labels, sample.silhouettes, ax=ax),
            "How much nearer each row is to its own cluster than to the next. A cluster whose rows end in a point "
            "near 0 touches another.",
        )
    if getattr(model.estimator, "history_", None):
        caption = "How the fit went: the objective after each step. Lower is better."
        yield _Plan("objective", lambda ax: objective(model, ax=ax), caption)
    if len(getattr(model.estimator, "restarts_", ())) > 1:
        caption = "How far each restart ended above the best."
        yield _Plan("restarts", lambda ax: restarts(model, ax=ax), caption)


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
    # Newer Matplotlib writes the family alone, older ones all of the font together.
    value = re.sub(r"font-family: [^;]*", "font-family: var(--font)", value)
    value = re.sub(r"font: ([\w. ]*?px) [^;]*", r"font: \1 var(--font)", value)
    return re.sub(r"(^|url\()#", rf"\1#{name}-", value)

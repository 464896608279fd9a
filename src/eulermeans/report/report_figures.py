"""The plots of a report as inline SVG that takes its colors and fonts from the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from ..arrays import FloatArray
from ..certificate import Certificate
from ..certificate.bound_plot import draw_bound
from ..choosing import Sweep
from ..choosing.sweep_figure import draw_sweep
from ..optional import optional
from ..plot.center_plots import MOST_IMAGES, Spread, automatic_kind, draw_centers
from ..plot.cluster_plots import draw_silhouette, draw_sizes
from ..plot.fit_plots import objective, restarts, stretches
from ..plot.style import FAINT, INK, QUIET
from .image_cells import small_means
from .report_records import Description

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HALF_WIDTH = (5.0, 3.9)  # inches of a figure with another next to it
ROOMY = 20  # clusters that have room in a figure of half width
RASTER_DPI = 150  # of points and densities, which would be too many as vectors
IMAGE_DPI = 72  # of many images, which have few pixels each
_THEME = {INK: "var(--ink)", QUIET: "var(--quiet)", FAINT: "var(--faint)"}
_SETTINGS = {"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9.0, "axes.unicode_minus": True}


@dataclass(frozen=True)
class ReportFigure:
    """A plot and its caption."""

    name: str
    svg: str
    caption: str
    wide: bool  # whether it takes the full width of the page
    places: FloatArray | None = None  # (n, 2) where the marks asked for are in the SVG

    @property
    def view_box(self) -> str:
        """The coordinates of the SVG."""
        found = re.search(r'viewBox="([^"]*)"', self.svg)
        return "" if found is None else found[1]


def report_figures(
    description: Description,
    certificate: Certificate | None = None,
    sweep: Sweep | None = None,
) -> dict[str, ReportFigure]:
    """All plots that can be drawn of this model and data, by name, except that of rows in the plane."""
    with without_font_warnings():
        overview = [_sizes(description), _centers(description)]
        quality = [*_quality_and_fit(description), *_certificate(certificate), *_sweep(sweep)]
        return {figure.name: figure for figure in (*overview, *quality)}


@contextmanager
def without_font_warnings() -> Iterator[None]:
    """Matplotlib's font may lack characters of a name; the browser has its own fonts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing from font")
        yield


def draw_figure(
    name: str,
    draw: Callable[[Axes], Axes],
    caption: str,
    inches: tuple[float, float] = HALF_WIDTH,
    marks: FloatArray | None = None,  # (n, 2) places in the units of the axes, IN
    dots_per_inch: int = RASTER_DPI,
) -> ReportFigure:
    """A plot in one pair of axes; `marks` are places to find in the SVG."""
    # The salt makes ids that are the same in every run and differ between figures.
    with optional("matplotlib.style", "plot").context(["default", {**_SETTINGS, "svg.hashsalt": name}]):
        figure = optional("matplotlib.figure", "plot").Figure(figsize=inches, layout="constrained")
        ax = draw(figure.subplots())
        svg = to_svg(figure, name, caption, dots_per_inch)
        places = None
        if marks is not None:
            places = ax.transData.transform(marks) * 72 / figure.dpi  # SVG counts in points, from the top
            places[:, 1] = 72 * inches[1] - places[:, 1]
        return ReportFigure(name, svg, caption, inches[0] > HALF_WIDTH[0], places)


def _sizes(description: Description) -> ReportFigure:
    centers, counts, bounds = description.model.centers, description.counts, description.model.size_bounds
    caption = f"{'Total weight' if description.weighted else 'Number of rows'} of each cluster, largest first."
    if bounds is not None:
        caption += " Rows that are as well off in two clusters may count for either."
    unit = description.unit
    return draw_figure("sizes", lambda ax: draw_sizes(centers, counts, ax=ax, unit=unit, bounds=bounds), caption)


def _centers(description: Description) -> ReportFigure:
    image_shape = description.image_shape
    means, counts, centers = description.means, description.counts, description.model.centers
    names: list[str] | None = [feature.name for feature in description.features]
    if names == [f"feature {place}" for place in range(means.shape[1])]:
        names = None
    if image_shape is not None:
        means, image_shape, names = *small_means(means, image_shape), None
        n_images = min(len(means), MOST_IMAGES)
        across = min(10, max(5, n_images))
        height = 0.5 + 12.0 / across * -(-n_images // across) * image_shape[0] / image_shape[1]
        caption = "The mean of each cluster as an image, largest cluster first."
    elif automatic_kind(means.shape[1], names, image_shape) == "lines":
        height, caption = 3.6, "The mean of each cluster in every feature."
    else:
        height = 1.9 + 0.26 * min(max(len(means), 3), 30)
        caption = (
            "The mean of each cluster in the units of the data. Red is above the mean of all rows, blue below: "
            "the color counts standard deviations of the rows."
        )

    features = description.features
    spread = Spread(
        means=np.array([feature.mean for feature in features]),
        deviations=np.array([feature.deviation for feature in features]),
        differences=np.array([feature.separation for feature in features]),
    )

    def draw(ax: Axes) -> Axes:
        return draw_centers(
            means, counts, centers, image_shape=image_shape, feature_names=names, spread=spread, ax=ax
        )

    dots_per_inch = RASTER_DPI if image_shape is None else IMAGE_DPI
    return draw_figure("centers", draw, caption, (10.0, height), dots_per_inch=dots_per_inch)


def _quality_and_fit(description: Description) -> Iterator[ReportFigure]:
    model, sample = description.model, description.sample
    if sample.silhouettes is not None:
        labels = sample.labels[: len(sample.silhouettes)]
        yield draw_figure(
            "silhouette",
            lambda ax: draw_silhouette(model, labels, sample.silhouettes, ax=ax),
            "How much closer each row is to its own cluster than to the next one. Rows near 0 are on the border "
            "between two clusters.",
            (HALF_WIDTH[0], HALF_WIDTH[1] if model.n_clusters <= ROOMY else 6.0),
        )
    if getattr(model.estimator, "history_", None):
        caption = "The objective after each step of the fit. Lower is better."
        if not all(stretch.is_exact for stretch in stretches(model.estimator)):
            caption += (
                " Filled marks are exact, over all rows. Hollow marks are estimates on a sample or on "
                "mini-batches: compare them with each other, not with exact values."
            )
        yield draw_figure("objective", lambda ax: objective(model, ax=ax), caption)
    if len(getattr(model.estimator, "restarts_", ())) > 1:
        caption = "How far above the best restart each of them ended."
        yield draw_figure("restarts", lambda ax: restarts(model, ax=ax), caption)


def _certificate(certificate: Certificate | None) -> Iterator[ReportFigure]:
    if certificate is not None:
        caption = f"The lower bound on the inertia of every clustering, over time; {certificate.certainty}."
        yield draw_figure("certificate", lambda ax: draw_bound(certificate, ax=ax), caption)


def _sweep(sweep: Sweep | None) -> Iterator[ReportFigure]:
    if sweep is None or len(sweep.rows) < 2:
        return

    def draw(ax: Axes) -> Axes:
        figure = ax.figure
        ax.remove()
        draw_sweep(sweep, figure.subplots(2, 2, sharex=True))
        return figure.axes[0]

    caption = "Criteria against the number of clusters; the recommended one is marked."
    yield draw_figure("sweep", draw, caption, (10.0, 5.6))


def to_svg(figure: Figure, name: str, title: str, dots_per_inch: int = RASTER_DPI) -> str:
    """The figure as an SVG element for a page, with unique ids and the page's colors for text and lines."""
    buffer = io.StringIO()
    figure.savefig(
        buffer, format="svg", transparent=True, dpi=dots_per_inch, metadata={"Date": None, "Creator": None}
    )
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if _local_name(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _local_name(element.tag)
        attributes = {_local_name(key): _themed(value, name) for key, value in element.attrib.items()}
        if "id" in attributes:
            attributes["id"] = f"{name}-{element.attrib['id']}"
        element.attrib = attributes
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.attrib.update({"role": "img", "aria-label": title})
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _local_name(name: str) -> str:
    """A name without its XML namespace, which HTML does not use."""
    return name.rpartition("}")[2]


def _themed(value: str, name: str) -> str:
    """The value of an attribute with the page's colors and fonts, and references to this figure's ids."""
    if value.startswith("data:"):
        return value
    for color, variable in _THEME.items():
        value = value.replace(color, variable)
    # New versions of Matplotlib write `font-family`, old ones the shorthand `font`.
    value = re.sub(r"font-family: [^;]*", "font-family: var(--font)", value)
    value = re.sub(r"font: ([\w. ]*?px) [^;]*", r"font: \1 var(--font)", value)
    return re.sub(r"(^|url\()#", rf"\1#{name}-", value)

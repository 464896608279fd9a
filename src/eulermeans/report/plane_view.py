"""Rows and centers in the plane, and where each row that the page shows on hover is in the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, vstack

from ..arrays import FloatArray
from ..plot.fitted_model import Matrix
from ..plot.plane_plot import Projection, draw_plane, project
from .report_figures import ReportFigure, draw_figure, without_font_warnings
from .report_records import Description


@dataclass(frozen=True)
class PlaneView:
    """The picture, and places in it."""

    figure: ReportFigure
    rows: FloatArray  # (n_shown, 2) of the rows in `Description.shown`
    centers: tuple[FloatArray, ...]  # (K, 2) of other centers, in the order in which they were given

    @property
    def size(self) -> FloatArray:
        """Width and height of the picture, in the coordinates of the places."""
        return np.array([float(number) for number in self.figure.view_box.split()[2:]])


def plane_view(description: Description, others: tuple[FloatArray, ...] = ()) -> PlaneView:
    """Draw the model's centers and a sample of the rows; find the shown rows and other centers in the picture."""
    model, shown = description.model, description.shown
    points: Matrix = shown.points if len(shown.points) == description.n_rows else description.sample.points
    n_drawn, n_centers = points.shape[0], model.n_clusters
    together = replace(model, centers=np.concatenate([model.centers, *others]), is_priced=not others)
    names = [feature.name for feature in description.features]
    projected = project(together, _stack(points, shown.points), names)
    drawn = Projection(
        projected.points[:n_drawn],
        projected.centers[:n_centers],
        model.label(points).labels,
        projected.axis_labels,
        projected.is_principal,
    )
    # All rows are shown: each is drawn where it is found. A single feature has random places across.
    places = drawn.points if points is shown.points else projected.points[n_drawn:]
    marks = np.concatenate([places, projected.centers[n_centers:]])
    with without_font_warnings():
        figure = draw_figure(
            "plane", lambda ax: draw_plane(model, drawn, ax=ax), _caption(description, drawn), marks=marks
        )
    assert figure.places is not None
    ends = np.cumsum([len(shown.points), *map(len, others)])
    first, *rest = np.split(figure.places, ends[:-1])
    return PlaneView(figure, first, tuple(rest))


def _stack(points: Matrix, more: FloatArray) -> Matrix:
    if isinstance(points, np.ndarray):
        return np.concatenate([points, more.astype(points.dtype)])
    return csr_array(vstack([points, csr_array(more)]))


def _caption(description: Description, projection: Projection) -> str:
    n_drawn, n_rows = len(projection.points), description.n_rows
    caption = "All rows" if n_drawn == n_rows else f"A random sample of {n_drawn:,} of {n_rows:,} rows"
    caption += ", and the centers."
    if projection.is_principal:
        caption += " The axes are the two directions of largest variance, so separate clusters may look mixed."
    return caption

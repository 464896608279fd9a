"""The HTML page of a report: a single file that loads nothing.

The template has the sentences, and escapes everything that comes from the data. Only our own style and script, and
SVG that Matplotlib wrote, are inserted as they are. Does not compute anything.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..certificate import Certificate
from ..choosing import Sweep
from ..estimators.size_bounds import bounds_cost
from ..optional import optional
from ..plot.center_plots import square_shape
from ..plot.fit_plots import final_objectives
from ..plot.fitted_model import ModelLike, as_fitted_model
from ..plot.model_data import RowIds
from ..plot.style import cluster_colors, format_count, format_number, shorten
from ..storage import replacing
from .csv_downloads import downloads
from .describe import describe
from .image_cells import cluster_images, separation_image
from .k_comparison import CRITERIA, alternatives, k_cells, neighbor_sentences
from .page_data import n_hover_rows, page_data
from .plane_view import plane_view
from .report_figures import report_figures
from .report_records import Description
from .reproduction_details import details, python_code

if TYPE_CHECKING:
    from markupsafe import Markup

SCRIPTS = ("sort_tables.js", "hover_rows.js", "k_slider.js")
SHOWN_CLUSTERS, SHOWN_FEATURES = 40, 15  # rows of the tables before "show all"
MOST_FEATURES = 60  # rows of the table of features
MOST_PIXELS = 10  # of images, which also show the separation as an image


def write(
    model: ModelLike,
    data: object,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    command: str | None = None,
    name: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    ids: RowIds | None = None,
    image_shape: tuple[int, ...] | Literal["square"] | None = None,
    certificate: Certificate | None = None,
    sweep: Sweep | None = None,
    random_state: int = 0,
) -> Path:
    """Write a report on a fitted model and data to an HTML file, and return its path.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator with `cluster_centers_`, or a pipeline of scalers that ends with one.
    data : array, sparse matrix, frame, path or Source
        The rows, in the form that the model was fitted to. They are read once, in blocks.
    path : str or Path
        The file to write. An existing file is replaced only once the report is complete.
    title : str or None
        The heading.
    command : str or None
        The command that fitted the model, shown as the way to reproduce it.
    name : str or None
        The name of the data; by default its path, if it is a file.
    feature_names : list of str or None
        Names of the columns, if neither the model nor the data has them.
    sample_weight : array of shape (n_rows,) or None
        Weights of the rows.
    ids : array of shape (n_rows,), iterator of blocks of it, or None
        Names of the rows; by default the index of a data frame, otherwise the row number.
    image_shape : (height, width), (height, width, 3), "square" or None
        Set this if rows are images of this shape, with pixels as features; they are then shown as images.
    certificate : Certificate or None
        What `eulermeans.certify` found for this model and data; the report says it and shows the bound over time.
    sweep : Sweep or None
        What `eulermeans.sweep` found for the same rows, scaled in the same way; the report compares the other
        numbers of clusters and has a slider over them.
    random_state : int
        The seed of the sample of rows that the plots show.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> from eulermeans import EulerMeans, report
    >>> from eulermeans.datasets import iris
    >>> X = iris()
    >>> path = report(EulerMeans(3, random_state=0).fit(X), X, "irises.html", title="Irises")
    >>> path.stat().st_size < 2_000_000
    True
    """
    for package in ("jinja2", "matplotlib"):  # fail before the work, not after it
        optional(package, "plot")
    fitted = as_fitted_model(model)
    shape = square_shape(fitted.n_features) if image_shape == "square" else image_shape
    if shape is not None and feature_names is None and fitted.feature_names is None:
        feature_names = [f"pixel {', '.join(map(str, place))}" for place in np.ndindex(*shape)]
    with replacing(path) as partial:
        description = describe(
            fitted,
            data,
            name=name,
            feature_names=feature_names,
            sample_weight=sample_weight,
            ids=ids,
            image_shape=shape,
            random_state=random_state,
        )
        page = render(description, title=title, command=command, certificate=certificate, sweep=sweep)
        partial.write_text(page, encoding="utf-8", errors="replace")  # lone surrogates cannot be encoded
    return Path(path)


def breakable(name: str) -> Markup:
    """A name that may be broken after an underscore and the like, rather than anywhere."""
    markup = optional("markupsafe", "plot")
    parts: Markup = markup.Markup("<wbr>").join(re.split(r"(?<=[_=./-])(?=.)", shorten(name)))
    return parts


def render(
    description: Description,
    *,
    title: str | None = None,
    command: str | None = None,
    certificate: Certificate | None = None,
    sweep: Sweep | None = None,
) -> str:
    """The page as text."""
    jinja2 = optional("jinja2", "plot")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, loader=jinja2.FunctionLoader(_file)
    )
    environment.filters.update(number=format_number, count=format_count, shorten=shorten, breakable=breakable)
    choices = [] if sweep is None else alternatives(description, sweep)
    view = plane_view(description, tuple(choice.centers for choice in choices))
    figures = report_figures(description, certificate, sweep)
    by_separation = sorted(description.features, key=lambda feature: -feature.separation)
    row_ids = [row.id for cluster in description.clusters for row in cluster.nearest]
    data = page_data(description, view, choices)
    script = "\n".join(map(_file, SCRIPTS))
    seed = getattr(description.model.estimator, "random_state", None)
    page: str = environment.get_template("report_page.html").render(
        report=description,
        title=title,
        bounds=bounds_cost(description.model.estimator),
        overview=[view.figure, figures["sizes"]],
        colors=cluster_colors(description.model.centers),
        images=cluster_images(description),
        downloads=downloads(description),
        rows_are_numbered=any(name.startswith("row ") for name in row_ids),
        shown_clusters=SHOWN_CLUSTERS,
        shown_features=SHOWN_FEATURES,
        centers=figures["centers"],
        features=by_separation[: MOST_FEATURES if description.image_shape is None else MOST_PIXELS],
        separation_image=separation_image(description),
        fit=[figures[name] for name in ("silhouette", "objective", "restarts", "certificate") if name in figures],
        certificate=certificate,
        restarts=final_objectives(description.model.estimator),
        sweep=sweep,
        sweep_figure=figures.get("sweep"),
        choices=choices,
        criteria=CRITERIA,
        k_cells=k_cells,
        neighbors=neighbor_sentences(description, choices),
        view_box=view.figure.view_box,
        command=command,
        python_code=python_code(description.model),
        is_reproducible=isinstance(seed, (int, np.integer)),  # a new fit gives the same clusters
        details=details(description),
        version=version("eulermeans"),
        date=date.today().isoformat(),
        style=_file("report_page.css"),
        data=data,
        n_hover=n_hover_rows(data),
        script=script,
        script_hash="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return page


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")

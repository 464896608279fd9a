"""The HTML page of a report: a single file that loads nothing.

The template has the sentences, and escapes everything that comes from the data. Only our own style and script, and
SVG that Matplotlib wrote, are inserted as they are. Does not compute anything.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import os
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..certificate import Certificate
from ..estimators.size_bounds import bounds_cost
from ..optional import optional
from ..plot.fitted_model import FittedModel, ModelLike, as_fitted_model
from ..plot.model_data import RowIds
from ..plot.style import cluster_colors, format_count, format_number, shorten
from ..storage import replacing
from ..versions import versions
from .describe import describe
from .report_figures import report_figures
from .report_records import Description

SHOWN_CLUSTERS, SHOWN_FEATURES = 30, 15  # rows of the tables before "show all"
MOST_FEATURES = 60  # rows of the table of features


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
    image_shape: tuple[int, ...] | None = None,
    certificate: Certificate | None = None,
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
    image_shape : (height, width) or (height, width, 3) or None
        Set this if rows are images of this shape, with pixels as features.
    certificate : Certificate or None
        What `eulermeans.certify` found for this model and data; the report says it and shows the bound over time.
    random_state : int
        The seed of the sample of rows that the plots show.
    """
    for package in ("jinja2", "matplotlib"):  # fail before the work, not after it
        optional(package, "plot")
    if image_shape is not None and feature_names is None and as_fitted_model(model).feature_names is None:
        feature_names = [f"pixel {', '.join(map(str, place))}" for place in np.ndindex(*image_shape)]
    with replacing(path) as partial:
        description = describe(
            model,
            data,
            name=name,
            feature_names=feature_names,
            sample_weight=sample_weight,
            ids=ids,
            random_state=random_state,
        )
        page = render(description, title=title, command=command, image_shape=image_shape, certificate=certificate)
        partial.write_text(page, encoding="utf-8", errors="replace")  # lone surrogates cannot be encoded
    return Path(path)


def render(
    description: Description,
    *,
    title: str | None = None,
    command: str | None = None,
    image_shape: tuple[int, ...] | None = None,
    certificate: Certificate | None = None,
) -> str:
    """The page as text."""
    jinja2 = optional("jinja2", "plot")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters.update(number=format_number, count=format_count, shorten=shorten)
    figures = report_figures(description, image_shape, certificate)
    by_separation = sorted(description.features, key=lambda feature: -feature.separation)
    row_ids = [row.id for cluster in description.clusters for row in cluster.nearest]
    script = _file("report_page.js")
    seed = getattr(description.model.estimator, "random_state", None)
    page: str = environment.from_string(_file("report_page.html")).render(
        report=description,
        title=title,
        bounds=bounds_cost(description.model.estimator),
        overview=[figures["plane"], figures["sizes"]],
        colors=cluster_colors(description.model.centers),
        rows_are_numbered=any(name.startswith("row ") for name in row_ids),
        shown_clusters=SHOWN_CLUSTERS,
        shown_features=SHOWN_FEATURES,
        centers=figures["centers"],
        features=by_separation[:MOST_FEATURES],
        fit=[figures[name] for name in ("silhouette", "objective", "restarts", "certificate") if name in figures],
        certificate=certificate,
        command=command,
        python_code=python_code(description.model),
        is_reproducible=isinstance(seed, (int, np.integer)),  # a new fit gives the same clusters
        details=details(description),
        version=version("eulermeans"),
        date=date.today().isoformat(),
        style=_file("report_page.css"),
        script=script,
        script_hash="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return page


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


LONGEST_VALUE = 200  # characters of a parameter's value


def python_code(model: FittedModel) -> str:
    """The lines that make the model and fit it to X."""
    parts = [*model.scalers, model.estimator]
    imports = {f"from {_public_module(part)} import {type(part).__name__}" for part in parts}
    calls = [_constructor_call(part) for part in parts]
    call = calls[0]
    if len(parts) > 1:
        imports.add("from sklearn.pipeline import make_pipeline")
        call = f"make_pipeline({', '.join(calls)})"
    return "\n".join([*sorted(imports), "", f"model = {call}", "model.fit(X)"])


def details(description: Description) -> dict[str, str]:
    """Data, parameters and versions, by name."""
    model = description.model
    found = {
        "data": description.source,
        "rows": format_number(description.n_rows, 12),
        "features": format_number(description.n_features, 12),
        "metric": model.metric,
        "rows in the plots": format_number(description.sample.points.shape[0], 12),
    }
    if description.weighted:
        found["total weight"] = format_number(description.total_weight, 12)
    if model.scalers:
        found["scaling"] = ", ".join(map(str, model.scalers))
    if hasattr(model.estimator, "stop_reason_"):
        found["stop reason"] = str(model.estimator.stop_reason_)
    for name, (value, is_default) in _parameters(model.estimator).items():
        found[name] = f"{value} (default)" if is_default else value
    return {**found, **versions()}


def _constructor_call(part: BaseEstimator) -> str:
    """The call with `n_clusters` and all parameters that are not defaults."""
    arguments = [
        f"{name}={value}"
        for name, (value, is_default) in _parameters(part).items()
        if name == "n_clusters" or not is_default
    ]
    return f"{type(part).__name__}({', '.join(arguments)})"


def _public_module(part: BaseEstimator) -> str:
    """The module to import from: `eulermeans`, or the path up to the first name with an underscore."""
    names = type(part).__module__.split(".")
    if names[0] == "eulermeans":
        return "eulermeans"
    return ".".join(takewhile(lambda name: not name.startswith("_"), names))


def _parameters(part: BaseEstimator) -> dict[str, tuple[str, bool]]:
    """The value of each parameter as text, and whether it is the default."""
    if not hasattr(part, "get_params"):
        return {}
    signature, found = inspect.signature(type(part).__init__).parameters, {}
    for name, value in part.get_params(deep=False).items():
        default = signature[name].default if name in signature else inspect.Parameter.empty
        same = type(value) is type(default) and not isinstance(value, np.ndarray) and bool(value == default)
        found[name] = (_short_repr(value), same)
    return found


def _short_repr(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"<array of shape {value.shape}>"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"

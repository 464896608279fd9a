"""The page: a Description and pictures as one HTML file that needs no other and loads nothing.

Everything that comes from the data goes through the template's escaping; only our own style and script, and
pictures that Matplotlib wrote, stand in it as they are. Does not compute anything.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..optional import optional
from ..plot.fitted import fitted
from ..storage import replacing
from . import words
from .describe import describe
from .figures import Picture, pictures
from .records import Description
from .repeat import is_repeatable

SHOWN_CLUSTERS, SHOWN_FEATURES = 30, 15  # before one asks for more


def write(
    model: Any,
    data: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    command: str | None = None,
    name: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_weight: Any = None,
    ids: Any = None,
    image_shape: tuple[int, ...] | None = None,
    random_state: int = 0,
) -> Path:
    """Write a report on a fitted model and data to one HTML file, and return its path.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator with `cluster_centers_`, or a pipeline of scalers that ends with one.
    data : array, sparse matrix, frame, path or Source
        The rows, as the model takes them. They are read once, in blocks.
    path : str or Path
        The file to write; it is replaced only when the report is complete.
    title : str or None
        The heading.
    command : str or None
        The command that made the model, to be shown as the way to repeat it.
    name : str or None
        What the data are called; the path if that is what was given.
    feature_names : list of str or None
        Names of the columns, if neither the model nor the data know them.
    sample_weight : array of shape (n_rows,) or None
        Weights of the rows.
    ids : array of shape (n_rows,), iterator of blocks of it, or None
        What rows are called where some are shown; by default the index of a frame, or else their number.
    image_shape : (height, width) or (height, width, 3) or None
        Rows are images of this shape, and features are pixels.
    random_state : int
        The seed of the sample of rows that the pictures are drawn from.
    """
    for package in ("jinja2", "matplotlib"):  # before the work, not after it
        optional(package, "plot")
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"can't write {target}: there is no folder {target.parent}.")
    if image_shape is not None and feature_names is None and fitted(model).names is None:
        feature_names = [f"pixel {', '.join(map(str, place))}" for place in np.ndindex(*image_shape)]
    description = describe(
        model,
        data,
        name=name,
        feature_names=feature_names,
        sample_weight=sample_weight,
        ids=ids,
        random_state=random_state,
    )
    page = render(description, title=title, command=command, image_shape=image_shape)
    with replacing(target) as partial:
        partial.write_text(page, encoding="utf-8", errors="replace")  # halves of letters, which no file can hold
    return target


def render(
    description: Description,
    *,
    title: str | None = None,
    command: str | None = None,
    image_shape: tuple[int, ...] | None = None,
) -> str:
    """The page as text."""
    jinja2, markup = optional("jinja2", "plot"), optional("markupsafe", "plot").Markup
    drawn = {picture.name: picture for picture in pictures(description, image_shape)}
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    script = _file("page.js")
    page: str = environment.from_string(_file("page.html")).render(
        title=title or words.title(description),
        lead=words.lead(description),
        cards=words.cards(description),
        findings=description.findings,
        overview=_safe([drawn["plane"], drawn["sizes"]], markup),
        clusters=words.clusters(description),
        clusters_note=words.clusters_note(description),
        shown_clusters=SHOWN_CLUSTERS,
        shown_features=SHOWN_FEATURES,
        weighted=description.weighted,
        centers=_safe([drawn["centers"]], markup)[0],
        features=words.features(description),
        features_note=words.features_note(description),
        fit=_safe([drawn[key] for key in ("silhouette", "objective", "restarts") if key in drawn], markup),
        repeat=words.repeat(description, command),
        repeatable=is_repeatable(description.model),
        facts=words.facts(description),
        version=version("eulermeans"),
        date=date.today().isoformat(),
        style=markup(_file("page.css")),
        script=markup(script),
        script_hash="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return page


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _safe(drawn: Sequence[Picture], markup: Any) -> list[dict[str, Any]]:
    """Pictures whose SVG is markup: it was written by a library that escapes what it is given."""
    return [
        {"name": picture.name, "caption": picture.caption, "wide": picture.wide, "svg": markup(picture.svg)}
        for picture in drawn
    ]

"""What the page's script reads: the rows shown on hover, and the clusters of each K. Numbers and names as JSON."""

from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ..arrays import FloatArray
from ..plot.plane_plot import spread_discs
from ..plot.style import shorten
from .image_cells import shrink, to_gray_levels, value_range
from .k_comparison import Alternative
from .plane_view import PlaneView
from .report_records import Description

ALL_FEATURES = 12  # with more features, those that separate most are shown
SOME_FEATURES = 8
ID_BYTES = 150_000  # of all names of rows, as they are written
ALPHABET = string.digits + string.ascii_letters  # a label of the clusters of another K is one of these 62
DISC = 15.0  # diameter of a number in the plane, in the coordinates of its SVG
IMAGE_BYTES, IMAGE_SIDE = 280_000, 32  # of all images of rows, and pixels of a side

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


def page_data(description: Description, view: PlaneView, others: Sequence[Alternative]) -> dict[str, Json]:
    """Everything that the script reads."""
    found: dict[str, Json] = {"rows": _rows(description, view)}
    if others:
        shares = [_numbers(other.shares) for other in others]
        found["choices"] = [
            {
                "k": other.n_clusters,
                "labels": "".join(ALPHABET[label] for label in other.labels),
                "centers": _places(places),
                "discs": _places(spread_discs(places, view.size, DISC)),
                "shares": share,
                "sentences": list(other.sentences),
                "colors": list(other.colors),
            }
            for other, places, share in zip(others, view.centers, shares, strict=True)
        ]
        found["k"] = description.model.n_clusters
    return found


def n_hover_rows(data: dict[str, Json]) -> int:
    """How many rows are shown on hover."""
    rows = data["rows"]
    assert isinstance(rows, dict)
    images = rows.get("images")
    numbers = images["rows"] if isinstance(images, dict) else rows["labels"]
    assert isinstance(numbers, list)
    return len(numbers)


def _rows(description: Description, view: PlaneView) -> dict[str, Json]:
    shown = description.shown
    order = sorted(range(len(description.features)), key=lambda i: -description.features[i].separation)
    columns = sorted(order) if len(order) <= ALL_FEATURES else order[:SOME_FEATURES]
    rows: dict[str, Json] = {
        "ids": _short_ids(description),
        "places": _places(view.rows),
        "labels": shown.labels.tolist(),
    }
    if description.image_shape is not None:
        rows["images"] = _images(description)
    else:
        rows["names"] = [shorten(description.features[i].name, 40) for i in columns]
        rows["values"] = [_numbers(row) for row in shown.rows[:, columns]]
    return rows


def _short_ids(description: Description) -> list[Json]:
    """The names of the rows; their numbers if the names are very long."""
    ids = [shorten(name, 40) for name in description.shown.ids]
    if sum(len(json.dumps(name)) + 5 * len(re.findall("[<>&']", name)) for name in ids) > ID_BYTES:
        return [f"row {number}" for number in description.shown.numbers]
    return [*ids]


def _images(description: Description) -> dict[str, Json]:
    """Pixels of as many rows as there is room for, evenly chosen."""
    shape = description.image_shape
    assert shape is not None
    low, high = value_range(description.means, description.shown.rows)
    size = shrink(np.zeros(int(np.prod(shape)), dtype=np.uint8), shape, IMAGE_SIDE).size
    n_images = min(len(description.shown.rows), max(1, IMAGE_BYTES // size))
    which = np.unique(np.linspace(0, len(description.shown.rows) - 1, n_images).astype(int))
    levels = to_gray_levels(description.shown.rows[which], low, high)
    images = np.stack([shrink(image, shape, IMAGE_SIDE) for image in levels])
    return {
        "rows": which.tolist(),
        "height": images.shape[1],
        "width": images.shape[2],
        "channels": 1 if images.ndim == 3 else images.shape[3],
        "pixels": base64.b64encode(images.tobytes()).decode(),
    }


def _places(places: FloatArray) -> list[Json]:
    """Pairs of coordinates in one list, with one decimal."""
    return [float(value) for value in np.round(places, 1).ravel()]


def _numbers(values: FloatArray) -> list[Json]:
    """Numbers with six digits; None for those that are not finite."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in np.asarray(values, np.float64)]

"""The moving picture as one HTML page: SVG that a few lines of script move, complete without them."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import FloatArray
from ..optional import optional
from .figure_elements import COLORS

if TYPE_CHECKING:
    from .escape_animation import MovingEscape

WIDTH, HEIGHT = 400.0, 320.0  # of each of the two pictures
MARGIN = 14.0


def escape_page(escape: MovingEscape) -> str:
    """The page as text."""
    jinja2 = optional("jinja2", "plot")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    script = _file("escape_page.js")
    place = _Places(escape.points)
    curve = _curve(np.array(escape.objectives))
    n_em = escape.n_em
    page: str = environment.from_string(_file("escape_page.html")).render(
        width=WIDTH,
        height=HEIGHT,
        colors=COLORS,
        points=[_text(point) for point in place(escape.points)],
        stuck=_text(curve[n_em - 1]).split()[1],
        em_curve=" ".join(f"{x:.1f},{y:.1f}" for x, y in curve[:n_em]),
        sbe_curve=" ".join(f"{x:.1f},{y:.1f}" for x, y in curve[n_em - 1 :]),
        ends={"EM": escape.objectives[n_em - 1], "SBE": escape.objectives[-1]},
        centers={
            "EM": [_text(center) for center in place(_last(escape, "EM"))],
            "SBE": [_text(center) for center in place(_last(escape, "SBE"))],
        },
        data={
            "nEm": n_em,
            "curve": np.round(curve, 1).tolist(),
            "frames": [
                {
                    "method": frame.method,
                    "caption": frame.caption,
                    "centers": np.round(place(frame.centers), 1).tolist(),
                    "inner": np.round(place(frame.inner), 1).tolist(),
                    "n": frame.n_objectives,
                }
                for frame in escape.frames
            ],
        },
        script=script,
        script_hash="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return page


def _last(escape: MovingEscape, method: str) -> FloatArray:
    return next(frame.centers for frame in reversed(escape.frames) if frame.method == method)


class _Places:
    """From the plane of the data to the coordinates of the picture."""

    def __init__(self, points: FloatArray) -> None:
        low, high = points.min(axis=0), points.max(axis=0)
        room = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN])
        self._scale = float(np.min(room / (high - low)))
        self._middle = (low + high) / 2

    def __call__(self, points: FloatArray) -> FloatArray:  # (..., 2), IN
        offset = (points - self._middle) * self._scale * np.array([1.0, -1.0])
        moved: FloatArray = offset + np.array([WIDTH / 2, HEIGHT / 2])
        return moved


def _curve(objectives: FloatArray) -> FloatArray:
    """The objective after each step in the coordinates of its picture, (n_steps, 2). The first may be cut off."""
    low, high = float(objectives.min()), float(objectives[1:].max()) * 1.05
    across = np.linspace(2.5 * MARGIN, WIDTH - MARGIN, len(objectives))
    down = MARGIN + (HEIGHT - 3 * MARGIN) * (high - np.minimum(objectives, high)) / (high - low)
    return np.column_stack([across, down])


def _text(place: FloatArray) -> str:
    return f"{place[0]:.1f} {place[1]:.1f}"


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")

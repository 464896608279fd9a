"""The demo step by step, as a moving picture: EM gets stuck, and backward Euler's inner iterates leave the trap.

Records every moment, and draws it as a GIF or as one HTML page that needs no other file.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import FloatArray
from ..datasets import GAUSSIAN_START, paper_gaussians
from ..moments import Moments
from ..optional import optional
from ..oracles import MemoryOracle, memory_oracle
from ..storage import replacing
from .escape_demo import method_settings
from .escape_page import escape_page
from .experiment_runs import solver_for
from .figure_elements import COLORS, MARKERS, draw_points, new_figure, remove_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EM_STEPS = 12  # after these, EM's centers stand still
STUCK = 4  # frames that show it
SLOW_STEPS = 4  # outer steps of SBE at the start whose inner iterates are shown one by one
SBE_STEPS = 42  # outer steps of SBE
SKIP = 3  # of the later outer steps, each third is shown
FRAMES_PER_SECOND = 8
DOTS_PER_INCH = 80
HOLD = 14  # frames that show the end
POINTS_SHOWN = 1000  # of the 4000, so that files stay small
SUFFIXES = (".gif", ".html")


@dataclass(frozen=True)
class Frame:
    """One moment."""

    method: str  # "EM" or "SBE"
    caption: str
    centers: FloatArray  # (4, 2)
    inner: FloatArray  # (n, 4, 2) the inner iterates so far of the step under way
    n_objectives: int  # values of the curve that are known


@dataclass(frozen=True)
class MovingEscape:
    """All moments, and the curve beside them."""

    points: FloatArray  # (n_points, 2) those that are drawn
    frames: list[Frame]
    objectives: list[float]  # of EM's steps, then of SBE's, exact
    n_em: int  # how many of them are EM's


class WatchedOracle(MemoryOracle):
    """An oracle that keeps the centers it is asked about: the inner iterates of a step."""

    asked: list[FloatArray] | None = None

    def minibatch(self, centers: FloatArray, size: int, rng: np.random.Generator) -> Moments:
        if self.asked is not None:
            self.asked.append(centers)
        return super().minibatch(centers, size, rng)


def record_escape(seed: int) -> MovingEscape:
    """EM from the paper's start, then backward Euler from where EM is stuck, with its inner iterates."""
    points = paper_gaussians(seed)
    oracle = WatchedOracle(memory_oracle(points).points)
    rng = np.random.default_rng(seed)
    settings = method_settings()
    centers, objectives = GAUSSIAN_START, [oracle.full(GAUSSIAN_START).objective]
    nothing = np.empty((0, *centers.shape))
    frames = [Frame("EM", "EM at the paper's start", centers, nothing, 1)] * STUCK
    for step, iterate in enumerate(islice(solver_for(settings["EM"], oracle, centers, rng), EM_STEPS), 1):
        centers = iterate.centers
        objectives.append(oracle.full(centers).objective)
        frames.append(Frame("EM", f"EM, step {step}", centers, nothing, len(objectives)))
    frames += [Frame("EM", "EM is stuck: its centers stand still", centers, nothing, len(objectives))] * STUCK
    n_em, anchor = len(objectives), centers
    oracle.asked = []
    for step, iterate in enumerate(islice(solver_for(settings["SBE"], oracle, centers, rng), SBE_STEPS), 1):
        inner = np.array([*oracle.asked[1:], iterate.centers])  # the first question is about the anchor
        oracle.asked.clear()
        if step <= SLOW_STEPS:
            caption = f"SBE, step {step}: inner iterates on mini-batches"
            frames += [Frame("SBE", caption, anchor, inner[:n], len(objectives)) for n in range(1, len(inner))]
        anchor = iterate.centers
        objectives.append(oracle.full(anchor).objective)
        if step <= SLOW_STEPS or step % SKIP == 0:
            caption = f"SBE, step {step}: the average of the inner iterates"
            frames.append(Frame("SBE", caption, anchor, inner[:-1], len(objectives)))
    frames += [
        Frame("SBE", "SBE has left the minimum that EM is stuck in", anchor, nothing, len(objectives))
    ] * HOLD
    shown = np.random.default_rng(seed).choice(len(points), POINTS_SHOWN, replace=False)
    return MovingEscape(points[np.sort(shown)], frames, objectives, n_em)


def save_animation(escape: MovingEscape, path: Path) -> None:
    """Write a GIF or an HTML page, as the suffix says; an existing file is replaced once the new one is whole."""
    check_animation_path(path)
    with replacing(path) as partial:
        if path.suffix.lower() == ".gif":
            _save_gif(escape, partial)
        else:
            partial.write_text(escape_page(escape), encoding="utf-8")


def check_animation_path(path: Path) -> None:
    """Raise an error if no animation can be written to this path."""
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"can't write an animation to {path}: the suffix must be one of {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"can't write {path}: there is no folder {path.parent}")
    for package in ("matplotlib", "jinja2"):
        optional(package, "plot")


def _save_gif(escape: MovingEscape, path: Path) -> None:
    animation = optional("matplotlib.animation", "plot")
    with optional("matplotlib.style", "plot").context("default"):
        figure = new_figure(8.0, 3.7)
        data, curve = figure.subplots(1, 2, width_ratios=[1, 1])
        moving = _Picture(escape, data, curve)
        moving.show(escape.frames[-1])
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # what stands still must not move between frames
        # Matplotlib takes the format from the suffix, which an unfinished file does not have.
        with tempfile.TemporaryDirectory(prefix="eulermeans-") as folder:
            finished, writer = Path(folder) / "escape.gif", animation.PillowWriter(fps=FRAMES_PER_SECOND)
            with writer.saving(figure, finished, dpi=DOTS_PER_INCH):
                for frame in escape.frames:
                    moving.show(frame)
                    writer.grab_frame()
            path.write_bytes(finished.read_bytes())


class _Picture:
    """The two plots: what stands still is drawn once, and `show` sets the rest."""

    def __init__(self, escape: MovingEscape, data: Axes, curve: Axes) -> None:
        draw_points(data, escape.points)
        data.set(aspect="equal", xticks=[], yticks=[])
        data.spines[:].set_visible(False)
        self._title = data.set_title("", fontsize=10, loc="left")
        self._centers = {
            name: data.plot([], [], MARKERS[name], color=COLORS[name], markeredgecolor="black", zorder=4)[0]
            for name in ("EM", "SBE")
        }
        self._centers["EM"].set_markersize(11)
        self._centers["SBE"].set_markersize(15)
        n_clusters = len(escape.frames[0].centers)
        self._paths = [
            data.plot([], [], "-", color=COLORS["SBE"], linewidth=1, alpha=0.8)[0] for _ in range(n_clusters)
        ]
        (self._inner,) = data.plot([], [], "o", color=COLORS["SBE"], markersize=3.5, alpha=0.8)
        curve.set(xlim=(0, len(escape.objectives)), xlabel="step", ylabel="objective φ")
        curve.set_ylim(min(escape.objectives) - 0.06, max(escape.objectives[1:]) * 1.1)
        curve.axhline(escape.objectives[escape.n_em - 1], color=COLORS["EM"], linewidth=0.9, linestyle=":")
        self._curves = {
            name: curve.plot([], [], color=COLORS[name], linewidth=2, label=name)[0] for name in ("EM", "SBE")
        }
        curve.legend(loc="upper right", frameon=False)
        remove_frame(curve)
        self._escape = escape

    def show(self, frame: Frame) -> None:
        """Move everything to where it is in this frame."""
        self._title.set_text(frame.caption)
        for name, drawn in self._centers.items():
            drawn.set_data(*(frame.centers.T if name == frame.method else np.empty((2, 0))))
        walks = np.concatenate([frame.centers[None], frame.inner]) if len(frame.inner) else frame.inner
        for cluster, path in enumerate(self._paths):
            path.set_data(*walks[:, cluster].T if len(walks) else ([], []))
        self._inner.set_data(*frame.inner.reshape(-1, 2).T)
        values, n_em = np.array(self._escape.objectives), self._escape.n_em
        steps = np.arange(len(values))
        self._curves["EM"].set_data(
            steps[: min(n_em, frame.n_objectives)], values[: min(n_em, frame.n_objectives)]
        )
        after = slice(n_em - 1, frame.n_objectives if frame.method == "SBE" else n_em - 1)
        self._curves["SBE"].set_data(steps[after], values[after])

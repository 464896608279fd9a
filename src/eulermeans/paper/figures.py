"""The figures of each experiment, from its results; what only the data show is computed again from the same seed.

Knows what the paper's figures show. The strokes are `drawing`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, FloatArray
from ..oracles import memory_oracle
from .claims import TARGET
from .data import Data
from .drawing import (
    COLORS,
    Picture,
    Walk,
    draw_centers,
    draw_histogram,
    draw_images,
    draw_walks,
    new_figure,
    plain,
    shared_limits,
)
from .results import Result, Results
from .running import RunRecord, perform


@dataclass(frozen=True)
class Scene:
    """All that a figure may show."""

    results: Results
    data: Data
    seed: int

    def centers(self, result: Result, record: RunRecord) -> FloatArray:
        """The centers at the end of a run, which its seed gives again."""
        oracle = memory_oracle(self.data.points, n_threads=1)
        return perform(result.row.settings, oracle, (self.seed, record.run)).centers

    def best(self, result: Result) -> RunRecord:
        """The run with the lowest objective."""
        return min(result.records, key=lambda record: record.objective)

    def typical(self, result: Result) -> RunRecord:
        """The run in the middle, by objective."""
        return sorted(result.records, key=lambda record: record.objective)[len(result.records) // 2]


def pictures(scene: Scene) -> list[Picture]:
    """The figures of this experiment."""
    return FIGURES[scene.results.experiment.name](scene)


def _gaussians(scene: Scene) -> list[Picture]:
    walks = []
    for method in ("EM", "mb-EM", "SBE"):
        result = scene.results.find(method)
        record = scene.typical(result)
        assert record.trace is not None
        walks.append(Walk(method, scene.centers(result, record), record.trace.objectives))
    caption = "Fig. 1: where the middle run of each method ends, and the objective on its way there."
    return [Picture("gaussians", caption, draw_walks(scene.data.points, walks))]


def _iris(scene: Scene) -> list[Picture]:
    figure = new_figure(9, 6.6)
    places = figure.subplots(2, 2)
    methods = ("EM", "mb-EM", "SBE")
    limits = shared_limits([scene.results.find(method).objectives for method in methods])
    for method, axes in zip(methods, places.flat, strict=False):
        result = scene.results.find(method)
        draw_histogram(axes, result.objectives, limits, COLORS[method], f"{method}, {len(result.records)} runs")
    em, sbe = scene.results.find("EM"), scene.results.find("SBE")
    worst, best = max(em.records, key=lambda record: record.objective), scene.best(sbe)
    petals = [2, 3]
    shown = [
        ("EM", f"EM: {worst.objective:.3f}", scene.centers(em, worst)[:, petals]),
        ("SBE", f"SBE: {best.objective:.3f}", scene.centers(sbe, best)[:, petals]),
    ]
    draw_centers(places[1, 1], scene.data.points[:, petals], shown)
    places[1, 1].set(title="EM's worst and SBE's best", xlabel="petal length, cm", ylabel="petal width, cm")
    places[1, 1].title.set_fontsize(10)
    places[1, 1].legend(loc="upper left")
    return [Picture("iris", "Histograms of the objective, and centers on the data.", figure)]


def _table1(scene: Scene) -> list[Picture]:
    drawn = [_histograms(scene, 8)]
    em, sbe = scene.results.find("EM", 8), scene.results.find("SBE", 8, 1000)
    rows: list[tuple[str, Array]] = []
    if scene.data.originals is not None:
        rows.append(("the eight digits", scene.data.originals))
        rows.append(("one noisy copy of each", scene.data.points[:: max(1, len(scene.data.points) // 8)][:8]))
    rows.append((f"SBE, objective {sbe.statistics.min:.4f}", scene.centers(sbe, scene.best(sbe))))
    middle = scene.typical(em)
    rows.append((f"EM, its middle run, objective {middle.objective:.4f}", scene.centers(em, middle)))
    figure = new_figure(8, 1.15 * len(rows))
    draw_images(figure, rows)
    return [
        Picture("table1-digits", "The digits, their noisy copies, and the centers that were learned.", figure),
        *drawn,
    ]


def _table2(scene: Scene) -> list[Picture]:
    sbe, em = scene.results.find("SBE", 10, 1000), scene.results.find("EM", 10)
    figure = new_figure(9, 2.3)
    rows = [
        (f"{name}, its best run, objective {result.statistics.min:.4f}", scene.centers(result, scene.best(result)))
        for name, result in (("SBE", sbe), ("EM", em))
    ]
    draw_images(figure, rows)
    return [_histograms(scene, 10), Picture("table2-centers", "The centers that were learned.", figure)]


def _table3(scene: Scene) -> list[Picture]:
    return [_histograms(scene, 10)]


def _histograms(scene: Scene, n_clusters: int) -> Picture:
    """In the paper's arrangement: EM, SBE with M = 1000, mb-EM, SBE with M = 500."""
    figure = new_figure(9, 6)
    panels = [
        ("EM", scene.results.find("EM", n_clusters)),
        ("SBE", scene.results.find("SBE", n_clusters, 1000)),
        ("mb-EM", scene.results.find("mb-EM", n_clusters, 500)),
        ("SBE", scene.results.find("SBE", n_clusters, 500)),
    ]
    limits = shared_limits([result.objectives for _, result in panels])
    for (method, result), axes in zip(panels, figure.subplots(2, 2).flat, strict=True):
        size = result.row.settings.batch_size
        title = f"{method}, all points" if size is None else f"{method}, batches of {size}"
        draw_histogram(axes, result.objectives, limits, COLORS[method], title)
    name = scene.results.experiment.name
    return Picture(f"{name}-histograms", f"Histograms of the objective, K = {n_clusters}.", figure)


def _escape(scene: Scene) -> list[Picture]:
    """The run whose trap is the deepest of those that SBE leaves: EM's way there, then SBE's way out."""
    em, sbe = scene.results.find("EM"), scene.results.find("SBE")
    pairs = [(a, b) for a, b in zip(em.records, sbe.records, strict=True) if a.trace and b.trace]
    trap, out = max(pairs, key=lambda pair: pair[0].objective - pair[1].objective)
    assert trap.trace is not None
    assert out.trace is not None
    figure = new_figure(7.5, 4.4)
    axes = figure.subplots()
    first = len(trap.trace.objectives) - 1
    label = f"EM: {trap.objective:.3f}"
    axes.plot(trap.trace.objectives[1:], color=COLORS["EM"], linewidth=2, label=label)
    after = range(first, first + len(out.trace.objectives))
    axes.plot(after, out.trace.objectives, color=COLORS["SBE"], linewidth=2, label=f"SBE: {out.objective:.3f}")
    axes.set(xlabel="outer iteration: EM's, then SBE's", ylabel="objective φ")
    axes.set_title("SBE, started where EM is trapped", fontsize=11)
    axes.legend(title="objective at the end")
    axes.grid(alpha=0.3)
    plain(axes)
    return [Picture("escape", f"Fig. 5: objective of run {trap.run} on the features.", figure)]


def _timing(scene: Scene) -> list[Picture]:
    figure = new_figure(9.5, 4.2)
    by_time, by_points = figure.subplots(1, 2, sharey=True)
    for method in ("EM", "mb-EM", "SBE"):
        for i, record in enumerate(scene.results.find(method).records):
            assert record.trace is not None
            style = {"color": COLORS[method], "alpha": 0.6, "linewidth": 1.2, "label": None if i else method}
            by_time.plot(record.trace.seconds[1:], record.trace.objectives[1:], **style)
            distances = np.array(record.trace.points_read[1:]) * scene.results.rows[0].row.settings.n_clusters
            by_points.plot(distances, record.trace.objectives[1:], **style)
    for axes, label in ((by_time, "seconds on one thread"), (by_points, "distance evaluations")):
        axes.axhline(TARGET, color="0.4", linewidth=0.8, linestyle=":")
        axes.set(xscale="log", xlabel=label)
        plain(axes)
    lowest = min(result.statistics.min for result in scene.results.rows)
    by_time.set(ylabel="objective φ", ylim=(lowest - 0.05, lowest * 1.08))
    by_time.legend()
    return [Picture("timing", f"The objective of every run on its way; dotted: {TARGET}.", figure)]


def _sensitivity(scene: Scene) -> list[Picture]:
    """For each averaging: how often SBE ends at the floor, by start and decay."""
    rows = [result for result in scene.results.rows if result.row.settings.method == "SBE"]
    names = {field: list(dict.fromkeys(getattr(r.row.settings, field) for r in rows)) for field in _GRID}
    floor = min(result.statistics.min for result in scene.results.rows)
    figure = new_figure(11, 3.2)
    for averaging, axes in zip(names["averaging"], figure.subplots(1, len(names["averaging"])), strict=True):
        share = np.zeros((len(names["init"]), len(names["decay"])))
        for result in rows:
            settings = result.row.settings
            if settings.averaging == averaging:
                at = names["init"].index(settings.init), names["decay"].index(settings.decay)
                share[at] = np.mean(result.objectives <= AT_THE_FLOOR * floor)
        axes.imshow(share, vmin=0, vmax=1, cmap="GnBu")
        for (i, j), value in np.ndenumerate(share):
            axes.text(
                j,
                i,
                f"{value:.0%}",
                ha="center",
                va="center",
                color="white" if value > 0.6 else "black",
                fontsize=9,
            )
        axes.set_xticks(range(len(names["decay"])), names["decay"], fontsize=8)
        axes.set_yticks(range(len(names["init"])), names["init"] if averaging == names["averaging"][0] else [])
        axes.set_title(f"averaging {averaging:g}", fontsize=10)
        axes.set_xlabel("decay")
    caption = (
        "Gaussian-MNIST, K = 8, M = 500, (100,5): the share of SBE's runs that end within 0.1 % of the floor."
    )
    return [Picture("sensitivity", caption, figure)]


_GRID = ("averaging", "init", "decay")
AT_THE_FLOOR = 1.001

FIGURES: dict[str, Callable[[Scene], list[Picture]]] = {
    "gaussians": _gaussians,
    "iris": _iris,
    "table1": _table1,
    "table2": _table2,
    "table3": _table3,
    "escape": _escape,
    "timing": _timing,
    "sensitivity": _sensitivity,
}

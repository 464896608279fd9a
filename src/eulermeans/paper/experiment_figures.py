"""The figures of each experiment. They are drawn from the results; centers are recomputed from the same seed.

Knows what the paper's figures show. Histograms, images and curves are drawn by `figure_elements`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, FloatArray
from ..oracles import memory_oracle
from .claims import TARGET
from .experiment_data import ExperimentData
from .experiment_runs import RunRecord, Task, perform
from .experiments import METHODS
from .figure_elements import (
    COLORS,
    Picture,
    Walk,
    draw_centers,
    draw_histograms,
    draw_images,
    draw_points,
    draw_walks,
    new_figure,
    remove_frame,
)
from .run_records import Results, RowResult, trace_of

AT_THE_FLOOR = 1.001  # a run that ends below this multiple of the lowest objective is at the floor


@dataclass(frozen=True)
class Scene:
    """Everything that a figure may show."""

    results: Results
    data: ExperimentData
    seed: int

    def centers(self, result: RowResult, record: RunRecord) -> FloatArray:
        """The centers at the end of a run, recomputed from its seed."""
        oracle = memory_oracle(self.data.points, n_threads=1)
        return perform(Task(result.row.settings, self.seed, record.run), oracle).centers


def _gaussians(scene: Scene) -> list[Picture]:
    walks = []
    for method in METHODS:
        result = scene.results.find(method)
        record, start = result.ranked[len(result.records) // 2], result.row.settings.choices
        walks.append(Walk(method, start, scene.centers(result, record), trace_of(record).objectives))
    caption = "Fig. 1: the final centers of the median run of each method, and its objective after each step."
    return [Picture("gaussians", caption, draw_walks(scene.data.points, walks))]


def _iris(scene: Scene) -> list[Picture]:
    figure = new_figure(9, 6.6)
    places = figure.subplots(2, 2)
    rows = {method: scene.results.find(method) for method in METHODS}
    draw_histograms(places.flat, {f"{name}, {len(row.records)} runs": row for name, row in rows.items()})
    em, sbe = rows["EM"], rows["SBE"]
    worst, best = max(em.records, key=lambda record: record.objective), sbe.ranked[0]
    petals, axes = [2, 3], places[1, 1]
    draw_points(axes, scene.data.points[:, petals])
    draw_centers(axes, "EM", f"EM: {worst.objective:.3f}", scene.centers(em, worst)[:, petals])
    draw_centers(axes, "SBE", f"SBE: {best.objective:.3f}", scene.centers(sbe, best)[:, petals])
    axes.set(xlabel="petal length, cm", ylabel="petal width, cm")
    axes.set_title("EM's worst and SBE's best run", fontsize=10)
    axes.legend(loc="upper left")
    return [Picture("iris", "Histograms of the objective, and centers on the data.", figure)]


def _table1(scene: Scene) -> list[Picture]:
    em, sbe = scene.results.find("EM", 8), scene.results.find("SBE", 8, 1000)
    rows: list[tuple[str, Array]] = []
    if scene.data.originals is not None:
        rows.append(("the eight digits", scene.data.originals))
        rows.append(("one noisy copy of each", scene.data.points[:: max(1, len(scene.data.points) // 8)][:8]))
    rows.append((f"SBE, objective {sbe.statistics.min:.4f}", scene.centers(sbe, sbe.ranked[0])))
    median = em.ranked[len(em.records) // 2]
    rows.append((f"EM, median run, objective {median.objective:.4f}", scene.centers(em, median)))
    figure = new_figure(8, 1.15 * len(rows))
    draw_images(figure, rows)
    caption = "The digits, noisy copies of them, and the centers found."
    return [Picture("table1-digits", caption, figure), _histograms(scene, 8)]


def _table2(scene: Scene) -> list[Picture]:
    rows = []
    for result in (scene.results.find("SBE", 10, 1000), scene.results.find("EM", 10)):
        title = f"{result.row.settings.method}, best run, objective {result.statistics.min:.4f}"
        rows.append((title, scene.centers(result, result.ranked[0])))
    figure = new_figure(9, 2.3)
    draw_images(figure, rows)
    return [_histograms(scene, 10), Picture("table2-centers", "The centers found.", figure)]


def _histograms(scene: Scene, n_clusters: int) -> Picture:
    """In the paper's order: EM, SBE with M = 1000, mb-EM, SBE with M = 500."""
    figure = new_figure(9, 6)
    panels = {}
    for method, size in (("EM", None), ("SBE", 1000), ("mb-EM", 500), ("SBE", 500)):
        title = f"{method}, all points" if size is None else f"{method}, batches of {size}"
        panels[title] = scene.results.find(method, n_clusters, size)
    draw_histograms(figure.subplots(2, 2).flat, panels)
    name = scene.results.experiment.name
    return Picture(f"{name}-histograms", f"Histograms of the objective, K = {n_clusters}.", figure)


def _escape(scene: Scene) -> list[Picture]:
    """The run in which SBE improves most on EM: the objective of EM, then of SBE started where EM ended."""
    em, sbe = scene.results.find("EM"), scene.results.find("SBE")
    pairs = zip(em.records, sbe.records, strict=True)
    trap, out = max(pairs, key=lambda pair: pair[0].objective - pair[1].objective)
    before, after = trace_of(trap).objectives, trace_of(out).objectives
    figure = new_figure(7.5, 4.4)
    axes = figure.subplots()
    axes.plot(before[1:], color=COLORS["EM"], linewidth=2, label=f"EM: {trap.objective:.3f}")
    steps = np.arange(len(after)) + len(before) - 1
    axes.plot(steps, after, color=COLORS["SBE"], linewidth=2, label=f"SBE: {out.objective:.3f}")
    axes.set(xlabel="outer iteration: EM, then SBE", ylabel="objective φ")
    axes.set_title("SBE, started where EM is trapped", fontsize=11)
    axes.legend(title="final objective")
    axes.grid(alpha=0.3)
    remove_frame(axes)
    return [Picture("escape", f"Fig. 5: the objective of run {trap.run} on the features.", figure)]


def _timing(scene: Scene) -> list[Picture]:
    figure = new_figure(9.5, 4.2)
    by_time, by_points = figure.subplots(1, 2, sharey=True)
    for method in METHODS:
        for i, record in enumerate(scene.results.find(method).records):
            trace = trace_of(record)
            style = {"color": COLORS[method], "alpha": 0.6, "linewidth": 1.2, "label": None if i else method}
            by_time.plot(trace.seconds[1:], trace.objectives[1:], **style)
            distances = np.array(trace.points_read[1:]) * scene.results.rows[0].row.settings.n_clusters
            by_points.plot(distances, trace.objectives[1:], **style)
    for axes, label in ((by_time, "seconds on one thread"), (by_points, "distance evaluations")):
        axes.axhline(TARGET, color="0.4", linewidth=0.8, linestyle=":")
        axes.set(xscale="log", xlabel=label)
        remove_frame(axes)
    lowest = min(result.statistics.min for result in scene.results.rows)
    by_time.set(ylabel="objective φ", ylim=(lowest - 0.05, lowest * 1.08))
    by_time.legend()
    return [Picture("timing", f"The objective of every run against time and distances; dotted: {TARGET}.", figure)]


def _sensitivity(scene: Scene) -> list[Picture]:
    """For each averaging: the share of SBE runs that end at the floor, by start and decay."""
    rows = scene.results.matching(method="SBE")
    averagings = list(dict.fromkeys(result.row.settings.averaging for result in rows))
    starts = list(dict.fromkeys(result.row.settings.init for result in rows))
    decays = list(dict.fromkeys(result.row.settings.decay for result in rows))
    floor = min(result.statistics.min for result in rows)
    figure = new_figure(11, 3.2)
    for averaging, axes in zip(averagings, figure.subplots(1, len(averagings)), strict=True):
        share = np.zeros((len(starts), len(decays)))
        for result in scene.results.matching(method="SBE", averaging=averaging):
            at = starts.index(result.row.settings.init), decays.index(result.row.settings.decay)
            share[at] = np.mean(result.objectives <= AT_THE_FLOOR * floor)
        axes.imshow(share, vmin=0, vmax=1, cmap="GnBu")
        for (i, j), value in np.ndenumerate(share):
            color = "white" if value > 0.6 else "black"
            axes.text(j, i, f"{value:.0%}", ha="center", va="center", color=color, fontsize=9)
        axes.set_xticks(range(len(decays)), decays, fontsize=8)
        axes.set_yticks(range(len(starts)), starts if averaging == averagings[0] else [])
        axes.set_title(f"averaging {averaging:g}", fontsize=10)
        axes.set_xlabel("decay")
    caption = "Gaussian-MNIST, K = 8, M = 500, (100,5): the share of SBE runs that end within 0.1 % of the floor."
    return [Picture("sensitivity", caption, figure), _empty_centers(scene)]


def _empty_centers(scene: Scene) -> Picture:
    """For each row of Table 1 with a baseline: the means with each rule, a dot for each choice of digits."""
    by_settings = scene.results.by_digits()
    panels = list(dict.fromkeys((settings.method, settings.n_clusters) for settings in by_settings))
    figure = new_figure(11, 3.4)
    for (method, k), axes in zip(panels, figure.subplots(1, len(panels), squeeze=False)[0], strict=True):
        shown = [s for s in by_settings if (s.method, s.n_clusters) == (method, k)]
        for place, settings in enumerate(shown):
            results = by_settings[settings].values()
            means = [result.statistics.mean for result in results]
            axes.scatter([place] * len(means), means, s=26, color=COLORS[method], edgecolors="white", zorder=3)
            published = next(iter(results)).row.published.mean
        axes.axhline(published, color="0.4", linewidth=0.8, linestyle=":")
        axes.set_xticks(range(len(shown)), [f"{s.empty}\n{s.init}" for s in shown], fontsize=7)
        axes.set_xlim(-0.6, len(shown) - 0.4)
        axes.set_title(f"{method}, K = {k}", fontsize=10)
        remove_frame(axes)
        if (method, k) == panels[0]:
            axes.set_ylabel("mean objective φ")
    caption = (
        "What a center without points does, and where centers start: a dot is the mean of the runs for one choice "
        "of digits. Dotted: published."
    )
    return Picture("sensitivity-empty", caption, figure)


FIGURES: dict[str, Callable[[Scene], list[Picture]]] = {
    "gaussians": _gaussians,
    "iris": _iris,
    "table1": _table1,
    "table2": _table2,
    "table3": lambda scene: [_histograms(scene, 10)],
    "escape": _escape,
    "timing": _timing,
    "sensitivity": _sensitivity,
}

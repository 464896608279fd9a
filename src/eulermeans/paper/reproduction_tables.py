"""Results as tables, which can be written as Markdown, CSV and HTML.

Knows columns and number formats. Does not judge.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .claims import TARGET
from .experiments import Published, Verdict
from .run_records import Results, RowResult, Statistics

STATISTICS = ("min", "max", "mean", "variance")


@dataclass(frozen=True)
class Table:
    """Headings and cells, all as text."""

    headings: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """As Markdown."""
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)

    def csv(self) -> str:
        """As comma-separated values."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.headings, *self.rows])
        return text.getvalue()

    def html(self) -> str:
        """As an HTML table."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.headings)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in self.rows
        )
        return f"<table>\n<tr>{head}</tr>\n{body}</table>\n"


def table_of(results: Results) -> Table:
    """The experiment's table: published values beside measured ones."""
    return _timing(results) if results.experiment.name == "timing" else _objectives(results)


def summaries_of(results: Results) -> list[Table]:
    """The same for a terminal: each published value above the measured one."""
    if results.experiment.name == "timing":
        return [_narrow_timing(results)]
    if results.experiment.name == "sensitivity":
        return [grid_table(results), digits_table(results)]
    rows = []
    for k, method, size, iterations, choices, *values, agreement in _objectives(results).rows:
        what = f"{method}, K = {k}, M = {size}\n{iterations}, {choices}"
        pairs = map("\n".join, zip(values[::2], values[1::2], strict=True))
        rows.append([what, "paper\nours", *pairs, agreement.replace(", ", "\n", 1)])
    return [Table(["row", "", *STATISTICS, "mean"], rows)]


def grid_table(results: Results) -> Table:
    """SBE's mean for each start, averaging and decay, with one column per decay; the baselines' for each start."""
    decays = list(dict.fromkeys(result.row.settings.decay for result in results.matching(method="SBE")))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for result in results.rows:
        if result.row.data_seed is not None:
            continue
        settings = result.row.settings
        how = {"EM": "EM", "mb-EM": f"mb-EM, {settings.rule}", "SBE": f"SBE, averaging {settings.averaging:g}"}
        diverged = sum(record.diverged for record in result.records)
        text = f"{result.statistics.mean:.4f}" + (f" ({diverged} diverged)" if diverged else "")
        column = settings.decay if settings.method == "SBE" else decays[0]
        cells.setdefault((how[settings.method], settings.init), {})[column] = text
    rows = [[*what, *(by_decay.get(decay, "") for decay in decays)] for what, by_decay in cells.items()]
    return Table(["mean of", "start", *(f"decay {decay}" for decay in decays)], sorted(rows))


def digits_table(results: Results) -> Table:
    """Mean and variance of the baselines for each rule for empty centers; a column for each choice of digits.

    The last column counts the choices for which the mean agrees with the published one.
    """
    by_settings = results.by_digits()
    seeds = list(dict.fromkeys(seed for by_seed in by_settings.values() for seed in by_seed))
    headings = ["method", "K", "empty centers", "start", "paper"]
    headings += [*(f"seed {seed}" for seed in seeds), "all", "agree"]
    rows = []
    for settings, by_seed in by_settings.items():
        published = next(iter(by_seed.values())).row.published
        merged = RowResult(by_seed[seeds[0]].row, [r for result in by_seed.values() for r in result.records])
        cells = [settings.method, str(settings.n_clusters), settings.empty, settings.init]
        cells.append(_mean_and_variance(published))
        cells += [_mean_and_variance(by_seed[seed].statistics) for seed in seeds]
        n_agree = sum(_agrees(results, result) for result in by_seed.values())
        rows.append([*cells, _mean_and_variance(merged.statistics), f"{n_agree} of {len(by_seed)}"])
    return Table(headings, rows)


def _mean_and_variance(values: Published | Statistics) -> str:
    return f"{number(values.mean)} ({number(values.variance)})"


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """The claims and their verdicts."""
    return Table(
        ["claim", "criterion", "measured", "verdict"],
        [[v.claim, v.criterion, v.figure, "reproduced" if v.reproduced else "not reproduced"] for v in verdicts],
    )


def _objectives(results: Results) -> Table:
    published = any(result.row.published.mean or result.row.published.max for result in results.rows)
    headings = ["K", "method", "M", "iterations", "our choices"]
    paper = "paper" if results.scale == 1 else "paper, at our scale"
    for name in STATISTICS:
        headings += [f"{name}, {paper}", f"{name}, ours"] if published else [name]
    rows = []
    for result in results.rows:
        cells = _settings_cells(result)
        for name in STATISTICS:
            cells += [_published_cell(results, result, name)] if published else []
            cells += [number(getattr(result.statistics, name))]
        rows.append(cells + ([_agreement_cell(results, result)] if published else []))
    return Table(headings + (["mean vs. paper"] if published else []), rows)


def _timing(results: Results) -> Table:
    headings = ["K", "method", "M", "iterations", "our choices", "s per iteration, paper", "s per iteration, ours"]
    headings += [f"iterations to {TARGET}, paper", f"iterations to {TARGET}, ours", "seconds", "distances", "runs"]
    rows = []
    for result in results.rows:
        published = result.row.published
        efforts = sorted(result.effort_to(TARGET), key=lambda effort: effort.steps)
        cells = [*_settings_cells(result), number(published.seconds_per_step), number(result.seconds_per_step)]
        cells += ["" if published.steps_to_target is None else f"about {published.steps_to_target}"]
        if efforts:
            middle = efforts[len(efforts) // 2]
            cells += [str(middle.steps), number(middle.seconds), f"{middle.n_distances:,}"]
        else:
            cells += ["never", "", ""]
        rows.append([*cells, f"{len(efforts)} of {len(result.records)}"])
    return Table(headings, rows)


def _narrow_timing(results: Results) -> Table:
    headings = ["method", "M\niterations", "", "s per\niteration", f"iterations\nto {TARGET}", "seconds", "runs"]
    rows = []
    for _, method, size, iterations, _, *cells in _timing(results).rows:
        theirs, ours, their_steps, our_steps, seconds, _, runs = cells
        what = [method, f"{size}\n{iterations}", "paper\nours"]
        rows.append([*what, f"{theirs}\n{ours}", f"{their_steps}\n{our_steps}", f"\n{seconds}", f"\n{runs}"])
    return Table(headings, rows)


def _settings_cells(result: RowResult) -> list[str]:
    settings, seed = result.row.settings, result.row.data_seed
    return [
        str(settings.n_clusters),
        settings.method,
        "all" if settings.batch_size is None else str(settings.batch_size),
        settings.iterations,
        settings.choices + ("" if seed is None else f", digits of seed {seed}"),
    ]


def _published_cell(results: Results, result: RowResult, name: str) -> str:
    """The published value, converted to our scale if the scale of the data is ours."""
    value = getattr(result.row.published, name)
    if value is None:
        return ""
    return number(value * (results.scale**2 if name == "variance" else results.scale))


def _agreement_cell(results: Results, result: RowResult) -> str:
    deviation, tolerance = results.deviation(result), results.experiment.tolerance
    if deviation is None:
        return ""
    if tolerance is None:
        return f"{100 * deviation:+.2f} %"
    why = result.row.why_it_differs
    verdict = "agrees" if _agrees(results, result) else f"differs: {why}" if why else "differs"
    return f"{100 * deviation:+.2f} %, {verdict}"


def _agrees(results: Results, result: RowResult) -> bool:
    """Whether the mean is within the experiment's tolerance of the published one."""
    deviation, tolerance = results.deviation(result), results.experiment.tolerance
    return deviation is not None and tolerance is not None and abs(deviation) <= tolerance


def number(value: float | None) -> str:
    """Four decimals; scientific notation for small values; an empty string for None."""
    if value is None:
        return ""
    return f"{value:.4f}" if abs(value) >= 5e-3 or value == 0 else f"{value:.2e}"

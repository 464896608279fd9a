"""One experiment from start to finish: run what is missing, judge, and write tables, figures and the page.

The page is one self-contained HTML file with a section for each experiment in the output folder, in the paper's
order. Does not know the terminal.
"""

from __future__ import annotations

import base64
import json
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import date
from html import escape
from importlib.metadata import version
from pathlib import Path

from . import landscape
from .claims import verdicts
from .experiment_data import load_data
from .experiment_figures import FIGURES, Scene
from .experiment_runs import RunRecord, Task, run_tasks
from .experiments import Experiment, TableRow, Verdict, load_experiments, settings_key
from .figure_elements import Picture
from .reproduction_tables import Table, summaries_of, table_of, verdict_table
from .run_records import RecordFile, Results, RowResult

OnProgress = Callable[[str, int, int], None]  # what is being done, how much is done, and of how much (0: unknown)
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 76rem; margin: 2rem auto; padding: 0 1.2rem }
h1, h2 { line-height: 1.2 } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.5rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: .82rem; margin: 1rem 0 }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #e4e4e4; text-align: left; vertical-align: top }
th { background: #f5f7f8 } td { font-variant-numeric: tabular-nums }
.reproduced { color: #00798c } .not { color: #d1495b; font-weight: 600 }
pre { background: #f5f7f8; padding: .6rem .9rem; overflow-x: auto } figure { margin: 1.5rem 0 }
figure img { max-width: 100% } figcaption, .note { color: #555; font-size: .9rem }
"""


@dataclass(frozen=True)
class Options:
    """How much is run, and where the results go."""

    output: Path
    runs: int = 100
    jobs: int = 1
    seed: int = 0  # of the data and of the runs
    fresh: bool = False  # run again what has been run
    n_points: int | None = None  # use this many points, drawn at random; None uses all

    def command(self, name: str) -> str:
        """The command that repeats this experiment."""
        points = "" if self.n_points is None else f" --points {self.n_points}"
        return f"eulermeans reproduce {name} --runs {self.runs} --seed {self.seed}{points}"


@dataclass(frozen=True)
class Report:
    """The results of an experiment, for people."""

    experiment: Experiment
    n_runs: list[int]  # of a row, in ascending order if rows differ
    command: str
    folder: Path
    verdicts: list[Verdict]
    pictures: list[Picture]
    table: Table | None = None
    summaries: list[Table] = field(default_factory=list)  # the same for a terminal
    remark: str = ""  # on the data

    @property
    def runs(self) -> str:
        """How many runs the rows have."""
        return " or ".join(map(str, self.n_runs)) + " runs"


def reproduce(
    experiment: Experiment, options: Options, on_progress: OnProgress = lambda what, done, total: None
) -> Report:
    """Run what has not been run yet, and write all results to the output folder."""
    if experiment.dataset is None:
        report = _illustrate(experiment, options)
    else:
        report = _run(experiment, experiment.dataset, options, on_progress)
    on_progress(f"{experiment.name}: writing", 0, 0)
    _write(report)
    _write_index(options.output)
    return report


def _illustrate(experiment: Experiment, options: Options) -> Report:
    steps = landscape.compare(options.seed)
    return Report(
        experiment=experiment,
        n_runs=[landscape.N_RUNS],
        command=options.command(experiment.name),
        folder=options.output / experiment.name,
        verdicts=landscape.judge_claims(steps),
        pictures=[landscape.draw_landscape(steps)],
    )


@dataclass(frozen=True)
class _PlannedRow:
    """A row, how often it is run, and on which data."""

    row: TableRow
    key: str
    seed: int
    n_runs: int


def _plan(experiment: Experiment, row: TableRow, options: Options) -> _PlannedRow:
    seed = options.seed if row.data_seed is None else row.data_seed
    share = experiment.share_of_runs if row.share_of_runs is None else row.share_of_runs
    key = settings_key(row.settings, seed, options.n_points)
    return _PlannedRow(row, key, seed, max(1, round(options.runs * share)))


def _run(experiment: Experiment, dataset: str, options: Options, on_progress: OnProgress) -> Report:
    folder = options.output / experiment.name
    records = RecordFile(folder / "records.jsonl", fresh=options.fresh)
    planned = [_plan(experiment, row, options) for row in experiment.rows]
    tasks = {
        Task(plan.row.settings, plan.seed, run, plan.key): None  # a dictionary: two rows may need the same run
        for plan in planned
        for run in range(plan.n_runs)
    }
    missing = [task for task in tasks if (task.key, task.run) not in records]
    done = len(tasks) - len(missing)

    def keep(record: RunRecord) -> None:
        nonlocal done
        records.add(record)
        done += 1
        on_progress(experiment.name, done, len(tasks))

    jobs = 1 if experiment.one_at_a_time else options.jobs
    for seed in {task.seed: None for task in missing if task.seed != options.seed}:
        on_progress(f"{experiment.name}: data of seed {seed}", 0, 0)
        points = load_data(dataset, seed, options.n_points).points
        run_tasks([task for task in missing if task.seed == seed], points, jobs=jobs, on_done=keep)
    on_progress(f"{experiment.name}: data", 0, 0)
    data = load_data(dataset, options.seed, options.n_points)
    on_progress(experiment.name, done, len(tasks))
    run_tasks([task for task in missing if task.seed == options.seed], data.points, jobs=jobs, on_done=keep)
    rows = [RowResult(plan.row, records.runs_of(plan.key, plan.n_runs)) for plan in planned]
    results = Results(experiment, rows)
    on_progress(f"{experiment.name}: figures", 0, 0)
    return Report(
        experiment=experiment,
        n_runs=sorted({plan.n_runs for plan in planned}),
        command=options.command(experiment.name),
        folder=folder,
        verdicts=verdicts(results),
        pictures=FIGURES[experiment.name](Scene(results, data, options.seed)),
        table=table_of(results),
        summaries=summaries_of(results),
        remark=data.remark,
    )


def _write(report: Report) -> None:
    folder = report.folder
    folder.mkdir(parents=True, exist_ok=True)
    for picture in report.pictures:
        picture.save(folder)
    texts = {
        "verdicts.md": verdict_table(report.verdicts).markdown(),
        "verdicts.json": json.dumps([asdict(verdict) for verdict in report.verdicts], indent=1),
        "section.html": _html_section(report),
    }
    if report.table is not None:
        texts |= {"table.md": report.table.markdown(), "table.csv": report.table.csv()}
    if report.experiment.name == "sensitivity":
        texts["summary.md"] = "\n".join(table.markdown() for table in report.summaries)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _html_section(report: Report) -> str:
    """One experiment as a piece of HTML. Its pictures have been saved in its folder."""
    experiment = report.experiment
    notes = [experiment.note, report.remark, f"{report.runs} of each row." if report.table else ""]
    parts = [f"<h2>{escape(experiment.title)} <small>({escape(experiment.section)})</small></h2>\n"]
    parts += [f"<pre>{escape(report.command)}</pre>\n"]
    parts += [f'<p class="note">{escape(note)}</p>\n' for note in notes if note]
    judged = verdict_table(report.verdicts).html()
    judged = judged.replace("<td>reproduced", '<td class="reproduced">reproduced')
    judged = judged.replace("<td>not reproduced", '<td class="not">not reproduced')
    parts.append(f'<div class="scroll">{judged}</div>\n')
    if report.table is not None:
        parts.append(f'<div class="scroll">{report.table.html()}</div>\n')
    for picture in report.pictures:
        code = base64.b64encode((report.folder / f"{picture.name}.svg").read_bytes()).decode()
        image = f'<img src="data:image/svg+xml;base64,{code}" alt="{escape(picture.caption)}">'
        parts.append(f"<figure>{image}<figcaption>{escape(picture.caption)}</figcaption></figure>\n")
    return "".join(parts)


def _write_index(output: Path) -> None:
    """Write `index.html` with all the sections in the folder."""
    experiments = [e for e in load_experiments().values() if (output / e.name / "section.html").is_file()]
    summary = []
    for experiment in experiments:
        judged = json.loads((output / experiment.name / "verdicts.json").read_text(encoding="utf-8"))
        good = sum(verdict["reproduced"] for verdict in judged)
        summary.append([experiment.name, experiment.title, experiment.section, f"{good} of {len(judged)}"])
    table = Table(["name", "experiment", "in the paper", "claims reproduced"], summary)
    sections = "".join((output / e.name / "section.html").read_text(encoding="utf-8") for e in experiments)
    machine = f"{date.today().isoformat()}, {platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    (output / "index.html").write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stochastic Backward Euler, reproduced</title><style>{_STYLE}</style></head><body>
<h1>Stochastic Backward Euler, reproduced</h1>
<p>The experiments of <em>Stochastic Backward Euler: An Implicit Gradient Descent Algorithm for k-means
Clustering</em> (Yin, Pham, Oberman, Osher), run with eulermeans {escape(version("eulermeans"))}.
Every claim has a criterion that can fail. Where the paper leaves a detail open, the table shows what was
chosen.</p>
<p class="note">{escape(machine)}</p>
{table.html()}{sections}</body></html>
""",
        encoding="utf-8",
    )

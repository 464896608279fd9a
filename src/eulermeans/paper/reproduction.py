"""One experiment from start to finish: run what is missing, judge, and write tables, figures and a page section.

Knows the output folder. Does not know the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from . import landscape
from .claims import verdicts
from .experiment_data import load_data
from .experiment_figures import Scene, pictures
from .experiment_runs import RunRecord, Task, run_tasks
from .experiments import Experiment, Verdict, settings_key
from .figure_elements import Picture
from .reproduction_page import html_section, write_index
from .reproduction_tables import Table, narrow_table_of, table_of, verdict_table
from .run_records import RecordFile, Results, RowResult

OnProgress = Callable[[str, int, int], None]  # what is being done, how much is done, and of how much (0: unknown)


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
    n_runs: int
    command: str
    folder: Path
    verdicts: list[Verdict]
    pictures: list[Picture]
    table: Table | None = None
    narrow_table: Table | None = None  # the same for a terminal
    remark: str = ""  # on the data


def reproduce(experiment: Experiment, options: Options, on_progress: OnProgress | None = None) -> Report:
    """Run what has not been run yet, and write all results to the output folder."""
    on_progress = on_progress or (lambda what, done, total: None)
    if experiment.dataset is None:
        report = _illustrate(experiment, options)
    else:
        report = _run(experiment, experiment.dataset, options, on_progress)
    on_progress(f"{experiment.name}: writing", 0, 0)
    _write(report)
    write_index(options.output)
    return report


def _illustrate(experiment: Experiment, options: Options) -> Report:
    steps = landscape.compare(options.seed)
    return Report(
        experiment=experiment,
        n_runs=landscape.N_RUNS,
        command=options.command(experiment.name),
        folder=options.output / experiment.name,
        verdicts=landscape.judge_claims(steps),
        pictures=[landscape.draw_landscape(steps)],
    )


def _run(experiment: Experiment, dataset: str, options: Options, on_progress: OnProgress) -> Report:
    folder = options.output / experiment.name
    on_progress(f"{experiment.name}: data", 0, 0)
    data = load_data(dataset, options.seed, options.n_points)
    records = RecordFile(folder / "records.jsonl", fresh=options.fresh)
    n_runs = max(1, round(options.runs * experiment.share_of_runs))
    keyed_rows = [(settings_key(row.settings, options.seed, options.n_points), row) for row in experiment.rows]
    tasks = [
        Task(row.settings, options.seed, run, key)
        for key, row in keyed_rows
        for run in range(n_runs)
        if (key, run) not in records
    ]
    total = n_runs * len(keyed_rows)
    done = total - len(tasks)
    on_progress(experiment.name, done, total)

    def keep(record: RunRecord) -> None:
        nonlocal done
        records.add(record)
        done += 1
        on_progress(experiment.name, done, total)

    run_tasks(tasks, data.points, jobs=1 if experiment.one_at_a_time else options.jobs, on_done=keep)
    results = Results(experiment, [RowResult(row, records.runs_of(key, n_runs)) for key, row in keyed_rows])
    on_progress(f"{experiment.name}: figures", 0, 0)
    return Report(
        experiment=experiment,
        n_runs=n_runs,
        command=options.command(experiment.name),
        folder=folder,
        verdicts=verdicts(results),
        pictures=pictures(Scene(results, data, options.seed)),
        table=table_of(results),
        narrow_table=narrow_table_of(results),
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
        "section.html": html_section(report),
    }
    if report.table is not None:
        texts |= {"table.md": report.table.markdown(), "table.csv": report.table.csv()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")

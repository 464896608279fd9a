"""One experiment from beginning to end: run what is missing, judge, and leave tables, figures and a page section.

Knows the folder that comes of it. Does not know the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from . import landscape
from .catalogue import Experiment, key_of
from .claims import verdicts
from .data import load
from .drawing import Picture
from .figures import Scene, pictures
from .page import section, write_index
from .pool import Task, carry_out
from .results import Result, Results
from .running import RunRecord
from .store import Store
from .tables import Table, narrow_table_of, table_of, verdict_table
from .verdict import Verdict

Watch = Callable[[str, int, int], None]  # what is done, how much of it is done, of how much


@dataclass(frozen=True)
class Options:
    """How much is run and where it is left."""

    output: Path
    runs: int = 100
    jobs: int = 1
    seed: int = 0  # of the data and of the runs
    fresh: bool = False
    n_points: int | None = None  # of the data, drawn at random; None takes all

    def command(self, name: str) -> str:
        """What does this experiment again."""
        points = "" if self.n_points is None else f" --points {self.n_points}"
        return f"eulermeans reproduce {name} --runs {self.runs} --seed {self.seed}{points}"


@dataclass(frozen=True)
class Report:
    """What came of an experiment, for people."""

    experiment: Experiment
    n_runs: int
    command: str
    remark: str  # on the data
    table: Table | None
    narrow_table: Table | None  # the same for a terminal
    verdicts: list[Verdict]
    pictures: list[Picture]
    folder: Path


def reproduce(experiment: Experiment, options: Options, watch: Watch | None = None) -> Report:
    """Run what has not been run yet, and write everything that can be told of it."""
    watch = watch or (lambda what, done, total: None)
    report = _landscape(experiment, options) if experiment.dataset is None else _runs(experiment, options, watch)
    watch(f"{experiment.name}: writing", 0, 0)
    _write(report)
    write_index(options.output)
    return report


def _landscape(experiment: Experiment, options: Options) -> Report:
    steps = landscape.compare(options.seed)
    return Report(
        experiment=experiment,
        n_runs=landscape.N_RUNS,
        command=options.command(experiment.name),
        remark="",
        table=None,
        narrow_table=None,
        verdicts=landscape.judge(steps),
        pictures=[landscape.draw(steps)],
        folder=options.output / experiment.name,
    )


def _runs(experiment: Experiment, options: Options, watch: Watch) -> Report:
    assert experiment.dataset is not None
    folder = options.output / experiment.name
    watch(f"{experiment.name}: data", 0, 0)
    data = load(experiment.dataset, options.seed, options.n_points)
    store = Store(folder / "records.jsonl", fresh=options.fresh)
    n_runs = max(1, round(options.runs * experiment.share_of_runs))
    keys = [key_of(row.settings, options.seed, options.n_points) for row in experiment.rows]
    tasks = [
        Task(row.settings, key, options.seed, run)
        for row, key in zip(experiment.rows, keys, strict=True)
        for run in range(n_runs)
        if (key, run) not in store
    ]
    total = n_runs * len(keys)
    done = total - len(tasks)
    watch(experiment.name, done, total)

    def keep(record: RunRecord) -> None:
        nonlocal done
        store.add(record)
        done += 1
        watch(experiment.name, done, total)

    carry_out(tasks, data.points, jobs=1 if experiment.one_at_a_time else options.jobs, on_done=keep)
    rows = [Result(row, store.runs_of(key, n_runs)) for row, key in zip(experiment.rows, keys, strict=True)]
    results = Results(experiment, rows)
    watch(f"{experiment.name}: figures", 0, 0)
    return Report(
        experiment=experiment,
        n_runs=n_runs,
        command=options.command(experiment.name),
        remark=data.remark,
        table=table_of(results),
        narrow_table=narrow_table_of(results),
        verdicts=verdicts(results),
        pictures=pictures(Scene(results, data, options.seed)),
        folder=folder,
    )


def _write(report: Report) -> None:
    folder = report.folder
    folder.mkdir(parents=True, exist_ok=True)
    if report.table is not None:
        (folder / "table.md").write_text(report.table.markdown(), encoding="utf-8")
        (folder / "table.csv").write_text(report.table.csv(), encoding="utf-8")
    (folder / "verdicts.md").write_text(verdict_table(report.verdicts).markdown(), encoding="utf-8")
    (folder / "verdicts.json").write_text(
        json.dumps([asdict(v) for v in report.verdicts], indent=1), encoding="utf-8"
    )
    for picture in report.pictures:
        picture.save(folder)
    text = section(
        title=report.experiment.title,
        place=report.experiment.section,
        notes=[
            report.experiment.note,
            report.remark,
            f"{report.n_runs} runs of each row." if report.table else "",
        ],
        command=report.command,
        table=report.table,
        verdicts=report.verdicts,
        images=[(folder / f"{picture.name}.svg", picture.caption) for picture in report.pictures],
    )
    (folder / "section.html").write_text(text, encoding="utf-8")

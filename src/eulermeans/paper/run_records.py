"""The records of finished runs: kept in a file, and summarized by the statistics that the paper reports.

Does not know how the runs were made, nor how the results are shown or judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..arrays import FloatArray
from .experiment_runs import RunRecord, Trace
from .experiments import Experiment, Settings, TableRow


class RecordFile:
    """The finished runs of one experiment, one JSON line each, so that an interrupted experiment can resume."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            path.unlink(missing_ok=True)
        self._path = path
        self._records = {(record.key, record.run): record for record in _read(path)}

    def __contains__(self, key_and_run: tuple[str, int]) -> bool:
        return key_and_run in self._records

    def add(self, record: RunRecord) -> None:
        """Keep the record: it is on disk when this returns."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(record.to_json() + "\n")
        self._records[record.key, record.run] = record

    def runs_of(self, key: str, n_runs: int) -> list[RunRecord]:
        """The first `n_runs` runs with this key, in order, without the missing ones."""
        return [self._records[key, run] for run in range(n_runs) if (key, run) in self._records]


def _read(path: Path) -> list[RunRecord]:
    """The records in the file. An incomplete last line is cut off."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        path.write_bytes(whole)
    return [RunRecord.from_json(line) for line in whole.splitlines()]


@dataclass(frozen=True)
class Statistics:
    """Statistics of the objectives of some runs, as in the paper's tables."""

    min: float
    max: float
    mean: float
    variance: float


@dataclass(frozen=True)
class Effort:
    """What it took to reach an objective."""

    steps: int
    seconds: float
    n_distances: int


@dataclass(frozen=True)
class RowResult:
    """A row of a table and its runs."""

    row: TableRow
    records: list[RunRecord]

    @property
    def objectives(self) -> FloatArray:
        """The exact objective at the end of each run, (n_runs,)."""
        return np.array([record.objective for record in self.records])

    @property
    def ranked(self) -> list[RunRecord]:
        """The records from the lowest to the highest objective."""
        return sorted(self.records, key=lambda record: record.objective)

    @property
    def statistics(self) -> Statistics:
        """Of the objectives."""
        values = self.objectives
        return Statistics(float(values.min()), float(values.max()), float(values.mean()), float(values.var()))

    @property
    def seconds_per_step(self) -> float:
        """The median over the runs, from their traces."""
        return float(np.median([trace_of(record).seconds[-1] / record.steps for record in self.records]))

    def effort_to(self, target: float) -> list[Effort]:
        """What each run took to bring its objective down to the target, without the runs that never did."""
        efforts = []
        for trace in map(trace_of, self.records):
            step = next((i for i, objective in enumerate(trace.objectives) if objective <= target), None)
            if step is not None:
                n_distances = trace.points_read[step] * self.row.settings.n_clusters
                efforts.append(Effort(step, trace.seconds[step], n_distances))
        return efforts


def trace_of(record: RunRecord) -> Trace:
    """The trace of a run that was made with one."""
    assert record.trace is not None, "the row was run without a trace"
    return record.trace


@dataclass(frozen=True)
class Results:
    """An experiment and all its runs."""

    experiment: Experiment
    rows: list[RowResult]

    def matching(self, **settings: object) -> list[RowResult]:
        """All rows with these settings."""
        return [r for r in self.rows if all(getattr(r.row.settings, key) == settings[key] for key in settings)]

    def find(self, method: str, n_clusters: int | None = None, batch_size: int | None = None) -> RowResult:
        """The first row of this method with these settings; None matches any."""
        wanted = {"method": method, "n_clusters": n_clusters, "batch_size": batch_size}
        found = self.matching(**{name: value for name, value in wanted.items() if value is not None})
        if not found:
            raise LookupError(f"{self.experiment.name} has no row with {wanted}")
        return found[0]

    def by_digits(self) -> dict[Settings, dict[int, RowResult]]:
        """The rows that were run on data of several seeds: by settings, then by seed."""
        found: dict[Settings, dict[int, RowResult]] = {}
        for result in self.rows:
            if result.row.data_seed is not None:
                found.setdefault(result.row.settings, {})[result.row.data_seed] = result
        return found

    @property
    def scale(self) -> float:
        """The factor from published objectives to ours: 1, or EM's ratio if the scale of the data is ours."""
        em = self.find("EM")
        published = em.row.published.min if self.experiment.relative else None
        return 1.0 if published is None else em.statistics.min / published

    def deviation(self, result: RowResult) -> float | None:
        """The relative deviation of the mean from the published one; None if none is published."""
        published = result.row.published.mean
        return None if published is None else result.statistics.mean / (self.scale * published) - 1

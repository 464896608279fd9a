"""What came of an experiment: the rows with their runs, and the statistics that the paper gives of them.

Knows records. Does not know how they are shown or judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from .catalogue import Experiment, Row
from .running import RunRecord, Trace


@dataclass(frozen=True)
class Statistics:
    """Of the objectives of some runs, as the paper's tables have them."""

    min: float
    max: float
    mean: float
    variance: float


@dataclass(frozen=True)
class Result:
    """A row and its runs."""

    row: Row
    records: list[RunRecord]

    @property
    def objectives(self) -> FloatArray:
        """The exact objective at the end of each run, (n_runs,)."""
        return np.array([record.objective for record in self.records])

    @property
    def statistics(self) -> Statistics:
        """Of the objectives."""
        values = self.objectives
        return Statistics(float(values.min()), float(values.max()), float(values.mean()), float(values.var()))

    @property
    def seconds_per_step(self) -> float:
        """The median over the runs, by their traces."""
        return float(np.median([_trace(record).seconds[-1] / record.steps for record in self.records]))

    def effort_to(self, target: float) -> list[Effort]:
        """What each run took until its objective was at or below the target; runs that never were are left out."""
        return [effort for record in self.records if (effort := _effort(record, target)) is not None]


@dataclass(frozen=True)
class Effort:
    """What it took to get somewhere."""

    steps: int
    seconds: float
    points_read: int


@dataclass(frozen=True)
class Results:
    """An experiment and all its runs."""

    experiment: Experiment
    rows: list[Result]

    def find(
        self, method: str, n_clusters: int | None = None, batch_size: int | None = None, **settings: object
    ) -> Result:
        """The first row of this method with, where given, these settings."""
        wanted = {"method": method, "n_clusters": n_clusters, "batch_size": batch_size, **settings}
        for result in self.rows:
            if all(value is None or getattr(result.row.settings, key) == value for key, value in wanted.items()):
                return result
        raise LookupError(f"{self.experiment.name} has no row with {wanted}")

    @property
    def scale(self) -> float:
        """What published objectives are multiplied by to be compared with ours: 1 unless the data's scale is ours.

        Then it is such that EM's lowest objectives are the same.
        """
        if not self.experiment.relative:
            return 1.0
        reference = self.find("EM")
        published = reference.row.published.min
        return 1.0 if published is None else reference.statistics.min / published

    def deviation(self, result: Result) -> float | None:
        """How far the mean lies above the published one, as a share of it; None where there is none published."""
        published = result.row.published.mean
        return None if published is None else result.statistics.mean / (self.scale * published) - 1

    def agrees(self, result: Result) -> bool | None:
        """Whether the mean is the published one within the tolerance; None where there is nothing to compare."""
        deviation, tolerance = self.deviation(result), self.experiment.tolerance
        return None if deviation is None or tolerance is None else abs(deviation) <= tolerance


def _trace(record: RunRecord) -> Trace:
    assert record.trace is not None, "the row was run without a trace"
    return record.trace


def _effort(record: RunRecord, target: float) -> Effort | None:
    trace = _trace(record)
    for step, objective in enumerate(trace.objectives):
        if objective <= target:
            return Effort(step, trace.seconds[step], trace.points_read[step])
    return None

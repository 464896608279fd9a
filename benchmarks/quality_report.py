"""What the runs of the quality benchmark say: scores and tables."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np
from quality_methods import METHODS, OURS
from quality_sets import LARGE

NEWS = 1e-6  # a part of the best known that is no rounding


@dataclass(frozen=True)
class Run:
    problem: str
    method: str
    seed: int
    inertia: float
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Score:
    """A method on a set. Excess is in per cent of the best known."""

    excesses: list[float]
    seconds: float  # median
    cpu_seconds: float

    @property
    def mean(self) -> float:
        return statistics.mean(self.excesses)

    @property
    def worst(self) -> float:
        return max(self.excesses)

    @property
    def spread(self) -> float:
        return self.worst - min(self.excesses)

    def time(self, clock: str) -> float:
        return self.seconds if clock == "wall" else self.cpu_seconds


class Results:
    """All runs so far, and what they are measured by."""

    def __init__(self, runs: list[Run], best_known: dict[str, float], sizes: dict[str, int], clock: str) -> None:
        self.clock = clock  # "wall" or "CPU": which time is judged by
        self.sizes = sizes
        self.best_known = best_known
        self.best_found = {
            name: min(run.inertia for run in runs if run.problem == name) for name in {run.problem for run in runs}
        }
        self.scores: dict[tuple[str, str], Score] = {}
        for problem, method in dict.fromkeys((run.problem, run.method) for run in runs):
            mine = [run for run in runs if (run.problem, run.method) == (problem, method)]
            best = min(self.best_found[problem], best_known[problem])
            self.scores[problem, method] = Score(
                [100 * (run.inertia / best - 1) for run in mine],
                statistics.median(run.seconds for run in mine),
                statistics.median(run.cpu_seconds for run in mine),
            )
        self.problems = [name for name in best_known if any(problem == name for problem, _ in self.scores)]
        self.methods = [m.name for m in METHODS if any(method == m.name for _, method in self.scores)]

    def relative_time(self, problem: str, method: str, clock: str | None = None) -> float | None:
        """How many times as long as ours."""
        ours, theirs = self.scores.get((problem, OURS)), self.scores.get((problem, method))
        if ours is None or theirs is None:
            return None
        clock = clock or self.clock
        return theirs.time(clock) / max(ours.time(clock), 1e-9)

    def better_than_known(self) -> dict[str, float]:
        return {
            name: found
            for name, found in self.best_found.items()
            if np.isfinite(self.best_known[name]) and found < (1 - NEWS) * self.best_known[name]
        }

    def shared(self, peer: str) -> list[str]:
        """The sets, without the large one, on which both ran."""
        names = [name for name in self.problems if name != LARGE]
        return [name for name in names if {(name, OURS), (name, peer)} <= self.scores.keys()]


def set_table(results: Results, problem: str) -> list[list[str]]:
    rows = [["method", "seeds", "mean %", "worst %", "spread", "seconds", "time / ours", "CPU time / ours"]]
    for method in results.methods:
        score = results.scores.get((problem, method))
        if score is None:
            continue
        times = [results.relative_time(problem, method, clock) for clock in ("wall", "CPU")]
        rows.append(
            [
                method,
                str(len(score.excesses)),
                *(f"{value:.3f}" for value in (score.mean, score.worst, score.spread, score.seconds)),
                *("-" if ratio is None else f"{ratio:.2f}" for ratio in times),
            ]
        )
    return rows


def headline_table(results: Results) -> list[list[str]]:
    """Mean excess in per cent, and in brackets the time relative to ours."""
    rows = [["set", *results.methods]]
    for problem in results.problems:
        row = [problem]
        for method in results.methods:
            score, ratio = results.scores.get((problem, method)), results.relative_time(problem, method)
            row.append(
                "-" if score is None else f"{score.mean:.2f}" + ("" if ratio is None else f" ({ratio:.1f})")
            )
        rows.append(row)
    return rows


def as_markdown(rows: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], rule, *rows[1:]])


def as_text(rows: list[list[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(lines)


def spreads(results: Results) -> list[list[str]]:
    """Max − min over seeds, in points."""
    rows = [["spread", *results.methods]]
    for problem in results.problems:
        scores = [results.scores.get((problem, method)) for method in results.methods]
        rows.append([problem, *("-" if score is None else f"{score.spread:.2f}" for score in scores)])
    return rows


def profile(results: Results, method: str, within: np.ndarray) -> np.ndarray:
    """The part of the set-seed pairs whose excess is at most each of these."""
    excesses = [
        excess
        for (problem, name), score in results.scores.items()
        if name == method and problem != LARGE
        for excess in score.excesses
    ]
    return np.searchsorted(np.sort(excesses), within, side="right") / max(1, len(excesses))

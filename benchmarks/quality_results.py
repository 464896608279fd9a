"""The runs of the quality benchmark: how they are stored, and the scores that follow from them."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field
from typing import Any

from quality_methods import METHODS, OURS
from quality_sets import Problem

NEW_BEST = 1e-6  # relative: less than the best known by more than rounding


@dataclass(frozen=True)
class Run:
    problem: str
    method: str
    seed: int
    inertia: float
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class ProblemFacts:
    """What the results need to know of a problem once its points are gone."""

    name: str
    family: str
    n_points: int
    n_features: int
    n_clusters: int
    best_known: float | None
    proven: bool
    held_out: bool

    @classmethod
    def of(cls, problem: Problem) -> ProblemFacts:
        data = problem.data
        n_points, n_features = data.points.shape
        return cls(
            problem.name, data.family or data.name, n_points, n_features, problem.n_clusters, problem.best_known,
            problem.proven, data.held_out,
        )  # fmt: skip


@dataclass
class Record:
    """All that is stored of a regime."""

    regime: str
    threads: int
    problems: dict[str, ProblemFacts] = field(default_factory=dict)
    methods: dict[str, dict[str, str]] = field(default_factory=dict)  # what, version and date of the last run
    missing: dict[str, str] = field(default_factory=dict)  # methods that are not available, and why
    notes: list[str] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    @property
    def clock(self) -> str:
        """Which time is judged by. CPU time counts one thread's work even if others use the machine."""
        return "CPU" if self.threads == 1 else "wall"

    def drop(self, problem: str, method: str) -> None:
        """Forget the runs that are about to be repeated."""
        self.runs = [run for run in self.runs if (run.problem, run.method) != (problem, method)]
        self.failures = [f for f in self.failures if (f["problem"], f["method"]) != (problem, method)]

    def keep(self, problems: list[str], methods: list[str]) -> None:
        """Brings the problems into this order, and forgets problems and methods that the regime no longer has."""
        self.problems = {name: self.problems[name] for name in problems if name in self.problems}
        self.methods = {name: self.methods[name] for name in methods if name in self.methods}
        self.runs = [run for run in self.runs if run.problem in problems and run.method in methods]
        self.failures = [f for f in self.failures if f["problem"] in problems and f["method"] in methods]

    def stored(self) -> dict[str, Any]:
        return asdict(self) | {
            "problems": [asdict(facts) for facts in self.problems.values()],
            "judged_by": self.clock,
        }

    @classmethod
    def load(cls, stored: dict[str, Any]) -> Record:
        return cls(
            regime=stored["regime"],
            threads=stored["threads"],
            problems={facts["name"]: ProblemFacts(**facts) for facts in stored["problems"]},
            methods=stored["methods"],
            missing=stored["missing"],
            notes=stored["notes"],
            failures=stored["failures"],
            runs=[Run(**run) for run in stored["runs"]],
        )


@dataclass(frozen=True)
class Score:
    """A method on a problem. Excess is in per cent of the best known."""

    inertia: float  # mean
    excesses: list[float]
    seconds: float  # median
    cpu_seconds: float  # median

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
        return max(1e-9, self.seconds if clock == "wall" else self.cpu_seconds)


def fixed(value: float, digits: int) -> str:
    """With so many decimals, and without the sign of -0.00."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


class Results:
    """What the runs of one regime say."""

    def __init__(self, record: Record) -> None:
        self.record, self.clock, self.facts = record, record.clock, record.problems
        pairs: dict[tuple[str, str], list[Run]] = {}
        for run in record.runs:
            pairs.setdefault((run.problem, run.method), []).append(run)
        self.problems = [name for name in record.problems if any(problem == name for problem, _ in pairs)]
        self.methods = [name for name in METHODS if any(method == name for _, method in pairs)]
        self.best_found = {
            name: min(run.inertia for run in record.runs if run.problem == name) for name in self.problems
        }
        self.scores = {
            (problem, method): Score(
                statistics.mean(run.inertia for run in runs),
                [100 * (run.inertia / self.best(problem) - 1) for run in runs],
                statistics.median(run.seconds for run in runs),
                statistics.median(run.cpu_seconds for run in runs),
            )
            for (problem, method), runs in pairs.items()
        }

    def best(self, problem: str) -> float:
        """The best known, or the best of these runs if that is lower or if none is known."""
        best_known = self.facts[problem].best_known
        found = self.best_found[problem]
        if best_known is None:
            return found
        return best_known if self.facts[problem].proven else min(best_known, found)

    def score(self, problem: str, method: str) -> Score | None:
        return self.scores.get((problem, method))

    def seconds(self, problem: str, method: str) -> float:
        """By the clock that is judged by."""
        return self.scores[problem, method].time(self.clock)

    def relative_time(self, problem: str, method: str, clock: str | None = None) -> float | None:
        """How many times as long as ours."""
        ours = self.score(problem, self.default)
        theirs = self.score(problem, method)
        if ours is None or theirs is None:
            return None
        return theirs.time(clock or self.clock) / ours.time(clock or self.clock)

    @property
    def default(self) -> str:
        """Our method that times are relative to: the default, or the first one of ours if that did not run."""
        ours = [name for name in self.methods if METHODS[name].ours]
        return OURS if OURS in ours or not ours else ours[0]

    def shared(self, *methods: str) -> list[str]:
        """The problems on which all these ran."""
        return [name for name in self.problems if all((name, method) in self.scores for method in methods)]

    def better_than_known(self) -> dict[str, float]:
        known = {name: facts.best_known for name, facts in self.facts.items() if not facts.proven}
        return {
            name: found
            for name, found in self.best_found.items()
            if (best := known.get(name)) is not None and found < (1 - NEW_BEST) * best
        }

    def scores_stored(self) -> list[dict[str, Any]]:
        return [
            {
                "problem": problem,
                "method": method,
                "runs": len(score.excesses),
                "inertia": score.inertia,
                "mean": score.mean,
                "worst": score.worst,
                "spread": score.spread,
                "seconds": score.seconds,
                "cpu_seconds": score.cpu_seconds,
                "time_relative_to_ours": self.relative_time(problem, method, "wall"),
                "cpu_time_relative_to_ours": self.relative_time(problem, method, "CPU"),
            }
            for (problem, method), score in self.scores.items()
        ]

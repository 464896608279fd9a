"""The experiments, read from published.toml: what is run, what the paper says of it, what we chose.

Knows what an experiment is made of. Does not know how it is run or shown.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from itertools import product
from typing import Any, Literal

from ..optional import optional

Method = Literal["EM", "mb-EM", "SBE"]


@dataclass(frozen=True)
class Published:
    """What the paper publishes of a row; None where it does not."""

    min: float | None = None
    max: float | None = None
    mean: float | None = None
    variance: float | None = None
    seconds_per_step: float | None = None
    steps_to_target: int | None = None


@dataclass(frozen=True)
class Settings:
    """All that decides what a run computes, besides the data and the random numbers."""

    method: Method
    n_clusters: int
    init: str  # as in seeding, or "paper": the four centers of Sec. 3.1
    steps: int  # outer iterations; for EM at most
    inner: int | None = None  # fixed-point iterations of SBE
    batch_size: int | None = None  # None: all points
    averaging: float = 0.75
    decay: str = "1"  # as it is written in the paper: "1/1.01"
    rule: Literal["mean", "count"] = "mean"  # of mini-batch EM
    after_em: bool = False  # start where EM from the same start is stuck
    trace: bool = False  # note the exact objective after every step

    @property
    def decay_factor(self) -> float:
        """The factor by which the step size changes in each step."""
        numerator, _, denominator = self.decay.partition("/")
        return float(numerator) / float(denominator or 1)

    @property
    def iterations(self) -> str:
        """As the paper writes them: a number, or (outer, inner)."""
        return f"({self.steps},{self.inner})" if self.method == "SBE" else str(self.steps)

    @property
    def choices(self) -> str:
        """What of this the paper leaves open."""
        start = {"paper": "the paper's start"}.get(self.init, self.init)
        parts = [f"EM from {start}" if self.after_em else start]
        if self.method == "SBE":
            parts.append(f"decay {self.decay}")
            if self.averaging != 0.75:
                parts.append(f"averaging {self.averaging:g}")
        if self.method == "mb-EM":
            parts.append({"mean": "batch means", "count": "1/count"}[self.rule])
        return ", ".join(parts)


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    settings: Settings
    published: Published


@dataclass(frozen=True)
class Experiment:
    """One section of the paper."""

    name: str
    title: str
    section: str
    dataset: str | None  # None: nothing is run
    rows: tuple[Row, ...]
    tolerance: float | None  # relative, of a mean that agrees with the published one
    relative: bool  # objectives are compared as multiples of EM's lowest
    share_of_runs: float
    one_at_a_time: bool  # since time is measured
    note: str


def catalogue() -> dict[str, Experiment]:
    """All experiments by name, in the paper's order."""
    toml = optional("tomllib" if sys.version_info >= (3, 11) else "tomli", "cli")
    text = files(__package__).joinpath("published.toml").read_text(encoding="utf-8")
    return {name: _experiment(name, entry) for name, entry in toml.loads(text).items()}


def key_of(settings: Settings, seed: int, n_points: int | None) -> str:
    """A short name for what is run on what: records with another key are of another experiment."""
    content = json.dumps([asdict(settings), seed, n_points], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def shorten(experiment: Experiment, steps: int) -> Experiment:
    """The same experiment with fewer steps, for a quick look."""
    rows = [
        replace(row, settings=replace(row.settings, steps=min(steps, row.settings.steps)))
        for row in experiment.rows
    ]
    return replace(experiment, rows=tuple(rows))


def _experiment(name: str, entry: dict[str, Any]) -> Experiment:
    defaults = entry.get("defaults", {})
    rows = [row for written in entry.get("rows", []) for row in _rows({**defaults, **written})]
    return Experiment(
        name=name,
        title=entry["title"],
        section=entry["section"],
        dataset=entry.get("dataset"),
        rows=tuple(rows),
        tolerance=entry.get("tolerance"),
        relative=entry.get("relative", False),
        share_of_runs=entry.get("share_of_runs", 1.0),
        one_at_a_time=entry.get("one_at_a_time", False),
        note=entry.get("note", ""),
    )


def _rows(written: dict[str, Any]) -> Iterator[Row]:
    """One row for each combination of the values that are lists."""
    published = Published(**written.pop("published", {}))
    choices = {name: value if isinstance(value, list) else [value] for name, value in written.items()}
    for values in product(*choices.values()):
        yield Row(Settings(**dict(zip(choices, values, strict=True))), published)

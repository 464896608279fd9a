"""The experiments, read from published.toml: what is run, what the paper reports, and what we chose.

Knows what an experiment consists of. Does not know how it is run or shown.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import product
from typing import Any, Literal, get_args

from ..optional import optional

Method = Literal["EM", "mb-EM", "SBE"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class Published:
    """What the paper reports for a row; None where it does not."""

    min: float | None = None
    max: float | None = None
    mean: float | None = None
    variance: float | None = None
    seconds_per_step: float | None = None
    steps_to_target: int | None = None


@dataclass(frozen=True)
class Settings:
    """Everything that determines a run, except the data and the random numbers."""

    method: Method
    n_clusters: int
    init: str  # a name that `seeding.seed` knows, or "paper": the four centers of Sec. 3.1
    steps: int  # outer iterations; for EM, at most
    inner: int | None = None  # fixed-point iterations of SBE
    batch_size: int | None = None  # None: all points
    averaging: float = 0.75
    decay: str = "1"  # as the paper writes it: "1/1.01"
    rule: Literal["mean", "count"] = "mean"  # of mini-batch EM
    empty: Literal["stay", "reseed", "farthest"] = "stay"  # centers without points of EM and mini-batch EM
    after_em: bool = False  # start where EM from the same start gets stuck
    trace: bool = False  # record the exact objective after every step

    @property
    def decay_factor(self) -> float:
        """The factor that the step size is multiplied by in each step."""
        numerator, _, denominator = self.decay.partition("/")
        return float(numerator) / float(denominator or 1)

    @property
    def iterations(self) -> str:
        """As the paper writes them: a number, or (outer, inner)."""
        return f"({self.steps},{self.inner})" if self.method == "SBE" else str(self.steps)

    @property
    def choices(self) -> str:
        """The settings that the paper leaves open."""
        start = {"paper": "the paper's start"}.get(self.init, self.init)
        parts = [f"EM from {start}" if self.after_em else start]
        if self.method == "SBE":
            parts.append(f"decay {self.decay}")
            if self.averaging != 0.75:
                parts.append(f"averaging {self.averaging:g}")
        if self.method == "mb-EM":
            parts.append({"mean": "batch means", "count": "1/count"}[self.rule])
        if self.method != "SBE":
            parts.append(f"empty centers: {self.empty}")
        return ", ".join(parts)


@dataclass(frozen=True)
class TableRow:
    """One row of a table."""

    settings: Settings
    published: Published
    why_it_differs: str = ""  # said if the mean does not agree with the published one
    data_seed: int | None = None  # of the data and of the runs; None: the seed asked for
    share_of_runs: float | None = None  # fraction of the runs asked for; None: the experiment's


@dataclass(frozen=True)
class Experiment:
    """One section of the paper."""

    name: str
    title: str
    section: str
    rows: tuple[TableRow, ...]
    dataset: str | None = None  # None: nothing is run
    tolerance: float | None = None  # a mean agrees with the published one within this relative difference
    relative: bool = False  # objectives are compared as multiples of EM's lowest
    share_of_runs: float = 1.0  # fraction of the runs asked for
    one_at_a_time: bool = False  # because time is measured
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """A claim of the paper, the criterion it is judged by, and the outcome."""

    claim: str
    criterion: str
    figure: str  # what was measured
    reproduced: bool


def load_experiments() -> dict[str, Experiment]:
    """All experiments by name, in the paper's order."""
    toml = optional("tomllib" if sys.version_info >= (3, 11) else "tomli", "cli")
    text = files(__package__).joinpath("published.toml").read_text(encoding="utf-8")
    return {name: _experiment(name, entry) for name, entry in toml.loads(text).items()}


def settings_key(settings: Settings, seed: int, n_points: int | None) -> str:
    """A short hash of what is run on which data. Records with another key belong to another experiment."""
    content = json.dumps([asdict(settings), seed, n_points], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def _experiment(name: str, entry: dict[str, Any]) -> Experiment:
    defaults = entry.pop("defaults", {})
    rows = [row for written in entry.pop("rows", []) for row in _rows({**defaults, **written})]
    return Experiment(name=name, rows=tuple(rows), **entry)


def _rows(written: dict[str, Any]) -> Iterator[TableRow]:
    """One row for each combination of the values that are lists."""
    published = Published(**written.pop("published", {}))
    rest = {name: written.pop(name) for name in ("why_it_differs", "share_of_runs") if name in written}
    seeds = written.pop("data_seeds", [None])
    choices = {name: value if isinstance(value, list) else [value] for name, value in written.items()}
    for values in product(*choices.values()):
        settings = Settings(**dict(zip(choices, values, strict=True)))
        for seed in seeds:
            yield TableRow(settings, published, data_seed=seed, **rest)

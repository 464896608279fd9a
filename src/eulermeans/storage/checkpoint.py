"""Checkpoints: a file from which a killed fit resumes, to end with the same bits.

A fit is a sequence of phases. The file holds the result of each phase that has ended and the state of the current
one. A fit that finds such a file starts from the beginning, but takes those phases from the file. Does not know
what the phases do.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array, FloatArray
from ..history import Record, StopReason
from ..oracles import Oracle
from ..solvers import Memory
from .container import Contents, Header, InvalidContents, read, write
from .packing import Estimator

FORMAT = 1
SECONDS = 30.0  # the shortest time between two snapshots within a phase
PATIENCE = 20.0  # the same as a multiple of the time it took to write the last snapshot; the longer one applies
_FREE = {"n_threads", "max_time", "memory_limit", "compute_labels"}  # may change when a fit resumes


@dataclass(frozen=True)
class Snapshot:
    """The state of a phase, or its result."""

    phase: str
    centers: FloatArray  # (n_clusters, n_features)
    step: int  # steps taken so far
    ceiling: float  # the objective above which the phase counts as diverged
    records: list[Record]  # of those steps
    rng: Mapping[str, Any]  # state of the fit's random generator after them
    seconds: float  # since the fit began
    ended: StopReason | None  # None: the phase has not ended
    memory: Memory  # of the solver; empty if the phase has ended


class Checkpoint:
    """The snapshots of one fit, and the file that holds them."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        estimator: Estimator,  # to be fitted: if the file exists, its parameters must be the same
        rng: np.random.Generator,  # of the whole fit; gets the state that the fit in the file began with, INOUT
    ) -> None:
        self.path = Path(path)
        self.rng = rng
        self._fit: Header = {}
        self._saved_fit: Header | None = None
        self._first_state = rng.bit_generator.state
        self._saved: list[Snapshot] = []  # from the file and not yet resumed, in order
        self._ended: list[Snapshot] = []  # phases that have ended
        self._next_save = time.monotonic() + SECONDS
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint={str(self.path)!r}: there is no folder {str(self.path.parent)!r}.")
        if self.path.exists():
            self._load()
        parameters = {name: _as_json(value) for name, value in estimator.get_params().items() if name not in _FREE}
        self._identify({"estimator": type(estimator).__name__, **parameters})
        if self._saved_fit is not None:
            rng.bit_generator.state = self._first_state

    def check_data(self, oracle: Oracle) -> None:
        """Raise ValueError if the file is about other data."""
        facts: Header = {
            "number of rows": oracle.n_points,
            "number of features": oracle.n_features,
            "dtype": oracle.dtype.name,
            "mean of the data": _as_json(oracle.mean()),
        }
        self._identify(facts)

    def resumed(self) -> Snapshot | None:
        """The state of the phase that begins now; None if the file does not have it."""
        if not self._saved:
            return None
        snapshot = self._saved.pop(0)
        self.rng.bit_generator.state = snapshot.rng
        if snapshot.ended is not None:
            self._ended.append(snapshot)
        return snapshot

    def due(self, reason: StopReason | None) -> bool:
        """Whether to save a snapshot of a phase that continues (None) or stops for this reason."""
        return time.monotonic() >= self._next_save if reason is None else reason.interrupted

    def save(self, snapshot: Snapshot) -> None:
        """Replace the file atomically by one that also holds this snapshot."""
        begun = time.monotonic()
        write(self.path, self._contents([*self._ended, snapshot]))
        if snapshot.ended is not None:
            self._ended.append(snapshot)
        now = time.monotonic()
        self._next_save = now + max(SECONDS, PATIENCE * (now - begun))

    def _identify(self, facts: Header) -> None:
        """Add facts about the fit; raise ValueError if the file has others."""
        self._fit |= facts
        saved = facts if self._saved_fit is None else self._saved_fit
        for name, value in facts.items():
            if saved.get(name) != value:
                raise ValueError(
                    f"checkpoint={str(self.path)!r} belongs to another fit: its {name} is {saved.get(name)!r}, "
                    f"but this fit has {value!r}. Delete the file to start over, or give another path."
                )

    def _contents(self, snapshots: list[Snapshot]) -> Contents:
        arrays: Memory = {}
        phases = []
        for number, snapshot in enumerate(snapshots):
            arrays[f"{number}.centers"] = snapshot.centers
            arrays |= {f"{number}.memory.{name}": array for name, array in snapshot.memory.items()}
            phase = {name: value for name, value in vars(snapshot).items() if name not in ("centers", "memory")}
            phase["records"] = [asdict(record) for record in snapshot.records]
            phase["ended"] = None if snapshot.ended is None else snapshot.ended.name
            phases.append(phase)
        header: Header = {"checkpoint": FORMAT, "fit": self._fit, "rng": self._first_state, "phases": phases}
        return Contents(header, arrays)

    def _load(self) -> None:
        try:
            contents = read(self.path)
        except InvalidContents as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is not a checkpoint, or it is damaged; delete it to start over."
            ) from error
        header: Mapping[str, Any] = contents.header
        version = header.get("checkpoint")
        if version != FORMAT:
            what = "is not a checkpoint" if version is None else f"has format {version} instead of {FORMAT}"
            raise ValueError(f"checkpoint={str(self.path)!r} {what}; give another path.")
        self._saved_fit, self._first_state = header["fit"], header["rng"]
        self._saved = [_snapshot(number, phase, contents.arrays) for number, phase in enumerate(header["phases"])]


def _snapshot(number: int, phase: dict[str, Any], arrays: Mapping[str, Array]) -> Snapshot:
    """A snapshot from its number in the file, its part of the header, and the arrays of the file."""
    prefix = f"{number}.memory."
    phase["records"] = [Record(**record) for record in phase["records"]]
    phase["ended"] = None if phase["ended"] is None else StopReason[phase["ended"]]
    memory = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    return Snapshot(**phase, centers=arrays[f"{number}.centers"], memory=memory)


def _as_json(value: object) -> object:
    """A parameter in JSON's types: arrays as a hash, functions by name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, np.random.RandomState):
        return "RandomState"
    array = np.ascontiguousarray(value)
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"

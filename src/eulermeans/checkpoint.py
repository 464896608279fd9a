"""Checkpoints: a file from which a fit that was killed goes on, and ends with the same bits.

A fit is a sequence of phases. The file holds how each phase that has ended, ended, and where the one under way
stands. A fit that finds such a file runs again from its beginning, but takes those phases from the file. Does not
know what the phases do.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import FloatArray
from .container import Contents, ModelFileError, read, write
from .solvers import Memory

FORMAT = 1
SECONDS = 30.0  # between two snapshots within a phase,
PATIENCE = 20.0  # or so many times as long as the last took to write, if that is more


@dataclass(frozen=True)
class Snapshot:
    """Where a phase stands."""

    phase: str
    centers: FloatArray  # (n_clusters, n_features)
    step: int  # steps taken so far
    ceiling: float  # the objective above which it has diverged
    records: list[dict[str, Any]]  # of those steps
    rng: Mapping[str, Any]  # the state of the generator of the fit's random numbers
    seconds: float  # since the fit began
    ended: str | None = None  # the name of the reason, once the phase is over
    memory: Memory = field(default_factory=dict)  # of the solver; none once the phase is over


class Checkpoint:
    """The snapshots of one fit, and the file that they are in."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        fit: dict[str, Any],  # what is to be done, in JSON's types: whoever resumes must want the same
        rng: np.random.Generator,  # of all the fit's random numbers; takes the state it had in the file, INOUT
    ) -> None:
        self.path = Path(path)
        self.rng = rng
        self._fit: dict[str, Any] = {}
        self._saved_fit: dict[str, Any] | None = None
        self._first_state = rng.bit_generator.state
        self._saved: list[Snapshot] = []  # to be taken up, the earliest first
        self._phases: list[Snapshot] = []  # that are over
        self._next_save = time.monotonic() + SECONDS
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint={str(self.path)!r}: the folder does not exist.")
        if self.path.exists():
            self._load()
        self.concerns(fit)
        if self._saved_fit is not None:
            rng.bit_generator.state = self._first_state

    def concerns(self, more: dict[str, Any]) -> None:
        """Say more of what the fit is about, in JSON's types; an error if the file is about something else."""
        self._fit |= more
        if self._saved_fit is None:
            return
        for name, value in more.items():
            if self._saved_fit.get(name) != value:
                raise ValueError(
                    f"checkpoint={str(self.path)!r} belongs to another fit: its {name} is "
                    f"{self._saved_fit.get(name)!r}, here it is {value!r}. Remove it to begin anew, or name "
                    "another file."
                )

    def resumed(self) -> Snapshot | None:
        """Where the phase that begins now stood when the fit was killed; None if it had not begun."""
        if not self._saved:
            return None
        snapshot = self._saved.pop(0)
        self.rng.bit_generator.state = snapshot.rng
        if snapshot.ended is not None:
            self._phases.append(snapshot)
        return snapshot

    @property
    def due(self) -> bool:
        """Whether it is time for a snapshot within a phase."""
        return time.monotonic() >= self._next_save

    def save(self, snapshot: Snapshot) -> None:
        """Write the file anew; the old one stays whole until the new one is."""
        begun = time.monotonic()
        if snapshot.ended is not None:
            self._phases.append(snapshot)
            snapshots = self._phases
        else:
            snapshots = [*self._phases, snapshot]
        write(self.path, self._contents(snapshots))
        took = time.monotonic() - begun
        self._next_save = time.monotonic() + max(SECONDS, PATIENCE * took)

    def _contents(self, snapshots: list[Snapshot]) -> Contents:
        arrays: Memory = {}
        phases = []
        for number, snapshot in enumerate(snapshots):
            phase = dict(vars(snapshot))
            arrays[f"{number}.centers"] = phase.pop("centers")
            arrays |= {f"{number}.memory.{name}": array for name, array in phase.pop("memory").items()}
            phases.append(phase)
        header = {"checkpoint": FORMAT, "fit": self._fit, "rng": self._first_state, "phases": phases}
        return Contents(header, arrays)

    def _load(self) -> None:
        try:
            contents = read(self.path)
        except ModelFileError as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is no checkpoint, or it is damaged; remove it to begin anew."
            ) from error
        version = contents.header.get("checkpoint")
        if version != FORMAT:
            what = "is no checkpoint" if version is None else f"is a checkpoint of format {version}, not {FORMAT}"
            raise ValueError(f"checkpoint={str(self.path)!r} {what}; name another file.")
        header, arrays = contents.header, contents.arrays
        self._saved_fit, self._first_state = header["fit"], header["rng"]
        for number, phase in enumerate(header["phases"]):
            prefix = f"{number}.memory."
            memory = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
            self._saved.append(Snapshot(**phase, centers=arrays[f"{number}.centers"], memory=memory))

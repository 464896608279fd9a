"""Checkpoints: a file from which a killed fit resumes, to end with the same bits.

A fit is a sequence of phases. The file holds the result of each phase that has ended and the state of the current
one. A fit that finds such a file starts from the beginning, but takes those phases from the file. Does not know
what the phases do.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import numpy as np

from ..history import StopReason
from ..oracles import Oracle
from ..sources import largest_value
from .container import Contents, Header, InvalidContents, read, write
from .packing import Estimator
from .snapshots import Sizes, Snapshot, pack_rng, pack_snapshots, unpack_rng, unpack_snapshots

FORMAT = 2
SECONDS = 30.0  # the shortest time between two snapshots within a phase
PATIENCE = 20.0  # the same as a multiple of the time it took to write the last snapshot; the longer one applies
_ROWS_IN_MEMORY = "number of rows in memory, which depends on memory_limit,"
_SIZES = ("n_clusters", "number of features", _ROWS_IN_MEMORY)
# Parameters that may change when a fit resumes.
_FREE = {"n_threads", "max_time", "memory_limit", "compute_labels", "verbose", "algorithm", "copy_x"}


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
        at_hand = oracle.at_hand
        self._identify(
            {
                "number of rows": oracle.n_points,
                "number of features": oracle.n_features,
                "dtype": oracle.dtype.name,
                _ROWS_IN_MEMORY: 0 if at_hand is None else at_hand.n_points,
                "digest of the data": oracle.digest(),
            }
        )
        largest = largest_value(oracle.total_weight, oracle.n_features) if self._saved else np.inf
        if any(_largest_center(each) > largest for each in self._saved):
            raise self._damaged("has centers that are too far from the data")

    def resumed(self, phase: str) -> Snapshot | None:
        """The state of the phase that begins now; None if the file does not have it."""
        if not self._saved:
            return None
        snapshot = self._saved.pop(0)
        if snapshot.phase != phase:
            raise self._other_fit("next phase", snapshot.phase, phase)
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
                raise self._other_fit(name, saved.get(name), value)

    def _other_fit(self, name: str, saved: object, value: object) -> ValueError:
        return ValueError(
            f"checkpoint={str(self.path)!r} belongs to another fit: its {name} is {saved!r}, but this fit has "
            f"{value!r}. Delete the file to start over, or give another path."
        )

    def _damaged(self, what: str) -> ValueError:
        return ValueError(
            f"checkpoint={str(self.path)!r} is not a checkpoint, or it is damaged: it {what}. Delete it to start "
            "over."
        )

    def _contents(self, snapshots: list[Snapshot]) -> Contents:
        arrays = {**pack_snapshots(snapshots), "first_rng": pack_rng(self._first_state)}
        return Contents({"checkpoint": FORMAT, "fit": self._fit}, arrays)

    def _load(self) -> None:
        try:
            contents = read(self.path)
            version = contents.header.get("checkpoint")
            if version == FORMAT:
                self._unpack(contents)
        except InvalidContents as error:
            raise self._damaged(str(error)) from error
        if version != FORMAT:
            what = "is not a checkpoint" if version is None else f"has format {version!r} instead of {FORMAT}"
            raise ValueError(f"checkpoint={str(self.path)!r} {what}; give another path.")

    def _unpack(self, contents: Contents) -> None:
        arrays = dict(contents.arrays)
        first = arrays.pop("first_rng", np.empty(0))
        fit = contents.header.get("fit")
        sizes = [size for name in _SIZES if isinstance(fit, dict) and isinstance(size := fit.get(name), int)]
        if not isinstance(fit, dict) or len(sizes) < len(_SIZES):
            raise InvalidContents("does not say which fit it belongs to")
        self._saved_fit = fit
        if first.shape != (6,) or first.dtype != np.int64:
            raise InvalidContents("does not have the state of a random generator")
        self._first_state = unpack_rng(first)
        self._saved = unpack_snapshots(arrays, str(fit.get("estimator")), Sizes(*sizes))


def _largest_center(snapshot: Snapshot) -> float:
    """The largest magnitude in the centers of a snapshot, and in those that its solver remembers."""
    remembered = [
        array for name, array in snapshot.memory.items() if name.split(".")[-1] in ("centers", "measured")
    ]
    return max(float(np.abs(centers).max()) for centers in (snapshot.centers, *remembered))


def _as_json(value: object) -> object:
    """A parameter in JSON's types: arrays as a hash, functions by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, np.random.RandomState):
        return "RandomState"
    array = np.ascontiguousarray(value, np.float64)  # as estimators take it
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"

"""The records of a fit as arrays, one for each field, and back. Headers are small; a history may be long."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..arrays import Array
from ..history import Record
from .container import InvalidContents

HISTORY = {  # the fields of a Record, in their order, and the dtypes of their arrays
    "phase": "|u1",  # an index into a list of phases, which is in the header
    "step": "<i8",
    "objective": "<f8",
    "exact": "|u1",
    "step_size": "<f8",  # NaN stands for None
    "seconds": "<f8",
    "points_read": "<i8",
    "n_distances": "<i8",
}


def phases_of(records: Sequence[Record]) -> list[str]:
    """The names of the phases, in the order in which they begin."""
    return list(dict.fromkeys(record.phase for record in records))


def pack_records(records: Sequence[Record]) -> dict[str, Array]:
    """An array for each field."""
    phases, arrays = phases_of(records), {}
    for field, dtype in HISTORY.items():
        values = [getattr(record, field) for record in records]
        if field == "phase":
            values = [phases.index(phase) for phase in values]
        arrays[field] = np.array([math.nan if value is None else value for value in values], dtype)
    return arrays


def unpack_records(phases: object, arrays: Mapping[str, Array]) -> list[Record]:
    """The records with these names of phases and these arrays, as they were read from a file."""
    columns = {name: arrays.get(name, np.empty((0, 0))) for name in HISTORY}
    length = columns["phase"].size  # which may have no axis
    complete = all(column.shape == (length,) and column.dtype == HISTORY[name] for name, column in columns.items())
    if not complete or not isinstance(phases, list) or not all(isinstance(phase, str) for phase in phases):
        raise InvalidContents("holds an incomplete history")
    if length and columns["phase"].max() >= len(phases):
        raise InvalidContents("has phases in its history that it does not name")
    if any(np.any(~(column >= 0)) for name, column in columns.items() if name != "step_size"):
        raise InvalidContents("holds a history with numbers that are not >= 0")
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        Record(phases[phase], step, objective, bool(exact), None if math.isnan(step_size) else step_size, *others)
        for phase, step, objective, exact, step_size, *others in rows
    ]

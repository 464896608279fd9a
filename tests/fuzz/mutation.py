"""Random changes of files, by the number of a case: a case that fails is repeated by its number alone.

The environment variable EULERMEANS_FUZZ_CASES says how many cases each test tries, EULERMEANS_FUZZ_FIRST where it
begins. `make fuzz` tries many. Numbers that once failed are in each test's list of regressions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

FEW = 300  # cases in an ordinary run
VALUES = [0, 1, -1, 2, 255, 2**31 - 1, 2**31, 2**63 - 1, 2**64, -(2**63), 10**30, 0.5, 1e308, -1e308, 5e-324]
VALUES += [
    True,
    False,
    None,
    "",
    "a",
    "0",
    "nan",
    "k-means++",
    [],
    [1, 2],
    [[]],
    {},
    {"a": 1},
    "\udc80",
    "x" * 300,
]
NUMBERS = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e30]
INTEGERS = [0, 1, -1, 2, 3, 127, 2**31 - 1, -(2**31)]


def cases(regressions: list[int], *, few: int = FEW) -> Iterator[tuple[int, np.random.Generator]]:
    """The numbers of the cases, and a generator for each; `few` of them in an ordinary run."""
    first, number = int(os.environ.get("EULERMEANS_FUZZ_FIRST", "0")), os.environ.get("EULERMEANS_FUZZ_CASES")
    for case in [*regressions, *range(first, first + (few if number is None else int(number)))]:
        yield case, np.random.default_rng([0, case])


def changed_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """With some bytes changed, removed or added, or a part of it repeated."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        place, length = int(rng.integers(len(changed) + 1)), int(rng.integers(1, 20))
        match rng.integers(5):
            case 0:
                changed[place : place + 1] = rng.bytes(1)
            case 1:
                changed[place : place + length] = b""
            case 2:
                changed[place:place] = rng.bytes(length)
            case 3:
                changed[place : place + length] = rng.choice([b"\x00", b"\xff"]) * length
            case 4:
                changed[place:place] = changed[place : place + 10 * length]
    return bytes(changed)


def changed_json(value: object, rng: np.random.Generator) -> object:
    """With one value in it replaced, removed or added."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = list(value)[rng.integers(len(value))]
        match rng.integers(8):
            case 0:
                return {other: each for other, each in value.items() if other != key}
            case 1:
                return {**value, str(rng.choice([*value, "more"])): value[key]}
            case _:
                return {**value, key: changed_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.integers(len(value))
        replaced = [changed_json(value[place], rng)] if rng.random() < 0.8 else []
        return [*value[:place], *replaced, *value[place + 1 :]]
    return VALUES[rng.integers(len(VALUES))]


def changed_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """With other values, of another dtype, or of another shape."""
    changed = array.copy()
    match rng.integers(6):
        case 0 | 1 | 2 if changed.size:
            choices = NUMBERS if changed.dtype.kind == "f" else INTEGERS
            flat = changed.reshape(-1)
            places = rng.integers(len(flat), size=rng.choice([1, 3, len(flat)]))
            with np.errstate(all="ignore"):
                flat[places] = np.array(rng.choice(choices, size=len(places))).astype(changed.dtype)
        case 3:
            with np.errstate(all="ignore"):
                changed = np.nan_to_num(changed).astype(rng.choice(["<f8", "<f4", "<i8", "<i4", "|u1"]))
        case 4:
            changed = changed.reshape(-1)[: rng.integers(changed.size + 1)]
        case 5:
            changed = np.concatenate([changed.reshape(-1)] * 2).reshape(*rng.choice([[-1, 1], [1, -1], [-1, 2]]))
    return changed

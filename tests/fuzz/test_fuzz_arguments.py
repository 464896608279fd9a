"""Every function of the extension with random wrong arguments: an error, or a call that writes within its arrays.

Arrays lie between canaries, which a write out of bounds changes. Reads out of bounds are found by the sanitizers:
`make test-sanitize` runs this file, too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mutation import cases

from eulermeans import _core

REGRESSIONS = [5998, 9989, 52366]  # steps without end; positions of a move that was not tried; sweeps without end
FEW = 4000  # cases in an ordinary run
REFUSED = (TypeError, ValueError, OverflowError)
PAD = 256  # bytes of canary on each side
CANARY = 0xAB
Arguments = dict[str, object]


class Arena:
    """Gives out arrays with canaries around them."""

    def __init__(self) -> None:
        self._buffers: list[tuple[np.ndarray, int]] = []

    def place(self, array: np.ndarray, *, offset: int = 0) -> np.ndarray:
        """A copy between canaries; with an offset it is not aligned."""
        buffer = np.full(array.nbytes + 2 * PAD + 64, CANARY, np.uint8)
        start = -buffer.ctypes.data % 64 + PAD + offset
        placed = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        placed[...] = array
        self._buffers.append((buffer, start, array.nbytes))
        return placed

    def check(self) -> None:
        """No byte around an array has changed."""
        for buffer, start, size in self._buffers:
            assert (buffer[:start] == CANARY).all(), "written before an array"
            assert (buffer[start + size :] == CANARY).all(), "written behind an array"


def dense(rng: np.random.Generator) -> Arguments:
    n, d, k = int(rng.integers(1, 300)), int(rng.integers(1, 20)), int(rng.integers(1, 30))
    dtype = ["float32", "float64", "float16", "uint8", "int8"][rng.integers(5)]
    points = (10 * rng.standard_normal((n, d))).astype(dtype)
    centers = points[rng.integers(n, size=k)].astype("float64" if dtype == "float64" else "float32")
    return {"points": points, "centers": centers}


def sums_of(arguments: Arguments) -> Arguments:
    k, d = arguments["centers"].shape
    return {"counts": np.zeros(k), "sums": np.zeros((k, d)), "cost": np.zeros(1)}


def rows_of(arguments: Arguments, rng: np.random.Generator, n: int) -> Arguments:
    """Optional arguments about rows, each present or not."""
    rows = rng.integers(n, size=int(rng.integers(0, 2 * n)))
    m = n
    optional: Arguments = {}
    if rng.random() < 0.4:
        optional["rows"], m = rows, len(rows)
    outputs = {"labels": np.zeros(m, np.int32), "nearest": np.zeros(m), "second": np.zeros(m)}
    k = len(arguments["centers"])
    if k > 1 and rng.random() < 0.3:
        optional["prices"] = rng.random(k)
    return arguments | optional | {name: array for name, array in outputs.items() if rng.random() < 0.5}


def totals_of(arguments: Arguments, rng: np.random.Generator, n: int) -> Arguments:
    k = len(arguments["centers"])
    more = {"weights": rng.random(n), "errors": np.zeros(k), "utilities": np.zeros(k)}
    return arguments | {name: array for name, array in more.items() if rng.random() < 0.5}


def accumulate(rng: np.random.Generator) -> Arguments:
    arguments = dense(rng)
    n = len(arguments["points"])
    return totals_of(rows_of(arguments | sums_of(arguments), rng, n), rng, n)


def assign(rng: np.random.Generator) -> Arguments:
    arguments = dense(rng)
    return rows_of(arguments, rng, len(arguments["points"]))


def distances(rng: np.random.Generator) -> Arguments:
    arguments = dense(rng)
    n, k = len(arguments["points"]), len(arguments["centers"])
    rows = rng.integers(n, size=n)
    out = np.zeros((n, k), arguments["centers"].dtype)
    return arguments | {"out": out} | ({"rows": rows} if rng.random() < 0.5 else {})


def refine(rng: np.random.Generator) -> Arguments:
    arguments = dense(rng)
    n, (k, d) = len(arguments["points"]), arguments["centers"].shape
    n_lower = 1 if rng.random() < 0.5 else k
    bounds = {
        "labels": rng.integers(k, size=n).astype(np.int32),
        "upper": np.full(n, np.inf, np.float32),
        "lower": np.zeros((n, n_lower), np.float32),
        "moved": np.zeros(k, np.float32),
        "lower_moved": np.zeros(n_lower, np.float32),
        "half_gap": np.zeros(k, np.float32),
    }
    more = {"weights": rng.random(n)} if rng.random() < 0.5 else {}
    return arguments | {"counts": np.zeros(k), "sums": np.zeros((k, d))} | bounds | more


def implicit_steps(rng: np.random.Generator) -> Arguments:
    arguments = dense(rng)
    n_outer, n_inner, batch = (int(number) for number in rng.integers(1, 5, size=3))
    return {
        "points": arguments["points"],
        "rows": rng.integers(len(arguments["points"]), size=n_outer * n_inner * batch),
        "centers": arguments["centers"].astype(np.float64),
        "n_outer": n_outer,
        "n_inner": n_inner,
        "step_size": 1.0,
        "decay": 0.9,
        "averaging": 0.75,
        "limit": 2.0,
    }


def seed_greedily(rng: np.random.Generator) -> Arguments:
    arguments = dense(rng)
    n_rows, n_new = len(arguments["points"]), int(rng.integers(0, 20))
    if rng.random() < 0.4:
        arguments["weights"] = rng.random(n_rows)
    if rng.random() < 0.4:
        arguments["rows"] = rng.integers(n_rows, size=int(rng.integers(1, 2 * n_rows)))
        n_rows = len(arguments["rows"])
    return arguments | {
        "labels": rng.integers(len(arguments["centers"]), size=n_rows).astype(np.int32),
        "nearest": rng.random(n_rows),
        "numbers": rng.random((n_new, int(rng.integers(1, 5)))),
        "chosen": np.zeros(n_new, np.int64),
    }


def neighbours(rng: np.random.Generator) -> Arguments:
    k = int(rng.integers(2, 40))
    centers = rng.standard_normal((k, int(rng.integers(1, 9))))
    return {"centers": centers, "out": np.zeros((k, int(rng.integers(1, k))), np.int32)}


def clusters(rng: np.random.Generator) -> tuple[Arguments, Arguments]:
    """Points with centers, and which points and centers are near each center."""
    arguments = dense(rng)
    if len(arguments["centers"]) < 2:
        arguments["centers"] = np.repeat(arguments["centers"], 2, axis=0)
    n, k = len(arguments["points"]), len(arguments["centers"])
    labels = rng.integers(k, size=n)
    near = np.zeros((k, int(rng.integers(1, k))), np.int32)
    _core.neighbours(arguments["centers"].astype(np.float64), near)
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=k))])
    of_clusters = {"members": np.argsort(labels, kind="stable"), "starts": starts, "neighbours": near}
    return arguments, of_clusters


def reassign(rng: np.random.Generator) -> Arguments:
    arguments, of_clusters = clusters(rng)
    n, k = len(arguments["points"]), len(arguments["centers"])
    chosen = rng.permutation(k)[: rng.integers(k + 1)].astype(np.int32)
    outputs = {"labels": np.zeros(n, np.int32), "nearest": np.zeros(n), "second": np.zeros(n)}
    return arguments | of_clusters | {"chosen": chosen} | outputs


def shortlist(rng: np.random.Generator) -> Arguments:
    arguments, _ = clusters(rng)
    rows = rng.integers(len(arguments["points"]), size=50)
    length = int(rng.integers(1, len(arguments["centers"]) + 1))
    return arguments | {"rows": rows, "lists": np.zeros((50, length), np.int32)}


def compare_listed(rng: np.random.Generator) -> Arguments:
    arguments, _ = clusters(rng)
    n, k = len(arguments["points"]), len(arguments["centers"])
    m, n_lists, length = int(rng.integers(1, 80)), int(rng.integers(1, 50)), int(rng.integers(1, 9))
    return {
        **arguments,
        "rows": rng.integers(n, size=m),
        "order": rng.integers(n_lists, size=m),
        "lists": rng.integers(k, size=(n_lists, length)).astype(np.int32),
        "labels": np.zeros(m, np.int32),
        "nearest": np.zeros(m),
        "second": np.zeros(m),
    }


def sum_clusters(rng: np.random.Generator) -> Arguments:
    arguments, of_clusters = clusters(rng)
    n, (k, d) = len(arguments["points"]), arguments["centers"].shape
    chosen = rng.permutation(k)[: rng.integers(k + 1)].astype(np.int32)
    more = {"weights": rng.random(n)} if rng.random() < 0.5 else {}
    sums = {"counts": np.zeros(k), "sums": np.zeros((k, d))}
    return {"points": arguments["points"], **of_clusters, "chosen": chosen, **sums, **more}


def transfer_nearby(rng: np.random.Generator) -> Arguments:
    arguments, of_clusters = clusters(rng)
    n, (k, d) = len(arguments["points"]), arguments["centers"].shape
    rows = rng.integers(n, size=40)
    return {
        "points": arguments["points"],
        "rows": rows,
        "weights": rng.random(40),
        "labels": rng.integers(k, size=40).astype(np.int32),
        "neighbours": of_clusters["neighbours"],
        "counts": 1 + rng.random(k),
        "sums": np.zeros((k, d)),
        "means": arguments["centers"].astype(np.float64),
    }


def try_moves(rng: np.random.Generator) -> Arguments:
    arguments, of_clusters = clusters(rng)
    n, (k, d) = len(arguments["points"]), arguments["centers"].shape
    m, n_adapting = int(rng.integers(1, 6)), int(rng.integers(0, 5))
    labels = np.zeros(n, np.int64)
    labels[of_clusters["members"]] = np.repeat(np.arange(k), np.diff(of_clusters["starts"]))
    added = rng.integers(n, size=m)
    removed = (labels[added] + rng.integers(1, k, size=m)) % k
    more = {"weights": rng.random(n)} if rng.random() < 0.5 else {}
    if rng.random() < 0.5:
        most = 2 * n_adapting + 2
        more |= {"touched": np.zeros((m, most), np.int32), "positions": np.zeros((m, most, d))}
    return {
        "points": arguments["points"],
        "centers": arguments["centers"].astype(np.float64),
        "errors": rng.random(k),
        **of_clusters,
        "removed": removed.astype(np.int32),
        "inside": labels[added].astype(np.int32),
        "added": added,
        "gains": np.zeros(m),
        "n_adapting": n_adapting,
        "largest_adapting": int(rng.integers(n + 1)),
        "n_steps": int(rng.integers(1, 5)),
        "part_of_way": float(rng.uniform(0.1, 1.0)),
        "may_give_up": bool(rng.integers(2)),
        "transfers": bool(rng.integers(2)),
        "sphere": bool(rng.integers(2)),
        **more,
    }


def csr(rng: np.random.Generator) -> Arguments:
    n, d, k = int(rng.integers(1, 200)), int(rng.integers(1, 50)), int(rng.integers(1, 120))
    sizes = rng.integers(0, min(d, 9) + 1, size=n)
    indices = [np.sort(rng.choice(d, size=size, replace=False)) for size in sizes]
    dtype = ["float32", "float64"][rng.integers(2)]
    return {
        "values": rng.standard_normal(sizes.sum()).astype(dtype),
        "indices": np.concatenate(indices).astype([np.int32, np.int64][rng.integers(2)]),
        "starts": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "centers": rng.standard_normal((k, d)).astype(dtype),
    }


def accumulate_csr(rng: np.random.Generator) -> Arguments:
    arguments = csr(rng)
    n = len(arguments["starts"]) - 1
    return totals_of(rows_of(arguments | sums_of(arguments), rng, n), rng, n)


def assign_csr(rng: np.random.Generator) -> Arguments:
    arguments = csr(rng)
    return rows_of(arguments, rng, len(arguments["starts"]) - 1)


def distances_csr(rng: np.random.Generator) -> Arguments:
    arguments = csr(rng)
    shape = (len(arguments["starts"]) - 1, len(arguments["centers"]))
    return arguments | {"out": np.zeros(shape, arguments["centers"].dtype)}


def group(rng: np.random.Generator) -> Arguments:
    n, k = int(rng.integers(0, 80)), int(rng.integers(1, 9))
    labels = rng.integers(k, size=n).astype(np.int32)
    return {"labels": labels, "starts": np.zeros(k + 1, np.int64), "order": np.zeros(n, np.int64)}


def split_cells(rng: np.random.Generator) -> Arguments:
    n, d, n_cells = int(rng.integers(8, 200)), int(rng.integers(1, 5)), 1 << int(rng.integers(0, 4))
    return {"points": rng.standard_normal((n, d)), "cells": np.zeros((n_cells, n // n_cells), np.int64)}


def sweep(rng: np.random.Generator) -> Arguments:
    arguments, _ = clusters(rng)
    n, k = len(arguments["points"]), len(arguments["centers"])
    m, length = int(rng.integers(1, n + 1)), int(rng.integers(1, 9))
    more = {"weights": rng.random(n)} if rng.random() < 0.5 else {}
    return {
        "points": arguments["points"],
        "rows": rng.permutation(n)[:m],
        "order": rng.permutation(n)[:m],
        "lists": rng.integers(k, size=(n, length)).astype(np.int32),
        "labels": rng.integers(k, size=n).astype(np.int32),
        "counts": 1 + rng.random(k),
        "means": arguments["centers"].copy(),
        "nearest": np.zeros(n),
        "second": np.zeros(n),
        "temperature": float(rng.random() * rng.integers(2)),
        "seed": int(rng.integers(1 << 63)),
        **more,
    }


def sweep_csr(rng: np.random.Generator) -> Arguments:
    arguments = csr(rng)
    n, (k, d) = len(arguments["starts"]) - 1, arguments.pop("centers").shape
    more = {"weights": rng.random(n)} if rng.random() < 0.5 else {}
    return {
        **arguments,
        "order": rng.permutation(n),
        "labels": rng.integers(-1, k, size=n).astype(np.int32),
        "counts": 1 + rng.random(k),
        "sums": rng.standard_normal((k, d)),
        "errors": np.zeros(k),
        "extra": np.zeros(n),
        "n_sweeps": int(rng.integers(1, 4)),
        "few": 0,
        **more,
    }


def place(rng: np.random.Generator) -> Arguments:
    n, k = int(rng.integers(1, 60)), int(rng.integers(1, 8))
    weights = rng.random(n)
    total = float(n)
    more: Arguments = {"exact": bool(rng.integers(2)), "reach": float(rng.choice([np.inf, 0.1, 3.0]))}
    if rng.random() < 0.4:
        more["weights"], total = weights, float(weights.sum())
    if rng.random() < 0.4:
        current = rng.integers(k, size=n).astype(np.int32)
        more |= {
            "current": current,
            "counts": np.bincount(current, more.get("weights"), minlength=k).astype(float),
        }
    if rng.random() < 0.4:
        more["n_in_doubt"] = np.zeros(1, np.int64)
    return {
        "distances": rng.random((n, k)).astype([np.float32, np.float64][rng.integers(2)]),
        "lowest": np.full(k, rng.choice([0.0, 0.5, 1.0]) * total / k),
        "highest": np.full(k, rng.choice([1.0, 1.5, k]) * total / k),
        "prices": np.zeros(k),
        "labels": np.zeros(n, np.int32),
        **more,
    }


def CheckedCsr(rng: np.random.Generator) -> Arguments:
    arguments = csr(rng)
    n_features = arguments["centers"].shape[1]
    return {"indices": arguments["indices"], "starts": arguments["starts"], "n_features": n_features}


def limit_time(rng: np.random.Generator) -> Arguments:
    return {"seconds": 1e3}


RIGHT: dict[str, Callable[[np.random.Generator], Arguments]] = {
    function.__name__: function
    for function in (
        accumulate,
        accumulate_csr,
        assign,
        assign_csr,
        CheckedCsr,
        compare_listed,
        distances,
        distances_csr,
        implicit_steps,
        group,
        limit_time,
        neighbours,
        place,
        reassign,
        refine,
        seed_greedily,
        shortlist,
        split_cells,
        sum_clusters,
        sweep,
        sweep_csr,
        transfer_nearby,
        try_moves,
    )
}
WITHOUT_THREADS = {"CheckedCsr", "group", "limit_time", "place", "split_cells", "transfer_nearby"}
WITHOUT_ARGUMENTS = {"instruction_set", "instruction_sets", "max_threads"}
SCALARS = [0, 1, -1, 2, 3, 255, 256, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63), 2**64, 0.5, -1.0, 1e308, np.nan]
SCALARS += [np.inf, -np.inf, None, True, "1", b"1", [], np.int64(3), np.zeros(1)]
INTEGERS = [-1, -2, 0, 1, 7, 300, 2**15, 2**31 - 1, -(2**31), 2**62, -(2**63), 2**63 - 1]
NUMBERS = [0.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e300, 5e-324, 1e38]


def wrong_values(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """With some elements replaced."""
    changed = array.copy()
    if changed.size:
        places = rng.integers(changed.size, size=rng.choice([1, 2, changed.size]))
        choices = np.array(NUMBERS if changed.dtype.kind == "f" else INTEGERS)
        with np.errstate(all="ignore"):
            changed.reshape(-1)[places] = rng.choice(choices, size=len(places)).astype(changed.dtype)
    return changed


def wrong_shape(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Longer or shorter along an axis, without elements, or with another number of axes."""
    axis = int(rng.integers(array.ndim))
    match rng.integers(6):
        case 0:
            return np.delete(array, 0, axis=axis) if array.shape[axis] else array
        case 1:
            return np.concatenate([array, array], axis=axis)
        case 2:
            return np.take(array, [], axis=axis)
        case 3:
            return array[None]
        case 4:
            return array.reshape(-1)
        case _:
            return np.take(array, range(rng.integers(array.shape[axis] + 1)), axis=axis)


def wrong(name: str, arguments: Arguments, arena: Arena, rng: np.random.Generator) -> object:
    """Something else in place of this argument."""
    value = arguments[name]
    if not isinstance(value, np.ndarray):
        return SCALARS[rng.integers(len(SCALARS))]
    match rng.integers(9):
        case 0 | 1 | 2:
            return arena.place(wrong_values(value, rng))
        case 3 | 4:
            return arena.place(wrong_shape(value, rng))
        case 5:
            other = ["float64", "float32", "float16", "int64", "int32", "uint8", "bool", "complex128", ">f8"]
            with np.errstate(all="ignore"):
                return arena.place(np.nan_to_num(value).astype(other[rng.integers(len(other))]))
        case 6:
            read_only = arena.place(value)
            read_only.flags.writeable = False
            return [read_only, np.asfortranarray(value), value[::-1], arena.place(value, offset=1)][
                rng.integers(4)
            ]
        case 7:  # the memory of another argument
            arrays = [other for other in arguments.values() if isinstance(other, np.ndarray)]
            others = [other for other in arrays if other.flags.c_contiguous]
            other = others[rng.integers(len(others))].reshape(-1).view(np.uint8)
            return (
                other[: value.nbytes].view(value.dtype).reshape(value.shape)
                if other.size >= value.nbytes
                else other
            )
        case _:
            return SCALARS[rng.integers(len(SCALARS))]


def placed(arguments: Arguments, arena: Arena) -> Arguments:
    return {
        name: arena.place(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()
    }


def test_every_function_is_tried():
    functions = {name for name in dir(_core) if callable(getattr(_core, name)) and not name.startswith("_")}
    assert functions - {"OutOfTime"} == RIGHT.keys() | WITHOUT_ARGUMENTS


def test_right_arguments_are_taken():
    for name, make in RIGHT.items():
        for seed in range(20):
            arena = Arena()
            getattr(_core, name)(**placed(make(np.random.default_rng(seed)), arena))
            arena.check()
    _core.limit_time(None)


def test_unaligned_arrays_are_refused():
    """Every array of every function, at addresses that are no multiple of its elements' size."""
    for name, make in RIGHT.items():
        for seed in range(6):
            arguments = make(np.random.default_rng(seed))
            arrays = {key: value for key, value in arguments.items() if isinstance(value, np.ndarray)}
            for key, value in arrays.items():
                for offset in [1, value.itemsize // 2] if value.size and value.itemsize > 1 else []:
                    arena = Arena()
                    changed = placed(arguments, arena) | {key: arena.place(value, offset=offset)}
                    with pytest.raises(ValueError, match="not aligned"):
                        getattr(_core, name)(**changed)
                    arena.check()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308])
@pytest.mark.parametrize("name", ["distances", "prices", "weights", "counts"])
def test_a_placement_of_impossible_numbers_is_refused(name, value):
    """Prices of NaN and infinity ended in a crash, counts of NaN never."""
    rng, n, k = np.random.default_rng(0), 20, 4
    current = rng.integers(k, size=n).astype(np.int32)
    arguments = {
        "distances": rng.random((n, k)),
        "lowest": np.full(k, 2.0),
        "highest": np.full(k, 9.0),
        "prices": np.zeros(k),
        "labels": np.zeros(n, np.int32),
        "weights": np.ones(n),
        "current": current,
        "counts": np.bincount(current, minlength=k).astype(float),
    }
    _core.place(**arguments)
    if (name, value) in [("weights", 1e308), ("counts", 1e308), ("counts", -1e308)]:
        return  # finite
    arguments[name] = arguments[name].copy()
    arguments[name].reshape(-1)[1] = value
    with pytest.raises(ValueError, match=name):
        _core.place(**arguments)


def test_wrong_arguments():
    n_refused = n_taken = 0
    for case, rng in cases(REGRESSIONS, few=FEW):
        name, arena = list(RIGHT)[rng.integers(len(RIGHT))], Arena()
        arguments = placed(RIGHT[name](rng), arena)
        if name not in WITHOUT_THREADS:
            arguments["n_threads"] = [None, 1, 2, 3][rng.integers(4)]
        for argument in rng.choice(
            list(arguments), size=min(len(arguments), int(rng.integers(1, 3))), replace=False
        ):
            arguments[argument] = wrong(argument, arguments, arena, rng)
        try:
            with np.errstate(all="ignore"):
                getattr(_core, name)(**arguments)
            n_taken += 1
        except REFUSED:
            n_refused += 1
        except Exception as error:
            raise AssertionError(f"case {case}: {name}") from error
        finally:
            _core.limit_time(None)
        try:
            arena.check()
        except AssertionError as error:
            raise AssertionError(f"case {case}: {name}") from error
    assert n_refused > n_taken > 0

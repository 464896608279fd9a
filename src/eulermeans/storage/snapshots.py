"""The snapshots of a fit as arrays of a file, and back.

A file can hold anything, so every array is checked when it is read: dtype, shape and range. Kernels and solvers
can rely on that. Knows which arrays the solvers keep in their memories. Does not know what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array, FloatArray
from ..history import DESCEND, FINISH, POLISH, SEARCH, Record, StopReason
from ..solvers import Memory
from .container import InvalidContents
from .history_arrays import HISTORY, pack_records, unpack_records

RngState = Mapping[str, object]  # of NumPy's default generator, PCG64

PHASES = (SEARCH, DESCEND, POLISH, FINISH)  # stored by position
REASONS = ("CONVERGED", "SEARCHED", "MAX_ITER", "MAX_TIME", "CALLBACK", "DIVERGED")  # stored by position, from 1
_HALF = 2**64  # the generator's numbers of 128 bits are stored in halves
_MOST_STEPS = 2**62


@dataclass(frozen=True)
class Snapshot:
    """The state of a phase, or its result."""

    phase: str
    centers: FloatArray  # (n_clusters, n_features)
    step: int  # steps taken so far
    ceiling: float  # the objective above which the phase counts as diverged
    records: list[Record]  # of those steps
    rng: RngState  # state of the fit's random generator after them
    seconds: float  # since the fit began
    ended: StopReason | None  # None: the phase has not ended
    memory: Memory  # of the solver; empty if the phase has ended


@dataclass(frozen=True)
class Sizes:
    """The sizes that the shapes of arrays are made of."""

    n_clusters: int
    n_features: int
    n_in_memory: int  # rows that are polished in memory


@dataclass(frozen=True)
class Expected:
    """What an array must be like. Its values are never NaN."""

    shape: str  # a letter for each axis: K clusters, d features, n rows in memory, b lower bounds for each row
    dtypes: tuple[str, ...] = ("float64",)
    smallest: float = -np.inf
    finite: bool = True

    def check(self, name: str, array: Array, sizes: Mapping[str, int]) -> None:
        """Raise InvalidContents if an array is not like this."""
        shape = tuple(sizes[letter] for letter in self.shape)
        if array.shape != shape or array.dtype.name not in self.dtypes:
            wanted = f"{' or '.join(self.dtypes)} of shape {shape}"
            raise InvalidContents(f"has {name} as {array.dtype} of shape {array.shape}; expected {wanted}")
        good = np.isfinite(array) if self.finite else ~np.isnan(array)
        if not np.all(good & (array >= self.smallest)):
            raise InvalidContents(f"has {name} with values that are not possible")


_NOT_NEGATIVE = Expected("", smallest=0.0)
_CENTERS = Expected("Kd")
_PER_CLUSTER = Expected("K", smallest=0.0)
_STATE = {
    "centers": _CENTERS,
    "cost": _NOT_NEGATIVE,
    "counts": _PER_CLUSTER,
    "sums": _CENTERS,
    "errors": _PER_CLUSTER,
    "utilities": Expected("K", finite=False),  # of a single cluster it is infinite
}
_STEPS: dict[str, Expected] = {"step_size": _NOT_NEGATIVE}
_SEARCH = {
    "spread": _NOT_NEGATIVE,
    "breath": Expected("", ("int64",), 0),
    **{f"{role}.{name}": expected for role in ("best", "state") for name, expected in _STATE.items()},
}
_SWEPT = {**_SEARCH, "state.labels": Expected("s", ("int32",), 0)}  # of sparse points
_CLUSTERING = {  # s stands for the number of points, m for the number of neighbours
    "centers": _CENTERS,
    "measured": _CENTERS,
    "counts": _PER_CLUSTER,
    "sums": _CENTERS,
    "errors": _PER_CLUSTER,
    "moved": Expected("K", ("uint8",)),
    "neighbours": Expected("Km", ("int32",), 0),
    "order": Expected("s", ("int64",), 0),
    "starts": Expected("k", ("int64",), 0),
    "nearest": Expected("s", smallest=0.0),
    "second": Expected("s", smallest=0.0, finite=False),  # with a single cluster it is infinite
    "n_distances": Expected("", ("int64",), 0),
    "since_neighbours": Expected("", ("int64",), 0),
    "spent": _NOT_NEGATIVE,
}
_LISTED = {  # l stands for the length of lists
    **_CLUSTERING,
    "lists": Expected("sl", ("int32",), 0),
    "n_changed": Expected("", ("int64",)),
}
_ROUNDS = {  # of the search on dense points
    "rates": Expected("4", finite=False),
    "work": Expected("4", smallest=0.0),
    "gained_at": _NOT_NEGATIVE,
    "annealed": Expected("", ("int64",), 0),
    "temperature": _NOT_NEGATIVE,
}
_ANNEALING = {f"kept.{name}": expected for name, expected in _LISTED.items()}
_BOUNDS = {
    "labels": Expected("n", ("int32",), 0),
    "centers": Expected("Kd", ("float32", "float64")),
    "counts": Expected("K"),  # what is subtracted again may leave a little less than zero
    "sums": _CENTERS,
    "single_cost": _NOT_NEGATIVE,
    "moved": _PER_CLUSTER,
    "lower_moved": Expected("b", smallest=0.0),
    "upper": Expected("n", ("float32",), finite=False),  # less what the center has moved
    "lower": Expected("nb", ("float32",), 0, finite=False),
}
_PASSES: list[dict[str, Expected]] = [{}, _BOUNDS]
# The memories that a phase of an estimator may have.
MEMORIES: dict[tuple[str, str], list[dict[str, Expected]]] = {
    ("StochasticBackwardEuler", SEARCH): [_STEPS],
    ("EulerMeans", SEARCH): [
        _ROUNDS | _CLUSTERING,
        _ROUNDS | _LISTED,
        _ROUNDS | _LISTED | _ANNEALING,
        _SEARCH,
        _SWEPT,
    ],
    ("EulerMeans", DESCEND): [_STEPS],
    ("EulerMeans", POLISH): _PASSES,
    ("EulerMeans", FINISH): _PASSES,
}
_COLUMNS = {  # what is stored of each snapshot; p stands for the number of snapshots
    "phase": Expected("p", ("uint8",)),
    "step": Expected("p", ("int64",), 0),
    "ceiling": Expected("p", smallest=0.0),
    "seconds": Expected("p", smallest=0.0),
    "ended": Expected("p", ("uint8",)),
    "n_records": Expected("p", ("int64",), 0),
    "rng": Expected("p6", ("int64",)),
    "centers": Expected("cd"),  # those of all snapshots, one below the other
}


def pack_snapshots(snapshots: Sequence[Snapshot]) -> dict[str, Array]:
    """The arrays of all snapshots. Only the last may have a memory."""
    arrays: dict[str, Array] = {
        "phase": np.array([PHASES.index(each.phase) for each in snapshots], np.uint8),
        "step": np.array([each.step for each in snapshots], np.int64),
        "ceiling": np.array([each.ceiling for each in snapshots]),
        "seconds": np.array([each.seconds for each in snapshots]),
        "ended": np.array([_position(each.ended) for each in snapshots], np.uint8),
        "n_records": np.array([len(each.records) for each in snapshots], np.int64),
        "rng": np.array([pack_rng(each.rng) for each in snapshots]),
        "centers": np.concatenate([each.centers for each in snapshots]),
    }
    # Each snapshot has records of its own phase, so their phases need not be stored.
    records = [replace(record, phase="") for each in snapshots for record in each.records]
    arrays |= {f"records/{field}": array for field, array in pack_records(records).items()}
    return arrays | {f"memory/{name}": array for name, array in snapshots[-1].memory.items()}


def unpack_snapshots(arrays: Mapping[str, Array], estimator: str, sizes: Sizes) -> list[Snapshot]:
    """The snapshots in the arrays of a file. Raises InvalidContents if an array is not as it must be."""
    columns = {name: arrays[name] for name in _COLUMNS if name in arrays}
    records = {field: arrays[f"records/{field}"] for field in HISTORY if f"records/{field}" in arrays}
    memory = {name.removeprefix("memory/"): array for name, array in arrays.items() if name.startswith("memory/")}
    if len(columns) < len(_COLUMNS) or len(columns) + len(records) + len(memory) < len(arrays):
        raise InvalidContents("does not have the arrays of a checkpoint")
    n_snapshots, n_clusters = len(columns["n_records"].reshape(-1)), sizes.n_clusters
    axes = {"p": n_snapshots, "6": 6, "c": n_snapshots * n_clusters, "d": sizes.n_features}
    for name, expected in _COLUMNS.items():
        expected.check(name, columns[name], axes)
    _check_order(columns)
    all_records, first, snapshots = unpack_records([""], records), 0, []
    if n_snapshots == 0 or sum(map(int, columns["n_records"])) != len(all_records):
        raise InvalidContents("does not have the records of its phases")
    for i in range(n_snapshots):
        phase, last = PHASES[columns["phase"][i]], first + int(columns["n_records"][i])
        ended = StopReason[REASONS[columns["ended"][i] - 1]] if columns["ended"][i] else None
        snapshot = Snapshot(
            phase=phase,
            centers=columns["centers"][i * n_clusters : (i + 1) * n_clusters],
            step=int(columns["step"][i]),
            ceiling=float(columns["ceiling"][i]),
            records=[replace(record, phase=phase) for record in all_records[first:last]],
            rng=unpack_rng(columns["rng"][i]),
            seconds=float(columns["seconds"][i]),
            ended=ended,
            memory={} if ended else memory,
        )
        snapshots.append(snapshot)
        first = last
    _check_memory(memory, estimator, snapshots[-1], sizes)
    return snapshots


def pack_rng(state: RngState) -> Array:
    """The state of a generator as six integers, (6,)."""
    match state:
        case {"state": {"state": int(now), "inc": int(step)}, "has_uint32": int(has), "uinteger": int(kept)}:
            numbers = [*divmod(now, _HALF), *divmod(step, _HALF), has, kept]
            return np.array(numbers, np.uint64).view(np.int64)
        case _:
            raise TypeError(f"a checkpoint needs NumPy's default generator, not {state.get('bit_generator')}.")


def unpack_rng(packed: Array) -> RngState:  # (6,) of int64, IN
    """The state that was packed. Any six integers are one, if the increment is odd."""
    high, low, step_high, step_low, has, kept = (int(number) for number in packed.view(np.uint64))
    if step_low % 2 == 0 or has > 1 or kept >= 2**32:
        raise InvalidContents("has the state of a random generator that is not possible")
    numbers = {"state": high * _HALF + low, "inc": step_high * _HALF + step_low}
    return {"bit_generator": "PCG64", "state": numbers, "has_uint32": has, "uinteger": kept}


def _position(ended: StopReason | None) -> int:
    return 0 if ended is None else 1 + REASONS.index(ended.name)


def _check_order(columns: Mapping[str, Array]) -> None:
    """Raise InvalidContents unless all phases are known and all but the last have ended."""
    if np.any(columns["phase"] >= len(PHASES)) or np.any(columns["ended"] > len(REASONS)):
        raise InvalidContents("has phases or stop reasons that are not known")
    if not np.all(columns["ended"][:-1]):
        raise InvalidContents("has phases after one that has not ended")
    if np.any(columns["step"] > _MOST_STEPS):
        raise InvalidContents("has a number of steps that is not possible")


def _check_memory(memory: Memory, estimator: str, last: Snapshot, sizes: Sizes) -> None:
    """Raise InvalidContents unless the memory is one that the last phase can have."""
    allowed = [{}] if last.ended else MEMORIES.get((estimator, last.phase), [])
    expected = next((each for each in allowed if each.keys() == memory.keys()), None)
    if expected is None:
        raise InvalidContents(f"has a memory that the phase {last.phase} of {estimator} does not have")
    axes = {"K": sizes.n_clusters, "d": sizes.n_features, "n": sizes.n_in_memory, "b": 1}
    if "starts" in memory:
        axes |= {"k": sizes.n_clusters + 1, "4": 4, "s": len(memory["order"].reshape(-1))}
        for letter, name in (("m", "neighbours"), ("l", "lists")):
            axes[letter] = (0, *memory[name].shape)[-1] if name in memory else 0
    if "state.labels" in memory:
        axes["s"] = len(memory["state.labels"].reshape(-1))
    if "lower_moved" in memory and memory["lower_moved"].shape == (sizes.n_clusters,):
        axes["b"] = sizes.n_clusters
    for name, array in memory.items():
        expected[name].check(f"the array {name}", array, axes)
    for prefix in ("", "kept."):
        if f"{prefix}starts" in memory:
            _check_clusters(memory, prefix, sizes.n_clusters)
    if any(np.any(memory[name] >= sizes.n_clusters) for name in ("labels", "state.labels") if name in memory):
        raise InvalidContents("has labels of clusters that do not exist")


def _check_clusters(memory: Memory, prefix: str, n_clusters: int) -> None:
    """Raise InvalidContents unless each point is in one cluster, and all clusters that are named exist."""
    starts, order = memory[f"{prefix}starts"], memory[f"{prefix}order"]
    if starts[0] != 0 or starts[-1] != len(order) or np.any(np.diff(starts) < 0):
        raise InvalidContents("has clusters that overlap")
    if not np.array_equal(np.sort(order), np.arange(len(order))):
        raise InvalidContents("has points that are in no cluster or in several")
    named = [memory[prefix + name] for name in ("neighbours", "lists") if prefix + name in memory]
    if any(np.any(each >= n_clusters) for each in named):
        raise InvalidContents("has neighbours that do not exist")

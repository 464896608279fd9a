"""Compiled kernels: one pass over points, without a points-by-centers matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS: int
"""Calls over ranges of rows that begin at multiples of this give the same bits as one call over them all."""

def accumulate(
    points: NDArray[Any],  # (n_points, n_features) float32, float64, float16, uint8 or int8, C order, IN
    centers: NDArray[Any],  # (n_clusters, n_features) float64 for float64 points, else float32, IN
    counts: NDArray[np.float64],  # (n_clusters,), INOUT
    sums: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    cost: NDArray[np.float64],  # (1,), INOUT
    rows: NDArray[np.int64] | None = None,  # (n_rows,) which points to read, IN; None means all
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None means one each
    errors: NDArray[np.float64] | None = None,  # (n_clusters,), INOUT
    utilities: NDArray[np.float64] | None = None,  # (n_clusters,), INOUT
    labels: NDArray[np.int32] | None = None,  # (n_rows,), OUT
    nearest: NDArray[np.float64] | None = None,  # (n_rows,) squared distance to the nearest center, OUT
    second: NDArray[np.float64] | None = None,  # (n_rows,) to the second nearest, OUT
    n_threads: int | None = None,
) -> None:
    """Add to counts, sums, cost, errors and utilities what the points give; fill labels, nearest and second."""

def distances(
    points: NDArray[Any],  # (n_points, n_features), as above, IN
    centers: NDArray[Any],  # (n_clusters, n_features), as above, IN
    out: NDArray[Any],  # (n, n_clusters) of the centers' dtype, OUT
    rows: NDArray[np.int64] | None = None,  # (n,), IN; default all
    n_threads: int | None = None,
) -> None:
    """Fill out with the Euclidean distance of each point to each center."""

def accumulate_csr(
    values: NDArray[Any],  # (n_stored,) float32 or float64, IN
    indices: NDArray[
        Any
    ],  # (n_stored,) int32 or int64: the feature of each, for each point in order, none twice, IN
    starts: NDArray[np.int64],  # (n_points + 1,) where each point begins among the values, IN
    centers: NDArray[Any],  # (n_clusters, n_features) of the values' dtype, IN
    counts: NDArray[np.float64],  # (n_clusters,), INOUT
    sums: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    cost: NDArray[np.float64],  # (1,), INOUT
    rows: NDArray[np.int64] | None = None,  # (n_rows,) which points to read, IN; None means all
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None means one each
    errors: NDArray[np.float64] | None = None,  # (n_clusters,), INOUT
    utilities: NDArray[np.float64] | None = None,  # (n_clusters,), INOUT
    labels: NDArray[np.int32] | None = None,  # (n_rows,), OUT
    nearest: NDArray[np.float64] | None = None,  # (n_rows,) squared distance to the nearest center, OUT
    second: NDArray[np.float64] | None = None,  # (n_rows,) to the second nearest, OUT
    n_threads: int | None = None,
) -> None:
    """The same as accumulate for sparse points, whose structure is taken to be what check_csr returns True for."""

def distances_csr(
    values: NDArray[Any],  # (n_stored,) float32 or float64, IN
    indices: NDArray[Any],  # (n_stored,) as above, IN
    starts: NDArray[np.int64],  # (n_points + 1,), IN
    centers: NDArray[Any],  # (n_clusters, n_features) of the values' dtype, IN
    out: NDArray[Any],  # (n_points, n_clusters) of the centers' dtype, OUT
    n_threads: int | None = None,
) -> None:
    """The same as distances for sparse points."""

def check_csr(
    indices: NDArray[Any],  # (n_stored,) int32 or int64, IN
    starts: NDArray[np.int64],  # (n_points + 1,), IN
    n_features: int,
) -> bool:
    """Whether each point's indices are in order, none twice; a ValueError if a kernel could read past an end."""

def instruction_set() -> str:
    """The instruction set in use."""

def instruction_sets() -> list[str]:
    """Those that this machine supports, the best last."""

def max_threads() -> int:
    """The number of threads that None stands for."""

def refine(
    points: NDArray[Any],  # (n_points, n_features), as above, IN
    centers: NDArray[Any],  # (n_clusters, n_features), as above, IN
    counts: NDArray[np.float64],  # (n_clusters,), INOUT
    sums: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    labels: NDArray[np.int32],  # (n_points,), INOUT
    upper: NDArray[np.float32],  # (n_points,), INOUT
    lower: NDArray[np.float32],  # (n_points, n_groups), INOUT
    moved: NDArray[np.float32],  # (n_clusters,), IN
    group_moved: NDArray[np.float32],  # (n_groups,), IN
    half_gap: NDArray[np.float32],  # (n_clusters,), IN
    group_of: NDArray[np.int32],  # (n_clusters,), IN
    members: NDArray[np.int32],  # (n_clusters,), IN
    group_start: NDArray[np.int32],  # (n_groups + 1,), IN
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN
    n_threads: int | None = None,
) -> int:
    """Bring labels and bounds up to date with the centers; add to counts and sums what changed.

    Returns how many distances that took.
    """

def implicit_steps(
    points: NDArray[Any],  # (n_points, n_features), as above, IN
    rows: NDArray[np.int64],  # (n_outer * n_inner * batch_size,) the batches, one after the other, IN
    centers: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    n_outer: int,
    n_inner: int,
    step_size: float,
    decay: float,
    averaging: float,
    limit: float,
    n_threads: int | None = None,
) -> None:
    """Take n_outer stochastic backward Euler steps of n_inner batches each, the rows of one after the other."""

def transfer(
    points: NDArray[Any],  # (n_points, n_features), as above, IN
    rows: NDArray[np.int64],  # (n,) of the points, IN
    weights: NDArray[np.float64],  # (n,), IN
    labels: NDArray[np.int32],  # (n,) their clusters, IN
    counts: NDArray[np.float64],  # (n_clusters,), INOUT
    sums: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    centers: NDArray[np.float64],  # (n_clusters, n_features) where centers without points are, IN
) -> int:
    """Move single points to other clusters where that lowers the cost; returns how many were moved."""

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
    out: NDArray[Any],  # (n_points, n_clusters) of the centers' dtype, OUT
    n_threads: int | None = None,
) -> None:
    """Fill out with the Euclidean distance of each point to each center."""

def instruction_set() -> str:
    """The instruction set in use."""

def instruction_sets() -> list[str]:
    """Those that this machine supports, the best last."""

def max_threads() -> int:
    """The number of threads that None stands for."""

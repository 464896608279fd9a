"""The slow twin of the placement: SciPy's assignment to centers that are replicated as often as allowed."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment


def naive_place(
    costs: np.ndarray,  # (n_points, n_clusters), IN
    lowest: int,
    highest: int,
) -> np.ndarray:
    """The labels of least cost with sizes from `lowest` to `highest`."""
    n, k = costs.shape
    needed, spare = np.repeat(np.arange(k), lowest), np.repeat(np.arange(k), min(highest, n) - lowest)
    copies = np.concatenate([needed, spare])
    replicated = costs[:, copies]
    replicated[:, : len(needed)] -= 2 * np.ptp(costs) + 1  # so that these copies are all taken
    rows, columns = linear_sum_assignment(replicated)
    labels = np.empty(n, dtype=np.int32)
    labels[rows] = copies[columns]
    return labels


def cost_of(costs: np.ndarray, labels: np.ndarray) -> float:
    return float(costs[np.arange(len(labels)), labels].sum())

"""Independent random samples of data of any size, each reduced to the part that is to be bounded.

A sample is a block of rows drawn with replacement, divided into anticlusters, of which one is picked at random.
Every row has the same chance to be in it, so the expected optimum per row is at most that of the whole; and its
cluster means agree with those of a sample several times as large.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from .anticlusters import anticlusters

BLOCK_PARTS = 5  # parts of a block


def with_replacement(n_draws: int, n_points: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draws with replacement from `n_points`, given distinct points in random order: which of these each draw is.

    Only the first of the distinct points are used, one for each draw that does not repeat an earlier one.
    """
    draws = rng.integers(n_points, size=n_draws)
    _, firsts, which = np.unique(draws, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    return rank[which]


def sampled_parts(
    features: FloatArray,  # (n_distinct, n_features), IN: of distinct points in random order
    labels: NDArray[np.int32],  # (n_distinct,), IN
    n_points: int,  # of the whole
    n_samples: int,
    size: int,
    rng: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """The rows of each sample, `size` of them, with repeats."""
    block = len(features) // n_samples // size * size
    draws = with_replacement(n_samples * block, n_points, rng).reshape(n_samples, block)
    parts = []
    for rows in draws:
        found = anticlusters(features[rows], labels[rows], block // size, rng)
        parts.append(rows[found[rng.integers(len(found))]])
    return parts

"""Parts of the data whose cluster means agree with those of the whole ("anticlusters").

The optimum of the whole is at least the sum of the optima of the parts. For the given clusters this loses Σ_t
Σ_j W_tj ‖c_tj − c_j‖², where c_tj is the mean of cluster j within part t. Each cluster is dealt out over the
parts along its longest axis; then pairs of parts swap the two points that lower the loss most. Every partition is
valid: a poor one only gives a lower bound that is lower.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray

_ROUNDS = 40  # of swaps between pairs of parts, for each cluster; fewer for a few parts
_EMPTY = -1  # no point in this place


def anticlusters(
    features: FloatArray,  # (n_points, n_features), IN: what is to have the same mean in every part
    labels: NDArray[np.int32],  # (n_points,), IN
    n_parts: int,
    rng: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """The row numbers of each part, in ascending order; the sizes of the parts differ by one at most."""
    part_of = np.empty(len(features), dtype=np.int64)
    first = 0  # the part that gets the next point that is left over
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        offsets = features[rows] - features[rows].mean(axis=0)
        places = _dealt(offsets, n_parts, first, rng)
        if n_parts > 1:
            _swap(offsets, places, rng)
        part, place = np.nonzero(places != _EMPTY)
        part_of[rows[places[part, place]]] = part
        first = (first + len(rows)) % n_parts
    order = np.argsort(part_of, kind="stable")
    return np.split(order, np.cumsum(np.bincount(part_of, minlength=n_parts))[:-1])


def _dealt(offsets: FloatArray, n_parts: int, first: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which points each part gets, (n_parts, most); parts from `first` on get those that are left over."""
    n = len(offsets)
    axis = np.linalg.eigh(offsets.T @ offsets)[1][:, -1]
    order = np.argsort(offsets @ axis, kind="stable")
    most = -(-n // n_parts)
    places = np.full((n_parts, most), _EMPTY, dtype=np.int64)
    whole = n // n_parts
    for column in range(whole):
        places[rng.permutation(n_parts), column] = order[column * n_parts : (column + 1) * n_parts]
    left = order[whole * n_parts :]
    places[(first + np.arange(len(left))) % n_parts, -1] = left
    return places


def _swap(
    offsets: FloatArray,  # (n, n_features), IN
    places: NDArray[np.int64],  # (n_parts, most), INOUT
    rng: np.random.Generator,
) -> None:
    """Swap points between random pairs of parts while that lowers Σ_t ‖Σ_{i in t} offset_i‖²."""
    n_parts = len(places)
    padded = np.vstack([offsets, np.zeros(offsets.shape[1])])  # _EMPTY finds zeros
    sums = padded[places].sum(axis=1)
    for _ in range(min(_ROUNDS, 4 * n_parts)):
        order = rng.permutation(n_parts)
        one, other = order[: n_parts // 2], order[n_parts // 2 : n_parts // 2 * 2]
        a, b = padded[places[one]], padded[places[other]]  # (n_pairs, most, n_features)
        pull = sums[one] - sums[other]
        # With δ = b_j − a_i, ‖s + δ‖² + ‖s' − δ‖² changes by 2 δ·(s − s') + 2 ‖δ‖².
        squares = np.einsum("pif,pif->pi", a, a)[:, :, None] + np.einsum("pjf,pjf->pj", b, b)[:, None, :]
        along = np.einsum("pjf,pf->pj", b, pull)[:, None, :] - np.einsum("pif,pf->pi", a, pull)[:, :, None]
        change = along + squares - 2 * a @ b.transpose(0, 2, 1)
        change[(places[one] == _EMPTY)[:, :, None] | (places[other] == _EMPTY)[:, None, :]] = 0
        best = change.reshape(len(one), -1).argmin(axis=1)
        i, j = np.divmod(best, places.shape[1])
        pairs = np.flatnonzero(change[np.arange(len(one)), i, j] < 0)
        t, u, i, j = one[pairs], other[pairs], i[pairs], j[pairs]
        move = b[pairs, j] - a[pairs, i]
        sums[t] += move
        sums[u] -= move
        places[t, i], places[u, j] = places[u, j], places[t, i]

"""The slow twin of the compiled kernels: moments and labels by their definition."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from eulermeans.moments import Moments


def naive_moments(
    points,  # (n_points, n_features), IN
    centers,  # (n_clusters, n_features), IN
    weights=None,  # (n_points,), IN
):
    """The moments, and the label of each point."""
    points64 = np.asarray(points, dtype=np.float64)
    n_points, n_clusters = len(points64), len(centers)
    weight = np.ones(n_points) if weights is None else weights
    distances = cdist(points64, np.asarray(centers, dtype=np.float64), "sqeuclidean")
    labels = distances.argmin(axis=1)
    in_order = np.sort(distances, axis=1)
    nearest = in_order[:, 0]
    second = in_order[:, 1] if n_clusters > 1 else np.full(n_points, np.inf)
    member = np.zeros((n_clusters, n_points))
    member[labels, np.arange(n_points)] = weight
    with np.errstate(invalid="ignore"):  # no weight times an infinite second distance
        utilities = np.nan_to_num(member @ (second - nearest), nan=0.0, posinf=np.inf)
    moments = Moments(
        counts=member.sum(axis=1),
        sums=member @ points64,
        cost=float(weight @ nearest),
        errors=member @ nearest,
        utilities=utilities,
    )
    return moments, labels.astype(np.int32)


def naive_seeds(
    points,  # (n_points, n_features), IN
    centers,  # (n_centers, n_features) that are there already, IN
    numbers,  # (n_new, n_candidates) from 0 up to 1, which draw the candidates, IN
    weights=None,  # (n_points,), IN
):
    """The rows that greedy k-means++ makes centers, with all distances measured."""
    points64 = np.asarray(points, dtype=np.float64)
    weight = np.ones(len(points64)) if weights is None else weights
    squares = cdist(points64, np.asarray(centers, dtype=np.float64), "sqeuclidean")
    nearest, labels = squares.min(axis=1), squares.argmin(axis=1)
    order = np.argsort(labels, kind="stable")  # cluster after cluster
    chosen = []
    for of_center in numbers:
        cumulative = np.cumsum((weight * nearest)[order])
        if cumulative[-1] > 0:
            places = np.searchsorted(cumulative, of_center * cumulative[-1], side="right")
        else:
            places = (of_center * len(order)).astype(int)
        reduced = np.minimum(nearest[:, None], cdist(points64, points64[order[places]], "sqeuclidean"))
        best = int(np.argmin(weight @ reduced))
        chosen.append(order[places[best]])
        gone = reduced[:, best] < nearest
        nearest = reduced[:, best]
        order = np.concatenate([order[~gone[order]], order[gone[order]]])
    return np.array(chosen)

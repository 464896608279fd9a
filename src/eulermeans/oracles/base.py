"""The oracle: what a solver may ask of the data.

The paper speaks of a full gradient oracle and a mini-batch gradient oracle; so does the code. A solver knows this
protocol and nothing else of the data. An oracle knows where points lie and how to read them, and no algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..moments import FloatArray, Moments


@dataclass(frozen=True)
class Labeling:
    """Which center each point is nearest to, and what that costs."""

    labels: NDArray[np.int32]  # (n_points,)
    moments: Moments


@dataclass(frozen=True)
class Outliers:
    """The points that lie farthest from their centers, the farthest first."""

    points: FloatArray  # (n, n_features)
    weights: FloatArray  # (n,)
    labels: NDArray[np.int32]  # (n,)
    distances: FloatArray  # (n,) squared, to the nearest center


class InMemory(Protocol):
    """A sample: points at hand, which an oracle's questions can be asked about as well."""

    points: NDArray[Any]  # (n, n_features)
    weights: FloatArray | None  # (n,); None means one each

    def distances(self, centers: FloatArray) -> NDArray[Any]:
        """The distance of every point to every center, (n, n_clusters)."""
        ...


class Oracle(Protocol):
    """Answers about the data for given centers, which are always float64 of shape (n_clusters, n_features)."""

    n_points: int
    n_features: int
    total_weight: float
    unweighted: bool  # every point has weight one
    dtype: np.dtype[Any]  # of the arithmetic, and so of centers for users: float32 or float64

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; with `detail` also errors and utilities."""
        ...

    def minibatch(self, centers: FloatArray, size: int, rng: np.random.Generator) -> Moments:
        """The moments over `size` points drawn at random, each as likely as its weight says."""
        ...

    def sample(self, size: int, rng: np.random.Generator) -> InMemory:
        """`size` distinct points drawn uniformly from those with weight (all of them if there are fewer)."""
        ...

    def farthest(self, centers: FloatArray, size: int) -> Outliers:
        """The `size` points that lie farthest from their nearest centers."""
        ...

    def label(self, centers: FloatArray) -> Labeling:
        """The nearest center of every point."""
        ...

    def mean(self) -> FloatArray:
        """The weighted mean of the points, (n_features,)."""
        ...

    def variance(self) -> FloatArray:
        """The weighted variance of each feature, (n_features,)."""
        ...

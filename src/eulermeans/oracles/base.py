"""The oracle: what a solver may ask of the data.

The paper speaks of a full gradient oracle and a mini-batch gradient oracle; so does the code. A solver knows this
protocol and nothing else of the data. An oracle knows where points lie and how to read them, and no algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, DType, FloatArray
from ..moments import Moments


@dataclass(frozen=True)
class Labeling:
    """Which center each point is nearest to, and what that costs."""

    labels: Any  # (n_points,) int32: an array, or `Blocks` of arrays where the points are not at hand
    moments: Moments
    nearest: FloatArray | None = None  # (n_points,) squared distance to that center, if it was asked for


@dataclass(frozen=True)
class Outliers:
    """The points that lie farthest from their centers, the farthest first."""

    points: FloatArray  # (n, n_features)
    weights: FloatArray  # (n,)
    labels: NDArray[np.int32]  # (n,)
    distances: FloatArray  # (n,) squared, to the nearest center


@dataclass(frozen=True)
class Contested:
    """Points near the border of their cluster, which a single transfer to another center may serve better."""

    points: Array  # (n_points, n_features), as the kernels read them: these and perhaps others
    rows: NDArray[np.int64]  # (n,) which of them
    weights: FloatArray  # (n,)
    labels: NDArray[np.int32]  # (n,) their nearest centers
    moments: Moments  # over all points, these and the others

    @property
    def coordinates(self) -> FloatArray:
        """Those of the contested points, (n, n_features)."""
        coordinates: FloatArray = self.points[self.rows].astype(np.float64)
        return coordinates


@dataclass(frozen=True)
class ImplicitSteps:
    """A run of stochastic backward Euler steps with these parameters; see `solvers.backward_euler`."""

    n_steps: int
    n_inner: int
    batch_size: int
    step_size: float
    decay: float
    averaging: float
    limit: float  # on step · count / batch_size, for each center


class InMemory(Protocol):
    """A sample: points at hand, which an oracle's questions can be asked about as well."""

    weights: FloatArray | None  # (n_points,); None means one each

    @property
    def n_points(self) -> int:
        """How many points there are."""
        ...

    def rows(self, rows: Array) -> FloatArray:
        """Chosen points as a dense array, (len(rows), n_features)."""
        ...

    def mean_of(self, rows: Array) -> FloatArray:
        """The weighted mean of chosen points, (n_features,)."""
        ...

    def distances(self, centers: FloatArray) -> Any:
        """The distance of every point to every center, (n_points, n_clusters)."""
        ...


class Oracle(Protocol):
    """Answers about the data for given centers, which are always float64 of shape (n_clusters, n_features)."""

    n_features: int
    unweighted: bool  # every point has weight one
    dtype: DType  # of the arithmetic, and so of centers for users: float32 or float64

    @property
    def n_points(self) -> int:
        """How many points there are."""
        ...

    @property
    def total_weight(self) -> float:
        """The weight of all points."""
        ...

    @property
    def at_hand(self) -> Searchable | None:
        """Points in memory that stand for all: all of them, or a uniform sample of many, if any."""
        ...

    @property
    def row_bytes(self) -> float:
        """The memory that a point of a sample takes."""
        ...

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; with `detail` also errors and utilities."""
        ...

    def minibatch(self, centers: FloatArray, size: int, rng: np.random.Generator) -> Moments:
        """The moments over `size` points drawn at random, each as likely as its weight says."""
        ...

    def sample(self, size: int, rng: np.random.Generator) -> Searchable:
        """`size` distinct points drawn uniformly from those with weight (all of them if there are fewer)."""
        ...

    def farthest(self, centers: FloatArray, size: int) -> Outliers:
        """The `size` points that lie farthest from their nearest centers."""
        ...

    def tracked(self) -> Oracle:
        """An oracle whose `full` may remember what it learned of the last centers; itself if it can't."""
        ...

    def memory(self) -> dict[str, Array]:
        """What a tracked oracle has learned so far; nothing for others."""
        ...

    def remember(self, memory: dict[str, Array]) -> None:
        """Go on with what an oracle over the same points had learned, IN."""
        ...

    def label(self, centers: FloatArray) -> Labeling:
        """The nearest center of every point."""
        ...

    def labels(self, centers: FloatArray) -> Any:
        """The nearest center of every point, (n_points,), in kind: an array, blocks of a stream, a lazy array."""
        ...

    def distances(self, centers: FloatArray) -> Any:
        """The distance of every point to every center, (n_points, n_clusters), in kind."""
        ...

    def mean(self) -> FloatArray:
        """The weighted mean of the points, (n_features,)."""
        ...

    def variance(self) -> FloatArray:
        """The weighted variance of each feature, (n_features,)."""
        ...


class Searchable(Oracle, InMemory, Protocol):
    """An oracle over points at hand, which a search may ask often and closely."""

    def implicit_steps(self, centers: FloatArray, steps: ImplicitSteps, rng: np.random.Generator) -> FloatArray:
        """Where the centers are after these steps, taken next to the points."""
        ...

    def contested(self, centers: FloatArray, *, detail: bool = False) -> Contested:
        """The moments over all points, and the points that another center might serve better than their own."""
        ...

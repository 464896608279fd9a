"""The oracle: what a solver may ask of the data.

The paper speaks of a full gradient oracle and a mini-batch gradient oracle; so does the code. `Oracle` is the
base of the executors, which ask a question over all points: in memory, from a stream, or on a cluster. It gives
solvers readable verbs, written once on top of `ask`. Centers are always float64, (n_clusters, n_features).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, DType, FloatArray
from ..moments import Moments
from .content_digest import ContentDigest, combined
from .question import Answer, Question, RowQuestion, RowsByBlock
from .questions import (
    BatchMoments,
    CenterDistances,
    FarthestPoints,
    FeatureSquares,
    FullMoments,
    LabeledMoments,
    Labeling,
    NearestLabels,
    Outliers,
)
from .sphere import unit_centers

if TYPE_CHECKING:
    from .memory import MemoryOracle
    from .questions import RowAnswers

Memory = dict[str, Array]  # what an oracle or a solver has learned, to go on from later


class Oracle(ABC):
    """Asks questions over all points. A new way to hold points is a subclass that implements `_execute`.

    With `spherical`, points are unit rows and only the directions of centers count: each question is asked about
    the centers projected onto the unit sphere, where ‖x − c‖² = 2 (1 − cos). Every solver then becomes its
    spherical twin.
    """

    rows_in_memory: bool  # whether an answer for every row is an array, because the data were given as one
    remembers: bool = False  # whether what a fit asks about the centers of the last `full` takes no pass
    point_weight: float = 1.0  # what the caller counts each point as; answers count each as one

    def __init__(
        self, n_features: int, dtype: DType, *, unweighted: bool, spherical: bool, n_threads: int | None
    ) -> None:
        self.n_features = n_features
        self.dtype = dtype  # of the arithmetic, and so of the centers that users see: float32 or float64
        self.unweighted = unweighted  # every point has weight one
        self.spherical = spherical
        self.n_threads = n_threads
        self._mean: FloatArray | None = None

    @property
    @abstractmethod
    def n_points(self) -> int:
        """How many points there are. A stream may have to read all of them to know."""

    @property
    @abstractmethod
    def total_weight(self) -> float:
        """The weight of all points."""

    @property
    def row_bytes(self) -> float:
        """The memory that a row of a sample takes."""
        return float(self.n_features * self.dtype.itemsize)

    @property
    @abstractmethod
    def at_hand(self) -> MemoryOracle | None:
        """An oracle over points in memory that stand for all: all points or a uniform sample; None without one."""

    @abstractmethod
    def sample(self, size: int, rng: np.random.Generator) -> MemoryOracle:
        """`size` distinct points drawn uniformly from those with weight; all of them if there are fewer."""

    @abstractmethod
    def _execute(self, question: Question[Answer]) -> Answer:
        """The answer over all points of the blocks that the question is about."""

    @abstractmethod
    def _execute_by_row(self, question: RowQuestion) -> RowAnswers:
        """The answer for every row, in the form in which the data were given."""

    @abstractmethod
    def _draw(self, size: int, rng: np.random.Generator) -> RowsByBlock:
        """The rows of a mini-batch, each drawn in proportion to its weight."""

    def ask(self, question: Question[Answer]) -> Answer:
        """The answer over all points."""
        return self._execute(question.map_centers(unit_centers) if self.spherical else question)

    def ask_by_row(self, question: RowQuestion) -> RowAnswers:
        """The answer for every row: an array, or for data that are not in memory blocks or a lazy array."""
        return self._execute_by_row(question.map_centers(unit_centers) if self.spherical else question)

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; with `detail` also errors and utilities."""
        return self.ask(FullMoments(centers, detail))

    def minibatch(self, centers: FloatArray, size: int, rng: np.random.Generator) -> Moments:
        """The moments over `size` points drawn with replacement, each in proportion to its weight."""
        return self.ask(BatchMoments(centers, self._draw(size, rng)))

    def farthest(self, centers: FloatArray, size: int) -> Outliers:
        """The `size` points that lie farthest from their nearest centers."""
        return self.ask(FarthestPoints(centers, size))

    def label(
        self,
        centers: FloatArray,
        *,
        nearest: bool = False,
        prices: FloatArray | None = None,
        count_ties: bool = False,
    ) -> Labeling:
        """Labels and moments in one pass, as arrays in memory; on demand also squared distances, and ties."""
        return self.ask(LabeledMoments(centers, nearest, prices, count_ties))

    def labels(self, centers: FloatArray) -> RowAnswers:
        """The nearest center of every point, (n_points,)."""
        return self.ask_by_row(NearestLabels(centers))

    def distances(self, centers: FloatArray) -> RowAnswers:
        """The distance of every point to every center, (n_points, n_clusters)."""
        return self.ask_by_row(CenterDistances(centers))

    def mean(self) -> FloatArray:
        """The weighted mean of the points, (n_features,)."""
        if self._mean is None:
            self._mean = self._execute(FullMoments(np.zeros((1, self.n_features)))).sums[0] / self.total_weight
        return self._mean

    def variance(self) -> FloatArray:
        """The weighted variance of each feature, (n_features,)."""
        return self._execute(FeatureSquares(self.mean())) / self.total_weight

    def variance_of_features(self) -> float:
        """The mean of their variances."""
        return float(self.variance().mean())

    def digest(self) -> str:
        """A digest of all rows and weights, in their order: other data have another one. Takes one pass."""
        return combined(self._execute(ContentDigest()))

    def project(self, centers: Array) -> Array:
        """The centers as questions are asked about them."""
        return unit_centers(centers) if self.spherical else centers

    def memory(self) -> Memory:
        """What `full` has learned so far; nothing without bounds."""
        return {}

    def remember(self, memory: Memory) -> None:
        """Go on with what an oracle over the same points had learned."""
        assert not memory

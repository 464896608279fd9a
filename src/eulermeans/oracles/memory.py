"""The executor over points in memory: one block, answered by the kernels at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, FloatArray
from ..moments import Moments
from .oracle import Oracle
from .points import Partition, Points, StepRun
from .question import Answer, Question, RowQuestion, RowsByBlock
from .questions import FullMoments, Labeling

if TYPE_CHECKING:
    from .questions import RowAnswers


class MemoryOracle(Oracle):
    """An oracle over points at hand, which a search may ask often and closely."""

    def __init__(
        self,
        points: Points,
        *,
        spherical: bool = False,
        by_row: Callable[[RowQuestion], RowAnswers] | None = None,  # for data that are not an array
    ) -> None:
        super().__init__(
            points.n_features,
            points.dtype,
            unweighted=points.weights is None,
            spherical=spherical,
            n_threads=points.n_threads,
        )
        self.points = points
        self._by_row = by_row
        self.rows_in_memory = by_row is None
        self.within = 0.0  # the cost inside of the points, where each stands for several
        self._labeled: tuple[Array, Labeling] | None = None

    @property
    def n_points(self) -> int:
        return self.points.n_points

    @property
    def total_weight(self) -> float:
        return self.points.total_weight

    @property
    def row_bytes(self) -> float:
        return self.points.row_bytes

    @property
    def at_hand(self) -> MemoryOracle:
        return self

    def sample(self, size: int, rng: np.random.Generator) -> MemoryOracle:
        return MemoryOracle(self.points.view(self.points.draw_distinct(size, rng)), spherical=self.spherical)

    def take_steps(self, centers: FloatArray, run: StepRun, rng: np.random.Generator) -> FloatArray | None:
        """The centers after a run of steps taken by a compiled kernel; None where there is no such kernel."""
        return self.points.take_steps(centers, run, rng)

    def partition(self, centers: FloatArray) -> Partition | None:
        """Every point in the cluster of its nearest center; None where there are no sweeps, as on the sphere."""
        return None if self.spherical else self.points.partition(centers)

    def sweep(self, partition: Partition, n_sweeps: int, rng: np.random.Generator) -> Moments:
        """The moments after sweeps, which change the partition; see `Points.sweep`."""
        return self.points.sweep(partition, n_sweeps, rng)

    def euclidean(self) -> MemoryOracle:
        """An oracle over the same points that takes centers as they are, also off the sphere."""
        return MemoryOracle(self.points) if self.spherical else self

    def label(
        self,
        centers: FloatArray,
        *,
        nearest: bool = False,
        prices: FloatArray | None = None,
        count_ties: bool = False,
    ) -> Labeling:
        if self._labeled is not None and not nearest and prices is None:
            about, labeling = self._labeled
            if np.array_equal(about, self.project(centers).astype(self.dtype)):
                return labeling
        return super().label(centers, nearest=nearest, prices=prices, count_ties=count_ties)

    def remember_labels(self, centers: Array, labeling: Labeling) -> None:
        """Answer with this labeling, with its ties counted, when labels about the same centers are asked for.

        The centers are as the kernels read them.
        """
        self._labeled = centers, labeling

    def variance_of_features(self) -> float:
        # The cost of a single center at the mean: a pass of a kernel is faster than sums for each feature.
        spread = self._execute(FullMoments(self.mean()[None])).cost
        return spread / (self.total_weight * self.n_features)

    def _execute(self, question: Question[Answer]) -> Answer:
        return question.answer(self.points)

    def _execute_by_row(self, question: RowQuestion) -> RowAnswers:
        return question.answer(self.points) if self._by_row is None else self._by_row(question)

    def _draw(self, size: int, rng: np.random.Generator) -> RowsByBlock:
        return {self.points.block: self.points.draw_positions(size, rng)}

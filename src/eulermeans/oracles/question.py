"""What a question is: a small record with two verbs that can be asked about all points.

`answer` answers for one block of points, by the kernels. `merge` puts the answers about two parts together. Who
asks a question over all points is an executor (see `oracle.Oracle`); a question does not know where the points
are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from ..arrays import Array, DType, FloatArray

if TYPE_CHECKING:
    from typing_extensions import Self

    from .order_independent import Extent, Grid
    from .points import Points

Answer = TypeVar("Answer")
RowsByBlock = Mapping[int, Array]  # for each block, positions of rows in it, (n,); see Points.rows_at


class Question(ABC, Generic[Answer]):
    """What can be asked about all points."""

    per_row = False  # whether its answer has an element for every row, so that blocks must be merged in order

    @abstractmethod
    def answer(self, points: Points) -> Answer:
        """The answer for one block of points."""

    @abstractmethod
    def merge(self, one: Answer, other: Answer) -> Answer:
        """The answer for the points of both."""

    def merge_all(self, answers: Iterable[Answer]) -> Answer:
        """The answer for the points of all, of which there is at least one."""
        return reduce(self.merge, answers)

    def map_centers(self, function: Callable[[Array], Array]) -> Self:
        """The same question about other centers; itself if it is about none."""
        return self

    @property
    def blocks(self) -> Collection[int] | None:
        """The numbers of the blocks that it is about; None means all."""
        return None

    def part(self, blocks: Collection[int]) -> Self:
        """As much of the question as concerns these blocks, so that no more has to be sent to them."""
        return self


@dataclass(frozen=True)
class AboutCenters(Question[Answer]):
    """A question about given centers."""

    centers: Array  # (n_clusters, n_features), IN

    def map_centers(self, function: Callable[[Array], Array]) -> Self:
        return replace(self, centers=function(self.centers))


@dataclass(frozen=True)
class AboutRows(Question[Answer]):
    """A question about chosen rows."""

    rows: RowsByBlock

    @property
    def blocks(self) -> Collection[int]:
        return self.rows.keys()

    def part(self, blocks: Collection[int]) -> Self:
        return replace(self, rows={block: self.rows[block] for block in blocks})


class Sum(Question[Answer]):
    """A question whose answers are records of arrays that add up."""

    @abstractmethod
    def to_arrays(self, answer: Answer) -> dict[str, FloatArray]:
        """The arrays of an answer, by name."""

    @abstractmethod
    def from_arrays(self, arrays: Mapping[str, FloatArray]) -> Answer:
        """The answer with these arrays."""

    @abstractmethod
    def grids(self, extent: Extent) -> dict[str, Grid]:
        """For each array, the grid on which parts of it add up without rounding; see `order_independent`."""

    def merge(self, one: Answer, other: Answer) -> Answer:
        arrays, others = self.to_arrays(one), self.to_arrays(other)
        return self.from_arrays({name: array + others[name] for name, array in arrays.items()})


class RowQuestion(Question[Array]):
    """A question with an answer for every row: an array whose first axis is the rows."""

    per_row = True
    columns: tuple[int, ...] = ()  # the shape of the answer for one row

    def merge(self, one: Array, other: Array) -> Array:
        return np.concatenate([one, other])

    def merge_all(self, answers: Iterable[Array]) -> Array:
        return np.concatenate(list(answers))

    @abstractmethod
    def dtype(self, arithmetic: DType) -> DType:
        """The dtype of the answers, given the dtype of the arithmetic."""

"""What runs in a Dask worker: questions are answered by the kernels next to the worker's partitions.

An engine knows the keys of its partitions and fetches each from the worker when it needs it, one after the other,
so the worker stays free to keep some on disk. Only answers leave the worker. Does not know of other workers.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, FloatArray
from ..sources import check_chunk, partition_chunk
from .dense_points import DensePoints
from .question import Answer, Question


class WeightedPartition(NamedTuple):
    """A partition with weights; a tuple, so that Dask sees its size. Without weights a partition is its array."""

    points: Array  # (n, n_features)
    weights: FloatArray  # (n,)
    cumulative: FloatArray  # (n,) sums of the weights, to draw rows by


@dataclass(frozen=True)
class Facts:
    """What must be known of a partition before the first question."""

    n_points: int
    n_with_weight: int
    total_weight: float
    largest: float  # magnitude of a value


def weighted_partition(points: Array, weights: FloatArray) -> WeightedPartition:
    """A partition of points and their weights."""
    return WeightedPartition(points, np.ascontiguousarray(weights), np.cumsum(weights))


def facts_of(
    held: Array | WeightedPartition, number: int, n_features: int, name: str, feature_names: list[str] | None
) -> Facts:
    """Check a partition, and say what it holds."""
    points, weights = (held.points, held.weights) if isinstance(held, WeightedPartition) else (held, None)
    check_chunk(partition_chunk(points, weights, number, n_features, name), feature_names)
    largest = max(float(points.max()), -float(points.min())) if points.size else 0.0
    n_with_weight = len(points) if weights is None else int(np.count_nonzero(weights))
    total_weight = float(len(points)) if weights is None else float(weights.sum())
    return Facts(len(points), n_with_weight, total_weight, largest)


class Engine:
    """Answers for partitions of its worker."""

    def __init__(self, keys: dict[int, str], n_threads: int | None) -> None:
        from distributed import get_worker

        self._keys = keys
        self._worker = get_worker()
        self._n_threads = self._worker.state.nthreads if n_threads is None else n_threads

    def ask(self, question: Question[Answer], numbers: Collection[int]) -> Answer:
        """The answer over these partitions; a KeyError if the worker no longer holds one of them."""
        return question.merge_all(question.answer(self._partition(number)) for number in sorted(numbers))

    def _partition(self, number: int) -> DensePoints:
        held: Any = self._worker.data[self._keys[number]]
        if not isinstance(held, WeightedPartition):
            return DensePoints(held, n_threads=self._n_threads, block=number)
        points = DensePoints(held.points, held.weights, n_threads=self._n_threads, block=number)
        points.cumulative_weights = held.cumulative
        return points

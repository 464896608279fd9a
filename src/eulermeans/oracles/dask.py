"""Points in the memory of a Dask cluster: the kernels go to the points, and only moments come back.

A step moves the centers out and the moments in, O(n_clusters · n_features) bytes for each worker, and the numbers
of the rows of a mini-batch; rows move when they are sampled. The answers have the same bits for any number of
workers, and so has all that is random: it is drawn here.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, FloatArray, arithmetic_dtype
from ..moments import Moments
from ..optional import optional
from ..sources import DaskSource, SourceError
from .array import ArrayOracle
from .base import Labeling, Oracle, Outliers
from .dask_engine import Rows, farthest_of
from .dask_lazy import lazy_distances, lazy_labels
from .dask_local import LocalDask
from .dask_partitions import Partitions
from .exact import Grid, Scale, added
from .stream import StreamOracle


def current_client() -> Any | None:
    """The Dask client that is in use here, if there is one."""
    try:
        return optional("distributed", "dask").Client.current()
    except ValueError:
        return None


def dask_oracle(
    source: DaskSource, *, n_threads: int | None, memory_limit: int | str, rng: np.random.Generator | None
) -> DaskOracle | LocalDask:
    """The oracle over a cluster if a client is in use, else one that computes the partitions here.

    Without a client small collections are read into memory if an `rng` is given, as for a fit.
    """
    if current_client() is not None:
        return DaskOracle(source, n_threads=n_threads)
    stream = StreamOracle(source, memory_limit=memory_limit, n_threads=n_threads, rng=rng)
    return LocalDask(source, stream if rng is None else stream.in_memory() or stream)


class DaskOracle:
    """An oracle over a Dask array or dataframe, which the workers hold in memory as long as this object lives.

    Nothing is computed before the first question. Labels and distances are lazy, made from the collection itself.
    """

    def __init__(
        self,
        source: DaskSource,
        *,
        client: Any = None,  # None: the one in use here
        n_threads: int | None = None,  # of a kernel; None: as many as each worker has
    ) -> None:
        self._client = current_client() if client is None else client
        if self._client is None:
            raise ValueError("there is no Dask client; make one first: dask.distributed.Client().")
        self._source = source
        self.n_features, self.feature_names = source.n_features, source.feature_names
        self.unweighted = not source.weighted
        self.dtype = arithmetic_dtype(source.dtype)
        self.n_threads = n_threads

    def full(self, centers: FloatArray, *, detail: bool = False) -> Moments:
        """The moments over all points; with `detail` also errors and utilities."""
        scale = self._scale(centers, self.total_weight)
        answers = self._partitions.ask("moments", centers.astype(self.dtype), scale, detail=detail)
        return scale.moments(added(answers), self.n_points * len(centers))

    def minibatch(self, centers: FloatArray, size: int, rng: np.random.Generator) -> Moments:
        """The moments over `size` points drawn at random, each as likely as its weight says.

        The rows are those that an oracle over the same points in memory would draw.
        """
        if self.unweighted:
            rows = self._by_partition(rng.integers(self.n_points, size=size), self._ends)
        else:
            ends = self._weight_ends
            rows = self._by_partition(np.minimum(rng.random(size) * ends[-1], np.nextafter(ends[-1], 0)), ends)
        scale = self._scale(centers, float(size))
        answers = self._partitions.ask("batch", centers.astype(self.dtype), scale, rows=rows)
        return scale.moments(added(answers), size * len(centers))

    def sample(self, size: int, rng: np.random.Generator) -> ArrayOracle:
        """`size` distinct points drawn uniformly from those with weight (all of them if there are fewer)."""
        n_candidates = int(self._ends[-1])
        rows = np.sort(rng.choice(n_candidates, size=min(size, n_candidates), replace=False))
        taken: dict[int, tuple[Array, FloatArray | None]] = {}
        for answer in self._partitions.ask("take", rows=self._by_partition(rows, self._ends)):
            taken |= answer
        points = [taken[number][0] for number in sorted(taken)]
        weights = [taken[number][1] for number in sorted(taken)]
        together = None if self.unweighted else np.concatenate([part for part in weights if part is not None])
        return ArrayOracle(np.concatenate(points), together, n_threads=self.n_threads)

    def farthest(self, centers: FloatArray, size: int) -> Outliers:
        """The `size` points that lie farthest from their nearest centers."""
        return farthest_of(self._partitions.ask("farthest", centers.astype(self.dtype), size), size).outliers

    def tracked(self) -> Oracle:
        """Itself."""
        return self

    def memory(self) -> dict[str, Array]:
        """Nothing is learned from pass to pass."""
        return {}

    def remember(self, memory: dict[str, Array]) -> None:
        """There is nothing to go on with."""
        assert not memory

    def labels(self, centers: FloatArray) -> Any:
        """The nearest center of every point, a lazy Dask array of int32 with the chunks of the collection."""
        return lazy_labels(self._source, centers, self.n_threads)

    def distances(self, centers: FloatArray) -> Any:
        """The distance of every point to every center, a lazy Dask array (n_points, n_clusters)."""
        return lazy_distances(self._source, centers, self.n_threads)

    def label(self, centers: FloatArray) -> Labeling:
        """The nearest center of every point, lazily; the moments are computed."""
        return Labeling(labels=self.labels(centers), moments=self.full(centers))

    def mean(self) -> FloatArray:
        """The weighted mean of the points, (n_features,)."""
        return self._mean

    def variance(self) -> FloatArray:
        """The weighted variance of each feature, (n_features,)."""
        grid = Grid(self.total_weight * (2 * self._largest) ** 2, len(self._partitions.facts))
        squares = grid.values(added(self._partitions.ask("squares", self.mean(), grid))["squares"])
        return squares / self.total_weight

    @property
    def at_hand(self) -> None:
        """No points: they are with the workers."""
        return None

    @property
    def row_bytes(self) -> float:
        """The memory that a point of a sample takes."""
        return float(self.n_features * self.dtype.itemsize)

    @cached_property
    def n_points(self) -> int:
        """All rows, also those without weight."""
        return sum(facts.n_points for facts in self._partitions.facts)

    @cached_property
    def total_weight(self) -> float:
        """The weight of all points."""
        return float(self._weight_ends[-1])

    @cached_property
    def _partitions(self) -> Partitions:
        partitions = Partitions(self._source, self._client, self.n_threads)
        if not any(facts.n_points for facts in partitions.facts):
            raise SourceError(f"{self._source.name} is empty: it has no rows.")
        if not any(facts.n_with_weight for facts in partitions.facts):
            raise ValueError("sample_weight is zero for every sample; at least one must be positive.")
        return partitions

    @cached_property
    def _largest(self) -> float:
        return max(facts.largest for facts in self._partitions.facts)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Up to each partition, how many rows have weight, (n_partitions,)."""
        return np.cumsum([facts.n_with_weight for facts in self._partitions.facts])

    @cached_property
    def _weight_ends(self) -> FloatArray:
        """Up to each partition, the weight of the rows, (n_partitions,)."""
        return np.cumsum([facts.total_weight for facts in self._partitions.facts])

    @cached_property
    def _mean(self) -> FloatArray:
        mean: FloatArray = self.full(np.zeros((1, self.n_features))).sums[0] / self.total_weight
        return mean

    def _scale(self, centers: FloatArray, total_weight: float) -> Scale:
        largest_center = float(np.max(np.abs(centers)))
        return Scale(total_weight, self._largest, largest_center, self.n_features, len(self._partitions.facts))

    def _by_partition(self, positions: Array, ends: Array) -> Rows:
        """Positions in all data as positions within partitions, by number; `ends` is where each partition ends."""
        numbers = np.searchsorted(ends, positions, side="right")
        order = np.argsort(numbers, kind="stable")
        numbers, positions = numbers[order], positions[order]
        found, first = np.unique(numbers, return_index=True)
        starts = np.concatenate([[0], ends[:-1]])
        parts = np.split(positions, first[1:])
        return {int(number): part - starts[number] for number, part in zip(found, parts, strict=True)}

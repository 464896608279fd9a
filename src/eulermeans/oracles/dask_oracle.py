"""The executor over a Dask collection: the kernels go to the partitions, and only small answers come back.

A step sends the centers out and gets moments back, O(n_clusters · n_features) bytes for each worker, plus the row
numbers of a mini-batch. Rows move only when they are sampled. All random numbers are drawn here, and answers merge
independently of order, so results have the same bits for any number of workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, arithmetic_dtype
from ..optional import optional
from ..sources import DaskSource, SourceError, check_chunk, partition_chunk
from .dask_partitions import Partitions
from .dense_points import DensePoints
from .memory import MemoryOracle
from .oracle import Oracle
from .order_independent import Extent, OrderIndependent
from .question import Answer, Question, RowQuestion, RowsByBlock, Sum
from .questions import ChosenPoints

if TYPE_CHECKING:
    import dask.array as da
    from distributed import Client


def current_client() -> Client | None:
    """The Dask client in use, if there is one."""
    try:
        client: Client = optional("distributed", "dask").Client.current()
        return client
    except ValueError:
        return None


class DaskOracle(Oracle):
    """An oracle over a Dask array or dataframe, which the workers hold in memory as long as this object lives.

    Nothing is computed before the first question. Labels and distances are lazy, made from the collection itself.
    """

    at_hand = None
    rows_in_memory = False

    def __init__(
        self,
        source: DaskSource,
        *,
        spherical: bool = False,
        client: Client | None = None,  # None: the one in use
        n_threads: int | None = None,  # of a kernel; None: as many as each worker has
    ) -> None:
        client = client or current_client()
        if client is None:
            raise ValueError("there is no Dask client; create one first: dask.distributed.Client().")
        super().__init__(
            source.n_features,
            arithmetic_dtype(source.dtype),
            unweighted=not source.weighted,
            spherical=spherical,
            n_threads=n_threads,
        )
        self._source, self._client = source, client
        self._held: Partitions | None = None

    @property
    def n_points(self) -> int:
        return self._partitions.n_points

    @property
    def total_weight(self) -> float:
        return float(self._partitions.weight_ends[-1])

    def sample(self, size: int, rng: np.random.Generator) -> MemoryOracle:
        ends = self._partitions.row_ends
        n_candidates = int(ends[-1])
        rows = np.sort(rng.choice(n_candidates, size=min(size, n_candidates), replace=False))
        taken = self._execute(ChosenPoints(_by_partition(rows, ends)))
        parts = [taken[number] for number in sorted(taken)]
        weights = None if self.unweighted else np.concatenate([part.weights for part in parts])
        points = DensePoints(np.concatenate([part.stored for part in parts]), weights, n_threads=self.n_threads)
        return MemoryOracle(points, spherical=self.spherical)

    def _execute(self, question: Question[Answer]) -> Answer:
        if question.per_row:
            raise TypeError("answers for every row of a Dask collection are lazy; ask for labels or distances.")
        if isinstance(question, Sum):
            held = self._partitions
            extent = Extent(self.total_weight, held.largest, self.n_features, held.n_partitions)
            exact: OrderIndependent[Answer] = OrderIndependent(question, question.grids(extent))
            return exact.total(self._partitions.ask(exact.map_centers(self._rounded)))
        return self._partitions.ask(question.map_centers(self._rounded))

    def _execute_by_row(self, question: RowQuestion) -> da.Array:
        return answers_by_row(self._source, question, self.n_threads)

    def _draw(self, size: int, rng: np.random.Generator) -> RowsByBlock:
        if self.unweighted:
            return _by_partition(rng.integers(self.n_points, size=size), self._partitions.row_ends)
        ends = self._partitions.weight_ends
        return _by_partition(np.minimum(rng.random(size) * ends[-1], np.nextafter(ends[-1], 0)), ends)

    def _rounded(self, centers: Array) -> Array:
        """The centers in the precision of the kernels, which is less to send."""
        return centers.astype(self.dtype)

    @property
    def _partitions(self) -> Partitions:
        if self._held is None:
            partitions = Partitions(self._source, self._client, self.n_threads)
            if partitions.n_points == 0:
                raise SourceError(f"{self._source.name} is empty: it has no rows.")
            if partitions.row_ends[-1] == 0:
                raise ValueError("sample_weight is zero for every sample; at least one must be positive.")
            self._held = partitions
        return self._held


def answers_by_row(source: DaskSource, question: RowQuestion, n_threads: int | None) -> da.Array:
    """The answer for every row: a lazy Dask array with the row chunks of the collection."""
    rows = source.rows
    asked = _AskedOfBlocks(question, source, n_threads)
    dtype = question.dtype(arithmetic_dtype(source.dtype))
    options = {"dtype": dtype, "meta": np.empty((0,) * (1 + len(question.columns)), dtype=dtype)}
    shape = {"chunks": (rows.chunks[0], question.columns)} if question.columns else {"drop_axis": 1}
    answers: da.Array = rows.map_blocks(asked, **shape, **options)
    return answers


class _AskedOfBlocks:
    """A function of one block. Not a dataclass or tuple, which Dask would search for tasks."""

    def __init__(self, question: RowQuestion, source: DaskSource, n_threads: int | None) -> None:
        self.question, self.n_threads = question, n_threads
        self.name, self.n_features, self.feature_names = source.name, source.n_features, source.feature_names

    def __dask_tokenize__(self) -> tuple[object, ...]:
        question = (type(self.question).__name__, *vars(self.question).values())
        return (question, self.name, self.n_features, self.feature_names, self.n_threads)

    def __call__(self, points: Array, block_info: dict[int, dict[str, tuple[int, ...]]] | None = None) -> Array:
        assert block_info is not None
        number = block_info[0]["chunk-location"][0]
        check_chunk(partition_chunk(points, None, number, self.n_features, self.name), self.feature_names)
        return self.question.answer(DensePoints(points, n_threads=self.n_threads))


def _by_partition(positions: Array, ends: Array) -> RowsByBlock:
    """Positions in all data as positions within partitions, by number; `ends` says where each partition ends."""
    numbers = np.searchsorted(ends, positions, side="right")
    order = np.argsort(numbers, kind="stable")
    numbers, positions = numbers[order], positions[order]
    found, first = np.unique(numbers, return_index=True)
    starts = np.concatenate([[0], ends[:-1]])
    parts = np.split(positions, first[1:])
    return {int(number): part - starts[number] for number, part in zip(found, parts, strict=True)}

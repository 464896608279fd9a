"""The partitions of a Dask collection in the memory of a cluster: where each one is, and how it is asked.

Every worker gets an engine, a Dask actor, for the partitions that it holds: calling an actor takes a few
milliseconds, a task takes tens. Dask remembers how each partition was made. When a worker is lost, its partitions
are made again elsewhere, get new engines, and only they are asked again: answers merge to the same bits whoever
gives them. An engine fetches its partitions from the worker one at a time, so the worker may keep some on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, FloatArray
from ..optional import optional
from ..sources import DaskSource, check_chunk, listed, partition_chunk, partition_error
from .dense_points import DensePoints
from .question import Answer, Question

if TYPE_CHECKING:
    import dask.array as da
    from distributed import Client, Future

    AnyFuture: TypeAlias = Future[Any]

POLL = 0.5  # seconds between checks that a worker that has not answered is still there
PATIENCE = 60.0  # seconds without any worker, or without any answer, before giving up
LOST = (RuntimeError, ValueError)  # raised for an actor whose worker is lost, the second by distributed 2024.12
PAUSE = 0.1  # seconds to let the scheduler notice that workers were lost


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


@dataclass(frozen=True, eq=False)
class _Placed:
    """An engine, and the partitions it answers for."""

    actor: Any  # a proxy of an Engine in a worker
    future: AnyFuture  # keeps the actor alive, and tells when its worker is lost
    numbers: frozenset[int]


class Partitions:
    """The partitions in the workers' memory, for as long as this object lives."""

    def __init__(self, source: DaskSource, client: Client, n_threads: int | None) -> None:
        self._distributed = optional("distributed", "dask")
        self._client, self._n_threads = client, n_threads
        self._engines: list[_Placed] = []
        held = self._persisted(source.rows)
        if source.weights is not None:
            held = client.map(weighted_partition, held, self._persisted(source.weights), pure=False)
        about: dict[str, Any] = {
            "n_features": source.n_features,
            "name": source.name,
            "feature_names": source.feature_names,
        }
        found = client.map(facts_of, held, range(len(held)), pure=False, **about)
        self._await(dict(enumerate(found)))
        facts: list[Facts] = client.gather(found)
        self._futures = {i: future for i, future in enumerate(held) if facts[i].n_points}
        self.n_partitions = len(facts)
        self.n_points = sum(each.n_points for each in facts)
        self.largest = max(each.largest for each in facts)  # magnitude of a value
        # Up to and with each partition, (n_partitions,): how many rows have weight, and how much.
        self.row_ends: NDArray[np.int64] = np.cumsum([each.n_with_weight for each in facts])
        self.weight_ends: FloatArray = np.cumsum([each.total_weight for each in facts])

    def ask(self, question: Question[Answer]) -> Answer:
        """The answer over all partitions that the question is about."""
        answers: list[Answer] = []
        missing = set(self._futures if question.blocks is None else question.blocks)
        deadline, reason = time.monotonic() + PATIENCE, None
        while missing:
            calls = []
            for engine in self._placed_engines():
                if part := engine.numbers & missing:
                    calls.append((engine, _call(engine, question.part(part), part)))
            before = len(missing)
            for engine, call in calls:
                try:
                    answers.append(self._result(engine, call))
                    missing -= engine.numbers
                except (OSError, KeyError) as error:  # its worker is gone, or no longer holds a partition
                    self._engines.remove(engine)
                    reason = error
            if len(missing) < before:
                deadline = time.monotonic() + PATIENCE
            elif time.monotonic() > deadline:
                what = f"partitions {listed(sorted(missing))}"
                raise RuntimeError(f"no worker has answered for {what} in {PATIENCE:g} seconds.") from reason
            if missing:
                time.sleep(PAUSE)
        return question.merge_all(answers)

    def _result(self, engine: _Placed, result: Callable[..., Answer] | None) -> Answer:
        """The answer; an OSError once the engine is known to be lost, because the answer may never come."""
        while result is not None:
            try:
                return result(timeout=POLL)
            except self._distributed.TimeoutError:
                if not self._is_whole(engine):
                    break
        raise OSError("the worker is gone")

    def _is_whole(self, engine: _Placed) -> bool:
        """Whether the engine and all of its partitions are still there, as far as is known."""
        futures = [engine.future, *(self._futures[number] for number in engine.numbers)]
        return all(future.status == "finished" for future in futures)

    def _placed_engines(self) -> list[_Placed]:
        """Engines for all partitions; partitions without one, or that were lost, get a new one."""
        self._engines = [engine for engine in self._engines if self._is_whole(engine)]
        orphans = set(self._futures).difference(*(engine.numbers for engine in self._engines))
        if orphans:
            self._await({number: self._futures[number] for number in orphans}, again=True)
            holders = self._client.who_has([self._futures[number] for number in orphans])
            by_worker: dict[str, list[int]] = {}
            for number in sorted(orphans):
                holder = min(holders.get(self._futures[number].key, ()), default=None)
                if holder is not None:  # otherwise it has just been lost, and the next round finds it
                    by_worker.setdefault(holder, []).append(number)
            self._engines += self._created(by_worker)
        return self._engines

    def _created(self, by_worker: dict[str, list[int]]) -> list[_Placed]:
        with self._client.as_current():  # actors belong to the current client
            created = [
                self._client.submit(
                    Engine,
                    {number: self._futures[number].key for number in numbers},
                    self._n_threads,
                    actor=True,
                    workers=[worker],
                    allow_other_workers=True,  # an engine that finds no partition there says so
                    pure=False,
                )
                for worker, numbers in by_worker.items()
            ]
            self._wait(created)
            placed = map(_placed, created, by_worker.values())
            return [engine for engine in placed if engine is not None]

    def _persisted(self, blocks: da.Array) -> list[AnyFuture]:
        """A future for each chunk of a Dask array, in order."""
        persisted = self._client.persist(blocks)
        futures = {future.key: future for future in self._distributed.futures_of(persisted)}
        return [futures[key] for key in optional("dask.core", "dask").flatten(persisted.__dask_keys__())]

    def _await(self, futures: dict[int, AnyFuture], *, again: bool = False) -> None:
        """Wait until all partitions are computed; an error if one cannot be."""
        while any(future.status != "finished" for future in futures.values()):
            self._wait(list(futures.values()))
            for number, future in futures.items():
                if future.status in ("error", "cancelled"):
                    error = future.exception() if future.status == "error" else None
                    what = "computed again after its worker was lost" if again else "computed"
                    raise partition_error(number, error, what)

    def _wait(self, futures: list[AnyFuture]) -> None:
        """Wait until all futures are done or have failed; an error if there are no workers for too long."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._distributed.wait(futures, timeout=POLL)
                return
            except CancelledError:  # one was lost for good
                return
            except self._distributed.TimeoutError:
                if self._client.nthreads():
                    deadline = time.monotonic() + PATIENCE
                elif time.monotonic() > deadline:
                    raise RuntimeError(f"the cluster has had no workers for {PATIENCE:g} seconds.") from None


def _placed(future: AnyFuture, numbers: Collection[int]) -> _Placed | None:
    """The engine that was created for these partitions; None if it was not, or if its worker is lost already."""
    if future.status != "finished":
        return None
    try:
        return _Placed(future.result(), future, frozenset(numbers))
    except (*LOST, CancelledError):  # since the status was set; the next round creates another
        return None


def _call(engine: _Placed, question: Question[Answer], numbers: frozenset[int]) -> Callable[..., Answer] | None:
    """Send the question; returns what waits for the answer, or None if the engine is known to be lost."""
    try:
        result: Callable[..., Answer] = engine.actor.ask(question, numbers).result
        return result
    except LOST:
        return None

"""A source and a fit that are watched: every chunk and every step is told to the progress, and may be the last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import FloatArray, arithmetic_dtype
from ..driver import Record, StopReason
from ..oracles.sphere import unit_centers
from ..sources import CHUNK_BYTES, Chunk, Source
from .interrupts import Interrupt
from .progress import Progress

_PHASES = ("search", "descend", "polish", "finish")


class WatchedSource(Source):
    """The same rows, counted as they are read."""

    def __init__(self, source: Source, progress: Progress, interrupt: Interrupt, expected: int | None) -> None:
        self.name, self.n_points, self.n_features = source.name, source.n_points, source.n_features
        self.feature_names, self.dtype, self.weighted = source.feature_names, source.dtype, source.weighted
        self.at_hand = source.at_hand
        self.counted: int | None = None  # once all rows were read
        self.total_weight = 0.0  # of those
        self._source, self._progress, self._interrupt = source, progress, interrupt
        self._expected = source.n_points if expected is None else expected

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        self._progress.begin_pass(self._expected if self.counted is None else self.counted)
        n_rows, weight = 0, 0.0
        self._interrupt.check()
        for chunk in self._source.chunks(most_bytes):
            n_rows += len(chunk)
            weight += len(chunk) if chunk.weights is None else float(chunk.weights.sum())
            self._progress.rows(len(chunk))
            yield chunk
            self._interrupt.check()
        self.counted, self.total_weight = n_rows, weight
        self._progress.end_pass()


class Watcher:
    """Told of each step of a fit. Keeps the best centers, so that there are some when it has to end."""

    def __init__(self, progress: Progress, interrupt: Interrupt) -> None:
        self.centers: FloatArray | None = None  # (n_clusters, n_features)
        self.history: list[Record] = []
        self._best: Record | None = None  # of the centers
        self._progress, self._interrupt = progress, interrupt

    def begin(self, phase: str) -> None:
        """A step is about to be taken."""
        self._progress.begin(phase)

    def end(self, record: Record, centers: FloatArray) -> bool:
        """A step was taken; true asks to stop."""
        self.history.append(record)
        if self._best is None or _better(record, self._best):
            self.centers, self._best = centers.copy(), record
        self._progress.step(record.step, record.objective, record.points_read)
        return self._interrupt.requested


def _better(record: Record, best: Record) -> bool:
    """Whether a step led to better centers: nearer to the end of the fit, or as near with a better objective.

    The objective of one phase is no measure for the next, which may be over more of the data; that of the descent
    is none at all, being of a batch each time.
    """
    if record.phase in _PHASES and best.phase in _PHASES and record.phase != best.phase:
        later = _PHASES.index(record.phase) > _PHASES.index(best.phase)
        return later or record.objective <= best.objective  # earlier: the search of another restart
    return record.phase == "descend" or record.objective <= best.objective


def complete(model: Any, watcher: Watcher, source: Source) -> bool:
    """Make a model of a fit that was left in the middle; false if it has no centers yet."""
    if watcher.centers is None:
        return False
    centers = unit_centers(watcher.centers) if model.metric == "cosine" else watcher.centers
    model.cluster_centers_ = centers.astype(arithmetic_dtype(source.dtype))
    model.n_features_in_ = source.n_features
    if source.feature_names is not None:
        model.feature_names_in_ = np.array(source.feature_names, dtype=object)
    model.history_, model.n_iter_ = watcher.history, len(watcher.history)
    model.stop_reason_ = StopReason.CALLBACK
    return True

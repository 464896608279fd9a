"""A Dask array or dataframe: rows in partitions, which Dask computes when it is asked to.

Read as a source, the partitions are computed one at a time, by local threads; an oracle over a cluster takes the
collection itself. Nothing imports Dask before it has seen a collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import Array, DType
from .base import CHUNK_BYTES, Chunk, rows_in
from .dask_parts import Parts, failed, partition, parts_of, weights_like


def is_dask(data: Any) -> bool:
    """Whether this is a Dask collection, found out without importing Dask."""
    return hasattr(type(data), "__dask_graph__")


class DaskSource:
    """A Dask collection as rows of points, and their weights."""

    at_hand = False

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.name, self.feature_names = parts.name, parts.feature_names
        n_points, n_features = parts.rows.shape
        self.n_points: int | None = None if np.isnan(n_points) else int(n_points)
        self.n_features = int(n_features)
        self.dtype: DType = parts.rows.dtype.newbyteorder("=")
        self.weighted = parts.weights is not None

    def weighted_by(self, weights: Any) -> DaskSource:
        """The same rows with these weights: a Dask array or series, or an array, (n_points,)."""
        if self.weighted:
            raise ValueError(f"{self.name} has weights of its own; give no others.")
        return DaskSource(replace(self.parts, weights=weights_like(weights, self.parts.rows)))

    def mapped(
        self,
        function: Callable[[Array], Array],
        n_features: int,
        feature_names: list[str] | None,
        dtype: DType,
    ) -> DaskSource:
        """The same collection with a function applied to the points of each partition, where they are."""
        rows = self.parts.rows.map_blocks(
            function,
            chunks=(self.parts.rows.chunks[0], (n_features,)),
            dtype=dtype,
            meta=np.empty((0, n_features), dtype=dtype),
        )
        return DaskSource(replace(self.parts, rows=rows, feature_names=feature_names))

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order: each partition is computed when it is asked for."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        for number in range(self.parts.rows.numblocks[0]):
            points = _computed(self.parts.rows, number)
            weights = None if self.parts.weights is None else _computed(self.parts.weights, number)
            whole = partition(points, weights, number, self.n_features, self.name)
            for first in range(0, len(points), step):
                rows = slice(first, first + step)
                of_rows = None if weights is None else weights[rows]
                yield Chunk((points[rows],), self.dtype, whole.where, first, of_rows)

    def reader_bytes(self, most_bytes: int) -> int:
        """About how much memory computing takes: a partition and the next one. Unknown ones count as small."""
        largest = max((n for n in self.parts.rows.chunks[0] if not np.isnan(n)), default=0)
        return int(2 * largest * self.n_features * self.dtype.itemsize)


def dask_source(collection: Any, columns: Sequence[str] | None = None, weights: str | None = None) -> DaskSource:
    """The source of a Dask array or dataframe."""
    return DaskSource(parts_of(collection, columns, weights))


def _computed(array: Any, number: int) -> Any:
    try:
        return array.blocks[number].compute(scheduler="threads")
    except Exception as error:  # whatever the graph of the caller raises
        raise failed(number, error) from error

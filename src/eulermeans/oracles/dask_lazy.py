"""Labels and distances of a Dask collection: lazy Dask arrays, computed by whoever computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, FloatArray, arithmetic_dtype
from ..sources import DaskSource, check_chunk
from ..sources import partition_chunk as partition
from .array import ArrayOracle


def lazy_labels(source: DaskSource, centers: FloatArray, n_threads: int | None = None) -> Any:
    """The nearest center of every row, a Dask array of int32 with the chunks of the rows."""
    meta = np.empty(0, dtype=np.int32)
    asked = _Asked(centers, source.name, source.feature_names, n_threads)
    return source.parts.rows.map_blocks(_labels, asked=asked, drop_axis=1, dtype=meta.dtype, meta=meta)


def lazy_distances(source: DaskSource, centers: FloatArray, n_threads: int | None = None) -> Any:
    """The distance of every row to every center, a Dask array with the row chunks of the rows."""
    meta = np.empty((0, 0), dtype=arithmetic_dtype(source.dtype))
    asked = _Asked(centers, source.name, source.feature_names, n_threads)
    chunks = (source.parts.rows.chunks[0], (len(centers),))
    return source.parts.rows.map_blocks(_distances, asked=asked, chunks=chunks, dtype=meta.dtype, meta=meta)


class _Asked:
    """The same for every block. No dataclass or tuple, which Dask would look into for tasks."""

    def __init__(
        self, centers: FloatArray, name: str, feature_names: list[str] | None, n_threads: int | None
    ) -> None:
        self.centers, self.name, self.feature_names, self.n_threads = centers, name, feature_names, n_threads

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return (self.centers, self.name, self.feature_names, self.n_threads)

    def oracle(self, points: Array, block_info: Any) -> ArrayOracle:
        """Over one block, which is checked."""
        number = block_info[0]["chunk-location"][0]
        check_chunk(partition(points, None, number, self.centers.shape[1], self.name), self.feature_names)
        return ArrayOracle(points, n_threads=self.n_threads)


def _labels(points: Array, *, asked: _Asked, block_info: Any = None) -> NDArray[np.int32]:
    return asked.oracle(points, block_info).labels(asked.centers)


def _distances(points: Array, *, asked: _Asked, block_info: Any = None) -> Array:
    return asked.oracle(points, block_info).distances(asked.centers)

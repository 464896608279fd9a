"""A source with a function applied to its rows: scaled, normalised, or fewer of their features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array, DType
from .dask_source import DaskSource
from .source import CHUNK_BYTES, Chunk, Source, SourceError, reader_bytes


class MappedSource:
    """The rows of another source after a function of (n, n_features) points to (n, n_features_out) points."""

    def __init__(
        self,
        source: Source,
        function: Callable[[Array], Array],
        *,
        n_features: int,
        feature_names: list[str] | None,
        dtype: DType,
    ) -> None:
        self.name, self.n_points = source.name, source.n_points
        self.weighted, self.at_hand = source.weighted, source.at_hand
        self.n_features, self.feature_names, self.dtype = n_features, feature_names, dtype
        self._source, self._function = source, function

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        row_bytes = self.n_features * self.dtype.itemsize
        source_bytes = self._source.n_features * self._source.dtype.itemsize
        for chunk in self._source.chunks(max(1, most_bytes * source_bytes // max(row_bytes, source_bytes))):
            points = np.asarray(self._function(chunk.points))
            if points.shape != (len(chunk), self.n_features):
                raise SourceError(
                    f"the function applied to {self.name} returned shape {points.shape}; "
                    f"expected {(len(chunk), self.n_features)}."
                )
            yield replace(chunk, parts=(points,), dtype=self.dtype, before=chunk)

    def reader_bytes(self, most_bytes: int) -> int:
        """About how much memory reading takes beside the chunks."""
        return reader_bytes(self._source, most_bytes)


def mapped(
    source: Source,
    function: Callable[[Array], Array],  # of rows, each by itself
    *,
    n_features: int | None = None,
    feature_names: list[str] | None = None,
    dtype: Any = None,
) -> MappedSource | DaskSource:
    """The same source with a function applied to the points of each chunk.

    Number, names and dtype of the features stay as they are unless given.
    """
    if n_features is None:
        n_features = source.n_features if feature_names is None else len(feature_names)
    if feature_names is None and n_features == source.n_features:
        feature_names = source.feature_names
    dtype = source.dtype if dtype is None else np.dtype(dtype)
    if isinstance(source, DaskSource):  # which a cluster may map
        return source.mapped(function, n_features, feature_names, dtype)
    return MappedSource(source, function, n_features=n_features, feature_names=feature_names, dtype=dtype)

"""Dask collections where there is no cluster: read a partition at a time, or held in memory if they are small."""

from __future__ import annotations

from typing import Any

from ..arrays import FloatArray
from ..sources import DaskSource
from .array import ArrayOracle
from .base import Labeling
from .dask_lazy import lazy_distances, lazy_labels
from .stream import StreamOracle


class LocalDask:
    """An oracle over the rows of a collection that answers in kind: labels and distances are lazy Dask arrays."""

    def __init__(self, source: DaskSource, oracle: StreamOracle | ArrayOracle) -> None:
        self._source, self._oracle = source, oracle

    def __getattr__(self, name: str) -> Any:  # all else
        if name == "_oracle":  # not there yet, while a copy is being made
            raise AttributeError(name)
        return getattr(self._oracle, name)

    @property
    def at_hand(self) -> Any:
        """Points in memory that stand for all of them."""
        at_hand = self._oracle.at_hand
        return self if at_hand is self._oracle else at_hand

    def label(self, centers: FloatArray) -> Labeling:
        """The nearest center of every point, lazily; the moments are computed."""
        return Labeling(labels=self.labels(centers), moments=self._oracle.full(centers))

    def labels(self, centers: FloatArray) -> Any:
        """The nearest center of every point, a lazy Dask array of int32."""
        return lazy_labels(self._source, centers, self._oracle.n_threads)

    def distances(self, centers: FloatArray) -> Any:
        """The distance of every point to every center, a lazy Dask array (n_points, n_clusters)."""
        return lazy_distances(self._source, centers, self._oracle.n_threads)

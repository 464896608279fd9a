"""Where the data lies: one oracle for each kind of source."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import FloatArray
from ..sources import Blocks, DaskSource, Source, SourceError, as_source, is_dask, is_source, mapped, parse_bytes
from .array import ArrayOracle
from .base import Contested, ImplicitSteps, InMemory, Labeling, Oracle, Outliers, Searchable
from .csr import CsrOracle
from .dask import DaskOracle, dask_oracle
from .dask_local import LocalDask
from .memory import MemoryOracle, draw
from .stream import MEMORY_LIMIT, StreamOracle

__all__ = [
    "MEMORY_LIMIT",
    "ArrayOracle",
    "Blocks",
    "Contested",
    "CsrOracle",
    "DaskOracle",
    "ImplicitSteps",
    "InMemory",
    "Labeling",
    "MemoryOracle",
    "Oracle",
    "Outliers",
    "Searchable",
    "Source",
    "SourceError",
    "StreamOracle",
    "as_oracle",
    "as_source",
    "draw",
    "is_dask",
    "is_source",
    "mapped",
    "parse_bytes",
]


def as_oracle(
    data: Any,  # (n_points, n_features) an array or a sparse matrix in CSR format, IN, finite; or see `as_source`
    weights: FloatArray | None = None,  # (n_points,), IN, not negative, not all zero; for Dask also a collection
    *,
    n_threads: int | None = None,
    memory_limit: int | str = MEMORY_LIMIT,
    rng: np.random.Generator | None = None,
) -> MemoryOracle | StreamOracle | DaskOracle | LocalDask:
    """The oracle for points as they are stored.

    Dask collections are asked where they are if a client is in use, and read as a source if not. What a source
    reads is read into memory if it fits in half of the limit and an `rng` is given, as for a fit. Without one it
    is a stream, which reads nothing before it is asked.
    """
    if issparse(data):
        return CsrOracle(data, weights, n_threads=n_threads)
    if isinstance(data, np.ndarray):
        return ArrayOracle(data, weights, n_threads=n_threads)
    source = as_source(data)
    if isinstance(source, DaskSource):
        source = source if weights is None else source.weighted_by(weights)
        return dask_oracle(source, n_threads=n_threads, memory_limit=memory_limit, rng=rng)
    oracle = StreamOracle(source, weights, memory_limit=memory_limit, n_threads=n_threads, rng=rng)
    return oracle if rng is None else oracle.in_memory() or oracle

"""Oracles: questions about all points, and the executors that ask them where the points are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse import issparse

from ..arrays import Array, FloatArray, arithmetic_dtype
from ..sources import DaskSource, as_source, mapped
from .clustering import ADAPTING, NEIGHBOURS, TRIED_MOVE, Clustering, Moves
from .dask_oracle import DaskOracle, answers_by_row, current_client
from .dense_points import DensePoints
from .far_sample import sample_with_far
from .listed_clustering import SWEEP_WORK, ListedClustering, cluster, neighbours_suffice
from .memory import MemoryOracle
from .oracle import Oracle
from .placement import Placed, Placer, SizeBounds, cost_at
from .points import Partition, Points, StepRun, Unchecked, indices_at
from .priced_questions import Contested, LargestWeight, PricedBlock, PricedLabels, PricedMoments
from .questions import CenterDistances, Labeling
from .sparse_points import CsrPoints
from .sphere import unit_centers, unit_rows
from .stream import MEMORY_LIMIT, StreamOracle
from .summary import Summary, summarize
from .time_limit import OutOfTime, time_limit
from .triangle_bounds import with_bounds

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .questions import RowAnswers as RowAnswers

__all__ = [
    "ADAPTING",
    "NEIGHBOURS",
    "SWEEP_WORK",
    "TRIED_MOVE",
    "CenterDistances",
    "Clustering",
    "Contested",
    "CsrPoints",
    "DaskOracle",
    "DensePoints",
    "Labeling",
    "LargestWeight",
    "ListedClustering",
    "MemoryOracle",
    "Moves",
    "Oracle",
    "OutOfTime",
    "Partition",
    "Placed",
    "Placer",
    "Points",
    "PricedBlock",
    "PricedLabels",
    "PricedMoments",
    "SizeBounds",
    "StepRun",
    "StreamOracle",
    "Summary",
    "Unchecked",
    "as_oracle",
    "cluster",
    "concatenate",
    "cost_at",
    "indices_at",
    "memory_oracle",
    "neighbours_suffice",
    "sample_with_far",
    "summarize",
    "time_limit",
    "unit_centers",
    "unit_rows",
    "with_bounds",
]


def memory_oracle(
    data: Array | csr_array,  # (n_points, n_features) an array or a CSR matrix, IN, finite
    weights: FloatArray | None = None,  # (n_points,), IN, not negative, not all zero
    *,
    spherical: bool = False,
    n_threads: int | None = None,
    unchecked: Unchecked | None = None,  # if values may not be finite: how a pass has them checked
) -> MemoryOracle:
    """The oracle over points in memory. With `spherical`, rows are divided by their norms."""
    if spherical:
        data = unit_rows(data)
    kind = CsrPoints if issparse(data) else DensePoints
    points: Points = kind(data, weights, n_threads=n_threads, unchecked=unchecked)
    return MemoryOracle(points, spherical=spherical)


def concatenate(parts: Sequence[Points]) -> Points:
    """The rows of all parts, one after the other; sparse if any part is."""
    stored = [part.stored for part in parts]
    weights = None
    if any(part.weights is not None for part in parts):
        weights = np.concatenate([np.ones(p.n_points) if p.weights is None else p.weights for p in parts])
    if any(issparse(rows) for rows in stored):
        return CsrPoints(sparse.csr_array(sparse.vstack(stored)), weights, n_threads=parts[0].n_threads)
    return DensePoints(np.concatenate(stored), weights, n_threads=parts[0].n_threads)


def as_oracle(
    data: object,  # an array or a CSR matrix, (n_points, n_features), IN, finite; or what `as_source` takes
    weights: FloatArray | None = None,  # (n_points,), IN, not negative, not all zero; lazy for Dask
    *,
    spherical: bool = False,
    n_threads: int | None = None,
    memory_limit: int | str = MEMORY_LIMIT,
    rng: np.random.Generator | None = None,
) -> MemoryOracle | StreamOracle | DaskOracle:
    """The oracle for points as they are stored. With `spherical`, rows are divided by their norms.

    A Dask collection stays on its cluster if a client is in use. Other sources are read into memory if they fit
    in half of the limit and an `rng` is given, as for a fit. Without one they become a stream, which reads
    nothing before it is asked.
    """
    if issparse(data) or isinstance(data, np.ndarray):
        return memory_oracle(data, weights, spherical=spherical, n_threads=n_threads)
    source = as_source(data)
    if spherical:
        source = mapped(source, unit_rows, dtype=arithmetic_dtype(source.dtype))
    by_row = None
    if isinstance(source, DaskSource):
        if weights is not None:
            source, weights = source.weighted_by(weights), None
        if current_client() is not None:
            return DaskOracle(source, spherical=spherical, n_threads=n_threads)
        by_row = partial(answers_by_row, source, n_threads=n_threads)
    oracle = StreamOracle(
        source,
        weights,
        spherical=spherical,
        memory_limit=memory_limit,
        n_threads=n_threads,
        rng=rng,
        by_row=by_row,
    )
    return oracle if rng is None else oracle.in_memory() or oracle

"""Where the data lies: one oracle for each kind of source."""

from typing import Any

from scipy.sparse import issparse

from ..moments import FloatArray
from .array import ArrayOracle
from .base import Contested, ImplicitSteps, InMemory, Labeling, Oracle, Outliers, Searchable
from .csr import CsrOracle
from .memory import MemoryOracle, draw

__all__ = [
    "ArrayOracle",
    "Contested",
    "CsrOracle",
    "ImplicitSteps",
    "InMemory",
    "Labeling",
    "MemoryOracle",
    "Oracle",
    "Outliers",
    "Searchable",
    "as_oracle",
    "draw",
]


def as_oracle(
    points: Any,  # (n_points, n_features) an array, or a sparse matrix in CSR format, IN, finite
    weights: FloatArray | None = None,  # (n_points,), IN, not negative, not all zero
    *,
    n_threads: int | None = None,
) -> MemoryOracle:
    """The oracle for points as they are stored."""
    oracle = CsrOracle if issparse(points) else ArrayOracle
    return oracle(points, weights, n_threads=n_threads)

"""A source: rows that can be read from the beginning as often as they are wanted, a chunk at a time.

Knows how data are stored and what is wrong with them. Does not know what is done with the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...moments import FloatArray


class SourceError(ValueError):
    """Data that can't be read or can't be clustered; the message names the file and the place in it."""


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows, as they were read together."""

    points: NDArray[Any]  # (n, n_features), finite
    where: str  # the file or the part of it that they come from, for messages
    first: int = 0  # the number of the first row within `where`
    weights: FloatArray | None = None  # (n,); None means one each


class Source(Protocol):
    """Rows to be read again and again, always in the same order."""

    name: str  # for messages: the path, or what it is
    n_points: int | None  # None: not known before they were read once
    n_features: int
    feature_names: list[str] | None
    dtype: np.dtype[Any]  # of the points of every chunk
    weighted: bool  # whether chunks come with weights

    def chunks(self) -> Iterator[Chunk]:
        """All rows, in order."""
        ...

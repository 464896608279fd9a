"""What sources with named columns share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .base import Chunk, rows_in
from .columns import Layout


class Tabular:
    """Rows of named columns, some of which are the features."""

    n_points: int | None
    at_hand = False

    def __init__(self, name: str, columns: Layout) -> None:
        self.name = name
        self.layout = columns
        self.feature_names: list[str] | None = columns.feature_names
        self.n_features = len(columns.feature_names)
        self.dtype = columns.dtype
        self.weighted = columns.weights is not None

    @property
    def schema(self) -> list[tuple[str, str]]:
        """The columns, to be compared with those of another file."""
        return self.layout.schema

    def sliced(self, batch: Any, where: str, first: int, most_bytes: int) -> Iterator[Chunk]:
        """A record batch with the columns of the layout, and perhaps others, as chunks."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        for begin in range(0, batch.num_rows, step):
            yield self.layout.chunk(batch.slice(begin, step), where, first + begin)

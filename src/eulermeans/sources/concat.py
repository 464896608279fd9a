"""Several files as one source: their rows one after the other, with the same columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .source import CHUNK_BYTES, Chunk, Source, SourceError, reader_bytes

Opener = Callable[[Sequence[str] | None, str | None], Any]  # from the names of columns to the source of a file


class ConcatSource:
    """The rows of several sources that have the same schema."""

    at_hand = False

    def __init__(self, name: str, sources: list[Any]) -> None:
        first = sources[0]
        counts = [source.n_points for source in sources]
        self.name = name
        self.n_points: int | None = None if None in counts else sum(counts)
        self.n_features: int = first.n_features
        self.feature_names: list[str] | None = first.feature_names
        self.dtype = first.dtype
        self.weighted: bool = first.weighted
        self._sources = sources

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        for source in self._sources:
            yield from source.chunks(most_bytes)

    def reader_bytes(self, most_bytes: int) -> int:
        """About how much memory reading takes beside the chunks: one file at a time."""
        return max(reader_bytes(source, most_bytes) for source in self._sources)


def concat(name: str, openers: list[Opener], columns: Sequence[str] | None, weights: str | None) -> Source:
    """The source of all these files; each is looked at now, so that what differs is found before all is read."""
    sources = [openers[0](columns, weights)]
    for opener in openers[1:]:
        source = opener(columns, weights)
        first = sources[0]
        if source.schema != first.schema and sorted(source.schema) == sorted(first.schema):
            source = opener([column for column, _ in first.schema], weights)  # the same columns in another order
        _check_same(first, source)
        sources.append(source)
    only: Source = sources[0]
    return only if len(sources) == 1 else ConcatSource(name, sources)


def _check_same(first: Any, other: Any) -> None:
    expected, found = dict(first.schema), dict(other.schema)
    for column in expected | found:
        if expected.get(column) == found.get(column):
            continue
        has = [f"{kinds[column]}" if column in kinds else "not there" for kinds in (expected, found)]
        raise SourceError(
            f"{first.name} and {other.name} do not have the same columns: column {column!r} is {has[0]} in the "
            f"first and {has[1]} in the second."
        )

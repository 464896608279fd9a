"""Zarr arrays, read a few rows of their chunks at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..optional import optional
from .source import CHUNK_BYTES, Chunk, SourceError, check_dtype, check_matrix, rows_in

_WHOLE = 4  # a stored chunk of up to so many times what was asked for is read once and sliced; beyond it, often


class ZarrSource:
    """A Zarr array of two dimensions. What was never written to it has the array's fill value."""

    feature_names: list[str] | None = None
    weighted = False
    at_hand = False

    def __init__(self, array: Any, *, name: str | None = None) -> None:
        self.name = f"the Zarr array {array.path}".rstrip() if name is None else name
        check_matrix(array.shape, self.name)
        self.n_points: int | None = array.shape[0]
        self.n_features: int = array.shape[1]
        self.dtype = check_dtype(np.dtype(array.dtype), self.name)
        self._array = array

    @property
    def schema(self) -> list[tuple[str, str]]:
        """The columns, to be compared with those of another file."""
        return [(f"{self.n_features} columns", str(self.dtype))]

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        asked, together = rows_in(most_bytes, self.n_features, self.dtype), self._rows_together(most_bytes)
        for begin in range(0, self._array.shape[0], together):
            with reading_zarr(self.name):
                rows = np.asarray(self._array[begin : begin + together])
            for first in range(0, len(rows), asked):
                yield Chunk((rows[first : first + asked],), self.dtype, self.name, begin + first)

    def reader_bytes(self, most_bytes: int) -> int:
        """About how much memory reading takes beside the chunks: what is unpacked, and the last that is in use."""
        stored = int(np.prod(self._array.chunks))
        together = self._rows_together(most_bytes) * self.n_features
        return 2 * max(stored, together) * self.dtype.itemsize

    def _rows_together(self, most_bytes: int) -> int:
        asked, stored = rows_in(most_bytes, self.n_features, self.dtype), int(self._array.chunks[0])
        if stored <= asked:
            return asked // stored * stored
        return stored if stored <= _WHOLE * asked else asked


def open_zarr(path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> ZarrSource:
    """The array in a folder or a file of Zarr's."""
    zarr = optional("zarr", "io")
    if columns is not None or weights is not None:
        raise ValueError("columns= and weights= name columns, but a Zarr array has none.")
    with reading_zarr(path):
        found = zarr.open(path, mode="r")
    if not isinstance(found, zarr.Array):
        names = ", ".join(sorted(found.array_keys())) or "none"
        raise SourceError(f"{path} is a group of Zarr arrays ({names}); give the path of one of them.")
    return ZarrSource(found, name=path)


@contextmanager
def reading_zarr(name: str) -> Iterator[None]:
    """Errors of Zarr, which has many kinds of them, as one that names the array."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        raise SourceError(f"can't read {name} as Zarr: {error}") from error

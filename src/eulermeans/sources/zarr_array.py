"""Zarr arrays, read some rows of their chunks at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..optional import optional
from .source import CHUNK_BYTES, Chunk, MatrixSource, SourceError, check_no_columns, wrap_errors

if TYPE_CHECKING:
    import zarr

_LARGEST_CHUNK = 4  # a stored chunk is read once and sliced if it is up to this many times the rows asked for


class ZarrSource(MatrixSource):
    """A two-dimensional Zarr array. Rows that were never written have its fill value."""

    def __init__(self, array: zarr.Array, *, name: str | None = None) -> None:
        name = f"the Zarr array {array.path}".rstrip() if name is None else name
        super().__init__(name, array.shape, np.dtype(array.dtype))
        self._array = array

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        step = self._rows_per_read(most_bytes)
        for first in range(0, self.n_points, step):
            with wrap_errors(self.name, "Zarr", Exception):  # Zarr has many kinds of errors
                rows = np.asarray(self._array[first : first + step])
            yield from self.split(rows, None, self.name, most_bytes, first)

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks: the rows that are read together, and those read before."""
        stored = int(np.prod(self._array.chunks))
        read = self._rows_per_read(most_bytes) * self.n_features
        return 2 * max(stored, read) * self.dtype.itemsize

    def _rows_per_read(self, most_bytes: int) -> int:
        asked, stored = self.rows_per_chunk(most_bytes), int(self._array.chunks[0])
        if stored <= asked:
            return asked // stored * stored
        return stored if stored <= _LARGEST_CHUNK * asked else asked


def open_zarr(path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> ZarrSource:
    """The array in a Zarr folder or file."""
    zarr = optional("zarr", "io")
    check_no_columns("a Zarr array", columns, weights)
    with wrap_errors(path, "Zarr", Exception):
        found = zarr.open(path, mode="r")
    if not isinstance(found, zarr.Array):
        names = ", ".join(sorted(found.array_keys())) or "none"
        raise SourceError(f"{path} is a group of Zarr arrays ({names}); give the path of one of them.")
    return ZarrSource(found, name=path)

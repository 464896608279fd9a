"""NumPy's own files, read forwards: no memory map, whose pages would count as memory that is in use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .base import CHUNK_BYTES, Chunk, SourceError, check_dtype, check_matrix, rows_in


@contextmanager
def reading(path: str, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Errors while a file is read, as one that names it."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        if not isinstance(error, (OSError, EOFError, *errors)):
            raise
        raise SourceError(f"can't read {path} as {kind}: {error}") from error


class NpySource:
    """An array of two dimensions in a .npy file, in C or Fortran order."""

    feature_names: list[str] | None = None
    weighted = False

    def __init__(self, path: str) -> None:
        self.name = path
        with reading(path, "a .npy file", ValueError), open(path, "rb") as file:
            shape, self._fortran, stored = read_header(file)
            self._offset = file.tell()
        check_matrix(shape, path)
        self.dtype = check_dtype(stored, path)
        self._n_rows, self.n_features = shape
        self.n_points: int | None = self._n_rows
        self._stored = stored
        expected = self._offset + self._n_rows * self.n_features * stored.itemsize
        if (found := os.path.getsize(path)) < expected:
            raise SourceError(f"{path} is truncated: it has {found} bytes; its header promises {expected}.")

    @property
    def schema(self) -> list[tuple[str, str]]:
        """The columns, to be compared with those of another file."""
        return [(f"{self.n_features} columns", str(self.dtype))]

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        with reading(self.name, "a .npy file", ValueError), open(self.name, "rb") as file:
            file.seek(self._offset)
            for first in range(0, self._n_rows, step):
                n_rows = min(step, self._n_rows - first)
                parts = self._columns(file, first, n_rows) if self._fortran else [self._rows(file, n_rows)]
                yield Chunk(parts, self.dtype, self.name, first)

    def _rows(self, file: IO[bytes], n_rows: int) -> NDArray[Any]:
        return read_values(file, self._stored, n_rows * self.n_features, self.name).reshape(n_rows, -1)

    def _columns(self, file: IO[bytes], first: int, n_rows: int) -> list[NDArray[Any]]:
        columns = []
        for feature in range(self.n_features):
            file.seek(self._offset + (feature * self._n_rows + first) * self._stored.itemsize)
            columns.append(read_values(file, self._stored, n_rows, self.name))
        return columns


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether it is in Fortran order, and dtype of an array in NumPy's format."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    return shape, fortran and len(shape) > 1, dtype


def read_values(file: IO[bytes], dtype: np.dtype[Any], count: int, name: str) -> NDArray[Any]:
    """The next values of an open file, (count,)."""
    values = np.empty(count, dtype=dtype)
    buffer = memoryview(values.view(np.uint8).data)
    filled = 0
    while filled < len(buffer):
        n_read = file.readinto(buffer[filled:])  # type: ignore[attr-defined]
        if not n_read:
            raise SourceError(f"{name} is truncated: it ended {len(buffer) - filled} bytes early.")
        filled += n_read
    return values

"""NumPy's own files, read forwards: no memory map, whose pages would count as memory that is in use."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO

import numpy as np

from ..arrays import Array, DType, FloatArray
from .source import CHUNK_BYTES, Chunk, SourceError, check_dtype, check_matrix, rows_in


@contextmanager
def wrap_errors(path: str, kind: str, *errors: type[Exception]) -> Iterator[None]:
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
    at_hand = False

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        if columns is not None or weights is not None:
            raise ValueError("columns= and weights= name columns, but a .npy file has none.")
        self.name = path
        with wrap_errors(path, "a .npy file", ValueError), open(path, "rb") as file:
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
        with wrap_errors(self.name, "a .npy file", ValueError), open(self.name, "rb") as file:
            file.seek(self._offset)
            for first in range(0, self._n_rows, step):
                n_rows = min(step, self._n_rows - first)
                parts = self._columns(file, first, n_rows) if self._fortran else [self._rows(file, n_rows)]
                yield Chunk(parts, self.dtype, self.name, first)

    def _rows(self, file: IO[bytes], n_rows: int) -> Array:
        return read_values(file, self._stored, n_rows * self.n_features, self.name).reshape(n_rows, -1)

    def _columns(self, file: IO[bytes], first: int, n_rows: int) -> list[Array]:
        columns = []
        for feature in range(self.n_features):
            file.seek(self._offset + (feature * self._n_rows + first) * self._stored.itemsize)
            columns.append(read_values(file, self._stored, n_rows, self.name))
        return columns


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, DType]:
    """Shape, whether it is in Fortran order, and dtype of an array in NumPy's format."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    return shape, fortran and len(shape) > 1, dtype


def read_values(file: IO[bytes], dtype: DType, count: int, name: str) -> Array:
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


class NpzSource:
    """The array of two dimensions in a .npz archive, and weights from another. It is unpacked as it is read."""

    feature_names: list[str] | None = None
    at_hand = False

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        if columns is not None:
            raise ValueError("columns= names columns, but a .npz file has none; weights= may name an array in it.")
        self.name = path
        headers = {}
        with self._open() as archive:
            for member in archive.namelist():
                with archive.open(member) as file:
                    headers[member.removesuffix(".npy")] = read_header(file)
        matrices = [name for name, (shape, _, _) in headers.items() if len(shape) == 2]
        if len(matrices) != 1:
            shapes = ", ".join(f"{name} {shape}" for name, (shape, _, _) in headers.items())
            raise SourceError(
                f"{path} has {len(matrices)} arrays of two dimensions ({shapes}); expected one. Save the points "
                "alone in a .npy file."
            )
        self._member, self._weights = matrices[0], weights
        shape, fortran, self._stored = headers[self._member]
        check_matrix(shape, path)
        self.dtype = check_dtype(self._stored, path)
        if fortran:
            raise SourceError(f"{path} has an array in Fortran order, which is not read by rows; save it as .npy.")
        self._n_rows, self.n_features = shape
        self.n_points: int | None = self._n_rows
        self.weighted = weights is not None
        if weights is not None:
            if headers.get(weights, ((), False, None))[0] != (self._n_rows,):
                raise SourceError(f"{path} has no array {weights!r} of a weight for each of {self._n_rows} rows.")
            self._weights_stored = headers[weights][2]

    @property
    def schema(self) -> list[tuple[str, str]]:
        """The columns, to be compared with those of another file."""
        return [(f"{self.n_features} columns", str(self.dtype))]

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        step = rows_in(most_bytes, self.n_features, self.dtype)
        with self._open() as archive, ExitStack() as opened:
            file = opened.enter_context(archive.open(f"{self._member}.npy"))
            read_header(file)
            if self._weights is not None:
                weights_file = opened.enter_context(archive.open(f"{self._weights}.npy"))
                read_header(weights_file)
            for first in range(0, self._n_rows, step):
                n_rows = min(step, self._n_rows - first)
                rows = read_values(file, self._stored, n_rows * self.n_features, self.name)
                weights: FloatArray | None = None
                if self._weights is not None:
                    weights = read_values(weights_file, self._weights_stored, n_rows, self.name).astype(np.float64)
                yield Chunk([rows.reshape(n_rows, -1)], self.dtype, self.name, first, weights)

    @contextmanager
    def _open(self) -> Iterator[zipfile.ZipFile]:
        with wrap_errors(self.name, "a .npz file", ValueError, zipfile.BadZipFile, zlib.error):  # noqa: SIM117
            with zipfile.ZipFile(self.name) as archive:
                yield archive

"""Matrices in files: NumPy's .npy and .npz files, and Zarr arrays.

They are read, not memory-mapped: mapped pages count as memory in use.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np

from ..arrays import Array, DType, FloatArray
from ..optional import optional
from .source import CHUNK_BYTES, Chunk, MatrixSource, SourceError, check_no_columns, wrap_errors

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    import zarr

_FETCHED_CHUNKS = 10  # stored chunks that Zarr fetches together, if they are not in local files
_LARGEST_CHUNK = 4  # a stored chunk is read once and sliced if it is up to this many times the rows asked for


@dataclass(frozen=True)
class _Header:
    """How an array is stored."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: DType


class NpySource(MatrixSource):
    """A two-dimensional array in a .npy file, in C or Fortran order."""

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        check_no_columns("a .npy file", columns, weights)
        with wrap_errors(path, "a .npy file", ValueError), open(path, "rb") as file:
            self._stored = _read_header(file)
            self._offset = file.tell()
        super().__init__(path, self._stored.shape, self._stored.dtype)
        self.files = [path]
        expected = self._offset + self.n_points * self.n_features * self.dtype.itemsize
        if (found := os.path.getsize(path)) < expected:
            raise SourceError(f"{path} is truncated: it has {found} bytes; its header says {expected}.")

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        step = self.rows_per_chunk(most_bytes)
        with wrap_errors(self.name, "a .npy file", ValueError), open(self.name, "rb") as file:
            file.seek(self._offset)
            for first in range(0, self.n_points, step):
                n_rows = min(step, self.n_points - first)
                if self._stored.is_fortran:
                    parts = self._read_columns(file, first, n_rows)
                else:
                    values = _read_values(file, self._stored.dtype, n_rows * self.n_features, self.name)
                    parts = [values.reshape(n_rows, -1)]
                yield Chunk(parts, self.dtype, self.name, first)

    def _read_columns(self, file: IO[bytes], first: int, n_rows: int) -> list[Array]:
        columns = []
        for feature in range(self.n_features):
            file.seek(self._offset + (feature * self.n_points + first) * self.dtype.itemsize)
            columns.append(_read_values(file, self._stored.dtype, n_rows, self.name))
        return columns


class NpzSource(MatrixSource):
    """The only two-dimensional array in a .npz archive, and perhaps weights from another array of the archive."""

    def __init__(self, path: str, columns: Sequence[str] | None = None, weights: str | None = None) -> None:
        if columns is not None:
            raise ValueError("columns= chooses columns by name, but a .npz file has no column names.")
        headers = {}
        with _open_archive(path) as archive:
            for member in archive.namelist():
                with archive.open(member) as file:
                    headers[member.removesuffix(".npy")] = _read_header(file)
        matrices = [name for name, header in headers.items() if len(header.shape) == 2]
        if len(matrices) != 1:
            shapes = ", ".join(f"{name} {header.shape}" for name, header in headers.items())
            raise SourceError(
                f"{path} has {len(matrices)} two-dimensional arrays ({shapes}); expected one. Save the points "
                "alone in a .npy file."
            )
        self._member, stored = matrices[0], headers[matrices[0]]
        super().__init__(path, stored.shape, stored.dtype)
        self.files = [path]
        if stored.is_fortran:
            raise SourceError(
                f"{path} has an array in Fortran order, so its rows are not stored together; save it as .npy."
            )
        self._weights, self.weighted = weights, weights is not None
        if weights is not None and (weights not in headers or headers[weights].shape != (self.n_points,)):
            raise SourceError(f"{path} has no array {weights!r} with one weight for each of {self.n_points} rows.")

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order. The arrays are decompressed as they are read."""
        step = self.rows_per_chunk(most_bytes)
        with _open_archive(self.name) as archive, ExitStack() as opened:
            file = opened.enter_context(archive.open(f"{self._member}.npy"))
            stored = _read_header(file).dtype
            if self._weights is not None:
                weights_file = opened.enter_context(archive.open(f"{self._weights}.npy"))
                weights_stored = _read_header(weights_file).dtype
            for first in range(0, self.n_points, step):
                n_rows = min(step, self.n_points - first)
                rows = _read_values(file, stored, n_rows * self.n_features, self.name).reshape(n_rows, -1)
                weights: FloatArray | None = None
                if self._weights is not None:
                    weights = _read_values(weights_file, weights_stored, n_rows, self.name).astype(np.float64)
                yield Chunk([rows], self.dtype, self.name, first, weights)


@contextmanager
def _open_archive(path: str) -> Iterator[zipfile.ZipFile]:
    others = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, LookupError)  # of zipfile
    with wrap_errors(path, "a .npz file", ValueError, *others):  # noqa: SIM117
        with zipfile.ZipFile(path) as archive:
            yield archive


def _read_header(file: IO[bytes]) -> _Header:
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
    except Exception as error:  # NumPy parses the header as Python, with the errors of Python's parser
        raise ValueError(
            f"its header is damaged ({str(error).splitlines()[0] if str(error) else error!r})"
        ) from error
    return _Header(shape, is_fortran and len(shape) > 1, dtype)


def _read_values(file: IO[bytes], dtype: DType, count: int, name: str) -> Array:
    """The next values of an open file, (count,)."""
    values = np.empty(count, dtype=dtype)
    buffer = memoryview(values.view(np.uint8).data)
    filled = 0
    while filled < len(buffer):
        n_read = file.readinto(buffer[filled:])  # type: ignore[attr-defined]
        if not n_read:
            raise SourceError(f"{name} is truncated: {len(buffer) - filled} bytes are missing at its end.")
        filled += n_read
    return values


class ZarrSource(MatrixSource):
    """A two-dimensional Zarr array. Rows that were never written have its fill value."""

    def __init__(self, array: zarr.Array, *, name: str | None = None) -> None:
        name = f"the Zarr array {array.path}".rstrip() if name is None else name
        super().__init__(name, array.shape, np.dtype(array.dtype))
        self._array = array

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        step = self._rows_per_read(most_bytes)
        with _ZarrReader(self._array) as reader:
            for first in range(0, self.n_points, step):
                with wrap_errors(self.name, "Zarr", Exception):  # Zarr has many kinds of errors
                    rows = reader.read(first, first + step)
                yield from self.split(rows, None, self.name, most_bytes, first)
                del rows  # free them before others are read

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks: the rows that are read together, and what they are read from.

        A few stored chunks are fetched together and decompressed one after the other. The allocator keeps twice as
        much again.
        """
        rows, (stored_rows, stored_columns) = self._rows_per_read(most_bytes), map(int, self._array.chunks)
        touched = (-(-rows // stored_rows) + (rows % stored_rows > 0)) * -(-self.n_features // stored_columns)
        fetched = (min(touched, _FETCHED_CHUNKS) + 1) * stored_rows * stored_columns
        return 3 * (rows * self.n_features + fetched) * self.dtype.itemsize

    def _rows_per_read(self, most_bytes: int) -> int:
        asked, stored = self.rows_per_chunk(most_bytes), int(self._array.chunks[0])
        if stored <= asked:
            return asked // stored * stored
        return stored if stored <= _LARGEST_CHUNK * asked else asked


class _ZarrReader:
    """Reads rows of a Zarr array with one thread and one stored chunk at a time, if it is in local files.

    Zarr reads with a thread for each of several chunks. Each of them keeps memory that it has freed for the next
    chunk, which may take many times the memory limit. Chunks fetched together are held together until the thread
    has decompressed them, and on a busy machine it lags behind.
    """

    def __init__(self, array: zarr.Array) -> None:
        self._array = array
        self._loop: AbstractEventLoop | None = None
        self._zarr = optional("zarr", "io")
        local = getattr(getattr(self._zarr, "storage", None), "LocalStore", ())
        if hasattr(array, "async_array") and isinstance(array.store, local):  # from Zarr 3.1 on
            from asyncio import new_event_loop  # only for Zarr: the command must start fast
            from concurrent.futures import ThreadPoolExecutor

            self._loop = new_event_loop()
            self._loop.set_default_executor(ThreadPoolExecutor(1, "eulermeans-zarr"))

    def __enter__(self) -> _ZarrReader:
        return self

    def read(self, first: int, last: int) -> Array:
        """The rows from `first` up to `last`, or up to the end."""
        if self._loop is None:
            return np.asarray(self._array[first:last])
        wanted = self._array.async_array.getitem((slice(first, last), slice(None)))
        with self._zarr.config.set({"async.concurrency": 1}):
            return np.asarray(self._loop.run_until_complete(wanted))

    def __exit__(self, *error: object) -> None:
        if self._loop is not None:
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()


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

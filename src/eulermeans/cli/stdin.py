"""Data from stdin: stored in a temporary file, because it is read several times."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .options import reading
from .progress import Progress

_BLOCK_BYTES = 1 << 20
_FORMATS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # Arrow's stream format
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
}
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}


@contextmanager
def stdin_file(progress: Progress) -> Iterator[Path]:
    """Copy stdin to a temporary file, which is removed after the block."""
    if sys.stdin.isatty():
        raise ValueError("DATA is -, but stdin is a terminal; pipe data into it: cat data.csv | eulermeans ... -")
    progress.begin(reading("-"))
    folder = Path(tempfile.mkdtemp(prefix="eulermeans-"))
    try:
        received = folder / "stdin"
        with received.open("wb") as file:
            start = sys.stdin.buffer.read(_BLOCK_BYTES)
            file.write(start)
            shutil.copyfileobj(sys.stdin.buffer, file, _BLOCK_BYTES)
        named = received.with_suffix(_suffix(start))
        os.rename(received, named)
        yield named
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _suffix(start: bytes) -> str:
    """The file name suffix for data with these first bytes. Data of no known format is text."""
    if not start:
        raise ValueError("stdin is empty")
    for magic, program in _COMPRESSED.items():
        if start.startswith(magic):
            raise ValueError(f"stdin is compressed by {program}; decompress it first: {program} -dc data | ...")
    for magic, suffix in _FORMATS.items():
        if start.startswith(magic):
            return suffix
    line = start.split(b"\n", 1)[0]
    return ".tsv" if line.count(b"\t") > line.count(b",") else ".csv"

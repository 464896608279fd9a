"""Data from stdin: kept in a temporary file, since they are read several times, named after their kind."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .interrupts import Interrupt
from .options import reading
from .progress import Progress

_BLOCK = 1 << 20  # bytes
_SIGNS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # Arrow's format for pipes
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
}
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}


@contextmanager
def spooled(progress: Progress, interrupt: Interrupt) -> Iterator[Path]:
    """The path of a file with all that stdin gave, which is removed in the end."""
    if sys.stdin.isatty():
        raise ValueError(
            "DATA is -, but stdin is a terminal; pipe data into it, as in: cat data.csv | eulermeans ..."
        )
    folder = tempfile.mkdtemp(prefix="eulermeans-")
    try:
        yield _spool(Path(folder), progress, interrupt)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _spool(folder: Path, progress: Progress, interrupt: Interrupt) -> Path:
    progress.begin(reading("-"))
    received = folder / "stdin"
    with received.open("wb") as file, interrupt.at_once():
        shutil.copyfileobj(sys.stdin.buffer, file, _BLOCK)
    with received.open("rb") as file:
        start = file.read(_BLOCK)
    if not start:
        raise ValueError("stdin is empty")
    named = received.with_suffix(_ending(start))
    os.rename(received, named)
    return named


def _ending(start: bytes) -> str:
    """By the first bytes; what has no sign of its own is text."""
    for sign, program in _PACKED.items():
        if start.startswith(sign):
            raise ValueError(
                f"stdin is packed by {program}; unpack it on the way, as in: {program} -dc data | ..."
            )
    for sign, ending in _SIGNS.items():
        if start.startswith(sign):
            return ending
    line = start.split(b"\n", 1)[0]
    return ".tsv" if line.count(b"\t") > line.count(b",") else ".csv"

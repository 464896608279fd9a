"""Data from stdin, which are read several times: copied to a temporary file, named after their format."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import Interrupt

_FORMAT_BYTES = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # Arrow's stream format
    b"\x93NUMPY": ".npy",
}
_ZIP, _EXCEL_PART = b"PK\x03\x04", b"[Content_Types].xml"  # .npz files and Excel's are both zip files
_BLOCK_BYTES = 1 << 20


@contextmanager
def stdin_file() -> Iterator[Path]:
    """A file with the contents of stdin. It is removed after the block."""
    if sys.stdin.isatty():
        raise ValueError("DATA is -, but stdin is a terminal; pipe data into it: cat data.csv | eulermeans ... -")
    with tempfile.TemporaryDirectory(prefix="eulermeans-", ignore_cleanup_errors=True) as folder:
        received = Path(folder, "stdin")
        interrupt = Interrupt(lambda: interrupt.check())  # stop at once: the data may never come
        with received.open("wb") as file, interrupt.listening():
            start = sys.stdin.buffer.read(_BLOCK_BYTES)
            file.write(start)
            shutil.copyfileobj(sys.stdin.buffer, file, _BLOCK_BYTES)
        yield received.rename(received.with_suffix(_suffix(start)))


def _suffix(start: bytes) -> str:
    """The file name suffix for data with these first bytes. What is of no known format is text."""
    if not start:
        raise ValueError("stdin is empty")
    if start.startswith(b"\xfd7zXZ"):
        raise ValueError("stdin is compressed by xz; decompress it: xz -dc data | eulermeans ... -")
    if start.startswith(_ZIP):
        return ".xlsx" if _EXCEL_PART in start else ".npz"
    return next((suffix for magic, suffix in _FORMAT_BYTES.items() if start.startswith(magic)), ".csv")

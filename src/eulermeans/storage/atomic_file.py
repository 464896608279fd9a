"""Atomic file replacement: a reader sees the old file or the complete new one, never a part of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file in the folder of `path`, with its suffix, which replaces `path` if the block succeeds."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"can't write {target}: there is no folder {target.parent}")
    if target.is_dir():
        raise IsADirectoryError(f"can't write {target}: it is a folder")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}.", suffix=target.suffix)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        os.chmod(partial, _default_mode())  # mkstemp makes the file private to its owner
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _default_mode() -> int:
    """The mode of a new file under the process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask

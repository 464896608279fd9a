"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path`, with its ending, that takes its place when the block ends well."""
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
        os.chmod(partial, _usual_mode())  # mkstemp gives it to its owner only
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _usual_mode() -> int:
    """What a new file may be by the process' mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask

"""Atomic file replacement: a reader sees the old file or the complete new one, never a part of it."""

from __future__ import annotations

import os
import secrets
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
    partial = target.with_name(f".{target.stem}.{secrets.token_hex(8)}{target.suffix}")
    partial.touch(exist_ok=False)
    try:
        yield partial
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise

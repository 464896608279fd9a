"""A cache folder for arrays that take long to make or to fetch; each file has its checksum beside it.

Knows files. Does not know what is in the arrays.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import numpy as np

from ..arrays import Array
from ..storage import replacing


def cache_folder() -> Path:
    """`EULERMEANS_CACHE` if it is set, else the platform's folder for caches."""
    named = os.environ.get("EULERMEANS_CACHE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "eulermeans"


def store(name: str, arrays: dict[str, Array]) -> None:
    """Keep the arrays under this name, which ends in .npz. A reader sees the old file or the new one."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / name) as partial:
        with partial.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # NumPy types every keyword as its flag
        _checksum_of(folder / name).write_text(_digest(partial) + "\n")


def recall(name: str) -> dict[str, Array] | None:
    """The arrays kept under this name; None if there are none, or if the file does not match its checksum."""
    path = cache_folder() / name
    checksum = _checksum_of(path)
    if not (path.is_file() and checksum.is_file()) or checksum.read_text().strip() != _digest(path):
        return None
    with np.load(path) as file:
        return {key: file[key] for key in file.files}


def _checksum_of(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

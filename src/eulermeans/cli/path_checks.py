"""Checks that no two paths of a command are the same file: no output replaces an input or another output."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from ..sources import find_files

Identity = tuple[int, int] | str  # device and number of a file that exists, or the path of one that does not


def check_distinct(
    data: str,  # a path, a glob, or - for stdin
    outputs: Mapping[str, Path | None],  # by option; None: not given
    model: Path | None = None,  # that the command reads
) -> None:
    """Raise a ValueError if an output is also an input or another output. Links are followed."""
    inputs = {} if model is None else {_identity(model): "MODEL"}
    folders: list[str] = []
    if data == "-":
        inputs |= {identity: "DATA" for identity in _stdin()}
    else:
        for file in find_files(data):
            inputs[_identity(file)] = "DATA"
            folders += [os.path.realpath(file)] if os.path.isdir(file) else []
    seen: dict[Identity, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        identity = _identity(path)
        if identity in inputs:
            raise ValueError(
                f"{option} {path} is also {inputs[identity]}, which it would overwrite; use another file"
            )
        if identity in seen:
            raise ValueError(f"{seen[identity]} and {option} are the same file, {path}; use two files")
        for folder in folders:
            if Path(os.path.realpath(path)).is_relative_to(folder):
                raise ValueError(
                    f"{option} {path} is inside DATA, of which it would become a part; use another folder"
                )
        seen[identity] = option


def _identity(path: str | os.PathLike[str]) -> Identity:
    try:
        found = os.stat(path)
    except OSError:
        return os.path.normcase(os.path.realpath(path))
    return found.st_dev, found.st_ino


def _stdin() -> list[Identity]:
    """The file that stdin is redirected from, if it is."""
    try:
        found = os.fstat(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):  # it is closed, or not a file of the system
        return []
    return [(found.st_dev, found.st_ino)] if stat.S_ISREG(found.st_mode) else []

"""Run the command in this process, which is faster, or as a program."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from eulermeans.cli import make_app

app = make_app()


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def run(capsys, *arguments: object) -> Ended:
    """Run the command in this process."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_:
        app([str(argument) for argument in arguments], prog_name="eulermeans")
    captured = capsys.readouterr()
    return Ended(exit_.value.code, captured.out, captured.err)


def program(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "eulermeans", *map(str, arguments)]


def run_program(*arguments: object, folder: Path, stdin: bytes | None = None) -> Ended:
    """Run the command as a program in a folder."""
    ended = subprocess.run(program(*arguments), cwd=folder, input=stdin, capture_output=True, timeout=120)
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

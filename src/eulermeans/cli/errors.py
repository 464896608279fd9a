"""How the command ends: exit codes, and errors in one line on stderr."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from ..optional import MissingExtra
from .interrupts import Interrupted
from .words import one_line

FAILED = 1  # a missing package, a full disk, or a mistake in the program
BAD_INPUT = 2  # wrong usage, or a file that can't be read or clustered
INTERRUPTED = 130  # Ctrl-C, as shells have it: 128 + SIGINT

USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]  # click's, wherever this version of typer keeps it
_INPUT_ERRORS = (ValueError, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


class Commands(TyperGroup):
    """The command's root, which ends with one line on stderr where anything goes wrong."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> Any:
        """Run, and exit with the code that says how it went."""
        given = sys.argv[1:] if args is None else list(args)
        options.update(standalone_mode=False, obj={"arguments": given})
        try:
            with warnings.catch_warnings():
                _show_warnings_as_lines()
                code = super().main(given, *others, **options)
                sys.stdout.flush()
        except BrokenPipeError:  # whoever read stdout has seen enough, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = FAILED
        except Interrupted:
            _say("stopped by Ctrl-C before the end; no file was written")
            code = INTERRUPTED
        except Exception as error:
            if "--debug" in given:
                traceback.print_exc()
            code = _explained(error)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Ctrl-C would otherwise end it in silence, or with another code, by typer's version."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


def _show_warnings_as_lines() -> None:
    """Those of this library, which are meant for users; others are between packages."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)

    def show(message: Warning | str, *about: Any, **others: Any) -> None:
        _say(f"warning: {message}")

    warnings.showwarning = show


def _explained(error: Exception) -> int:
    """Say what happened, and return the exit code for it."""
    if isinstance(error, USAGE_ERROR):
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
        else:
            context = getattr(error, "ctx", None)
            path = context.command_path if context is not None else "eulermeans"
            _say(f"{error.format_message()} See: {path} --help")  # type: ignore[attr-defined]
        return BAD_INPUT
    if isinstance(error, typer.Abort):
        return INTERRUPTED
    if isinstance(error, MissingExtra):
        _say(str(error))
        return FAILED
    if isinstance(error, _INPUT_ERRORS):
        _say(_words(error))
        return BAD_INPUT
    if isinstance(error, OSError):
        _say(_words(error))
        return FAILED
    if isinstance(error, MemoryError):
        _say(f"out of memory: {error}" if str(error) else "out of memory")
        return FAILED
    _say(f"{type(error).__name__}: {error}. This is a mistake in eulermeans; --debug shows where")
    return FAILED


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    return str(error) or type(error).__name__


def _say(message: str) -> None:
    """One line, whatever is in it."""
    print(f"eulermeans: {one_line(message).rstrip('.')}.", file=sys.stderr)

"""How a command ends: exit codes, errors as one line on stderr, and Ctrl-C."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from ..optional import MissingExtra
from .terminal_text import one_line

FAILED = 1  # a missing package, a full disk, or a bug
BAD_INPUT = 2  # wrong usage, or a file that can't be read or clustered
INTERRUPTED = 130  # Ctrl-C: 128 + SIGINT, as in shells

_USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]  # click's; some versions of typer vendor click
_INPUT_ERRORS = (ValueError, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


Param = TypeVar("Param")  # of click


class Interrupted(Exception):
    """Work was stopped by Ctrl-C. An ordinary exception, so that other threads can pass it on."""


class Interrupt:
    """Ctrl-C: the first press asks the work to stop, the second one ends the program."""

    def __init__(self, on_request: Callable[[], None] = lambda: None) -> None:
        self.requested = False
        self.stop_now: Callable[[], None] | None = (
            None  # raises Interrupted if work in progress can be left as it is
        )
        self._on_request = on_request

    def check(self) -> None:
        """Raise Interrupted if Ctrl-C was pressed."""
        if self.requested:
            raise Interrupted

    @contextmanager
    def listening(self) -> Iterator[Interrupt]:
        """Within the block, the first Ctrl-C is remembered and the second one raises KeyboardInterrupt."""
        if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
            yield self
            return
        before = signal.signal(signal.SIGINT, self._handle)
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.requested = True
        self._on_request()
        if self.stop_now is not None:
            self.stop_now()


class Command(TyperCommand):
    """A command whose help shows no type for options that take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments, with that for help."""
        return _without_types(super().get_params(ctx))


class Commands(TyperGroup):
    """The root command. Reports every error as one line on stderr and exits with the matching code."""

    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> NoReturn:
        """Run the command and exit."""
        given = sys.argv[1:] if args is None else list(args)
        options.update(standalone_mode=False, obj={"command": shlex.join(["eulermeans", *given])})
        _open_standard_streams()
        try:
            with warnings.catch_warnings():
                _show_warnings_as_lines()
                code = super().main(given, *others, **options)
                sys.stdout.flush()
        except BrokenPipeError:  # the reader of stdout has closed it, as `head` does
            code = FAILED
        except Interrupted:
            print_line("stopped by Ctrl-C; no file was written")
            code = INTERRUPTED
        except Exception as error:
            if "--debug" in given:
                traceback.print_exc()
            code = _report(error)
        _discard_unwritten()
        sys.exit(code if isinstance(code, int) else 0)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options, with those for help and for the completion of the shell."""
        return _without_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> object:
        """Run the command. Versions of typer handle KeyboardInterrupt differently; none of them sees it here."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


def _without_types(params: list[Param]) -> list[Param]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""  # type: ignore[attr-defined]
    return params


def _open_standard_streams() -> None:
    """Replace standard streams that the caller has closed, so that no file of the command takes their numbers.

    Nothing can be read from such a stdin. Writing to such a stdout is an error; what goes to stderr is lost.
    """
    for name, number, reading in (("stdin", 0, True), ("stdout", 1, True), ("stderr", 2, False)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDONLY if reading else os.O_WRONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _discard_unwritten() -> None:
    """Flush stdout; if that is not possible, forget what it holds, or Python would complain when it exits."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):  # it may not be a file of the system
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warnings_as_lines() -> None:
    """Show this library's warnings, which are UserWarnings, as lines; ignore those of other packages."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)

    def show(message: Warning | str, *about: object, **others: object) -> None:
        print_line(f"warning: {message}")

    warnings.showwarning = show


def _report(error: Exception) -> int:
    """Print the error and return its exit code."""
    if isinstance(error, _USAGE_ERROR):
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
        else:
            context = getattr(error, "ctx", None)
            path = context.command_path if context is not None else "eulermeans"
            print_line(f"{error.format_message()} See: {path} --help")  # type: ignore[attr-defined]
        return BAD_INPUT
    if isinstance(error, typer.Abort):
        return INTERRUPTED
    if isinstance(error, MissingExtra | MemoryError | OSError | ValueError):
        print_line(_message(error))
        return BAD_INPUT if isinstance(error, _INPUT_ERRORS) else FAILED
    print_line(f"{type(error).__name__}: {error}. This is a bug in eulermeans; --debug shows the traceback")
    return FAILED


def _message(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"out of memory: {error}" if str(error) else "out of memory"
    if isinstance(error, OSError) and error.strerror:
        if error.errno == errno.EBADF:
            return "can't write the result: stdout is closed"
        return f"{error.filename or 'reading or writing failed'}: {error.strerror.lower()}"
    return str(error) or type(error).__name__


def print_line(message: str) -> None:
    """Print a line about the command to stderr."""
    print(f"eulermeans: {one_line(message).rstrip('.')}.", file=sys.stderr)

"""How progress is shown: a live line on a terminal, plain lines elsewhere, or not at all."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from .words import duration

_SECONDS_BETWEEN_LINES = 5.0  # of a log
_SPARKLINE, _FEWEST_BARS = 24, 6  # characters


class Shown(Protocol):
    """What is to be shown."""

    @property
    def seconds(self) -> float:
        """Since the command began."""
        ...

    def words(self) -> list[str]:
        """What is done, first, and the figures."""
        ...

    def sparkline(self, width: int) -> str:
        """The objective over the steps, in so many characters at most."""
        ...


class View:
    """How it is shown. This one does not show it."""

    def changed(self) -> None:
        """Something is known that was not."""

    def ended(self) -> None:
        """What was done is done."""

    def say(self, message: str) -> None:
        """A line that stays."""

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the block runs."""
        yield


class Line(View):
    """A line on the terminal that changes in place."""

    def __init__(self, progress: Shown) -> None:
        self._progress = progress
        self._console = Console(stderr=True, highlight=False)
        self._spinner = Spinner("dots")
        self._live = Live(
            console=self._console,
            get_renderable=self._line,
            refresh_per_second=10,
            transient=True,
            redirect_stdout=False,
        )

    def say(self, message: str) -> None:
        """A line that stays, above the other."""
        self._console.print(f"eulermeans: {message}", markup=False, soft_wrap=True)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the block runs."""
        with self._live:
            yield

    def _line(self) -> Table:
        name, *figures = self._progress.words()
        text = Text(name, style="bold", no_wrap=True, overflow="ellipsis")
        text.append("  " + " · ".join([*figures, duration(self._progress.seconds)]), style="not bold")
        line = Table.grid(padding=(0, 1))
        room = min(_SPARKLINE, self._console.width - len(text) - 6)  # for the spinner and what parts the columns
        bars = self._progress.sparkline(room) if room >= _FEWEST_BARS else ""
        line.add_row(self._spinner, text, Text(bars, style="cyan", no_wrap=True))
        return line


class Log(View):
    """Plain lines: one when something is done, and one now and then."""

    def __init__(self, progress: Shown) -> None:
        self._progress = progress
        self._last_time, self._last_line = 0.0, ""

    def changed(self) -> None:
        """Say so, if it is time."""
        if time.monotonic() - self._last_time >= _SECONDS_BETWEEN_LINES:
            self.ended()

    def ended(self) -> None:
        """Say how it ended, unless that is known."""
        line = ", ".join(self._progress.words())
        if line != self._last_line:
            self._last_time, self._last_line = time.monotonic(), line
            self.say(line)

    def say(self, message: str) -> None:
        """A line with the time since the command began."""
        print(f"eulermeans: [{duration(self._progress.seconds)}] {message}", file=sys.stderr, flush=True)


def view(progress: Shown) -> View:
    """A live line if there is a terminal that can change a line in place."""
    can_change = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Line(progress) if can_change else Log(progress)

"""Shows on stderr what the command is doing: a live line on a terminal, log lines elsewhere.

Does not import NumPy, and rich only for a terminal, so that the first line appears at once.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from ..history import DESCEND, FINISH, POLISH, SEARCH
from .terminal_text import duration, short, sparkline

# The phases of a fit, in order, and what the user reads.
PHASES = {SEARCH: "searching", DESCEND: "descending", POLISH: "polishing", FINISH: "finishing"}

_SECONDS_BETWEEN_LOG_LINES = 5.0


@dataclass
class Activity:
    """What the command is doing now, and how far it is."""

    name: str
    began: float = field(default_factory=time.monotonic)
    step: int = 0
    rows: int = 0  # read in all steps
    objectives: list[float] = field(default_factory=list)  # one for each step
    pass_began: float | None = None  # None: no pass over the data is under way
    pass_rows: int = 0  # read in this pass
    pass_total: int | None = None  # rows of a whole pass; None: unknown
    pass_ended: float | None = None

    def status(self) -> list[str]:
        """The name of the activity, then its figures."""
        status, now = [self.name], time.monotonic()
        rows, seconds = self.rows, now - self.began
        if self.step:
            status.append(f"step {self.step}")
        if self.objectives:
            status.append(f"objective {self.objectives[-1]:.6g}")
        if self.pass_began is not None and self.pass_rows:
            rows, seconds = self.pass_rows, (self.pass_ended or now) - self.pass_began
            if self.pass_total and rows < self.pass_total:
                left = seconds * (self.pass_total / rows - 1)
                status += [f"{rows:,} rows ({rows / self.pass_total:.0%})", f"{duration(left)} left"]
            else:
                status.append(f"{rows:,} rows")
        if rows:
            status.append(f"{short(rows / max(seconds, 1e-3))} rows/s")
        return status


class Progress:
    """Receives reports from the work, in any thread, and shows them."""

    def __init__(self, name: str, *, quiet: bool = False, max_time: float | None = None) -> None:
        self._began = time.monotonic()
        self._max_time = max_time
        self._stopping = False
        self._activity = Activity(name)
        self._display = Display()
        if not quiet:
            has_cursor = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
            self._display = _live_line(self) if has_cursor else _Log(self)

    def begin(self, name: str) -> None:
        """Start an activity or a phase of the fit, unless it is under way already."""
        name = PHASES.get(name, name)
        if name != self._activity.name:
            self._display.end()
            self._activity = Activity(name)
            self._display.update()

    def step(self, number: int, objective: float, rows: int) -> None:
        """A step has ended, which read this many rows."""
        self._activity.step = number
        self._activity.rows += rows
        self._activity.objectives.append(objective)
        self._activity.pass_began = None
        self._display.update()

    def begin_pass(self, total: int | None) -> None:
        """A pass over all rows begins."""
        activity = self._activity
        activity.pass_rows, activity.pass_total = 0, total
        activity.pass_began, activity.pass_ended = time.monotonic(), None

    def add_rows(self, number: int) -> None:
        """More rows of the pass have been read."""
        self._activity.pass_rows += number
        self._display.update()

    def end_pass(self) -> None:
        """All rows have been read."""
        self._activity.pass_total, self._activity.pass_ended = self._activity.pass_rows, time.monotonic()

    def stop(self) -> None:
        """The user pressed Ctrl-C. Only sets a flag, because signal handlers call it."""
        self._stopping = True

    @property
    def seconds(self) -> float:
        """Since the command began."""
        return time.monotonic() - self._began

    def status(self) -> list[str]:
        """The name of the activity, then its figures."""
        status = self._activity.status()
        if self._stopping:
            status[0] = "stopping (press Ctrl-C again to quit at once)"
        if self._max_time is not None:
            status.append(f"at most {duration(max(0.0, self._max_time - self.seconds))} more")
        return status

    def sparkline(self, width: int) -> str:
        """The objectives of the steps, at most `width` characters."""
        return sparkline(self._activity.objectives, width)

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Show the progress while the block runs."""
        with self._display.shown():
            self._display.end()  # shows the first activity before it has done anything
            yield self
            self._display.end()


class Display:
    """Shows nothing; the base of the other displays."""

    def update(self) -> None:
        """The status has changed."""

    def end(self) -> None:
        """The activity has ended."""

    def shown(self) -> AbstractContextManager[object]:
        """Show it while a block runs."""
        return nullcontext()


def _live_line(progress: Progress) -> Display:
    from .live_line import LiveLine

    return LiveLine(progress)


class _Log(Display):
    """A line at the end of each activity, and one every few seconds."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last_time, self._last_line = 0.0, ""

    def update(self) -> None:
        if time.monotonic() - self._last_time >= _SECONDS_BETWEEN_LOG_LINES:
            self.end()

    def end(self) -> None:
        line = ", ".join(self._progress.status())
        if line != self._last_line:
            self._last_time, self._last_line = time.monotonic(), line
            print(f"eulermeans: [{duration(self._progress.seconds)}] {line}", file=sys.stderr, flush=True)

"""What is being done and how far it is, told by whoever does it; always on stderr.

Knows phases, rows and objectives as numbers. Imports little, so that the first line is there before NumPy is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .views import View, view
from .words import duration, short, sparkline

_NAMES = {"search": "searching", "descend": "descending", "polish": "polishing", "finish": "finishing"}


@dataclass
class Activity:
    """What is being done now."""

    name: str
    began: float = field(default_factory=time.monotonic)
    step: int = 0
    rows: int = 0  # read in all steps
    objectives: list[float] = field(default_factory=list)  # of the steps
    pass_began: float | None = None  # when the first row was read; None: no pass is under way
    pass_rows: int = 0  # read in this pass
    pass_total: int | None = None  # to be read in this pass; None: nobody knows
    pass_ended: float | None = None

    @property
    def rate(self) -> float | None:
        """Rows per second."""
        if self.pass_began is not None and self.pass_rows:
            return self.pass_rows / max((self.pass_ended or time.monotonic()) - self.pass_began, 1e-3)
        return self.rows / max(time.monotonic() - self.began, 1e-3) if self.rows else None

    @property
    def part(self) -> float | None:
        """Of the pass that is done, if it is under way and there is an end to be seen."""
        return (
            self.pass_rows / self.pass_total if self.pass_total and 0 < self.pass_rows < self.pass_total else None
        )

    @property
    def seconds_left(self) -> float | None:
        """Of the pass under way."""
        if self.pass_began is None or (part := self.part) is None:
            return None
        return (time.monotonic() - self.pass_began) * (1 / part - 1)

    def words(self) -> list[str]:
        """The name and the figures."""
        words = [self.name]
        if self.step:
            words.append(f"step {self.step}")
        if self.objectives:
            words.append(f"objective {self.objectives[-1]:.6g}")
        if self.pass_began is not None and self.pass_rows:
            words.append(f"{self.pass_rows:,} rows" + ("" if self.part is None else f" ({self.part:.0%})"))
        if (left := self.seconds_left) is not None:
            words.append(f"{duration(left)} left")
        if (rate := self.rate) is not None:
            words.append(f"{short(rate)} rows/s")
        return words


class Progress:
    """Tells a person how far the work is. Whoever works reports to it, from any thread."""

    def __init__(self, name: str, *, quiet: bool = False, max_time: float | None = None) -> None:
        self._began = time.monotonic()
        self._max_time = max_time
        self._stopping = False
        self._activity = Activity(name)
        self._view = View() if quiet else view(self)

    # What happens.

    def begin(self, name: str) -> None:
        """Something else is done now, unless it is the same."""
        name = _NAMES.get(name, name)
        if name != self._activity.name:
            self._view.ended()
            self._activity = Activity(name)
            self._view.changed()

    def step(self, number: int, objective: float, rows: int) -> None:
        """A step is done, for which so many rows were read."""
        self._activity.step = number
        self._activity.rows += rows
        self._activity.objectives.append(objective)
        self._activity.pass_began = None
        self._view.changed()

    def begin_pass(self, total: int | None) -> None:
        """Rows are read from the first on."""
        activity = self._activity
        activity.pass_rows, activity.pass_total = 0, total
        activity.pass_began, activity.pass_ended = time.monotonic(), None

    def rows(self, number: int) -> None:
        """So many more were read."""
        self._activity.pass_rows += number
        self._view.changed()

    def end_pass(self) -> None:
        """All rows were read."""
        self._activity.pass_total, self._activity.pass_ended = self._activity.pass_rows, time.monotonic()

    def stop(self) -> None:
        """The user wants an end, which may take a moment. Called by a signal: only notes it."""
        self._stopping = True

    def say(self, message: str) -> None:
        """A line that stays."""
        self._view.say(message)

    # How it looks.

    @property
    def seconds(self) -> float:
        """Since the command began."""
        return time.monotonic() - self._began

    def words(self) -> list[str]:
        """What is done, first, and the figures."""
        words = self._activity.words()
        if self._stopping:
            words[0] = "stopping (Ctrl-C again gives up at once)"
        if self._max_time is not None:
            words.append(f"at most {duration(max(0.0, self._max_time - self.seconds))} more")
        return words

    def sparkline(self, width: int) -> str:
        """The objective over the steps, in so many characters at most."""
        return sparkline(self._activity.objectives, width)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show it while the block runs."""
        with self._view.shown():
            self._view.ended()  # the first thing is said at once, before it is done
            yield
            self._view.ended()

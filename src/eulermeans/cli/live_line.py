"""The line on a terminal that shows the progress and is redrawn in place."""

from __future__ import annotations

from contextlib import AbstractContextManager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from .progress import Display, Progress
from .terminal_text import duration

_MAX_SPARKLINE_WIDTH = 24
_MIN_SPARKLINE_WIDTH = 6


class LiveLine(Display):
    """One line on the terminal that is redrawn in place."""

    def __init__(self, progress: Progress) -> None:
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

    def shown(self) -> AbstractContextManager[object]:
        return self._live

    def _line(self) -> Table:
        name, *figures = self._progress.status()
        text = Text(name, style="bold", no_wrap=True, overflow="ellipsis")
        text.append("  " + " · ".join([*figures, duration(self._progress.seconds)]), style="not bold")
        line = Table.grid(padding=(0, 1))
        width = min(_MAX_SPARKLINE_WIDTH, self._console.width - len(text) - 6)  # 6: spinner and padding
        bars = self._progress.sparkline(width) if width >= _MIN_SPARKLINE_WIDTH else ""
        line.add_row(self._spinner, text, Text(bars, style="cyan", no_wrap=True))
        return line

"""Ctrl-C: the first press asks the work to stop, the second one ends the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):
    """Work was stopped by Ctrl-C. An ordinary exception, so that other threads can pass it on."""


class Interrupt:
    """Remembers whether Ctrl-C was pressed."""

    def __init__(self, on_request: Callable[[], None] = lambda: None) -> None:
        self.requested = False
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

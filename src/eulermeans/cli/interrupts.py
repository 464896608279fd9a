"""Ctrl-C: the first asks for an end, the second takes it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):
    """The user asked to stop, and the work is left where it was. To all who forward errors it is one of them."""


class Interrupt:
    """Whether the user asked to stop."""

    def __init__(self, on_request: Callable[[], None] = lambda: None) -> None:
        self.requested = False
        self._on_request = on_request
        self._at_once = False

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """While the block waits for others, who may never come, the first Ctrl-C is enough."""
        self._at_once = True
        yield
        self._at_once = False

    def check(self) -> None:
        """Leave the work here if that was asked for."""
        if self.requested:
            raise Interrupted

    @contextmanager
    def heard(self) -> Iterator[Interrupt]:
        """While the block runs, Ctrl-C asks for an end; a second one raises KeyboardInterrupt at once."""
        if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
            yield self
            return
        before = signal.signal(signal.SIGINT, self._hear)
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._at_once:
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.requested = True
        self._on_request()

"""Reading ahead: another thread makes the next elements while the caller works on this one."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

Element = TypeVar("Element")
_LOOK_AGAIN = 0.05  # seconds after which the thread sees that nobody wants its next element


def prefetch(make: Callable[[], Iterator[Element]], depth: int = 1) -> Generator[Element, None, None]:
    """The elements of the iterator that `make` returns, with up to `depth` waiting and one being made.

    All of it runs in the thread. Its errors are raised here. When the caller stops early and closes this
    generator, the thread ends before `close` returns.
    """
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()
    thread = threading.Thread(target=_work, args=(make, waiting, stopped), name="eulermeans-reader", daemon=True)
    thread.start()
    try:
        while True:
            kind, value = waiting.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
            del value  # not held while the next one is waited for
    finally:
        stopped.set()
        if not sys.is_finalizing():  # or the thread is gone already, with nothing said
            thread.join()


def _work(
    make: Callable[[], Iterator[Any]], waiting: queue.Queue[tuple[str, Any]], stopped: threading.Event
) -> None:
    def put(kind: str, value: Any = None) -> bool:
        while not stopped.is_set():
            try:
                waiting.put((kind, value), timeout=_LOOK_AGAIN)
                return True
            except queue.Full:
                continue
        return False

    try:
        elements = make()
        try:
            while not stopped.is_set():
                try:
                    element = next(elements)
                except StopIteration:
                    break
                put("element", element)
                del element
        finally:
            if hasattr(elements, "close"):
                elements.close()
    except BaseException as error:  # whatever it is, it is the caller's
        put("error", error)
    else:
        put("end")

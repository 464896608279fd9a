"""Prefetch: a thread makes the next elements while the caller works on the current one."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from typing import TypeAlias, TypeVar

Element = TypeVar("Element")
Item: TypeAlias = tuple[Element] | BaseException | None  # an element, or what ended the iterator: an error or not
_POLL_SECONDS = 0.05  # how often a thread that waits for room checks whether the caller has stopped


def prefetch(make: Callable[[], Iterator[Element]], depth: int = 1) -> Generator[Element, None, None]:
    """The elements of the iterator that `make` returns. Up to `depth` elements wait while one more is made.

    `make` and the iterator run in the thread. Their errors are raised here. If the caller closes this generator
    early, the thread ends before `close` returns.
    """
    waiting: queue.Queue[Item[Element]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()
    thread = threading.Thread(target=_work, args=(make, waiting, stopped), name="eulermeans-reader", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item[0]
            del item  # do not hold it while waiting for the next one
    finally:
        stopped.set()
        if not sys.is_finalizing():  # daemon threads are gone by then
            thread.join()


def _work(
    make: Callable[[], Iterator[Element]], waiting: queue.Queue[Item[Element]], stopped: threading.Event
) -> None:
    def put(item: Item[Element]) -> None:
        while not stopped.is_set():
            try:
                return waiting.put(item, timeout=_POLL_SECONDS)
            except queue.Full:
                continue

    try:
        elements = make()
        try:
            while not stopped.is_set():
                try:
                    element = next(elements)
                except StopIteration:
                    break
                put((element,))
                del element
        finally:
            if hasattr(elements, "close"):
                elements.close()
    except BaseException as error:  # any error belongs to the caller
        put(error)
    else:
        put(None)

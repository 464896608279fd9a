"""A time limit for the kernels: a call that is running when it passes ends with `OutOfTime`.

Holds for calls from this thread only. Not for the workers of a cluster, which have their own processes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from .. import _core
from .._core import OutOfTime

__all__ = ["OutOfTime", "time_limit"]


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Within the block, kernel calls end with `OutOfTime` when so many seconds have passed; None: no limit.

    A limit that was set outside the block holds within it, too.
    """
    start = time.monotonic()
    outer = _core.limit_time(seconds)
    if outer is not None and (seconds is None or outer < seconds):
        _core.limit_time(outer)
    try:
        yield
    finally:
        _core.limit_time(None if outer is None else outer - (time.monotonic() - start))

"""Progress of a fit as lines of a log, for `verbose`.

The log is that of the logger "eulermeans". Unless the caller has given it handlers, its lines go to stdout, where
users of scikit-learn expect them.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, TextIO

from ..arrays import FloatArray
from ..history import Record, StopReason

if TYPE_CHECKING:
    _TextHandler = logging.StreamHandler[TextIO]
else:
    _TextHandler = logging.StreamHandler  # takes no type parameter before Python 3.11

LOGGER = logging.getLogger("eulermeans")
SECONDS = 1.0  # between two lines of a phase with verbose=1


class FitLog:
    """An `Observer` that logs the first step of each phase and about one a second, or with verbose=2 all steps."""

    def __init__(self, verbose: int) -> None:
        self._every_step = verbose > 1
        self._phase = ""
        self._logged_at = 0.0  # seconds since the fit began
        _log_to_stdout_by_default()

    def begin(self, phase: str) -> None:
        """A step begins."""

    def end(self, record: Record, centers: FloatArray) -> bool:
        """A step has ended; the log never stops a fit."""
        is_new = record.phase != self._phase
        if is_new or self._every_step or record.seconds - self._logged_at >= SECONDS:
            about = "" if record.exact else "about "
            LOGGER.info(
                "%s, step %d: objective %s%.6g, %.2f s",
                record.phase,
                record.step,
                about,
                record.objective,
                record.seconds,
            )
            self._phase, self._logged_at = record.phase, record.seconds
        return False

    def close(self, n_iter: int, reason: StopReason) -> None:
        """The fit has ended."""
        LOGGER.info("ended after %d steps: %s", n_iter, reason)


class _StdoutHandler(_TextHandler):
    """Writes to what `sys.stdout` is when the line is written, as notebooks and tests replace it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stdout


_HANDLER = _StdoutHandler()  # the logger takes it once, also if several threads begin to fit at the same time


def _log_to_stdout_by_default() -> None:
    if not LOGGER.handlers:
        LOGGER.addHandler(_HANDLER)
        LOGGER.setLevel(logging.INFO)
        LOGGER.propagate = False

"""Notifies scikit-learn's callbacks (1.9 and later), the log and the command's display of each step of a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sklearn.base import _fit_context

from ..arrays import FloatArray
from ..driver import Observer
from ..history import Record
from .fit_log import FitLog

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext

    from .base import KMeansEstimator

__all__ = ["CallbackSupportMixin", "FitObserver", "fit_method", "validated"]

Method = TypeVar("Method", bound=Callable[..., object])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replaces the mixin that this version of scikit-learn does not have."""


def validated(method: Method) -> Method:
    """Check the constructor's parameters before the method runs: scikit-learn's decorator, with types."""
    decorated: Method = _fit_context(prefer_skip_nested_validation=True)(method)
    return decorated


def fit_method(method: Method) -> Method:
    """Check parameters, and notify callbacks if this version of scikit-learn has them."""
    return validated(method) if _with_callbacks is None else _with_callbacks(validated(method))


class FitObserver:
    """Notifies the callbacks of an estimator, its watcher and its log of each step of a fit.

    To the callbacks, the fit is a task and each step a subtask. The watcher is an `Observer` that was set as
    `_watcher` before the fit: the command shows progress with it. There is a log with `verbose`.
    """

    def __init__(
        self,
        estimator: KMeansEstimator,  # what the callbacks get
        fitted: KMeansEstimator,  # the copy that has the attributes so far
        X: object,
        max_steps: int | None,
    ) -> None:
        self._fitted = fitted
        self._arguments = {"estimator": estimator, "X": X}
        self._watcher: Observer | None = getattr(estimator, "_watcher", None)
        self._log = FitLog(estimator.verbose) if estimator.verbose else None
        self._root = None
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=max_steps)
            self._root.call_on_fit_task_begin(**self._arguments)

    def begin(self, phase: str) -> None:
        """A step begins."""
        if self._root is not None:
            self._task = self._root.subcontext(task_name=phase)
            self._task.call_on_fit_task_begin(**self._arguments)
        if self._watcher is not None:
            self._watcher.begin(phase)

    def end(self, record: Record, centers: FloatArray) -> bool:
        """A step has ended; True if a callback or the watcher wants to stop the fit."""
        if self._log is not None:
            self._log.end(record, centers)
        stop = self._root is not None and self._end(self._task, centers)
        return (self._watcher is not None and self._watcher.end(record, centers)) or stop

    def close(self) -> None:
        """The fit has ended."""
        if self._log is not None:
            self._log.close(self._fitted.n_iter_, self._fitted.stop_reason_)
        if self._root is not None:
            self._end(self._root, self._fitted.cluster_centers_)

    def _end(self, task: CallbackContext, centers: FloatArray) -> bool:
        stop: bool = task.call_on_fit_task_end(
            **self._arguments, reconstruction_attributes=lambda: self._fitted._attributes_at(centers)
        )
        return stop

"""scikit-learn's callbacks, where it has them (1.9 on)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.base import _fit_context

from ..arrays import FloatArray
from ..driver import Record

__all__ = ["CallbackSupportMixin", "fit_method", "observe", "validated"]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for the mixin that this scikit-learn lacks."""

    def with_callbacks(method: Any) -> Any:
        """No callbacks to manage."""
        return method


Method = TypeVar("Method", bound=Callable[..., object])


def validated(method: Method) -> Method:
    """Check the constructor's parameters before the method runs; scikit-learn's decorator, with types."""
    return cast(Method, _fit_context(prefer_skip_nested_validation=True)(method))


def fit_method(method: Method) -> Method:
    """Check parameters, and manage callbacks around the method."""
    return cast(Method, with_callbacks(validated(method)))


class CallbackObserver:
    """Tells scikit-learn's callbacks of each step: one subtask of the fit for each."""

    def __init__(self, estimator: Any, X: Any, max_steps: int | None) -> None:
        self._estimator, self._X = estimator, X
        self._root = estimator._init_callback_context(max_subtasks=max_steps)
        self._root.call_on_fit_task_begin(estimator=estimator, X=X)

    def begin(self, phase: str) -> None:
        """A step is about to be taken."""
        self._task = self._root.subcontext(task_name=phase)
        self._task.call_on_fit_task_begin(estimator=self._estimator, X=self._X)

    def end(self, record: Record, centers: FloatArray) -> bool:
        """A step was taken; true asks to stop."""
        stop: bool = self._task.call_on_fit_task_end(
            estimator=self._estimator,
            X=self._X,
            reconstruction_attributes=lambda: self._estimator._attributes_at(centers),
        )
        return stop

    def close(self) -> None:
        """The fit is over."""
        self._root.call_on_fit_task_end(
            estimator=self._estimator,
            X=self._X,
            reconstruction_attributes=lambda: self._estimator._attributes_at(self._estimator.cluster_centers_),
        )


class Observers:
    """Several observers as one."""

    def __init__(self, observers: list[Any]) -> None:
        self._observers = observers

    def begin(self, phase: str) -> None:
        """A step is about to be taken."""
        for observer in self._observers:
            observer.begin(phase)

    def end(self, record: Record, centers: FloatArray) -> bool:
        """A step was taken; true asks to stop."""
        return any([observer.end(record, centers) for observer in self._observers])  # all are told

    def close(self) -> None:
        """The fit is over."""
        for observer in self._observers:
            if isinstance(observer, CallbackObserver):
                observer.close()


def observe(estimator: Any, X: Any, max_steps: int | None) -> Observers:
    """Who is told of the steps of a fit: the estimator's callbacks, if this scikit-learn has any, and its watcher.

    A watcher is what the command shows progress with: an `Observer`, set as `_watcher` before the fit.
    """
    observers: list[Any] = []
    if hasattr(estimator, "_init_callback_context"):
        observers.append(CallbackObserver(estimator, X, max_steps))
    if getattr(estimator, "_watcher", None) is not None:
        observers.append(estimator._watcher)
    return Observers(observers)

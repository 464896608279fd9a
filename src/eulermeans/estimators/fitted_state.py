"""Changes of an estimator's fitted attributes: all at once when everything has succeeded, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

Estimator = TypeVar("Estimator")


@contextmanager
def all_or_nothing(estimator: Estimator) -> Iterator[Estimator]:
    """A copy of the estimator to work on, whose attributes become the estimator's own at the end of the block.

    After an exception, Ctrl-C included, the estimator is as it was before. The copy is shallow: attributes must be
    replaced, not changed in place.
    """
    copy: Estimator = object.__new__(type(estimator))
    before = dict(vars(estimator))
    vars(copy).update(before)
    yield copy
    after = vars(copy)
    changed = {name: value for name, value in after.items() if name not in before or value is not before[name]}
    removed = before.keys() - after.keys()
    kept = {name: value for name, value in vars(estimator).items() if name not in removed}
    estimator.__dict__ = kept | changed  # one assignment: no other thread and no signal sees a part of it

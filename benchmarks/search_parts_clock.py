"""Where the CPU time of a fit goes: clocks that switch when functions of the search are called."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TypeAlias
from unittest.mock import patch

from eulermeans import EulerMeans, _core, fitting
from eulermeans.oracles import Clustering
from eulermeans.solvers import breathing, local_search
from eulermeans.solvers.annealing import Annealing
from eulermeans.solvers.local_search import Search

Entry: TypeAlias = tuple[object, str, str]  # a module or class, the function in it, and the name of its time

# Where the time goes: by the stage of a fit, and by what is computed. Time belongs to the innermost function of a
# list that runs. Only the implicit steps include all that they call.
STAGES: list[Entry] = [
    (fitting, "seed", "seeding"),
    (fitting, "search", "first and last passes"),
    (local_search, "breathe", "breaths"),
    (Search, "exchange_coarsely", "coarse exchanges"),
    (Search, "exchange", "exchanges"),
    (Search, "swap", "swaps"),
    (Annealing, "round", "annealing"),
    (fitting, "polish", "polish, labels"),
    (EulerMeans, "_settle", "polish, labels"),
]
STEPS, BOOKS = "implicit steps", "labels, means, copies"
KERNELS: list[Entry] = [
    (fitting, "seed", "seeding"),
    (breathing, "take_steps", STEPS),
    (_core, "accumulate", "full passes"),
    (_core, "assign", "full passes"),
    (_core, "shortlist", "full passes"),
    (_core, "refine", "full passes"),
    (_core, "implicit_steps", STEPS),
    (_core, "reassign", "passes nearby"),
    (_core, "compare_listed", "passes nearby"),
    (_core, "sum_clusters", "passes nearby"),
    (_core, "sweep", "sweeps"),
    (_core, "neighbours", "neighbours of centers"),
    (_core, "try_moves", "trials of moves"),
    (Clustering, "transfer", "transfers"),
    (_core, "transfer_nearby", "transfers"),
    (Clustering, "_relabel", BOOKS),
    (Clustering, "_release", BOOKS),
    (Clustering, "memory", BOOKS),
    (Clustering, "remember", BOOKS),
]
REST = "the rest"


class Clock:
    """CPU time by name, without the time of what is called inside under another name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._names, self._since = [REST], time.process_time()

    def _switch(self) -> None:
        now = time.process_time()
        self.seconds[self._names[-1]] = self.seconds.get(self._names[-1], 0.0) + now - self._since
        self._since = now

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        self._switch()
        self._names.append(STEPS if self._names[-1] == STEPS else name)
        yield
        self._switch()
        self._names.pop()

    def timed(self, function: Callable[..., object], name: str) -> Callable[..., object]:
        @wraps(function)
        def call(*args: object, **options: object) -> object:
            with self.span(name):
                found = function(*args, **options)
            return self._timed_steps(found, name) if isinstance(found, Iterator) else found

        return call

    def _timed_steps(self, solver: Iterator[object], name: str) -> Iterator[object]:
        """The same for a generator, which works whenever it is asked for the next item."""
        while True:
            with self.span(name):
                item = next(solver, None)
            if item is None:
                return
            yield item

    @contextmanager
    def watching(self, entries: list[Entry]) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, attribute, name in entries:
                stack.enter_context(patch.object(owner, attribute, self.timed(getattr(owner, attribute), name)))
            self._since = time.process_time()
            yield
            self._switch()

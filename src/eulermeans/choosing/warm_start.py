"""Fits of the same rows for one K after the other; each starts from the centers of the previous one."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..arrays import FloatArray
from ..estimators import EulerMeans
from ..oracles import MemoryOracle
from ..seeding import add_centers
from .criteria import unit_mean_weights

WARM_EFFORT = 0.5  # fraction of the effort that a search needs when it starts from good centers
CANDIDATES = 5  # positions tried for each new center


@dataclass
class Budget:
    """Shared by all fits of a sweep: the time limit, and a count of the work done."""

    max_time: float | None  # seconds
    start: float = field(default_factory=time.perf_counter)
    points_read: int = 0
    n_distances: int = 0

    @property
    def seconds_left(self) -> float | None:
        """At least a millisecond, so that a fit that was started returns a model; None without a limit."""
        if self.max_time is None:
            return None
        return max(1e-3, self.max_time - (time.perf_counter() - self.start))

    @property
    def used_up(self) -> bool:
        """Whether the time limit, if there is one, is reached."""
        return self.max_time is not None and time.perf_counter() - self.start >= self.max_time


@dataclass
class WarmStartedFits:
    """Fits the same rows for one K after the other, in ascending order."""

    rows: MemoryOracle
    candidates: MemoryOracle  # a sample of the rows, or all of them: new centers are chosen from these
    estimator: EulerMeans
    budget: Budget
    rng: np.random.Generator
    _centers: FloatArray | None = None  # of the previous K

    def fit(self, n_clusters: int, *, quiet: bool = False) -> EulerMeans:
        """The model for this K. `quiet` suppresses the warning about too few distinct rows."""
        model: EulerMeans = clone(self.estimator).set_params(
            n_clusters=n_clusters, random_state=int(self.rng.integers(2**31)), max_time=self.budget.seconds_left
        )
        if self._centers is not None:
            weights = unit_mean_weights(self.candidates)
            init = add_centers(
                self.candidates, self._centers, n_clusters, self.rng, weights=weights, n_candidates=CANDIDATES
            )
            model.set_params(init=init, n_init=1, effort=WARM_EFFORT * model.effort)
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.rows.points.stored, sample_weight=self.rows.points.weights)
        model.set_params(**{name: self.estimator.get_params()[name] for name in ("init", "n_init", "effort")})
        self._centers = model.cluster_centers_.astype(np.float64)
        self.budget.points_read += sum(record.points_read for record in model.history_)
        self.budget.n_distances += sum(record.n_distances for record in model.history_)
        return model

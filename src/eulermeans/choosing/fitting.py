"""Fits of the same rows with one K after the other, each begun where the last one ended."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..arrays import FloatArray
from ..oracles import MemoryOracle, draw
from .criteria import even_weights

SHORT = 0.5  # of the effort: what a search takes that begins with good centers
CANDIDATES = 5  # places that are tried for each new center


@dataclass(frozen=True)
class Clock:
    """The time that all fits share."""

    start: float
    max_time: float | None

    @property
    def left(self) -> float | None:
        """Seconds that are left, if there is a limit; never none at all, so that a fit gives something."""
        if self.max_time is None:
            return None
        return max(1e-3, self.max_time - (time.perf_counter() - self.start))

    @property
    def over(self) -> bool:
        """Whether the limit, if there is one, is reached."""
        return self.max_time is not None and time.perf_counter() - self.start >= self.max_time


class Chain:
    """Models of some rows for one K after the other, in rising order."""

    def __init__(
        self,
        rows: MemoryOracle,
        places: MemoryOracle,  # a sample of the rows, or they themselves: where new centers are placed
        estimator: Any,
        rng: np.random.Generator,
    ) -> None:
        self.rows, self._places = rows, places
        self._estimator, self._rng = estimator, rng
        self._centers: FloatArray | None = None
        self.points_read = self.n_distances = 0  # so far

    def fit(self, n_clusters: int, clock: Clock, *, quiet: bool = False) -> Any:
        """The model for this K. `quiet`: whether rows that are too few for it are nobody's concern."""
        model = clone(self._estimator).set_params(
            n_clusters=n_clusters, random_state=int(self._rng.integers(2**31)), max_time=clock.left
        )
        if self._centers is not None:
            grown = grow(self._places, self._centers, n_clusters, self._rng)
            model.set_params(init=grown, n_init=1, effort=SHORT * model.effort)
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.rows.points, sample_weight=self.rows.weights)
        model.set_params(**{name: self._estimator.get_params()[name] for name in ("init", "n_init", "effort")})
        self._centers = model.cluster_centers_.astype(np.float64)
        self.points_read += sum(record.points_read for record in model.history_)
        self.n_distances += sum(record.n_distances for record in model.history_)
        return model


def grow(
    places: MemoryOracle,
    centers: FloatArray,  # (n_centers, n_features), IN
    n_clusters: int,
    rng: np.random.Generator,
) -> FloatArray:
    """The centers, and new ones where the error is large: greedy k-means++ that goes on from them."""
    weights = even_weights(places)
    nearest = places.distances(centers).min(axis=1).astype(np.float64) ** 2
    while len(centers) < n_clusters:
        cumulative = np.cumsum(weights * nearest)
        if cumulative[-1] > 0:
            rows = draw(cumulative, CANDIDATES, rng)
        else:
            rows = rng.integers(places.n_points, size=CANDIDATES)
        candidates = places.rows(rows)
        reduced = np.minimum(nearest[:, None], places.distances(candidates).astype(np.float64) ** 2)
        best = int(np.argmin(weights @ reduced))
        centers, nearest = np.concatenate([centers, candidates[best : best + 1]]), reduced[:, best]
    return centers

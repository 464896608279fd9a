"""Fits and predictions as users call them, on small generated data."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import make_blobs

from eulermeans import EulerMeans, SizedMeans, StochasticBackwardEuler


class Fits:
    """Fits of one seed: times change with the data, so compare them only between commits."""

    timer = time.process_time
    number = 1

    def setup(self) -> None:
        self.plane, _ = make_blobs(5000, 2, centers=40, cluster_std=0.5, random_state=0)
        self.wide, _ = make_blobs(3000, 64, centers=20, cluster_std=4.0, random_state=0)
        self.narrow = self.wide.astype(np.float32)
        self.model = EulerMeans(20, effort=0, random_state=0, n_threads=1).fit(self.narrow)

    def time_few_features(self) -> None:
        EulerMeans(40, random_state=0, n_threads=1).fit(self.plane)

    def time_many_features(self) -> None:
        EulerMeans(20, random_state=0, n_threads=1).fit(self.narrow)

    def time_without_search(self) -> None:
        EulerMeans(20, effort=0, random_state=0, n_threads=1).fit(self.wide)

    def time_bounded_sizes(self) -> None:
        SizedMeans(10, size_min=40, random_state=0, n_threads=1).fit(self.wide[:500])

    def time_the_papers_algorithm(self) -> None:
        StochasticBackwardEuler(20, n_outer=20, random_state=0, n_threads=1).fit(self.wide)

    def time_stream(self) -> None:
        model = EulerMeans(20, random_state=0, n_threads=1)
        for batch in np.split(self.narrow, 10):
            model.partial_fit(batch)

    def time_predict(self) -> None:
        self.model.predict(self.narrow)

    def track_inertia(self) -> float:
        """What the search reaches: a regression of quality is one too."""
        return float(EulerMeans(40, random_state=0, n_threads=1).fit(self.plane).inertia_)

"""How low and how fast `SizedMeans` is, beside `k-means-constrained` and beside no bounds at all.

    python benchmarks/sizes.py [--only peer exact million] [--sets D31 S2 ...] [--seeds N] [--output FOLDER]

- peer: objective and processor time of both at their defaults, from the same data, with sizes within 10 % of equal
  and with equal sizes. Results of the peer are kept in sizes.json and not computed again: they take hours.
- exact: the placement for given centers against SciPy's exact assignment to replicated centers.
- million: 1,000,000 points in 64 dimensions, K = 256, sizes within 5 %, against `EulerMeans` without bounds.

Prints tables and writes sizes.json and sizes.md. Needs k-means-constrained (dependency group `bench`) and the
folder of data sets: EULERMEANS_DATA or ../shared/data.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.setdefault("EULERMEANS_DATA", str(ROOT.parent / "shared" / "data")))
BOUNDS = {"±10 %": 0.1, "equal": 0.0}
Results = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    name: str
    n_clusters: int
    load: Callable[[], np.ndarray]


def gaussians(n_points: int, n_gaussians: int, n_features: int) -> np.ndarray:
    """Unit Gaussians whose means are 0.8·N(0, I)."""
    rng = np.random.default_rng(0)
    means = 0.8 * rng.standard_normal((n_gaussians, n_features), dtype=np.float32)
    points = rng.standard_normal((n_points, n_features), dtype=np.float32)
    return points + means[rng.integers(n_gaussians, size=n_points)]


def from_file(name: str) -> Callable[[], np.ndarray]:
    return lambda: np.load(DATA / "benchmark" / f"{name}.npy").astype(np.float64)


def problems() -> list[Problem]:
    files = [
        ("Cloud", 10),
        ("S2", 15),
        ("D31", 31),
        ("Unbalance", 10),
        ("Spam", 10),
        ("Norm25", 25),
        ("pcb3038", 50),
        ("pendigit", 10),
        ("A3", 50),
        ("pcb3038", 100),
    ]
    generated = [Problem("gaussians-20k", 100, lambda: gaussians(20_000, 150, 16).astype(np.float64))]
    return [Problem(name, k, from_file(name)) for name, k in files] + generated


def sizes_of(n_points: int, n_clusters: int, slack: float) -> tuple[int, int]:
    equal = n_points / n_clusters
    if slack == 0:
        return int(np.floor(equal)), int(np.ceil(equal))
    return int(np.ceil((1 - slack) * equal)), int(np.floor((1 + slack) * equal))


def peer(points: np.ndarray, n_clusters: int, sizes: tuple[int, int], seed: int) -> Results:
    from k_means_constrained import KMeansConstrained

    began = time.process_time()
    model = KMeansConstrained(n_clusters, size_min=sizes[0], size_max=sizes[1], random_state=seed).fit(points)
    seconds = time.process_time() - began
    return {"inertia": inertia(points, model.labels_, n_clusters), "seconds": seconds}


def inertia(points: np.ndarray, labels: np.ndarray, n_clusters: int) -> float:
    """About the means of the clusters, whatever centers a model has."""
    wide = points.astype(np.float64)
    means = np.stack([wide[labels == j].mean(axis=0) for j in range(n_clusters)])
    return float(np.sum((wide - means[labels]) ** 2))

"""The data sets of the quality benchmark, and what given centers cost on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from eulermeans.datasets import mnist

CLUSTERS = {
    "A3": 50,
    "S2": 15,
    "Unbalance": 8,
    "D31": 100,
    "pcb3038": 50,
    "Norm25": 100,
    "Cloud": 100,
    "Spam": 100,
    "pendigit": 10,
    "gmd8x8": 128,
    "Birch1": 100,
    "mnist": 10,
}
LARGE = "large"
LARGE_POINTS, LARGE_FEATURES, LARGE_CLUSTERS, LARGE_GAUSSIANS = 1_000_000, 64, 256, 400
CHUNK = 1 << 22  # distances computed together


@dataclass
class Problem:
    """Points, and how many centers are asked for."""

    name: str
    n_clusters: int
    load: Callable[[], np.ndarray]
    best_known: float = np.inf  # the lowest sum of squared distances

    @cached_property
    def points(self) -> np.ndarray:
        return self.load()

    @cached_property
    def single(self) -> np.ndarray:
        """The points in float32, for who reads nothing else."""
        return np.ascontiguousarray(self.points, dtype=np.float32)

    @property
    def size(self) -> int:
        """N·d."""
        return self.points.size

    def inertia(self, centers: np.ndarray) -> float:
        """The sum of squared distances to the nearest centers, in float64."""
        centers = np.asarray(centers, dtype=np.float64)
        if centers.shape != (self.n_clusters, self.points.shape[1]):
            raise ValueError(f"centers of shape {centers.shape}")
        if not np.isfinite(centers).all():
            raise ValueError("centers that are not finite")
        middle = centers.mean(axis=0)
        shifted = centers - middle  # so that little cancels below
        half_norms = 0.5 * np.sum(shifted**2, axis=1)
        total = 0.0
        step = max(1, CHUNK // max(self.n_clusters, self.points.shape[1]))
        for first in range(0, len(self.points), step):
            block = self.points[first : first + step].astype(np.float64) - middle
            nearest = np.argmin(half_norms - block @ shifted.T, axis=1)
            total += float(np.sum((block - shifted[nearest]) ** 2))
        return total


def data_folder() -> Path:
    """Where the sets are: EULERMEANS_DATA, or a folder beside the project."""
    named = os.environ.get("EULERMEANS_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not (folder / "benchmark").is_dir():
        given = f"EULERMEANS_DATA is {named}" if named else "EULERMEANS_DATA is not set"
        raise SystemExit(
            f"{given}, and there is no folder {folder / 'benchmark'}. Set EULERMEANS_DATA to a folder that has "
            "benchmark/A3.npy and the other sets, best_known.tsv and mnist/train-images-idx3-ubyte.gz."
        )
    os.environ["EULERMEANS_DATA"] = str(folder)  # where eulermeans.datasets looks for MNIST
    return folder


def problems(names: list[str]) -> list[Problem]:
    folder = data_folder() if set(names) != {LARGE} else Path()
    best_known = read_best_known(folder / "best_known.tsv")
    found = []
    for name in names:
        if name == LARGE:
            found.append(Problem(name, LARGE_CLUSTERS, large_points))
            continue
        n_clusters = CLUSTERS[name]
        load = mnist_points if name == "mnist" else loader(folder / "benchmark" / f"{name}.npy")
        found.append(Problem(name, n_clusters, load, best_known.get(f"{name}/{n_clusters}", np.inf)))
    return found


def read_best_known(path: Path) -> dict[str, float]:
    if not path.is_file():
        return {}
    lines = (line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {fields[0]: float(fields[1]) for fields in lines}


def loader(path: Path) -> Callable[[], np.ndarray]:
    return lambda: np.ascontiguousarray(np.load(path), dtype=np.float64)


def mnist_points() -> np.ndarray:
    return np.ascontiguousarray(mnist().points, dtype=np.float32)


def large_points() -> np.ndarray:
    """400 unit Gaussians whose means are 0.8·N(0, I)."""
    rng = np.random.default_rng(0)
    means = 0.8 * rng.standard_normal((LARGE_GAUSSIANS, LARGE_FEATURES), dtype=np.float32)
    points = rng.standard_normal((LARGE_POINTS, LARGE_FEATURES), dtype=np.float32)
    points += means[rng.integers(LARGE_GAUSSIANS, size=LARGE_POINTS)]
    return points

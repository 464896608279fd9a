"""The problems of the quality benchmark: points, a number of clusters, and what given centers cost.

Knows where the files are and how to read them. Generated points come from quality_generated.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse
from sklearn.datasets import load_iris

from eulermeans.datasets import mnist

Points: TypeAlias = "np.ndarray | scipy.sparse.csr_matrix"

BENCHMARK = {
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
}
CHUNK = 1 << 22  # products of points and centers computed at a time


@dataclass
class Data:
    """A set of points, loaded when they are first used."""

    name: str
    load: Callable[[], Points]
    family: str = ""  # sets of one family differ only in the number of points
    held_out: bool = False  # nothing in the project was tuned on it

    @cached_property
    def points(self) -> Points:
        return self.load()

    @cached_property
    def single(self) -> np.ndarray:
        """The points in float32, for methods that read nothing else."""
        return np.ascontiguousarray(self.points, dtype=np.float32)

    def preload(self) -> None:
        """Reads and converts the points now, so that no run is timed with it."""
        if not scipy.sparse.issparse(self.points):
            self.single  # noqa: B018  (a property that keeps its value)

    def unload(self) -> None:
        for attribute in ("points", "single"):
            vars(self).pop(attribute, None)


@dataclass(frozen=True)
class Problem:
    """A set of points and how many centers are asked for."""

    data: Data
    n_clusters: int
    best_known: float | None = None  # the lowest sum of squared distances
    proven: bool = False  # the best known is the optimum, to six digits

    @property
    def name(self) -> str:
        return f"{self.data.name}/{self.n_clusters}"

    def inertia(
        self,
        centers: np.ndarray,  # (n_clusters, n_features), IN
    ) -> float:
        """The sum of squared distances to the nearest centers, in float64."""
        points = self.data.points
        centers = np.asarray(centers, dtype=np.float64)
        if centers.shape != (self.n_clusters, points.shape[1]):
            raise ValueError(f"centers of shape {centers.shape}")
        if not np.isfinite(centers).all():
            raise ValueError("centers that are not finite")
        if scipy.sparse.issparse(points):
            return sparse_inertia(points, centers)
        return dense_inertia(points, centers)


def dense_inertia(points: np.ndarray, centers: np.ndarray) -> float:
    middle = centers.mean(axis=0)
    shifted = centers - middle  # small numbers: little is lost when norms are subtracted
    half_norms = 0.5 * np.sum(shifted**2, axis=1)
    total = 0.0
    step = max(1, CHUNK // max(centers.shape))
    for first in range(0, len(points), step):
        block = points[first : first + step].astype(np.float64) - middle
        nearest = np.argmin(half_norms - block @ shifted.T, axis=1)
        total += float(np.sum((block - shifted[nearest]) ** 2))
    return total


def sparse_inertia(points: scipy.sparse.csr_matrix, centers: np.ndarray) -> float:
    norms = np.sum(centers**2, axis=1)
    total = 0.0
    step = max(1, CHUNK // len(centers))
    for first in range(0, points.shape[0], step):
        block = points[first : first + step].astype(np.float64)
        total += float(block.multiply(block).sum() + np.sum(np.min(norms - 2 * (block @ centers.T), axis=1)))
    return total


def data_folder() -> Path:
    """Where the sets are: EULERMEANS_DATA, or a folder beside the project."""
    named = os.environ.get("EULERMEANS_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not (folder / "benchmark").is_dir():
        given = f"EULERMEANS_DATA is {named}" if named else "EULERMEANS_DATA is not set"
        raise SystemExit(
            f"{given}, and there is no folder {folder / 'benchmark'}. Set EULERMEANS_DATA to a folder that has "
            "benchmark/A3.npy and the other sets, best_known.tsv, certified/optima.tsv, "
            "embeddings/docstrings.npy and mnist/train-images-idx3-ubyte.gz."
        )
    os.environ["EULERMEANS_DATA"] = str(folder)  # where eulermeans.datasets looks for MNIST
    return folder


def read_values(path: Path) -> dict[str, float]:
    """`set/K` and a value in each line, separated by tabs."""
    lines = (line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {fields[0]: float(fields[1]) for fields in lines}


def benchmark_problems() -> list[Problem]:
    """The public sets that the project is tuned on, except MNIST."""
    folder = data_folder()
    best_known = read_values(folder / "best_known.tsv")
    found = []
    for name, n_clusters in BENCHMARK.items():
        data = Data(name, array_loader(folder / "benchmark" / f"{name}.npy", np.float64))
        found.append(Problem(data, n_clusters, best_known.get(f"{name}/{n_clusters}")))
    return found


def proven_problems() -> list[Problem]:
    """Small sets whose optima are proven by exact methods."""
    folder = data_folder() / "certified"
    data = {name: Data(name, array_loader(folder / f"{name}.npy", np.float64)) for name in ("ruspini", "gr202")}
    data["iris"] = Data("iris", lambda: load_iris().data)
    found = []
    for name, optimum in read_values(folder / "optima.tsv").items():
        set_name, n_clusters = name.split("/")
        found.append(Problem(data[set_name], int(n_clusters), optimum, proven=True))
    return found


def mnist_problems(*cluster_numbers: int) -> list[Problem]:
    best_known = read_values(data_folder() / "best_known.tsv")
    data = Data("mnist", mnist_points)
    return [Problem(data, k, best_known.get(f"mnist/{k}")) for k in cluster_numbers]


def docstring_problems(*cluster_numbers: int) -> list[Problem]:
    """Sentence embeddings, 40,000×384."""
    data = Data("docstrings", array_loader(data_folder() / "embeddings" / "docstrings.npy", np.float32))
    return [Problem(data, k) for k in cluster_numbers]


def array_loader(path: Path, dtype: type) -> Callable[[], np.ndarray]:
    return lambda: np.ascontiguousarray(np.load(path), dtype=dtype)


def mnist_points() -> np.ndarray:
    return np.ascontiguousarray(mnist().points, dtype=np.float32)

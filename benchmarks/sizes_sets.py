"""The problems of benchmarks/sizes.py: 2,000 to 20,000 points, 10 to 100 clusters.

The files are those of the other benchmarks, and the constants of the search within bounds were chosen on some of
them. The generated sets came later; the number of passes of a search was tried on two of them. That number and the
starts were changed again when Unbalance, heavy-tails/10, spheres-16d/10 and anisotropic/100 had missed their aims,
mostly by trials on other generated sets. So these four are not held out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.setdefault("EULERMEANS_DATA", str(ROOT.parent / "shared" / "data")))
SEED = 20_261_117


@dataclass(frozen=True)
class Problem:
    """Points and a number of clusters."""

    name: str
    n_clusters: int
    load: Callable[[], np.ndarray]  # (n_points, n_features)
    generated: bool = False

    @property
    def key(self) -> str:
        """As it is given on the command line."""
        return f"{self.name}/{self.n_clusters}"


def problems() -> list[Problem]:
    """All problems, those that take the peer longest last."""
    files = [
        ("S2", 15),
        ("D31", 31),
        ("Unbalance", 10),
        ("Spam", 10),
        ("Norm25", 25),
        ("A3", 50),
        ("pcb3038", 50),
        ("pendigit", 10),
    ]
    generated: list[tuple[str, int, Callable[[], np.ndarray]]] = [
        ("heavy-tails", 10, lambda: heavy_tails(2_000, 3)),
        ("heavy-tails", 40, lambda: heavy_tails(4_000, 3)),
        ("uniform", 30, lambda: uniform(5_000, 2)),
        ("anisotropic", 20, lambda: anisotropic(8_000, 6, 25)),
        ("correlated-16d", 25, lambda: correlated(6_000, 16)),
        ("spheres-16d", 10, lambda: spheres(20_000, 16, 15)),
        ("uniform", 100, lambda: uniform(4_000, 3)),
    ]
    return [
        *(Problem(name, k, from_file(name)) for name, k in files),
        *(Problem(name, k, load, generated=True) for name, k, load in generated),
        Problem("pcb3038", 100, from_file("pcb3038")),
        Problem("anisotropic", 100, lambda: anisotropic(20_000, 4, 60), generated=True),
    ]


def from_file(name: str) -> Callable[[], np.ndarray]:
    """A file of the folder of data sets."""
    return lambda: np.load(DATA / "benchmark" / f"{name}.npy").astype(np.float64)


def uniform(n_points: int, n_features: int) -> np.ndarray:
    """In the unit cube."""
    return np.random.default_rng(SEED).random((n_points, n_features))


def heavy_tails(n_points: int, n_features: int) -> np.ndarray:
    """Student's t with 2.5 degrees of freedom: some points are very far away."""
    return np.random.default_rng(SEED).standard_t(2.5, (n_points, n_features))


def anisotropic(n_points: int, n_features: int, n_groups: int) -> np.ndarray:
    """Stretched Gaussians of unequal weight, which overlap."""
    rng = np.random.default_rng(SEED)
    groups = rng.choice(n_groups, n_points, p=rng.dirichlet(np.full(n_groups, 2.0)))
    shapes = rng.standard_normal((n_groups, n_features, n_features)) * rng.exponential(0.6, (n_groups, 1, 1))
    means = 4 * rng.standard_normal((n_groups, n_features))
    normal = rng.standard_normal((n_points, n_features))
    return means[groups] + np.einsum("ij,ijk->ik", normal, shapes[groups])


def correlated(n_points: int, n_features: int) -> np.ndarray:
    """One Gaussian whose principal components shrink by a quarter each: no clusters at all."""
    rng = np.random.default_rng(SEED)
    rotation, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
    return (rng.standard_normal((n_points, n_features)) * 0.75 ** np.arange(n_features)) @ rotation


def spheres(n_points: int, n_features: int, n_groups: int) -> np.ndarray:
    """Unit Gaussians whose means are 0.8·N(0, I)."""
    rng = np.random.default_rng(SEED)
    means = 0.8 * rng.standard_normal((n_groups, n_features))
    return rng.standard_normal((n_points, n_features)) + means[rng.integers(n_groups, size=n_points)]

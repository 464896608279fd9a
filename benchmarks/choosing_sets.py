"""Data sets with a known number of clusters, or with none, for benchmarks/choosing_k.py. A seed gives one draw."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from eulermeans.datasets import paper_gaussians

N = 2000
RANGE = range(2, 21)


@dataclass(frozen=True)
class Family:
    group: str  # its row of the table
    name: str
    draw: Callable[[np.random.Generator], np.ndarray]
    truth: frozenset[int]  # the right values of K; empty if there are no clusters
    tried: range = RANGE

    @property
    def outside(self) -> bool:
        """Whether the right K is outside the range tried."""
        return bool(self.truth) and not self.truth & set(self.tried)

    def points(self, seed: int) -> np.ndarray:
        return self.draw(np.random.default_rng([seed, *self.name.encode()]))


def apart(n_clusters: int, n_features: int, distance: float, rng: np.random.Generator) -> np.ndarray:
    """Centers in a box, every two at least the distance apart; the box grows until they all fit."""
    side = 0.6 * distance * n_clusters ** (1 / n_features)
    while True:
        centers: list[np.ndarray] = []
        for _ in range(2000):
            center = rng.uniform(-side, side, size=n_features)
            if all(np.sum((center - other) ** 2) >= distance**2 for other in centers):
                centers.append(center)
            if len(centers) == n_clusters:
                return np.array(centers)
        side *= 1.15


def normal(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, d))


def long(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Three times as long as wide, in any direction."""
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((n, d)) * np.where(np.arange(d) == 0, 1.8, 0.6) @ rotation.T


def of_its_own_size(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.4, 1.2) * rng.standard_normal((n, d))


def heavy(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Student's t with four degrees of freedom, of unit variance."""
    return rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(4, size=(n, 1)) / 2)


def skew(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.exponential(size=(n, d)) - 1


def ellipsoid(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Normal, with a covariance drawn at random: principal deviations between 0.3 and 1.5."""
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((n, d)) * np.exp(rng.uniform(np.log(0.3), np.log(1.5), size=d)) @ rotation.T


def laplace(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.laplace(scale=np.sqrt(0.5), size=(n, d))


def box(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n, d))


def mixture(
    k: int, d: int, distance: float, shape: Callable = normal, *, n: int = N, uneven: float = 1
) -> Callable:
    """k clusters of this shape in d dimensions; the largest has `uneven` times the points of the smallest."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        parts = np.geomspace(1, uneven, k)
        counts = np.maximum(rng.multinomial(n, parts / parts.sum()), 5)
        centers = apart(k, d, distance, rng)
        clusters = [center + shape(count, d, rng) for center, count in zip(centers, counts, strict=True)]
        return rng.permutation(np.concatenate(clusters))

    return draw


def dusty(k: int, d: int) -> Callable:
    """Clusters, with one point in ten replaced by uniform noise."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        points = mixture(k, d, 7, n=N - N // 10)(rng)
        dust = rng.uniform(points.min(axis=0), points.max(axis=0), size=(N // 10, d))
        return rng.permutation(np.concatenate([points, dust]))

    return draw


def diluted(k: int, d: int, n_noise: int) -> Callable:
    """Clusters in d features, and `n_noise` features of pure noise."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        return np.hstack([mixture(k, d, 7)(rng), rng.standard_normal((N, n_noise))])

    return draw


def nested(d: int) -> Callable:
    """Three groups of three."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        centers = np.concatenate([group + apart(3, d, 6, rng) for group in apart(3, d, 24, rng)])
        return rng.permutation(np.concatenate([center + normal(N // 9, d, rng) for center in centers]))

    return draw


def disc(rng: np.random.Generator) -> np.ndarray:
    directions = rng.standard_normal((N, 2))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True) * np.sqrt(rng.uniform(size=(N, 1)))


def plane(per_cluster: int) -> Callable:
    return lambda rng: paper_gaussians(int(rng.integers(2**31)), per_cluster)


def stretched(shape: Callable, d: int) -> Callable:
    return lambda rng: shape(N, d, rng) * rng.uniform(0.5, 1.5, size=d)


def families() -> list[Family]:
    found: list[Family] = []

    def add(group: str, name: str, draw: Callable, *truth: int, tried: range = RANGE) -> None:
        found.append(Family(group, name, draw, frozenset(truth), tried))

    add("the paper's four Gaussians", "plane", plane(1000), 4)
    add("the same, 200 points each", "plane 200", plane(200), 4)
    for k in (3, 5, 8, 12):
        for d in (2, 10, 50):
            add("round, 6 deviations apart", f"round {k} {d}", mixture(k, d, 6), k)
        for d in (2, 10):
            add("round, 4 deviations apart", f"near {k} {d}", mixture(k, d, 4), k)
    for k in (3, 8):
        for d in (2, 10):
            add("round, 300 rows", f"few {k} {d}", mixture(k, d, 6, n=300), k)
    for k in (3, 6, 10):
        for d in (2, 10):
            add("long, 3 : 1", f"long {k} {d}", mixture(k, d, 8, long), k)
            uneven = mixture(k, d, 7, of_its_own_size, n=3000, uneven=15)
            add("uneven, 15 : 1 and of different size", f"uneven {k} {d}", uneven, k)
            add("heavy tails", f"heavy {k} {d}", mixture(k, d, 8, heavy), k)
            add("skew", f"skew {k} {d}", mixture(k, d, 7, skew), k)
            add("boxes", f"boxes {k} {d}", mixture(k, d, 6, box), k)
            add("with a tenth of noise", f"dusty {k} {d}", dusty(k, d), k)
    for k in (4, 7, 15):  # added after the rule was fixed: it was not developed on these
        for d in (3, 20):
            add("new: ellipsoids", f"ellipsoids {k} {d}", mixture(k, d, 6, ellipsoid, uneven=3), k)
            add("new: Laplace", f"laplace {k} {d}", mixture(k, d, 7, laplace, uneven=3), k)
        add("new: with features that say nothing", f"diluted {k}", diluted(k, 4, 12), k)
    for d in (2, 10):
        add("three groups of three (3 or 9)", f"nested {d}", nested(d), 3, 9)
        add("more clusters than were tried", f"too many {d}", mixture(12, d, 6), 12, tried=range(2, 9))
        add("fewer clusters than were tried", f"too few {d}", mixture(3, d, 6), 3, tried=range(5, 13))
    for d in (1, 2, 3, 10):
        add("no clusters: uniform", f"uniform {d}", stretched(box, d))
    add("no clusters: uniform", "disc", disc)
    for d in (2, 10, 50):
        add("no clusters: normal", f"normal {d}", stretched(normal, d))
    return found


def public() -> list[Family]:
    """Public sets. Those not shipped with scikit-learn are read from `EULERMEANS_DATA` or ../shared/data."""
    scaled_wine = StandardScaler().fit_transform(load_wine().data)
    found = [
        Family("Iris (2 or 3)", "Iris", lambda rng: load_iris().data, frozenset({2, 3})),
        Family("Wine, scaled (3)", "Wine", lambda rng: scaled_wine, frozenset({3})),
    ]
    named = os.environ.get("EULERMEANS_DATA")
    folder = (Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data") / "benchmark"
    for name, k, last in (("S2", 15, 20), ("Unbalance", 8, 20), ("D31", 31, 40), ("A3", 50, 60)):
        path = folder / f"{name}.npy"
        if path.is_file():
            points = np.load(path).astype(np.float64)
            tried = range(2, last + 1)
            group = f"{name} ({k})"
            found.append(Family(group, name, lambda rng, points=points: points, frozenset({k}), tried))
    return found

"""The data set that an experiment names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..datasets import gaussian_mnist, iris, lenet_features, mnist, paper_gaussians


@dataclass(frozen=True)
class Data:
    """Points, and what else is worth showing or telling of them."""

    points: Array  # (n_points, n_features)
    originals: Array | None = None  # (n_originals, 784) the images that points are noisy copies of
    remark: str = ""


def _gaussian_mnist(seed: int) -> Data:
    images = gaussian_mnist(seed)
    digits = ", ".join(map(str, images.digits))
    return Data(images.points, images.originals, f"Digits picked with seed {seed}: {digits}.")


def _lenet_features(seed: int) -> Data:
    features = lenet_features(seed)
    return Data(features.points, remark=f"The network reads {features.accuracy:.2%} of the test images rightly.")


LOADERS: dict[str, Callable[[int], Data]] = {
    "paper_gaussians": lambda seed: Data(paper_gaussians(seed)),
    "iris": lambda seed: Data(iris()),
    "mnist": lambda seed: Data(mnist().points),
    "gaussian_mnist": _gaussian_mnist,
    "lenet_features": _lenet_features,
}


def load(name: str, seed: int, n_points: int | None = None) -> Data:
    """The data set, or `n_points` of its points drawn at random."""
    data = LOADERS[name](seed)
    if n_points is None or n_points >= len(data.points):
        return data
    rows = np.sort(np.random.default_rng(seed).choice(len(data.points), size=n_points, replace=False))
    return Data(np.ascontiguousarray(data.points[rows]), data.originals, data.remark)

"""The data of an experiment, by the name that published.toml gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..datasets import gaussian_mnist, iris, lenet_features, mnist, paper_gaussians


@dataclass(frozen=True)
class ExperimentData:
    """The points, and what a figure or a note says about them."""

    points: Array  # (n_points, n_features)
    originals: Array | None = None  # (n_originals, 784) the images that the points are noisy copies of
    remark: str = ""


def _gaussian_mnist(seed: int) -> ExperimentData:
    images = gaussian_mnist(seed)
    digits = ", ".join(map(str, images.digits))
    return ExperimentData(images.points, images.originals, f"Digits picked with seed {seed}: {digits}.")


def _lenet_features(seed: int) -> ExperimentData:
    features = lenet_features(seed)
    remark = f"The network classifies {features.accuracy:.2%} of the test images correctly."
    return ExperimentData(features.points, remark=remark)


LOADERS: dict[str, Callable[[int], ExperimentData]] = {
    "paper_gaussians": lambda seed: ExperimentData(paper_gaussians(seed)),
    "iris": lambda seed: ExperimentData(iris()),
    "mnist": lambda seed: ExperimentData(mnist().points),
    "gaussian_mnist": _gaussian_mnist,
    "lenet_features": _lenet_features,
}


def load_data(name: str, seed: int, n_points: int | None = None) -> ExperimentData:
    """The data set, or `n_points` of its points drawn at random."""
    data = LOADERS[name](seed)
    if n_points is None or n_points >= len(data.points):
        return data
    rows = np.sort(np.random.default_rng(seed).choice(len(data.points), size=n_points, replace=False))
    return replace(data, points=np.ascontiguousarray(data.points[rows]))

"""Sec. 3.5: what the last hidden layer of a LeNet-5 says of MNIST's training images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .cache import recall, store
from .images import Images, mnist
from .lenet import train

RECIPE = 1  # counts up when the network or its training changes, so that old caches are not taken for new


@dataclass(frozen=True)
class Features:
    """The features and how well they serve."""

    points: NDArray[np.float32]  # (n_images, 64), not negative
    accuracy: float  # of the network on the test images


def lenet_features(seed: int = 0, on_epoch: Callable[[int, int], None] | None = None) -> Features:
    """The 64 features of each training image, by a network trained here once and cached.

    Training takes a few minutes and needs torch. `on_epoch` is told how many epochs are done, and of how many.
    """
    name = f"lenet-features-{RECIPE}-{seed}.npz"
    kept = recall(name)
    if kept is None:
        made = features(mnist("train"), mnist("test"), seed, on_epoch=on_epoch)
        kept = {"points": made.points, "accuracy": np.array(made.accuracy)}
        store(name, kept)
    return Features(points=kept["points"], accuracy=float(kept["accuracy"]))


def features(
    training: Images,
    test: Images,
    seed: int,
    *,
    n_epochs: int = 8,
    on_epoch: Callable[[int, int], None] | None = None,
) -> Features:
    """Train on some images, measure on others, and tell the features of the former."""
    network = train(training, seed, n_epochs=n_epochs, on_epoch=on_epoch)
    return Features(points=network.features(training.points), accuracy=network.accuracy(test))

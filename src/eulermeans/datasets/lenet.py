"""Sec. 3.5: features of MNIST's training images, from the last hidden layer of a LeNet-5.

The network is trained with torch on the CPU. Its last hidden layer has 64 units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..optional import optional
from .cache import recall, store
from .paper_data import Images, mnist

if TYPE_CHECKING:
    import torch

RECIPE = 1  # increase it when the network or its training changes, so that old cache files are not used
N_FEATURES = 64
BATCH_SIZE = 128
LARGEST_RATE = 3e-3
_ROWS_AT_ONCE = 5000  # that a trained network is applied to


@dataclass(frozen=True)
class Features:
    """The features, and the quality of the network they come from."""

    points: NDArray[np.float32]  # (n_images, 64), not negative
    accuracy: float  # of the network on the test images


def lenet_features(seed: int = 0) -> Features:
    """The 64 features of each training image. The network is trained once and its features are cached.

    Training takes a few minutes and needs torch.

    Parameters
    ----------
    seed : int, default=0
        The seed of the training.

    Returns
    -------
    Features
        `points`, (60000, 64), and the `accuracy` of the network on the test images.
    """
    name = f"lenet-features-{RECIPE}-{seed}.npz"
    kept = recall(name)
    if kept is None:
        made = train_features(mnist("train"), mnist("test"), seed)
        kept = {"points": made.points, "accuracy": np.array(made.accuracy)}
        store(name, kept)
    return Features(points=kept["points"], accuracy=float(kept["accuracy"]))


def train_features(training: Images, test: Images, seed: int, *, n_epochs: int = 8) -> Features:
    """Train a network, and return the features of the training images. The same seed gives the same network.

    The optimizer is Adam on the cross entropy; its rate rises and falls once.
    """
    torch = optional("torch", "paper")
    nn = torch.nn
    rng = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        body = nn.Sequential(
            nn.Unflatten(1, (1, 28, 28)),  # rows of 784 pixels as images with one channel
            *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(16 * 5 * 5, 120), nn.ReLU()),
            *(nn.Linear(120, N_FEATURES), nn.ReLU()),
        )
        head = nn.Linear(N_FEATURES, 10)
    weights = [*body.parameters(), *head.parameters()]
    pixels = torch.from_numpy(training.points)
    digits = torch.from_numpy(training.labels.astype(np.int64))
    optimizer = torch.optim.Adam(weights)
    n_steps = n_epochs * -(-len(pixels) // BATCH_SIZE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LARGEST_RATE, total_steps=n_steps)
    for _ in range(n_epochs):
        order = torch.from_numpy(rng.permutation(len(pixels)))
        for batch in order.split(BATCH_SIZE):
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(body(pixels[batch])), digits[batch]).backward()
            optimizer.step()
            schedule.step()
    scores = _apply(nn.Sequential(body, head), test.points)
    accuracy = float(np.mean(scores.argmax(axis=1) == test.labels))
    return Features(points=_apply(body, training.points), accuracy=accuracy)


def _apply(network: torch.nn.Module, points: NDArray[np.float32]) -> NDArray[np.float32]:
    """The output of the network for each row of 784 pixels, (n_images, n_outputs)."""
    torch = optional("torch", "paper")
    with torch.inference_mode():
        return np.concatenate([network(part).numpy() for part in torch.from_numpy(points).split(_ROWS_AT_ONCE)])

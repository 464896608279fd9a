"""A network in the manner of LeNet-5 whose last hidden layer has 64 units, trained with torch on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..optional import optional
from .images import Images

N_FEATURES = 64
BATCH_SIZE = 128
LARGEST_RATE = 3e-3
_ROWS_AT_ONCE = 5000


@dataclass(frozen=True)
class Network:
    """A trained network in two parts: images to features, features to digits."""

    body: Any
    head: Any

    def features(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the last hidden layer says of each image, (n_images, 64), not negative."""
        return self._through(self.body, points)

    def accuracy(self, images: Images) -> float:
        """The share of images that the network reads rightly."""
        scores = self._through(lambda batch: self.head(self.body(batch)), images.points)
        return float(np.mean(scores.argmax(axis=1) == images.labels))

    def _through(self, layers: Callable[[Any], Any], points: NDArray[np.float32]) -> NDArray[np.float32]:
        torch = optional("torch", "paper")
        with torch.inference_mode():
            parts = [
                layers(_as_images(torch.from_numpy(points[first : first + _ROWS_AT_ONCE]))).numpy()
                for first in range(0, len(points), _ROWS_AT_ONCE)
            ]
        return np.concatenate(parts)


def train(
    images: Images, seed: int, *, n_epochs: int, on_epoch: Callable[[int, int], None] | None = None
) -> Network:
    """Adam on the cross entropy, its rate going up and down once. The same seed gives the same network."""
    torch = optional("torch", "paper")
    nn = torch.nn
    rng = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        body = nn.Sequential(
            *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(16 * 5 * 5, 120), nn.ReLU()),
            *(nn.Linear(120, N_FEATURES), nn.ReLU()),
        )
        head = nn.Linear(N_FEATURES, 10)
    weights = [*body.parameters(), *head.parameters()]
    pixels = _as_images(torch.from_numpy(images.points))
    digits = torch.from_numpy(images.labels.astype(np.int64))
    optimizer = torch.optim.Adam(weights)
    n_steps = n_epochs * -(-len(pixels) // BATCH_SIZE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LARGEST_RATE, total_steps=n_steps)
    for epoch in range(1, n_epochs + 1):
        order = torch.from_numpy(rng.permutation(len(pixels)))
        for batch in order.split(BATCH_SIZE):
            optimizer.zero_grad()
            nn.functional.cross_entropy(head(body(pixels[batch])), digits[batch]).backward()
            optimizer.step()
            schedule.step()
        if on_epoch is not None:
            on_epoch(epoch, n_epochs)
    return Network(body, head)


def _as_images(points: Any) -> Any:
    """Rows of 784 pixels as a batch of images of one channel."""
    return points.view(-1, 1, 28, 28)

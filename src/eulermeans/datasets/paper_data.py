"""The data of Sec. 3.1 to 3.4: Gaussian clusters in the plane, Iris, noisy copies of MNIST's digits, and MNIST."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml, load_iris

from ..arrays import Array, FloatArray
from .cache import recall, store

Part = Literal["train", "test"]

_GAUSSIAN_MEANS = np.array([[-5.0, -3.0], [5.0, -3.0], [0.0, 5.0], [2.5, 4.0]])
_GAUSSIAN_COVARIANCES = np.array(
    [
        [[0.8, 0.1], [0.1, 0.8]],
        [[1.2, 0.6], [0.6, 0.7]],
        [[0.5, 0.05], [0.05, 1.6]],
        [[1.5, 0.05], [0.05, 0.6]],
    ]
)

# Where Sec. 3.1 starts EM and mini-batch EM; both end in a poor minimum from here.
GAUSSIAN_START = np.array([[-5.5989, -2.7090], [-4.4572, -4.0614], [-0.1082, 5.2889], [2.3485, 3.5286]])

N_TRAIN = 60_000
NOISE = 0.2  # standard deviation; ½ · 784 · 0.2² = 15.68 is the floor in the paper's first table
_FILES: dict[Part, tuple[str, str]] = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}
_ADVICE = "set EULERMEANS_DATA to a folder that has MNIST's four original idx files in mnist/, such as {}"


@dataclass(frozen=True)
class Images:
    """Images and the digits they show."""

    points: NDArray[np.float32]  # (n_images, 784), pixels from 0 to 1
    labels: NDArray[np.uint8]  # (n_images,) the digits


@dataclass(frozen=True)
class NoisyImages:
    """Noisy copies of a few images: first all copies of the first image, then of the second, and so on."""

    points: NDArray[np.float32]  # (n_images, 784), not clipped to [0, 1]
    originals: NDArray[np.float32]  # (n_originals, 784)
    digits: NDArray[np.int64]  # (n_originals,) the digits they show


def paper_gaussians(seed: int, per_cluster: int = 1000) -> FloatArray:
    """The four Gaussian clusters of Sec. 3.1, one cluster after the other.

    Parameters
    ----------
    seed : int
        The seed of the random numbers.
    per_cluster : int, default=1000
        The number of points in each cluster.

    Returns
    -------
    array of shape (4 · per_cluster, 2)
        The points.

    Examples
    --------
    >>> from eulermeans.datasets import paper_gaussians
    >>> paper_gaussians(seed=0).shape
    (4000, 2)
    """
    rng = np.random.default_rng(seed)
    clusters = [
        rng.multivariate_normal(mean, covariance, size=per_cluster)
        for mean, covariance in zip(_GAUSSIAN_MEANS, _GAUSSIAN_COVARIANCES, strict=True)
    ]
    return np.concatenate(clusters)


def iris() -> FloatArray:
    """The sepal and petal lengths and widths of 150 flowers in centimetres.

    Returns
    -------
    array of shape (150, 4)
        A row for each flower.

    Examples
    --------
    >>> from eulermeans.datasets import iris
    >>> iris()[0].tolist()
    [5.1, 3.5, 1.4, 0.2]
    """
    return np.ascontiguousarray(load_iris().data, dtype=np.float64)


def mnist(part: Part = "train") -> Images:
    """MNIST's 60000 training or 10000 test images.

    Read from the folder `EULERMEANS_DATA`; if that is not set, fetched from OpenML once and cached.

    Parameters
    ----------
    part : {"train", "test"}, default="train"
        Which images.

    Returns
    -------
    Images
        `points`, (n_images, 784), from 0 to 1, and `labels`, the digits.
    """
    folder = os.environ.get("EULERMEANS_DATA")
    raw = _from_folder(Path(folder), part) if folder else _from_openml(part)
    points = raw["images"].astype(np.float32)
    points /= np.float32(255)
    return Images(points=points, labels=raw["labels"])


def gaussian_mnist(seed: int = 0, per_digit: int = 7500, n_digits: int = 8) -> NoisyImages:
    """Images of `n_digits` different digits, and `per_digit` copies of each with Gaussian noise added.

    The paper does not say which eight it used: the seed picks the digits, an image of each, and the noise.

    Parameters
    ----------
    seed : int, default=0
        The seed of the random numbers.
    per_digit : int, default=7500
        The number of noisy copies of each image.
    n_digits : int, default=8
        The number of images.

    Returns
    -------
    NoisyImages
        `points`, (n_digits · per_digit, 784), the `originals` and the `digits` they show.
    """
    source = mnist()
    rng = np.random.default_rng(seed)
    digits = np.sort(rng.choice(10, size=n_digits, replace=False))
    rows = [rng.choice(np.flatnonzero(source.labels == digit)) for digit in digits]
    originals = source.points[rows]
    points = rng.standard_normal((n_digits * per_digit, originals.shape[1]), dtype=np.float32)
    points *= np.float32(NOISE)
    points.reshape(n_digits, per_digit, -1)[:] += originals[:, None, :]
    return NoisyImages(points=points, originals=originals, digits=digits)


def _from_folder(folder: Path, part: Part) -> dict[str, Array]:
    images, labels = (folder / "mnist" / name for name in _FILES[part])
    for path in (images, labels):
        if not path.is_file():
            raise FileNotFoundError(f"{path} does not exist: " + _ADVICE.format(path.name))
    return {"images": read_idx(images).reshape(-1, 784), "labels": read_idx(labels)}


def _from_openml(part: Part) -> dict[str, Array]:
    """OpenML's copy has the training images first, then the test images."""
    raw = recall("mnist.npz")
    if raw is None:
        try:
            fetched = fetch_openml("mnist_784", version=1, as_frame=False, parser="liac-arff")
        except OSError as error:
            raise OSError(
                f"MNIST can't be fetched from OpenML ({error}): " + _ADVICE.format(_FILES[part][0])
            ) from error
        raw = {"images": fetched.data.astype(np.uint8), "labels": fetched.target.astype(np.uint8)}
        store("mnist.npz", raw)
    rows = slice(None, N_TRAIN) if part == "train" else slice(N_TRAIN, None)
    return {name: values[rows] for name, values in raw.items()}


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array in a compressed idx file of bytes: 0, 0, type, number of axes, their lengths, the values."""
    with gzip.open(path) as file:
        content = file.read()
    if content[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path} is not an idx file of unsigned bytes: " + _ADVICE.format(path.name))
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">i4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)

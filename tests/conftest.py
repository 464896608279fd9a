"""Data that several test files share."""

from __future__ import annotations

import gzip
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from eulermeans import search_budget

# A shell that starts the tests in the background lets them ignore Ctrl-C, which some of them are about.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]

# Sec. 3.1 of the paper: four Gaussians in the plane, and the start from which EM gets stuck.
PLANE_MEANS = np.array([[-5, -3], [5, -3], [0, 5], [2.5, 4]], dtype=np.float64)
PLANE_COVARIANCES = np.array(
    [
        [[0.8, 0.1], [0.1, 0.8]],
        [[1.2, 0.6], [0.6, 0.7]],
        [[0.5, 0.05], [0.05, 1.6]],
        [[1.5, 0.05], [0.05, 0.6]],
    ]
)
PLANE_START = np.array([[-5.5989, -2.7090], [-4.4572, -4.0614], [-0.1082, 5.2889], [2.3485, 3.5286]])


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of data sets, which is no part of the project."""
    named = os.environ.get("EULERMEANS_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no data sets: set EULERMEANS_DATA to a folder with mnist/train-images-idx3-ubyte.gz")
    return folder


@pytest.fixture(scope="session")
def mnist(data_dir: Path) -> np.ndarray:
    """The 60000 training images of MNIST as they are stored: (60000, 784), uint8."""
    path = data_dir / "mnist" / "train-images-idx3-ubyte.gz"
    if not path.is_file():
        pytest.skip("no MNIST: EULERMEANS_DATA has no mnist/train-images-idx3-ubyte.gz")
    return read_idx(path).reshape(-1, 784)


def read_idx(path: Path) -> np.ndarray:
    """An idx file of bytes: two zeros, type, number of axes, then each axis' length, big-endian."""
    with gzip.open(path) as file:
        content = file.read()
    assert content[:3] == b"\x00\x00\x08", "not an idx file of unsigned bytes"
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">i4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)


@pytest.fixture(scope="session")
def plane() -> np.ndarray:
    """The 4000 points of Sec. 3.1."""
    rng = np.random.default_rng(0)
    parts = [
        rng.multivariate_normal(mean, covariance, size=1000)
        for mean, covariance in zip(PLANE_MEANS, PLANE_COVARIANCES, strict=True)
    ]
    return np.concatenate(parts)


@pytest.fixture(scope="session")
def blobs() -> np.ndarray:
    """600 points in five well separated groups of 120, in three dimensions, shuffled."""
    rng = np.random.default_rng(1)
    means = np.array([[0, 0, 0], [20, 0, 0], [0, 20, 0], [0, 0, 20], [20, 20, 20]])
    points = np.repeat(means, 120, axis=0) + rng.standard_normal((600, 3))
    return rng.permutation(points)


@pytest.fixture(scope="session")
def unbalanced() -> np.ndarray:
    """Half of 4000 points in one tight cluster, the others spread over a square."""
    rng = np.random.default_rng(2)
    tight = 0.01 * rng.standard_normal((2000, 2))
    return rng.permutation(np.concatenate([tight, rng.uniform(-50, 50, size=(2000, 2))]))


@pytest.fixture
def sampled(monkeypatch):
    """A search reads a sample, also of data that would be searched whole or summarized."""
    search_a_sample(monkeypatch)


def search_a_sample(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(search_budget, "WHOLE_OPERATIONS", 0.0)
    patch.setattr(search_budget, "WHOLE_SWEPT_OPERATIONS", 0.0)
    patch.setattr(search_budget, "summarize", lambda *arguments: None)

"""Data sets: their contents, where they come from, and the errors when they are missing."""

from __future__ import annotations

import gzip
import sys
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest

from eulermeans import datasets
from eulermeans.datasets import cache, lenet, paper_data
from eulermeans.optional import MissingExtra


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">i4").tobytes()
    with gzip.open(path, "wb") as file:
        file.write(header + array.tobytes())


@pytest.fixture
def small_mnist(tmp_path, monkeypatch):
    """A folder like MNIST's, with 300 and 60 images of ten blurred patterns."""
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 256, size=(10, 28, 28))
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part, n_images in (("train", 300), ("t10k", 60)):
        labels = np.arange(n_images) % 10
        pixels = np.clip(patterns[labels] + rng.integers(-20, 21, size=(n_images, 28, 28)), 0, 255)
        write_idx(folder / f"{part}-images-idx3-ubyte.gz", pixels.astype(np.uint8))
        write_idx(folder / f"{part}-labels-idx1-ubyte.gz", labels.astype(np.uint8))
    monkeypatch.setenv("EULERMEANS_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EULERMEANS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_gaussians_have_the_published_means():
    points = datasets.paper_gaussians(0)
    assert points.shape == (4000, 2)
    means = points.reshape(4, 1000, 2).mean(axis=1)
    np.testing.assert_allclose(means, [[-5, -3], [5, -3], [0, 5], [2.5, 4]], atol=0.2)


def test_a_seed_gives_the_same_data_again():
    np.testing.assert_array_equal(datasets.paper_gaussians(3), datasets.paper_gaussians(3))
    assert not np.array_equal(datasets.paper_gaussians(3), datasets.paper_gaussians(4))


def test_iris():
    assert datasets.iris().shape == (150, 4)


@pytest.mark.parametrize(("part", "n_images"), [("train", 300), ("test", 60)])
def test_mnist_from_a_folder(small_mnist, part, n_images):
    found = datasets.mnist(part)
    assert found.points.shape == (n_images, 784)
    assert found.points.dtype == np.float32
    assert found.points.min() >= 0
    assert found.points.max() <= 1
    assert found.labels.tolist() == [i % 10 for i in range(n_images)]


def test_the_real_mnist_has_60000_images(mnist, data_dir, monkeypatch):
    monkeypatch.setenv("EULERMEANS_DATA", str(data_dir))
    found = datasets.mnist()
    np.testing.assert_array_equal(found.points[:100], mnist[:100].astype(np.float32) / np.float32(255))
    assert len(found.points) == len(found.labels) == 60_000


def test_a_missing_file_names_the_expected_path(small_mnist):
    (small_mnist / "mnist" / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"train-labels-idx1-ubyte.gz.*EULERMEANS_DATA.*mnist/"):
        datasets.mnist()


def test_a_file_of_another_kind_is_refused(small_mnist):
    with gzip.open(small_mnist / "mnist" / "train-images-idx3-ubyte.gz", "wb") as file:
        file.write(b"no images")
    with pytest.raises(ValueError, match="not an idx file"):
        datasets.mnist()


def test_mnist_from_openml_is_fetched_once(own_cache, monkeypatch):
    fetched = []

    def fetch(name, **options):
        fetched.append(name)
        return SimpleNamespace(data=np.full((7, 784), 255.0), target=np.array(list("0123456")))

    monkeypatch.delenv("EULERMEANS_DATA", raising=False)
    monkeypatch.setattr(paper_data, "fetch_openml", fetch)
    monkeypatch.setattr(paper_data, "N_TRAIN", 5)
    assert datasets.mnist("train").labels.tolist() == [0, 1, 2, 3, 4]
    test = datasets.mnist("test")
    assert test.labels.tolist() == [5, 6]
    assert (test.points == 1).all()
    assert fetched == ["mnist_784"]


def test_without_network_the_error_says_what_to_do(own_cache, monkeypatch):
    def fetch(name, **options):
        raise URLError("no network")

    monkeypatch.delenv("EULERMEANS_DATA", raising=False)
    monkeypatch.setattr(paper_data, "fetch_openml", fetch)
    with pytest.raises(OSError, match=r"no network.*set EULERMEANS_DATA"):
        datasets.mnist()


def test_noisy_digits_are_centered_at_their_originals(small_mnist):
    noisy = datasets.gaussian_mnist(seed=1, per_digit=100)
    assert noisy.points.shape == (800, 784)
    assert noisy.points.dtype == np.float32
    assert len(set(noisy.digits.tolist())) == 8
    noise = noisy.points - np.repeat(noisy.originals, 100, axis=0)
    assert abs(noise.mean()) < 0.005
    assert noise.std() == pytest.approx(0.2, rel=0.01)
    assert noisy.points.min() < 0  # not clipped
    # φ of the originals is half the expected squared norm of the noise: the floor of the paper's first table.
    assert 0.5 * float(np.mean(np.sum(noise.astype(float) ** 2, axis=1))) == pytest.approx(15.68, rel=0.01)


def test_the_cache_gives_back_what_it_was_given(own_cache):
    assert cache.recall("a.npz") is None
    cache.store("a.npz", {"points": np.arange(6).reshape(2, 3)})
    kept = cache.recall("a.npz")
    assert kept is not None
    np.testing.assert_array_equal(kept["points"], [[0, 1, 2], [3, 4, 5]])


def test_the_cache_ignores_a_damaged_file(own_cache):
    cache.store("a.npz", {"points": np.arange(6)})
    path = own_cache / "a.npz"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert cache.recall("a.npz") is None


def test_the_cache_folder_has_a_default(monkeypatch):
    monkeypatch.delenv("EULERMEANS_CACHE", raising=False)
    assert cache.cache_folder().name == "eulermeans"


def test_features_are_made_once(own_cache, monkeypatch):
    made = []

    def make(training, test, seed):
        made.append(seed)
        return lenet.Features(np.full((3, 64), seed, dtype=np.float32), 0.99)

    monkeypatch.setattr(lenet, "mnist", lambda part: None)
    monkeypatch.setattr(lenet, "train_features", make)
    for _ in range(2):
        assert datasets.lenet_features(2).points[0, 0] == 2
        assert datasets.lenet_features(2).accuracy == 0.99
    assert made == [2]


def test_without_torch_the_extra_is_named(small_mnist, own_cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"torch.*eulermeans\[paper\]"):
        datasets.lenet_features()


def test_a_network_learns_and_depends_only_on_its_seed(small_mnist):
    pytest.importorskip("torch", reason="needs the paper extra")
    training, test = datasets.mnist("train"), datasets.mnist("test")
    first = lenet.train_features(training, test, 0, n_epochs=15)
    assert first.points.shape == (300, 64)
    assert first.points.dtype == np.float32
    assert first.points.min() >= 0
    assert first.accuracy > 0.5
    brief, again, other = (lenet.train_features(training, test, seed, n_epochs=1).points for seed in (0, 0, 1))
    np.testing.assert_array_equal(brief, again)
    assert not np.array_equal(brief, other)


@pytest.mark.slow
def test_the_network_classifies_mnist(data_dir, monkeypatch):
    pytest.importorskip("torch", reason="needs the paper extra")
    monkeypatch.setenv("EULERMEANS_DATA", str(data_dir))
    found = datasets.lenet_features(0)
    assert found.accuracy >= 0.985
    assert found.points.shape == (60_000, 64)

"""Where centers start."""

from __future__ import annotations

import numpy as np
import pytest
from naive import naive_moments

from eulermeans import seeding
from eulermeans.oracles import MemoryOracle, memory_oracle
from eulermeans.seeding import SEEDS, seed

every_method = pytest.mark.parametrize("method", sorted(SEEDS))


def rng(number=0):
    return np.random.default_rng(number)


@every_method
def test_gives_finite_centers_and_is_reproducible(plane, method):
    oracle = memory_oracle(plane)
    one, other, different = (seed(method, oracle, 7, rng(number)) for number in (0, 0, 1))
    assert one.shape == (7, 2)
    assert one.dtype == np.float64
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, different)


@every_method
def test_dtype_and_order_of_the_data_do_not_matter(plane, method):
    whole = np.round(plane * 10)
    one = seed(method, memory_oracle(whole), 5, rng())
    other = seed(method, memory_oracle(np.asfortranarray(whole.astype(np.int64))), 5, rng())
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["random", "k-means++"])
def test_seeds_are_distinct_data_points(plane, method):
    centers = seed(method, memory_oracle(plane), 20, rng())
    assert len(np.unique(centers, axis=0)) == 20
    assert all((plane == center).all(axis=1).any() for center in centers)


@pytest.mark.parametrize("method", ["random", "k-means++"])
def test_points_without_weight_are_no_seeds(method):
    points = np.arange(40.0)[:, None]
    weights = np.where(points[:, 0] < 30, 0.0, 1.0)
    for number in range(20):
        assert seed(method, memory_oracle(points, weights), 5, rng(number)).min() >= 30


def test_random_seeds_follow_the_weights():
    """As repetition would have it, and as scikit-learn draws them."""
    points, weights = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, 8.0])
    oracle = memory_oracle(points, weights)
    firsts = [seed("random", oracle, 1, rng(number))[0, 0] for number in range(400)]
    assert np.mean(np.array(firsts) == 2) == pytest.approx(0.8, abs=0.1)  # five standard deviations


def test_k_means_plus_plus_first_seed_follows_the_weights():
    points, weights = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, 8.0])
    oracle = memory_oracle(points, weights)
    firsts = [seed("k-means++", oracle, 1, rng(number))[0, 0] for number in range(400)]
    assert np.mean(np.array(firsts) == 2) == pytest.approx(0.8, abs=0.1)


def test_k_means_plus_plus_takes_one_of_each_distant_group(blobs):
    for number in range(10):
        centers = seed("k-means++", memory_oracle(blobs), 5, rng(number))
        assert len({tuple(np.round(center / 20)) for center in centers}) == 5


def test_k_means_plus_plus_is_better_than_random(plane):
    def mean_cost(method):
        centers = [seed(method, memory_oracle(plane), 8, rng(number)) for number in range(20)]
        return np.mean([naive_moments(plane, each)[0].cost for each in centers])

    assert mean_cost("k-means++") < 0.8 * mean_cost("random")


def test_partition_means_lie_near_the_mean_and_average_to_it(plane):
    centers = seed("partition", memory_oracle(plane), 4, rng())
    np.testing.assert_allclose(centers.mean(axis=0), plane.mean(axis=0), atol=1e-9)
    standard_error = plane.std(axis=0) / np.sqrt(len(plane) / 4)
    assert np.all(np.abs(centers - plane.mean(axis=0)) < 5 * standard_error)
    assert len(np.unique(centers, axis=0)) == 4


def test_partition_of_a_sample_has_the_spread_of_the_whole(monkeypatch):
    points = rng(5).standard_normal((40_000, 50))
    spreads = []
    for smallest in (40_000, 2_000):
        monkeypatch.setattr(seeding, "SMALLEST_SAMPLE", smallest)
        spreads.append(np.std(seed("partition", memory_oracle(points), 4, rng()) - points.mean(axis=0)))
    assert spreads[1] == pytest.approx(spreads[0], rel=0.25)


def test_mean_seeds_are_the_mean_with_little_noise(plane):
    offsets = seed("mean", memory_oracle(plane), 200, rng()) - plane.mean(axis=0)
    expected = seeding.MEAN_NOISE * plane.std(axis=0)
    np.testing.assert_allclose(offsets.std(axis=0), expected, rtol=0.25)


@every_method
def test_equal_points(method):
    centers = seed(method, memory_oracle(np.ones((10, 3))), 4, rng())
    np.testing.assert_allclose(centers, 1)


@every_method
def test_fewer_points_with_weight_than_clusters(method):
    weights = np.zeros(10)
    weights[:2] = 1
    centers = seed(method, memory_oracle(np.arange(20.0).reshape(10, 2), weights), 4, rng())
    assert centers.shape == (4, 2)
    assert np.isfinite(centers).all()


def test_an_array_is_taken_as_it_is_and_copied():
    given = np.arange(6.0).reshape(3, 2)
    centers = seed(given, memory_oracle(np.zeros((5, 2))), 3, rng())
    np.testing.assert_array_equal(centers, given)
    assert not np.shares_memory(centers, given)


def test_large_data_are_seeded_from_a_sample(monkeypatch):
    asked = []
    sample = MemoryOracle.sample

    def watched(self, size, generator):
        asked.append(size)
        return sample(self, size, generator)

    monkeypatch.setattr(MemoryOracle, "sample", watched)
    seed("k-means++", memory_oracle(np.zeros((100_000, 2))), 3, rng())
    assert max(asked) < 100_000

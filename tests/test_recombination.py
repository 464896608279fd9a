"""Recombination: regions of two clusterings, and what is made of them."""

from itertools import pairwise, product

import numpy as np
import pytest

from eulermeans import EulerMeans
from eulermeans.oracles import DensePoints, MemoryOracle, memory_oracle
from eulermeans.solvers import differ_in_places, recombine
from eulermeans.solvers.recombination import Parent, best_choice, find_regions


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def pairs_of_blobs(rng, n_pairs=6, n_points=40):
    """Pairs of blobs far from each other, and the middle of every blob, (n_pairs, 2, 2)."""
    middles = 100.0 * np.arange(n_pairs)[:, None, None] + np.array([[0.0, 0.0], [0.0, 10.0]])
    points = (middles[:, :, None] + rng.standard_normal((n_pairs, 2, n_points, 2))).reshape(-1, 2)
    return points, middles


def with_defect(middles, short, rich):
    """A center for every blob, but one for both of the pair `short` and three for the pair `rich`."""
    centers = [middles[i].mean(axis=0, keepdims=True) if i == short else middles[i] for i in range(len(middles))]
    return np.concatenate([*centers, middles[rich][:1] + 1.0])


def recombined(oracle, first, *others, seed=0):
    iterates = list(recombine(oracle, first, others=others, rng=np.random.default_rng(seed)))
    assert iterates[-1].last
    assert not any(iterate.last for iterate in iterates[:-1])
    return iterates


@pytest.mark.parametrize("seed", range(20))
def test_the_choice_of_regions_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    gains, more = rng.standard_normal(9), rng.integers(-2, 3, size=9)
    choices = np.array(list(product([False, True], repeat=9)))
    allowed = choices[choices @ more == 0]
    taken = best_choice(gains, more)
    assert taken @ more == 0
    assert taken @ gains == pytest.approx((allowed @ gains).max())


def test_clusterings_that_differ_in_one_place_have_one_region_that_differs(rng):
    points, middles = pairs_of_blobs(rng)
    oracle = memory_oracle(points)
    good, bad = middles.reshape(-1, 2), with_defect(middles, 0, 3)
    regions = find_regions(Parent.around(good, oracle), Parent.around(bad, oracle), 0.05)
    assert sorted(regions.more.tolist()) == [-1] + 9 * [0] + [1]
    short, rich = np.argmin(regions.more), np.argmax(regions.more)
    assert set(np.flatnonzero(regions.of_first == short)) == {0, 1}
    assert np.count_nonzero(regions.of_second == short) == 1
    assert np.count_nonzero(regions.of_second == rich) == 2
    costs = [oracle.full(centers).cost for centers in (good, bad)]
    assert regions.gains.sum() == pytest.approx(costs[0] - costs[1])
    assert regions.gains[short] < 0 < regions.gains[rich]


@pytest.mark.parametrize("weighted", [False, True])
def test_defects_in_different_places_are_mended(rng, weighted):
    points, middles = pairs_of_blobs(rng)
    weights = rng.uniform(0.5, 2.0, len(points)) if weighted else None
    oracle = memory_oracle(points, weights)
    ends = [with_defect(middles, short, rich) for short, rich in ((0, 3), (1, 4), (2, 3))]
    centers = recombined(oracle, *ends)[-1].centers
    labels = oracle.label(middles.reshape(-1, 2)).labels
    means = [np.average(points[labels == j], axis=0, weights=None if weights is None else weights[labels == j])
             for j in range(12)]  # fmt: skip
    assert np.allclose(centers[np.lexsort(centers.T[::-1])], np.array(means)[np.lexsort(np.array(means).T[::-1])])


def test_the_cost_never_rises(rng):
    points = rng.random((600, 3))
    oracle = memory_oracle(points)
    ends = [points[rng.permutation(600)[:30]] for _ in range(4)]
    iterates = recombined(oracle, *ends)
    objectives = [iterate.objective for iterate in iterates]
    assert all(later <= earlier for earlier, later in pairwise(objectives))
    assert objectives[0] == pytest.approx(oracle.full(ends[0]).objective)
    assert objectives[-1] == pytest.approx(oracle.full(iterates[-1].centers).objective)
    assert all(iterate.centers.shape == (30, 3) for iterate in iterates)


def test_equal_clusterings_stay_as_they_are(rng):
    oracle = memory_oracle(rng.random((50, 2)))
    centers = rng.random((5, 2))
    iterates = recombined(oracle, centers, centers[::-1].copy())
    assert len(iterates) == 2
    assert np.array_equal(iterates[-1].centers, centers)


def test_a_single_cluster(rng):
    oracle = memory_oracle(rng.random((50, 2)))
    assert recombined(oracle, rng.random((1, 2)), rng.random((1, 2)))[-1].centers.shape == (1, 2)


def test_centers_without_points(rng):
    points, middles = pairs_of_blobs(rng)
    oracle = memory_oracle(points)
    good = middles.reshape(-1, 2)
    lost = np.concatenate([good[:-1], [[1e6, 1e6]]])
    assert np.isfinite(recombined(oracle, lost, good)[-1].centers).all()
    assert recombined(oracle, lost, good)[-1].objective <= oracle.full(good).objective


def test_on_the_sphere_centers_have_unit_length(rng):
    points = rng.standard_normal((400, 5))
    oracle = memory_oracle(points, spherical=True)
    ends = [oracle.project(points[rng.permutation(400)[:12]]) for _ in range(3)]
    iterates = recombined(oracle, *ends)
    assert np.allclose(np.linalg.norm(iterates[-1].centers, axis=1), 1)
    assert iterates[-1].objective <= iterates[0].objective


def test_the_bits_do_not_depend_on_the_threads(rng):
    points = rng.random((3000, 6))
    ends = [points[rng.permutation(3000)[:40]] for _ in range(3)]
    one, two = (
        recombined(MemoryOracle(DensePoints(points, n_threads=n)), *ends)[-1].centers for n in (1, 2)
    )  # fmt: skip
    assert np.array_equal(one, two)


def test_clusterings_of_separate_clusters_differ_in_places(rng):
    points, middles = pairs_of_blobs(rng, n_pairs=20)
    oracle = memory_oracle(points)
    assert differ_in_places(oracle, with_defect(middles, 0, 3), with_defect(middles, 1, 4))


def test_clusterings_of_points_without_structure_differ_everywhere(rng):
    points = rng.random((4000, 16))
    oracle = memory_oracle(points)
    one, other = (EulerMeans(40, effort=0, random_state=seed).fit(points).cluster_centers_ for seed in (0, 1))
    assert not differ_in_places(oracle, one, other)


def test_a_large_effort_is_shared_and_recombined(rng):
    points, _ = pairs_of_blobs(rng, n_pairs=20, n_points=15)
    once = EulerMeans(30, random_state=0).fit(points)
    long = EulerMeans(30, effort=6, random_state=0).fit(points)
    assert long.inertia_ <= once.inertia_
    assert long.inertia_ == pytest.approx(-long.score(points))
    assert [record.phase for record in long.history_].count("search") > 3


def test_a_large_effort_has_the_same_bits_for_any_number_of_threads(rng):
    points = rng.random((1500, 4))
    one, two = (EulerMeans(40, effort=6, random_state=3, n_threads=n).fit(points) for n in (1, 2))
    assert np.array_equal(one.cluster_centers_, two.cluster_centers_)
    assert np.array_equal(one.labels_, two.labels_)

"""The search on dense points: never worse, resumable, and better than Lloyd's algorithm."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from eulermeans import EulerMeans
from eulermeans.oracles import Clustering, DensePoints, Moves, memory_oracle, unit_rows
from eulermeans.seeding import seed_plus_plus
from eulermeans.solvers import local_search, search
from eulermeans.solvers.breathing import plan_by_work
from eulermeans.solvers.local_search import Search, moves_apart, paired
from eulermeans.solvers.settling import settle


def groups(n, d, n_groups, seed=0, spread=6.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    means = spread * rng.standard_normal((n_groups, d))
    return (means[rng.integers(n_groups, size=n)] + rng.standard_normal((n, d))).astype(dtype)


def iterates(points, n_clusters, *, budget=2e7, seed=0, centers=None, **options):
    oracle = memory_oracle(points, options.pop("weights", None), **options)
    rng = np.random.default_rng(seed)
    if centers is None:
        centers = oracle.points.dense(rng.choice(len(points), n_clusters, replace=False))
    return oracle, list(search(oracle, centers, batch_size=50, budget=budget, rng=rng))


CASES = [(2, 12, np.float64), (3, 40, np.float32), (30, 30, np.float64), (70, 40, np.float32), (5, 2, np.float64)]


@pytest.mark.parametrize(("d", "k", "dtype"), CASES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spherical", [False, True])
def test_the_objective_never_rises_and_is_true(d, k, dtype, weighted, spherical):
    points = groups(1500, d, 15, seed=k, dtype=dtype)
    weights = np.random.default_rng(1).integers(0, 3, size=1500).astype(float) if weighted else None
    oracle, found = iterates(points, k, weights=weights, spherical=spherical)
    assert all(later.objective <= earlier.objective * (1 + 1e-7) for earlier, later in pairwise(found))
    assert found[-1].last
    assert sum(iterate.n_distances for iterate in found) > 0
    exact = oracle.full(found[-1].centers).objective
    assert exact <= found[-1].objective * (1 + 1e-5)
    assert np.isfinite(found[-1].centers).all()


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize(("d", "k"), [(2, 30), (50, 40)])
def test_bits_do_not_depend_on_threads(d, k, n_threads):
    points = groups(3000, d, 25, dtype=np.float32)
    _, one = iterates(points, k, n_threads=1)
    _, other = iterates(points, k, n_threads=n_threads)
    assert len(one) == len(other)
    np.testing.assert_array_equal(one[-1].centers, other[-1].centers)


@pytest.mark.parametrize(("d", "k"), [(2, 20), (60, 40)])
@pytest.mark.parametrize("breathing", [True, False])
@pytest.mark.parametrize("step", [0, 2, 5])
def test_it_continues_from_any_breath_or_round_to_the_same_bits(d, k, step, breathing):
    points = groups(1200, d, 12)
    oracle = memory_oracle(points)
    start = oracle.points.dense(np.arange(k))
    options = {"batch_size": 50, "budget": 6e7}
    rng = np.random.default_rng(3)
    saved = []
    for iterate in search(oracle, start, rng=rng, **options):
        memory = {} if iterate.memory is None else iterate.memory()
        if memory and ("breath" in memory) == breathing:
            saved.append((iterate.centers, memory, rng.bit_generator.state))
    assert len(saved) > step + 1
    centers, memory, state = saved[step]
    again = np.random.default_rng()
    again.bit_generator.state = state
    resumed = list(search(oracle, centers, rng=again, memory=memory, **options))
    np.testing.assert_array_equal(resumed[-1].centers, iterate.centers)


def skewed(n, d, seed=0):
    """Most points in one place, the others far away in all directions: most belong to one cluster."""
    return np.exp(2.0 * np.random.default_rng(seed).standard_normal((n, d)))


@pytest.mark.parametrize("step", [0, 1])
def test_it_continues_from_breaths_around_a_huge_cluster(step):
    oracle = memory_oracle(skewed(3000, 30))
    start = seed_plus_plus(oracle, 60, np.random.default_rng(0))
    assert local_search.largest_share(oracle, start) > local_search.HUGE
    options = {"batch_size": 300, "budget": 3e6}
    assert plan_by_work(oracle, 60, local_search.BREATHED * 3e6, 300).n_breaths < local_search.FEWEST_BREATHS
    rng, saved = np.random.default_rng(3), []
    for iterate in search(oracle, start, rng=rng, **options):
        memory = {} if iterate.memory is None else iterate.memory()
        if "breath" in memory:
            saved.append((iterate.centers, memory, rng.bit_generator.state))
    assert len(saved) > step
    centers, memory, state = saved[step]
    again = np.random.default_rng()
    again.bit_generator.state = state
    resumed = list(search(oracle, centers, rng=again, memory=memory, **options))
    np.testing.assert_array_equal(resumed[-1].centers, iterate.centers)


def test_exchanges_that_would_take_all_of_the_budget_are_not_tried(monkeypatch):
    calls, judge = [], local_search.moves_apart
    monkeypatch.setattr(local_search, "moves_apart", lambda *args: calls.append(1) or judge(*args))
    monkeypatch.setattr(local_search, "BREATHED", 0.0)
    monkeypatch.setattr(local_search, "HUGE", 1.0)
    oracle = memory_oracle(skewed(3000, 30))
    start = seed_plus_plus(oracle, 60, np.random.default_rng(0))
    for budget, tried in ((5e5, False), (1e9, True)):
        calls.clear()
        solver = search(oracle, start, batch_size=300, budget=budget, rng=np.random.default_rng(0))
        for _, iterate in zip(range(8), solver, strict=False):
            assert np.isfinite(iterate.objective)
        assert bool(calls) == tried


def test_skewed_data_end_below_ten_runs_of_lloyd():
    points = skewed(3000, 30, seed=5)
    ours = np.mean([EulerMeans(60, random_state=seed).fit(points).inertia_ for seed in range(3)])
    assert ours < KMeans(60, n_init=10, random_state=0).fit(points).inertia_


def test_two_centers_in_one_group_and_none_in_another_are_put_right():
    points = groups(600, 2, 6, seed=4, spread=30.0)
    labels = cdist(points, points[:1]).ravel().argsort()
    bad = points[labels[[0, 1, 2, 3, 4, -1]]]
    _, found = iterates(points, 6, centers=bad)
    exact = EulerMeans(6, n_init=5, random_state=0).fit(points).objective_
    assert found[-1].objective == pytest.approx(exact, rel=1e-6)


def joined_pair(d, n_groups=12, seed=0):
    """Groups far apart, and centers of which one is between two groups and two share a third."""
    rng = np.random.default_rng(seed)
    means = (20.0 if d < 5 else 2.0) * rng.standard_normal((n_groups, d))
    points = np.repeat(means, 200, axis=0) + rng.standard_normal((200 * n_groups, d))
    first = points[400:600]  # of the third group
    cut = (first - means[2]) @ rng.standard_normal(d) > 0
    shared = [means[:2].mean(axis=0), first[cut].mean(axis=0), first[~cut].mean(axis=0)]
    return points, means, np.concatenate([shared, means[3:]])


@pytest.mark.parametrize("d", [3, 24, 300])
def test_a_coarse_exchange_moves_a_center_from_a_shared_group_to_a_joined_pair(d):
    """The new center stays in the pair: it must not follow the points of the one that was removed.

    With many features the joined pair is near to all others, and no point alone is a good center.
    """
    points, means, centers = joined_pair(d)
    clustering = Clustering(memory_oracle(points).points, centers)
    Search(clustering, 1e9, np.random.default_rng(0)).exchange_coarsely()
    assert clustering.cost == pytest.approx(memory_oracle(points).full(means).cost, rel=0.02)
    assert len(set(cdist(means, clustering.centers).argmin(axis=1).tolist())) == len(means)


def test_a_center_between_groups_is_not_a_neighbour_of_all():
    points, _, centers = joined_pair(24)
    clustering = Clustering(memory_oracle(points).points, centers)
    assert np.count_nonzero(clustering.neighbours[1:, :3] == 0) > 6
    near = clustering.nearby(3)
    assert np.count_nonzero(near[1:] == 0) <= 1
    assert near[1:3].tolist() == [[1, 2], [2, 1]]  # the two that share a group
    assert np.array_equal(near[:, 0], np.arange(len(centers)))


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_groups_far_apart_are_found_in_many_features(init):
    rng = np.random.default_rng(1)
    means = rng.standard_normal((30, 200))
    points = (means[rng.integers(30, size=12_000)] + rng.standard_normal((12_000, 200))).astype(np.float32)
    true = memory_oracle(points).full(memory_oracle(points).full(means).means(otherwise=means)).cost
    for seed in range(3):
        assert EulerMeans(30, init=init, random_state=seed).fit(points).inertia_ < 1.0001 * true


@pytest.mark.parametrize("k", [4, 10])
def test_the_proven_optimum_of_iris(k):
    points = load_iris().data
    optimum = {4: 57.2285, 10: 25.8341}[k]
    for seed in range(5):
        assert EulerMeans(k, random_state=seed).fit(points).inertia_ == pytest.approx(optimum, rel=2e-5)


def test_more_budget_never_hurts_from_the_same_start():
    points = groups(1000, 2, 100, seed=5, spread=2.0)
    start = points[:50]
    costs = [iterates(points, 50, budget=budget, centers=start)[1][-1].objective for budget in (0, 5e6, 1e8)]
    assert costs[2] < costs[1] < costs[0]


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((50, 3)),
        np.repeat(np.arange(3.0), 20)[:, None],
        np.vstack([np.zeros((40, 2)), [[1e9, 1e9]]]),
        np.random.default_rng(6).standard_normal((12, 2)) * 1e-90,
        np.random.default_rng(7).standard_normal((60, 2)) * 1e140,
    ],
)
def test_degenerate_data_stay_finite(points):
    for k in (1, 2, 5, 11):
        model = EulerMeans(k, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # fewer distinct points than clusters
            model.fit(points)
        assert np.isfinite(model.cluster_centers_).all()
        np.testing.assert_array_equal(model.labels_, model.predict(points))


def test_pairs_are_apart_and_gain():
    clustering = Clustering(DensePoints(groups(2000, 2, 30, seed=8)), groups(40, 2, 10, seed=9))
    settle(clustering, 5, 1e-3, np.random.default_rng(14))
    moves = moves_apart(clustering, np.random.default_rng(10))
    assert len(moves) > 0
    near = clustering.nearby(2)
    both = zip(moves.removed, moves.inside, strict=True)
    ends = [set(near[removed]) | set(near[inside]) for removed, inside in both]
    assert sum(len(each) for each in ends) == len(set().union(*ends))
    none = Moves.additions(np.array([0], dtype=np.int32), np.array([0]))
    losses = np.full(40, 5.0)
    assert len(paired(clustering, losses, none, np.array([4.9]), n_near=2)) == 0
    assert len(paired(clustering, losses, none, np.array([5.1]), n_near=2)) == 1


def test_cosine_data_are_searched_as_well():
    points = unit_rows(np.random.default_rng(13).standard_normal((2000, 8)))
    plain = EulerMeans(30, metric="cosine", effort=0, random_state=0).fit(points)
    searched = EulerMeans(30, metric="cosine", random_state=0).fit(points)
    assert searched.objective_ < plain.objective_
    np.testing.assert_allclose(np.linalg.norm(searched.cluster_centers_, axis=1), 1.0)


def test_many_points_are_searched_to_the_end_not_on_a_sample():
    """The minimum of a sample of 10,000 is not that of 60,000 points: the search goes on with all of them."""
    points = np.random.default_rng(12).random((60_000, 2))
    model = EulerMeans(60, random_state=0).fit(points)
    assert {record.phase for record in model.history_} == {"search", "polish"}
    assert {record.points_read for record in model.history_ if record.phase == "polish"} == {60_000}

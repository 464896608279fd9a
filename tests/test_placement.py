"""The placement of points in clusters of bounded size: optimal, within the bounds, with prices that prove it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naive_placement import cost_of, naive_place
from scipy.spatial.distance import cdist

from eulermeans import _core
from eulermeans.oracles import (
    OutOfTime,
    Placer,
    PricedLabels,
    PricedMoments,
    SizeBounds,
    memory_oracle,
    time_limit,
)
from eulermeans.oracles.placement import PASSES


def random_bounds(rng, n, k):
    lowest = int(rng.integers(0, n // k + 1))
    return lowest, int(rng.integers(max(lowest, -(-n // k)), n + 1))


def place(distances, lowest, highest, prices=None, **options):
    n, k = distances.shape
    prices, labels = np.zeros(k) if prices is None else prices.copy(), np.empty(n, dtype=np.int32)
    met = _core.place(distances, np.full(k, float(lowest)), np.full(k, float(highest)), prices, labels, **options)
    return met, prices, labels


@pytest.mark.parametrize("kind", ["continuous", "ties", "narrow", "warm"])
def test_thousands_of_small_problems_are_solved_as_by_scipy(kind):
    rng = np.random.default_rng(0)
    for _ in range(800):
        n = int(rng.integers(1, 30))
        k = int(rng.integers(1, min(n, 7) + 1))
        distances = rng.integers(0, 4, (n, k)).astype(float) if kind == "ties" else rng.random((n, k))
        if kind == "narrow":
            distances = distances.astype(np.float32)
        lowest, highest = random_bounds(rng, n, k)
        prices = rng.normal(size=k) if kind == "warm" else None
        met, prices, labels = place(distances, lowest, highest, prices)
        assert met
        sizes = np.bincount(labels, minlength=k)
        assert sizes.min() >= lowest
        assert sizes.max() <= highest
        costs = distances.astype(np.float64) ** 2
        best = cost_of(costs, naive_place(costs, lowest, highest))
        assert cost_of(costs, labels) == pytest.approx(best, rel=1e-9, abs=1e-9)
        check_prices(costs, labels, prices, sizes, lowest, highest)


def check_prices(costs, labels, prices, sizes, lowest, highest):
    """The prices prove that the placement is optimal: complementary slackness."""
    priced = costs + prices
    assert np.all(priced[np.arange(len(labels)), labels] <= priced.min(axis=1) + 1e-9)
    assert np.all((prices < 1e-9) | (sizes == highest))
    assert np.all((prices > -1e-9) | (sizes == lowest))


@pytest.mark.parametrize(
    ("n", "k", "lowest", "highest"), [(3000, 20, 150, 150), (2000, 7, 100, 300), (600, 600, 1, 1)]
)
def test_larger_problems_are_optimal_and_take_only_contested_points(n, k, lowest, highest):
    rng = np.random.default_rng(1)
    points = rng.standard_normal((n, 2))
    distances = cdist(points, points[rng.choice(n, k, replace=False)])
    met, prices, labels = place(distances, lowest, highest)
    assert met
    check_prices(distances**2, labels, prices, np.bincount(labels, minlength=k), lowest, highest)


@pytest.mark.parametrize(("k", "lowest", "highest"), [(20, 150, 150), (20, 130, 170), (300, 9, 11)])
def test_prices_alone_leave_few_points_in_the_wrong_place(k, lowest, highest):
    rng = np.random.default_rng(2)
    points = rng.standard_normal((3000, 2))
    distances = cdist(points, points[rng.choice(3000, k, replace=False)])
    _, prices, labels = place(distances, lowest, highest, exact=False)
    priced = distances**2 + prices
    assert np.allclose(priced[np.arange(3000), labels], priced.min(axis=1))

    def beyond(chosen):
        counts = np.bincount(chosen, minlength=k)
        return np.sum(np.maximum(lowest - counts, 0) + np.maximum(counts - highest, 0))

    assert beyond(labels) < beyond(distances.argmin(axis=1)) / 3


def test_arcs_that_run_out_of_moves_are_collected_again():
    """Many light points have to leave a cluster, among heavy ones that make few seem enough."""
    rng = np.random.default_rng(7)
    weights = np.concatenate([np.full(2000, 0.01), np.ones(100)])
    distances = rng.random((2100, 2)) + np.where(
        np.arange(2100)[:, None] < 2000, np.array([0, 2]), np.array([2, 0])
    )
    prices, labels = np.zeros(2), np.empty(2100, dtype=np.int32)
    assert _core.place(distances, np.zeros(2), np.array([15.0, 200.0]), prices, labels, weights=weights)
    loads = np.bincount(labels, weights)
    assert np.allclose(loads, [15, 105], atol=0.011)
    priced = distances**2 + prices
    assert np.all(priced[np.arange(2100), labels] <= priced.min(axis=1) + 1e-9)
    assert prices[0] > 0
    assert prices[1] == 0


@pytest.mark.parametrize("kind", ["grid", "continuous"])
def test_problems_with_many_points_for_each_pair_of_clusters(kind):
    rng = np.random.default_rng(8)
    for n, k in [(4000, 3), (3000, 12), (2000, 40)]:
        points = (
            rng.integers(0, 6, (n, 2)).astype(float) if kind == "grid" else rng.standard_exponential((n, 2)) ** 3
        )
        distances = cdist(points, points[rng.choice(n, k, replace=False)] + 0.1 * rng.standard_normal((k, 2)))
        lowest, highest = n // k, -(-n // k)
        met, prices, labels = place(distances, lowest, highest)
        assert met
        sizes = np.bincount(labels, minlength=k)
        assert lowest <= sizes.min()
        assert sizes.max() <= highest
        costs = distances**2
        dual = np.sum((costs + prices).min(axis=1)) - (
            highest * prices.clip(0).sum() + lowest * prices.clip(None, 0).sum()
        )
        assert cost_of(costs, labels) == pytest.approx(dual, rel=1e-9)  # no placement can cost less


def test_points_in_doubt_are_those_whose_choice_prices_may_have_changed():
    rng = np.random.default_rng(9)
    distances, n_in_doubt = rng.random((300, 5)), np.zeros(1, np.int64)
    before = 0.02 * rng.standard_normal(5)
    met, prices, _ = place(distances, 58, 62, before, n_in_doubt=n_in_doubt)
    assert met
    priced = np.sort(distances**2 + before, axis=1)
    assert n_in_doubt[0] == np.count_nonzero(priced[:, 1] - priced[:, 0] <= np.ptp(prices - before))
    assert 0 < n_in_doubt[0] < 300


def test_bounds_that_cannot_be_met_are_reported():
    distances = np.random.default_rng(0).random((10, 3))
    assert not place(distances, 4, 10)[0]
    assert not place(distances, 0, 3)[0]


@pytest.mark.parametrize("seed", range(20))
def test_weights_miss_a_bound_by_little(seed):
    rng = np.random.default_rng(seed)
    distances, weights = rng.random((200, 5)), rng.random(200)
    weights[::7] = 0
    target = weights.sum() / 5
    met, prices, labels = place(distances, 0.95 * target, 1.05 * target, weights=weights)
    assert met
    loads = np.bincount(labels, weights, minlength=5)
    assert np.all(loads > 0.95 * target - 2)
    assert np.all(loads < 1.05 * target + 2)
    priced = distances**2 + prices
    assert np.all(priced[np.arange(200), labels] <= priced.min(axis=1) + 1e-9)


def test_prices_move_no_further_than_the_reach_and_get_there_in_the_end():
    rng = np.random.default_rng(5)
    points = rng.standard_normal((1500, 2))
    distances = cdist(points, points[rng.choice(1500, 12, replace=False)])
    lowest, highest, reach = 120, 130, 0.15
    _, best, expected = place(distances, lowest, highest)
    before, dual = np.zeros(12), -np.inf
    for _ in range(60):
        met, prices, labels = place(distances, lowest, highest, before, reach=reach)
        assert np.ptp(prices - before) <= reach * (1 + 1e-9)
        bound = np.sum((distances**2 + prices).min(axis=1)) - (
            highest * prices.clip(0).sum() + lowest * prices.clip(None, 0).sum()
        )
        assert bound > dual  # every call is of use
        if met:
            break
        before, dual = prices, bound
    assert met
    assert np.ptp(best) > 5 * reach
    assert cost_of(distances**2, labels) == pytest.approx(cost_of(distances**2, expected))


@pytest.mark.parametrize("exact", [True, False])
def test_lists_of_near_clusters_leave_out_nothing_that_prices_can_reach(exact):
    """Beyond a few clusters, a point compares those that it can choose within the reach: the same as with all."""
    rng = np.random.default_rng(6)
    points = rng.standard_normal((4000, 3))
    distances = cdist(points, points[rng.choice(4000, 40, replace=False)])
    before = place(distances, 60, 150)[1]
    for reach in (0.01, 0.05, 0.2):
        met, prices, labels = place(distances, 97, 103, before, exact=exact, reach=reach)
        assert np.ptp(prices - before) <= reach * (1 + 1e-9)
        priced = distances**2 + prices
        assert np.allclose(priced[np.arange(4000), labels], priced.min(axis=1))
        counts = np.bincount(labels, minlength=40)
        assert not met or (counts.min() >= 97 and counts.max() <= 103)
    met, prices, labels = place(distances, 97, 103, before, reach=5.0)  # lists that are long are given up
    assert met
    assert cost_of(distances**2, labels) == pytest.approx(cost_of(distances**2, place(distances, 97, 103)[2]))


def test_a_placement_ends_when_its_time_is_over():
    distances = np.random.default_rng(0).random((20_000, 200))
    began = time.process_time()
    with pytest.raises(OutOfTime), time_limit(0.005):
        place(distances, 100, 100)
    assert time.process_time() - began < 0.25


def test_whole_weights_are_repetition():
    rng = np.random.default_rng(3)
    distances, weights = rng.random((40, 4)), rng.integers(1, 4, 40)
    repeated = np.repeat(distances, weights, axis=0)
    total = int(weights.sum())
    _, prices, _ = place(distances, total // 4, -(-total // 4), weights=weights.astype(float))
    _, expected, labels = place(repeated, total // 4, -(-total // 4))
    costs = repeated**2
    lowest, highest = total // 4, -(-total // 4)
    for found in (prices, expected):  # the dual is as high as the cost is low
        dual = (
            np.sum((costs + found).min(axis=1))
            - highest * found.clip(0).sum()
            - lowest * found.clip(None, 0).sum()
        )
        assert dual == pytest.approx(cost_of(costs, labels))


def test_transfers_cost_what_they_change_when_the_means_follow():
    rng = np.random.default_rng(0)
    points = rng.random((60, 2))
    current = rng.integers(0, 3, 60).astype(np.int32)
    counts = np.bincount(current, minlength=3).astype(float)
    means = np.stack([points[current == j].mean(axis=0) for j in range(3)])
    distances = cdist(points, means)
    met, prices, labels = place(distances, 0, 60, current=current, counts=counts)
    assert met
    assert np.allclose(prices, 0)
    own = np.arange(3) == current[:, None]
    factors = np.where(own, counts / (counts - 1), counts / (counts + 1))
    assert np.array_equal(labels, np.argmin(factors * distances**2, axis=1))


@pytest.mark.parametrize(
    "change",
    [
        {"lowest": np.zeros(2)},
        {"labels": np.empty(4, np.int32)},
        {"weights": np.ones(4)},
        {"n_in_doubt": np.zeros(2, np.int64)},
        {"current": np.zeros(5, np.int32)},
        {"current": np.full(5, 3, np.int32), "counts": np.ones(3)},
    ],
)
def test_arguments_of_the_wrong_shape_are_refused(change):
    arguments = {"lowest": np.zeros(3), "highest": np.full(3, 5.0), "prices": np.zeros(3)}
    arguments |= {"labels": np.empty(5, np.int32)} | change
    with pytest.raises(ValueError, match="expected"):
        _core.place(np.ones((5, 3)), **arguments)


# Passes with prices


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.uint8, np.int8])
@pytest.mark.parametrize("shape", [(500, 2, 2), (300, 5, 9), (300, 70, 5), (200, 130, 40)])
def test_a_pass_with_prices_takes_the_cheapest_center(dtype, shape):
    n, d, k = shape
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(n, d)) * 20).clip(0, 120).astype(dtype)
    centers = points[:k].astype(np.float64)
    prices = rng.normal(size=k) * 50 * d
    check_priced_pass(memory_oracle(points), points.astype(np.float64), centers, prices, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [2, 20, 130])
def test_a_pass_with_prices_over_sparse_points(dtype, k):
    from scipy.sparse import random_array

    rng = np.random.default_rng(0)
    points = random_array((300, 50), density=0.2, rng=rng, format="csr", dtype=dtype)
    dense = points.toarray().astype(np.float64)
    centers = dense[:k] + 0.0
    centers[1] = centers[0]  # equal centers with different prices
    check_priced_pass(memory_oracle(points), dense, centers, rng.normal(size=k), dtype)


def check_priced_pass(oracle, points, centers, prices, dtype):
    costs = cdist(points, centers) ** 2
    priced = costs + prices
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    labels = oracle.ask_by_row(PricedLabels(centers, prices))
    scale = np.abs(priced).max()
    assert np.all(priced[np.arange(len(points)), labels] <= priced.min(axis=1) + tolerance * scale)
    [block] = oracle.ask(PricedMoments(centers, prices, share=0.2, with_labels=True)).values()
    assert np.array_equal(block.labels, labels)
    assert np.array_equal(block.moments.counts, np.bincount(labels, minlength=len(centers)))
    assert block.moments.cost == pytest.approx(cost_of(costs, labels), rel=10 * tolerance)
    ordered = np.sort(priced, axis=1)
    gaps = ordered[:, 1] - ordered[:, 0]
    contested = block.contested
    assert np.all(np.delete(gaps, contested.rows) >= contested.reach - tolerance * scale)
    assert np.allclose(contested.gaps, gaps[contested.rows], atol=tolerance * scale)
    assert np.allclose(contested.distances**2, costs[contested.rows], atol=tolerance * scale)


# The placer


def test_approaching_the_bounds_bounds_the_cost_from_below():
    rng = np.random.default_rng(4)
    points = rng.standard_normal((2000, 3))
    centers = points[:12]
    placer = Placer(memory_oracle(points), SizeBounds(150, 180), 12)
    approached = placer.approach(centers)
    bound = placer.bounds.dual_cost(approached.moments, approached.prices)
    cost = placer.place(centers).moments.cost
    assert 0.98 * cost < bound <= (1 + 1e-9) * cost
    assert bound > memory_oracle(points).full(centers).cost


def test_few_contested_points_do_not_drive_prices_away():
    rng = np.random.default_rng(6)
    n, k = 8000, 40
    centers, bounds = rng.standard_normal((k, 8)), SizeBounds(190, 210)
    points = rng.standard_normal((n, 8)) + centers[rng.choice(k, n, p=rng.dirichlet(np.full(k, 20.0)))]
    exact = Placer(memory_oracle(points), bounds, k)
    assert exact.sees_all
    best = exact.place(centers).moments.cost
    placer = Placer(memory_oracle(points), bounds, k)
    placer._share = placer._most = 0.2
    costs = [placer.bounds.dual_cost(each.moments, each.prices) for each in map(placer.approach, [centers] * 10)]
    assert np.all(np.diff(costs) > -1e-9 * best)  # the bound from below rises with every pass
    placed = placer.place(centers)
    assert placed.n_passes < PASSES
    assert placed.moments.cost == pytest.approx(best)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.02, 0.3, 1.0]))
@example(seed=23, share=0.02)  # prices for which more points are indifferent than are contested
def test_the_placer_is_exact_whatever_share_is_contested(seed, share):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(20, 80)), int(rng.integers(2, 6))
    points = rng.standard_normal((n, 2))
    centers = points[rng.choice(n, k, replace=False)]
    lowest, highest = random_bounds(rng, n, k)
    placer = Placer(memory_oracle(points), SizeBounds(lowest, highest), k)
    placer._share = placer._most = share
    placed = placer.place(centers, with_labels=True)
    labels, costs = placed.labels(), cdist(points, centers) ** 2
    sizes = np.bincount(labels, minlength=k)
    assert lowest <= sizes.min()
    assert sizes.max() <= highest
    assert np.array_equal(placed.moments.counts, sizes)
    assert placed.moments.cost == pytest.approx(cost_of(costs, labels))
    sums = np.zeros((k, 2))
    np.add.at(sums, labels, points)
    assert np.allclose(placed.moments.sums, sums)
    best = cost_of(costs, naive_place(costs, lowest, highest))
    assert best <= placed.moments.cost + 1e-9
    assert placed.moments.cost <= 1.0001 * best + 1e-9 or placed.n_passes >= PASSES

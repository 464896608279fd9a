"""The search: breathing, and the transfers of single points. What must hold for any data comes first."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from eulermeans import EulerMeans, StopReason
from eulermeans.moments import Moments
from eulermeans.oracles import as_oracle
from eulermeans.solvers import breathe
from eulermeans.solvers.breathing import (
    DEEPEST,
    FEWEST_DEEP,
    BreathPlan,
    State,
    crowded_points,
    exhale,
    inhale,
    make_passes,
    plan_by_effort,
    plan_by_work,
    split_off,
)

ROUNDING = 1e-12


def inertia(points, centers, weights=None):
    """By the definition, in float64."""
    points = np.asarray(points.todense() if sparse.issparse(points) else points, dtype=np.float64)
    squares = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2).min(axis=1)
    return float(squares.sum() if weights is None else squares @ weights)


def search(points, start, *, weights=None, effort=1.0, seed=0, batch_size=50):
    oracle = as_oracle(points, weights)
    rng = np.random.default_rng(seed)
    plan = plan_by_effort(len(start), effort, sparse=sparse.issparse(points))
    return list(breathe(oracle, start, batch_size=batch_size, plan=plan, rng=rng))


def starts(points, n_clusters, seed):
    rng = np.random.default_rng(seed)
    return points[rng.choice(len(points), n_clusters, replace=False)].astype(np.float64)


@pytest.fixture(scope="module")
def data(plane, blobs, unbalanced):
    rng = np.random.default_rng(5)
    return {
        "plane": plane[::8],
        "blobs": blobs,
        "unbalanced": unbalanced[::4],
        "float32": plane[::8].astype(np.float32),
        "far from the origin": blobs + 1e6,
        "one feature": rng.standard_normal((300, 1)),
        "more features than points": rng.standard_normal((40, 60)),
        "heavy tails": rng.standard_cauchy((400, 2)),
        "integers with ties": rng.integers(4, size=(300, 2)).astype(float),
    }


KINDS = [
    "plane",
    "blobs",
    "unbalanced",
    "float32",
    "far from the origin",
    "one feature",
    "more features than points",
    "heavy tails",
    "integers with ties",
]
every_kind = pytest.mark.parametrize("kind", KINDS)


# The search as a whole


@every_kind
@pytest.mark.parametrize("n_clusters", [2, 7, 20])
def test_the_search_is_never_worse_than_its_start(data, kind, n_clusters):
    points = data[kind]
    for seed in range(3):
        start = starts(points, min(n_clusters, 15 if kind.startswith("integers") else n_clusters), seed)
        for effort in (0, 0.3, 1):
            found = search(points, start, effort=effort, seed=seed)[-1].centers
            assert found.shape == start.shape
            assert np.isfinite(found).all()
            assert inertia(points, found) <= inertia(points, start) * (1 + 1e-6)


@every_kind
def test_every_iterate_holds_the_best_so_far(data, kind):
    points = data[kind]
    for seed in range(3):
        seen = search(points, starts(points, 10, seed), seed=seed)
        objectives = np.array([iterate.objective for iterate in seen])
        assert np.all(np.diff(objectives) <= 1e-6 * objectives[:-1])
        for iterate in seen:
            # What is told is the cost before the last move, which lowers it.
            exact = inertia(points, iterate.centers) / (2 * len(points))
            assert exact <= iterate.objective * (1 + 1e-5)
            assert iterate.centers.shape == (10, points.shape[1])
            assert iterate.points_read > 0


def test_the_last_iterate_says_so(plane):
    seen = search(plane[::20], plane[:6].copy())
    assert [iterate.last for iterate in seen] == [False] * (len(seen) - 1) + [True]


def test_earlier_iterates_and_the_start_stay_as_they_were(plane):
    start = plane[:9].copy()
    start.flags.writeable = False
    rng = np.random.default_rng(0)
    solver = breathe(as_oracle(plane[::20]), start, batch_size=50, plan=plan_by_effort(9, 1.0), rng=rng)
    first = next(solver).centers
    copy = first.copy()
    list(solver)
    np.testing.assert_array_equal(first, copy)
    np.testing.assert_array_equal(start, plane[:9])


def test_same_generator_same_path(plane):
    one, other = (search(plane[::10], plane[:8], seed=4) for _ in range(2))
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.centers, b.centers)


def test_more_effort_is_more_work_and_no_effort_is_none(plane):
    points = plane[::4]
    start = starts(points, 30, 0)
    work = [sum(i.points_read for i in search(points, start, effort=effort)) for effort in (0, 0.5, 1, 4)]
    assert work == sorted(work)
    assert work[3] > 1.5 * work[2]
    assert len(search(points, start, effort=0)) == 2  # settled, and settled once more


def test_two_centers_in_one_group_and_none_in_another_are_put_right(blobs):
    groups = [
        blobs[np.linalg.norm(blobs - mean, axis=1) < 8] for mean in np.unique(np.round(blobs / 20), axis=0) * 20
    ]
    assert [len(group) for group in groups] == [120] * 5
    start = np.array([groups[0][0], groups[0][1], groups[0][2], groups[1][0], groups[2][0]])
    best = sum(float(((group - group.mean(axis=0)) ** 2).sum()) for group in groups)
    for seed in range(10):
        found = search(blobs, start, seed=seed)[-1].centers
        assert inertia(blobs, found) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("kind", ["spread", "whole", "one dominates", "with zeros", "tiny", "huge"])
def test_weights(plane, kind):
    points = plane[::10]
    weights = np.random.default_rng(0).uniform(size=len(points))
    weights = {
        "spread": weights,
        "whole": np.ceil(5 * weights),
        "one dominates": np.where(np.arange(len(points)) == 7, 1e4, weights),
        "with zeros": np.where(weights < 0.5, 0.0, weights),
        "tiny": 1e-12 * weights,
        "huge": 1e12 * weights,
    }[kind]
    for seed in range(3):
        start = starts(points[weights > 0], 8, seed)
        seen = search(points, start, weights=weights, seed=seed)
        costs = [inertia(points, iterate.centers, weights) for iterate in seen]
        assert np.isfinite(costs).all()
        assert costs[-1] <= inertia(points, start, weights)
        assert seen[-1].objective >= costs[-1] / (2 * weights.sum()) * (1 - 1e-9)


def test_points_without_weight_attract_no_center(blobs):
    far = np.full((30, 3), 1e4) + np.arange(30)[:, None]
    points = np.concatenate([blobs, far])
    weights = np.concatenate([np.ones(len(blobs)), np.zeros(len(far))])
    for seed in range(5):
        found = search(points, blobs[:8], weights=weights, seed=seed)[-1].centers
        assert np.abs(found).max() < 100


def test_sparse_points_are_searched_as_well():
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((300, 12)) * (rng.random((300, 12)) < 0.2)
    start = starts(dense, 8, 0)
    found = search(sparse.csr_matrix(dense), start)[-1].centers
    assert inertia(dense, found) <= inertia(dense, start)


# Small and degenerate


@given(
    n_points=st.integers(1, 12),
    n_features=st.integers(1, 3),
    n_values=st.integers(1, 4),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_tiny_data_with_duplicates(n_points, n_features, n_values, data):
    n_clusters = data.draw(st.integers(1, n_points))
    seed = data.draw(st.integers(0, 1000))
    points = np.random.default_rng(seed).integers(n_values, size=(n_points, n_features)).astype(float)
    start = starts(points, n_clusters, seed)
    found = search(points, start, seed=seed, batch_size=max(1, n_points // 3))[-1].centers
    assert found.shape == start.shape
    assert np.isfinite(found).all()
    assert inertia(points, found) <= inertia(points, start) + ROUNDING * n_points * n_values**2


def test_constant_data():
    points = np.full((50, 2), 3.25)
    for n_clusters in (1, 2, 7):
        seen = search(points, points[:n_clusters].copy())
        np.testing.assert_array_equal(seen[-1].centers, points[:n_clusters])
        assert seen[-1].objective == 0


def test_as_many_centers_as_points():
    points = np.random.default_rng(0).standard_normal((9, 2))
    found = search(points, points.copy(), batch_size=3)[-1].centers
    assert inertia(points, found) <= ROUNDING


def test_one_more_point_than_centers_joins_the_two_nearest():
    points = np.array([[0.0, 0], [10, 0], [0, 10], [10, 10], [5, 30], [5.5, 30]])
    for seed in range(5):
        found = search(points, starts(points, 5, seed), seed=seed, batch_size=2)[-1].centers
        assert inertia(points, found) == pytest.approx(0.125)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [-30, -20, -10, 10, 20, 30])
def test_no_magnitude_gives_what_is_not_finite(blobs, dtype, exponent):
    scale = 10.0**exponent
    points = (scale * blobs).astype(dtype)
    found = search(points, points[:5].astype(np.float64))[-1]
    assert np.isfinite(found.centers).all()
    assert np.isfinite(found.objective)
    scaled = inertia(points / np.asarray(scale, dtype=dtype), found.centers / scale)
    assert scaled < 3.2 * len(blobs)  # the planted groups: unit variance in three features


# The parts of a breath


def depths(n_clusters, effort):
    plan = plan_by_effort(n_clusters, effort)
    return [plan.depth(breath) for breath in range(plan.n_breaths)]


@pytest.mark.parametrize("n_clusters", [2, 3, 8, 9, 33, 100, 1000])
def test_depths_fall_from_the_deepest_to_one(n_clusters):
    for effort in (0.5, 1, 2, 5):
        found = depths(n_clusters, effort)
        assert found == sorted(found, reverse=True)
        assert found[-1] == 1 or len(found) == 1
        assert max(found) <= max(DEEPEST * n_clusters, min(n_clusters, FEWEST_DEEP)) + 0.5
        assert all(1 <= depth <= n_clusters for depth in found)
    assert depths(n_clusters, 1)[-1] == 1


@pytest.mark.parametrize("n_clusters", [8, 20, 100])
def test_points_that_are_swept_get_more_breaths(n_clusters):
    swept = plan_by_effort(n_clusters, 1.0, sparse=True)
    passed = plan_by_effort(n_clusters, 1.0, sparse=True, spherical=True)
    assert passed.n_breaths < len(depths(n_clusters, 1.0)) < swept.n_breaths


@pytest.mark.parametrize("n_clusters", [8, 100, 1000])
def test_the_number_of_breaths_is_in_proportion_to_the_effort(n_clusters):
    once = len(depths(n_clusters, 1))
    for effort in (2, 3, 10):
        assert len(depths(n_clusters, effort)) == pytest.approx(effort * once, abs=effort)


def test_endless_effort_ends_with_the_time_and_takes_no_memory(blobs):
    estimator = EulerMeans(5, effort=1e12, max_time=0.2, random_state=0)
    estimator.fit(blobs)  # what is loaded and cached once does not count
    tracemalloc.start()
    estimator.fit(blobs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert estimator.stop_reason_ is StopReason.MAX_TIME
    assert peak < 4 << 20  # breaths are planned one at a time: 1e12 of them would not fit


@pytest.mark.parametrize("n_clusters", [2, 9, 100])
def test_breaths_are_planned_within_the_work(blobs, n_clusters):
    oracle = as_oracle(blobs)
    plans = [plan_by_work(oracle, n_clusters, work, batch_size=50) for work in (1e7, 2e7, 1e8)]
    counts = [plan.n_breaths for plan in plans]
    assert counts[0] >= 1
    assert counts[1] == pytest.approx(2 * counts[0], abs=1)
    assert counts[2] == pytest.approx(10 * counts[0], abs=10)
    assert all(1 <= plan.deepest <= n_clusters for plan in plans)
    assert plans[2].depth(counts[2] - 1) == 1
    assert plan_by_work(oracle, n_clusters, 0.0, batch_size=50).n_breaths == 0
    assert plan_by_work(oracle, 1, 1e9, batch_size=50).n_breaths == 0


def test_breaths_of_a_summary_report_what_its_cells_cost_inside(blobs):
    oracle = as_oracle(blobs)
    plan = BreathPlan(2, 2.0)
    plain = [
        each.objective
        for each in breathe(oracle, blobs[:5], batch_size=50, plan=plan, rng=np.random.default_rng(0))
    ]
    oracle.within = 2.0 * len(blobs)
    summed = [
        each.objective
        for each in breathe(oracle, blobs[:5], batch_size=50, plan=plan, rng=np.random.default_rng(0))
    ]
    np.testing.assert_allclose(summed, np.array(plain) + 1)


def test_nothing_to_breathe():
    assert depths(1, 1.0) == []
    assert depths(1, 5.0) == []
    assert depths(50, 0) == []


def state_of(points, centers, weights=None):
    moments = as_oracle(points, weights).full(centers, detail=True)
    return State(centers, moments, 0, 0)


@pytest.mark.parametrize("depth", [1, 3, 10])
def test_inhaling_puts_new_centers_beside_those_with_the_largest_error(plane, depth):
    state = state_of(plane, starts(plane, 10, 0))
    grown = inhale(state, depth, np.random.default_rng(0))
    assert grown.shape == (10 + depth, 2)
    np.testing.assert_array_equal(grown[:10], state.centers)
    crowded = np.argsort(-state.moments.errors)[:depth]
    parents = np.argmin(np.linalg.norm(grown[10:, None] - state.centers[None], axis=2), axis=1)
    assert sorted(parents) == sorted(crowded)
    radii = np.sqrt(state.moments.errors / state.moments.counts)
    steps = np.linalg.norm(grown[10:] - state.centers[parents], axis=1)
    assert np.all(steps > 0)
    assert np.all(steps < 0.1 * radii[parents])


def test_inhaling_beside_a_center_without_points_is_finite():
    points = np.array([[0.0, 0], [1, 0], [2, 0]])
    state = state_of(points, np.array([[1.0, 0], [50, 50], [60, 60]]))
    assert np.isfinite(inhale(state, 3, np.random.default_rng(0))).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_points_that_are_split_off_leave_clusters_that_still_add_up(weighted):
    """Counts and sums by their definition; the partition that was given stays as it was."""
    rng = np.random.default_rng(7)
    matrix = sparse.random_array((300, 40), density=0.1, format="csr", rng=rng)
    weights = rng.uniform(0.5, 2, size=300) if weighted else None
    oracle = as_oracle(matrix, weights)
    before = oracle.partition(matrix[:6].toarray())
    kept = before.labels.copy(), before.counts.copy(), before.sums.copy()
    moments = oracle.full(matrix[:6].toarray(), detail=True)
    rows = crowded_points(oracle, before.labels, moments, 4, rng)
    assert len(set(before.labels[rows])) == len(rows) == 4
    after = split_off(oracle, before, rows)
    np.testing.assert_array_equal(after.labels[rows], [6, 7, 8, 9])
    members = (after.labels == np.arange(10)[:, None]) * (np.ones(300) if weights is None else weights)
    np.testing.assert_allclose(after.counts, members.sum(axis=1))
    np.testing.assert_allclose(after.sums, members @ matrix.toarray(), atol=1e-12)
    for array, original in zip(vars(before).values(), kept, strict=True):
        np.testing.assert_array_equal(array, original)


def test_a_point_alone_is_not_split_off():
    matrix = sparse.csr_array(np.diag([1.0, 1, 1, 5, 9]))
    oracle, labels = as_oracle(matrix), np.array([0, 0, 0, 1, 2], dtype=np.int32)
    moments = Moments(np.array([3.0, 1, 1]), np.zeros((3, 5)), 1.0, np.array([0.1, 0.2, 0.7]))
    rows = crowded_points(oracle, labels, moments, 3, np.random.default_rng(0))
    assert labels[rows].tolist() == [0]


def test_breaths_end_lower_than_sweeps_alone_on_sparse_points():
    """Groups of rows that share words. The start has no center in half of them."""
    rng = np.random.default_rng(8)
    group = np.repeat(np.arange(16), 60)
    words = 20 * group[:, None] + rng.integers(20, size=(960, 6))
    rows = np.repeat(np.arange(960), 6)
    matrix = sparse.csr_array((np.ones(rows.size), (rows, words.ravel())), shape=(960, 320))
    start = matrix[np.arange(16) * 30].toarray()  # two in each of the first 8 groups
    without, with_breaths = (search(matrix, start, effort=effort)[-1].objective for effort in (0.0, 1.0))
    dense = matrix.toarray()
    best = sum(((dense[group == j] - dense[group == j].mean(axis=0)) ** 2).sum() for j in range(16)) / 1920
    assert with_breaths < 0.995 * without
    assert with_breaths == pytest.approx(best, rel=0.01)


@given(seed=st.integers(0, 10_000), n_clusters=st.integers(2, 12), data=st.data())
@settings(max_examples=60, deadline=None)
def test_exhaling_removes_as_many_and_never_two_mutual_neighbours(seed, n_clusters, data):
    depth = data.draw(st.integers(1, n_clusters))
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((60, 2))
    centers = rng.standard_normal((n_clusters + depth, 2))
    kept = centers[~exhale(state_of(points, centers), depth)]
    assert kept.shape == (n_clusters, 2)
    distances = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    stays = (np.linalg.norm(centers[:, None] - kept[None], axis=2) == 0).any(axis=1)
    assert stays.sum() == n_clusters
    np.testing.assert_array_equal(kept, centers[stays])  # and nobody else moved
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argmin(axis=1)
    mutual = nearest[nearest] == np.arange(len(centers))
    assert not np.any(mutual & ~stays & ~stays[nearest])


def test_exhaling_removes_the_least_useful(blobs):
    means = np.array([[0, 0, 0], [20, 0, 0], [0, 20, 0], [0, 0, 20], [20, 20, 20]], dtype=float)
    useless = means[0] + np.array([[50.0, 60, 70]])
    spare = means[3] + 0.5
    centers = np.concatenate([means, useless, spare[None]])
    kept = centers[~exhale(state_of(blobs, centers), 2)]
    assert not np.any(np.all(kept == useless, axis=1))
    apart = np.linalg.norm(kept[:, None] - means[None], axis=2).min(axis=0)
    assert np.all(apart < 1)  # every group still has one


# Single-point transfers


def partition_cost(counts, sums, squares):
    """Σ w‖p‖² − Σ ‖S_j‖² / n_j: what a partition with these counts and sums costs about its means."""
    filled = counts > 0
    return squares - float(np.sum(np.sum(sums[filled] ** 2, axis=1) / counts[filled]))


def test_settling_lowers_the_cost_and_ends_where_nothing_moves(plane):
    oracle = as_oracle(plane)
    centers = starts(plane, 9, 0)
    costs = [make_passes(oracle, centers, n_passes, 0.0).cost for n_passes in range(1, 15)]
    assert np.all(np.diff(costs) <= ROUNDING * costs[0])
    settled = make_passes(oracle, centers, 1000, 0.0).centers
    np.testing.assert_allclose(make_passes(oracle, settled, 1, 0.0).centers, settled, rtol=ROUNDING, atol=ROUNDING)

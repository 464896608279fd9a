"""A clustering that changes step by step, against passes over all points and against its definition."""

from itertools import pairwise

import numpy as np
import pytest
from naive import naive_moments

from eulermeans import _core
from eulermeans.oracles import (
    ADAPTING,
    Clustering,
    DensePoints,
    ListedClustering,
    Moves,
    cluster,
    memory_oracle,
    unit_rows,
)


def groups(n, d, n_groups, seed=0, spread=8.0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    means = spread * rng.standard_normal((n_groups, d))
    return (means[rng.integers(n_groups, size=n)] + rng.standard_normal((n, d))).astype(dtype)


def started(points, n_clusters, seed=1, **options):
    rng = np.random.default_rng(seed)
    centers = points[rng.choice(len(points), n_clusters, replace=False)].astype(np.float64)
    kind = ListedClustering if points.shape[1] > 20 else Clustering
    return kind(DensePoints(points, options.pop("weights", None)), centers, **options)


def cost_of(points, labels, weights=None):
    """The cost of a partition, by its definition."""
    weights = np.ones(len(points)) if weights is None else weights
    total = 0.0
    for label in np.unique(labels):
        rows = points[labels == label].astype(np.float64)
        weight = weights[labels == label]
        if weight.sum() > 0:
            total += float(weight @ np.sum((rows - np.average(rows, axis=0, weights=weight)) ** 2, axis=1))
    return total


SHAPES = [(2, 40), (5, 30), (60, 50)]  # few features with neighbours, and many with lists


@pytest.mark.parametrize(("d", "k"), SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_clustering_is_what_a_full_pass_finds(d, k, dtype, weighted):
    points = groups(900, d, 12, dtype=dtype)
    weights = np.random.default_rng(2).random(900) if weighted else None
    clustering = started(points, k, weights=weights)
    start = points[np.random.default_rng(1).choice(900, k, replace=False)]
    _, labels = naive_moments(points, start, weights)
    assert np.mean(clustering.labels() == labels) > 0.995  # but for ties and rounding
    assert clustering.cost == pytest.approx(cost_of(points, clustering.labels(), weights), rel=1e-6)
    sizes = np.bincount(clustering.labels(), minlength=k)
    np.testing.assert_array_equal(clustering.sizes, sizes)
    for j in np.flatnonzero(clustering.counts > 0):
        members = clustering.labels() == j
        mean = np.average(
            points[members].astype(np.float64), axis=0, weights=None if weights is None else weights[members]
        )
        np.testing.assert_allclose(clustering.centers[j], mean, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("d", "k"), SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_passes_nearby_lower_the_cost_and_end_where_a_full_pass_finds_little(d, k, weighted):
    points = groups(3000, d, 20, seed=3)
    weights = np.random.default_rng(4).integers(0, 4, size=3000).astype(float) if weighted else None
    clustering = started(points, k, weights=weights)
    costs = [clustering.cost]
    rng = np.random.default_rng(5)
    for _ in range(40):
        changed = clustering.descend(rng)
        costs.append(clustering.cost)
        if changed == 0:
            break
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(costs))
    assert clustering.cost == pytest.approx(cost_of(points, clustering.labels(), weights), rel=1e-6)
    _, exact = naive_moments(points, clustering.centers, weights)
    counted = np.ones(3000, dtype=bool) if weights is None else weights > 0
    assert np.mean(exact[counted] == clustering.labels()[counted]) > 0.99


def test_a_transfer_goes_on_where_lloyd_is_stuck():
    # The point at 1.2 is nearer to the mean of its own pair, 0.6, than to 2; but alone, 0 costs nothing.
    points = np.array([[0.0], [1.2], [2.0]])
    clustering = Clustering(DensePoints(points), np.array([[0.6], [2.0]]))
    assert clustering.reassign() == 0
    assert clustering.transfer() == 1
    np.testing.assert_allclose(np.sort(clustering.centers, axis=0), [[0.0], [1.6]])
    assert clustering.cost == pytest.approx(cost_of(points, clustering.labels()))


@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_transfers_never_raise_the_cost(d, k):
    points = groups(400, d, 8, seed=5)
    clustering = started(points, k)
    for _ in range(5):
        clustering.reassign()
    before = clustering.cost
    clustering.transfer()
    assert clustering.cost <= before * (1 + 1e-12)
    assert clustering.cost == pytest.approx(cost_of(points, clustering.labels()), rel=1e-9)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_bits_do_not_depend_on_threads(d, k, n_threads):
    points = groups(4000, d, 20, seed=6, dtype=np.float32)
    rng = np.random.default_rng(7)
    centers = points[rng.choice(4000, k, replace=False)].astype(np.float64)
    found = []
    for threads in (1, n_threads):
        kind = ListedClustering if d > 20 else Clustering
        clustering = kind(DensePoints(points, n_threads=threads), centers)
        clustering.reassign()
        clustering.transfer()
        clustering.descend(np.random.default_rng(9))
        filled = np.flatnonzero(clustering.sizes > 1).astype(np.int32)
        rows = clustering.draw_members(filled, np.random.default_rng(8))
        gains = clustering.try_moves(Moves.additions(filled, rows), n_steps=4)
        found.append([clustering.centers, clustering.errors, clustering.neighbours, gains, clustering.labels()])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_neighbours_are_the_nearest_centers():
    centers = np.random.default_rng(9).standard_normal((50, 7))
    found = np.empty((50, 10), dtype=np.int32)
    _core.neighbours(centers, found)
    distances = np.linalg.norm(centers[:, None] - centers, axis=2)
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(found, np.argsort(distances, axis=1)[:, :10])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.uint8])
@pytest.mark.parametrize("k", [2, 3, 16, 17, 40, 129])
def test_shortlists_are_the_nearest_centers(dtype, k):
    rng = np.random.default_rng(10)
    points = (100 * rng.random((300, 33))).astype(dtype)
    centers = (100 * rng.random((k, 33))).astype(np.float64 if dtype == np.float64 else np.float32)
    length = min(k, 5)
    lists = np.empty((100, length), dtype=np.int32)
    rows = rng.integers(300, size=100)
    _core.shortlist(points, centers, rows, lists)
    distances = np.linalg.norm(points[rows].astype(np.float64)[:, None] - centers.astype(np.float64), axis=2)
    expected = np.sort(distances, axis=1)[:, :length]
    np.testing.assert_allclose(np.take_along_axis(distances, lists, axis=1), expected, rtol=1e-5)


def adapted(points, clustering, move, n_steps):
    """The gain of one move, by its definition: Lloyd's algorithm on the points nearby.

    Centers with very many points stay where they are, and so do their points.
    """
    removed, inside, added = (int(part[0]) for part in (move.removed, move.inside, move.added))
    ids = [] if inside < 0 else [inside]
    for end in (removed, inside):
        if end >= 0:
            ids += [j for j in clustering.neighbours[end, :ADAPTING] if j != removed and j not in ids]
    fixed = [j for j in ids if j != inside and clustering.sizes[j] > clustering.largest_adapting]
    ids = [j for j in ids if j not in fixed]
    labels = clustering.labels()
    near = np.isin(labels, [*ids, removed] if removed >= 0 else ids)
    rows, centers = points[near].astype(np.float64), clustering.centers[ids]
    if added >= 0:
        center = clustering.centers[inside]
        centers = np.vstack([centers, center + clustering.part_of_way * (points[added] - center)])
    n_adapting = len(centers)
    centers = np.vstack([centers, clustering.centers[fixed]])
    before = clustering.errors[ids].sum() + (clustering.errors[removed] if removed >= 0 else 0.0)
    for _ in range(n_steps):
        moments, found = naive_moments(rows, centers)
        centers[:n_adapting] = moments.means(otherwise=centers)[:n_adapting]
    return before - float(np.sum((rows - centers[found]) ** 2))


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize(("d", "k"), [(2, 20), (8, 12), (40, 15)])
def test_a_trial_is_lloyds_algorithm_nearby(d, k, skewed):
    points = groups(1500, d, 9, seed=12, spread=3.0)
    if skewed:
        points = np.exp(points / 4)
    clustering = started(points, k)
    clustering.reassign()
    assert skewed <= (clustering.sizes > clustering.largest_adapting).any()
    rng = np.random.default_rng(13)
    for _ in range(15):
        removed, inside = rng.choice(k, 2, replace=False).astype(np.int32)
        if clustering.sizes[inside] == 0:
            continue
        row = clustering.draw_members(np.array([inside]), rng)
        for move in (
            Moves.removals(np.array([removed])),
            Moves.additions(np.array([inside]), row),
            Moves(np.array([removed]), np.array([inside]), row),
        ):
            gain = clustering.try_moves(move, n_steps=3)[0]
            expected = adapted(points, clustering, move, 3)
            assert gain == pytest.approx(expected, rel=1e-3, abs=1e-4 * clustering.cost)


@pytest.mark.parametrize(("d", "k"), [(2, 20), (40, 30)])
def test_a_move_gains_at_least_what_its_trial_promised(d, k):
    points = groups(2000, d, 15, seed=14)
    clustering = started(points, k)
    for _ in range(10):
        clustering.reassign()
    rng = np.random.default_rng(15)
    removed = rng.integers(k, size=60).astype(np.int32)
    inside = clustering.neighbours[removed, 0]
    filled = clustering.sizes[inside] > 0
    removed, inside = removed[filled], inside[filled]
    moves = Moves(removed, inside, clustering.draw_members(inside, rng))
    gains = clustering.try_moves(moves, n_steps=6)
    best = np.array([np.argmax(gains)])
    assert gains[best[0]] > 0
    before = clustering.cost
    clustering.make_moves(moves[best], n_steps=6)
    for _ in range(3):
        clustering.reassign()
    assert before - clustering.cost >= 0.99 * gains[best[0]]
    assert clustering.cost == pytest.approx(cost_of(points, clustering.labels()), rel=1e-9)


def test_unit_centers_stay_on_the_sphere():
    points = unit_rows(groups(800, 12, 10, seed=16))
    clustering = started(points, 12, spherical=True)
    for _ in range(10):
        clustering.reassign()
    np.testing.assert_allclose(np.linalg.norm(clustering.centers, axis=1), 1.0)
    oracle = memory_oracle(points, spherical=True)
    assert clustering.cost == pytest.approx(oracle.full(clustering.centers).cost, rel=1e-6)
    filled = np.flatnonzero(clustering.sizes > 1).astype(np.int32)
    moves = Moves.additions(filled, clustering.draw_members(filled, np.random.default_rng(17)))
    gains = clustering.try_moves(moves, n_steps=4)
    best = int(np.argmax(gains))
    grown = np.vstack([clustering.centers, points[moves.added[best]]])
    for _ in range(4):
        grown = oracle.full(grown).means(otherwise=grown)
    assert gains[best] <= clustering.cost - oracle.full(grown).cost + 1e-6 * clustering.cost


def test_a_clustering_continues_from_its_memory():
    for d, k in SHAPES:
        points = groups(1000, d, 10, seed=18)
        one, other = started(points, k), started(points, k, seed=19)
        one.reassign()
        other.remember(one.memory())
        for clustering in (one, other):
            clustering.reassign()
            clustering.descend(np.random.default_rng(22))
        np.testing.assert_array_equal(one.centers, other.centers)
        assert one.n_distances == other.n_distances


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_trials_do_not_depend_on_the_scale(scale):
    points = groups(500, 3, 6, seed=20)
    plain, scaled = started(points, 8), started(points * scale, 8)
    removals = Moves.removals(np.arange(8, dtype=np.int32))
    np.testing.assert_allclose(
        scaled.try_moves(removals, n_steps=4) / scale**2, plain.try_moves(removals, n_steps=4), rtol=1e-4
    )


BAD = [
    ({"removed": np.array([9], dtype=np.int32)}, "removed: expected a center or -1"),
    ({"added": np.array([50])}, "added: expected a row or -1"),
    ({"inside": np.array([-1], dtype=np.int32)}, "inside: expected another center"),
    ({"inside": np.array([0], dtype=np.int32)}, "inside: expected another center"),
    ({"n_steps": 0}, "n_steps: expected 1 to 10000"),
    ({"n_adapting": 300}, "n_adapting: expected 0 to 255"),
    ({"largest_adapting": -1}, "largest_adapting: expected a number of points"),
    ({"part_of_way": 0.0}, "part_of_way: expected more than 0 and at most 1"),
    ({"part_of_way": float("nan")}, "part_of_way: expected more than 0 and at most 1"),
    ({"starts": np.array([0, 30, 20, 50, 50])}, "starts: expected to increase"),
    ({"members": np.full(50, 77)}, "members: 77 is out of range"),
    ({"neighbours": np.full((4, 2), 4, dtype=np.int32)}, "neighbours: 4 is out of range"),
    ({"errors": np.ones(3)}, "errors: expected one for each center"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_wrong_arguments_are_refused(change, message):
    arguments = {
        "points": np.random.default_rng(21).standard_normal((50, 2)),
        "centers": np.zeros((4, 2)),
        "errors": np.ones(4),
        "members": np.arange(50),
        "starts": np.array([0, 10, 20, 30, 50]),
        "neighbours": np.array([[1, 2], [0, 2], [1, 3], [2, 1]], dtype=np.int32),
        "removed": np.array([0], dtype=np.int32),
        "inside": np.array([1], dtype=np.int32),
        "added": np.array([15]),
        "gains": np.empty(1),
        "n_adapting": 2,
        "largest_adapting": 50,
        "n_steps": 2,
        "part_of_way": 1.0,
        "may_give_up": False,
        "transfers": False,
        "sphere": False,
    }
    with pytest.raises(ValueError, match=message):
        _core.try_moves(**(arguments | change))
    assert _core.try_moves(**arguments) > 0


def test_many_features_have_lists_and_few_have_not():
    listed = {}
    for d in (2, 60):
        points = DensePoints(np.random.default_rng(30).random((900, d)))
        listed[d] = isinstance(cluster(points, points.stored[:50]), ListedClustering)
    assert listed == {2: False, 60: True}


def swept_naively(points, weights, labels, counts, means, order, lists):
    """One sweep at temperature 0, point by point."""
    n_moved = 0
    for i in order:
        point, weight, own = points[i].astype(np.float64), weights[i], labels[i]
        if not counts[own] > weight or weight == 0:
            continue
        costs = {own: np.sum((point - means[own]) ** 2) * counts[own] / (counts[own] - weight)}
        for j in lists[i]:
            if j != own:
                costs[j] = np.sum((point - means[j]) ** 2) * counts[j] / (counts[j] + weight)
        to = min(costs, key=lambda j: costs[j])
        if to != own:
            means[own] += (means[own] - point) * weight / (counts[own] - weight)
            means[to] += (point - means[to]) * weight / (counts[to] + weight)
            counts[own] -= weight
            counts[to] += weight
            labels[i] = to
            n_moved += 1
    return n_moved


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.uint8])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sweep_moves_points_one_by_one(dtype, weighted):
    """With at most 64 points, all are compared in one turn; so one point at a time is what the twin does."""
    rng = np.random.default_rng(23)
    points = (20 * rng.random((40, 30))).astype(dtype)
    weights = rng.integers(0, 3, size=40).astype(float) if weighted else np.ones(40)
    labels = rng.integers(6, size=40).astype(np.int32)
    lists = np.argsort(rng.random((40, 6)), axis=1)[:, :4].astype(np.int32)
    wide = np.float64 if dtype == np.float64 else np.float32
    counts = np.bincount(labels, weights=weights, minlength=6)
    means = np.stack([np.average(points[labels == j], axis=0, weights=weights[labels == j]) for j in range(6)])
    found, twin = (labels.copy(), counts.copy(), means.astype(wide)), (labels.copy(), counts.copy(), means.copy())
    nearest, second = np.empty(40), np.empty(40)
    for i in rng.permutation(40):  # a sweep over a single row at a time
        one = np.array([i])
        moved = _core.sweep(
            points, one, one, lists, *found, nearest, second, temperature=0.0, seed=1, weights=weights
        )
        assert moved == swept_naively(points, weights, *twin, one, lists)
    np.testing.assert_array_equal(found[0], twin[0])
    np.testing.assert_allclose(found[1], twin[1])
    np.testing.assert_allclose(found[2], twin[2], rtol=1e-3 if wide == np.float32 else 1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_sweeps_never_raise_the_cost_and_renewed_lists_keep_it(weighted):
    points = groups(3000, 40, 30, seed=24, spread=1.0, dtype=np.float32)
    weights = np.random.default_rng(25).integers(0, 4, size=3000).astype(float) if weighted else None
    clustering, rng = started(points, 50, weights=weights), np.random.default_rng(26)
    assert isinstance(clustering, ListedClustering)
    for _ in range(6):
        before = clustering.cost
        clustering.sweep(rng)
        assert clustering.cost <= before * (1 + 1e-6)
        assert clustering.cost == pytest.approx(cost_of(points, clustering.labels(), weights), rel=1e-5)
    before, labels = clustering.cost, clustering.labels()
    clustering.renew_lists()
    assert clustering.cost == before
    np.testing.assert_array_equal(clustering.labels(), labels)


def test_a_temperature_draws_clusters_as_often_as_their_costs_say():
    """A point between two means, by 20,000 sweeps with different seeds."""
    points = np.array([[0.0], [1.0], [10.0], [11.0], [5.2]])
    lists = np.tile(np.array([0, 1], dtype=np.int32), (5, 1))
    row, temperature, drawn = np.array([4]), 20.0, 0
    for seed in range(20_000):
        labels = np.array([0, 0, 1, 1, 0], dtype=np.int32)
        counts, means = np.array([3.0, 2.0]), np.array([[6.2 / 3], [10.5]])
        arrays = (labels, counts, means, np.empty(5), np.empty(5))
        _core.sweep(points, row, row, lists, *arrays, temperature=temperature, seed=seed)
        drawn += labels[4] == 1
    stay, go = (5.2 - 6.2 / 3) ** 2 * 3 / 2, (5.2 - 10.5) ** 2 * 2 / 3
    likely = 1 / (1 + np.exp((go - stay) / temperature))
    assert drawn / 20_000 == pytest.approx(likely, abs=0.015)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_bits_of_warm_sweeps_do_not_depend_on_threads(n_threads):
    points = groups(5000, 60, 30, seed=27, spread=1.0, dtype=np.float32)
    centers = points[:60].astype(np.float64)
    found = []
    for threads in (1, n_threads):
        clustering = ListedClustering(DensePoints(points, n_threads=threads), centers)
        clustering.sweep(np.random.default_rng(28), np.array([20.0, 10.0, 5.0]))
        found.append((clustering.centers, clustering.errors, clustering.labels()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_labels_are_grouped_in_their_order():
    labels = np.random.default_rng(29).integers(7, size=500).astype(np.int32)
    starts, order = np.empty(8, dtype=np.int64), np.empty(500, dtype=np.int64)
    _core.group(labels, starts, order)
    np.testing.assert_array_equal(order, np.argsort(labels, kind="stable"))
    np.testing.assert_array_equal(np.diff(starts), np.bincount(labels, minlength=7))
    with pytest.raises(ValueError, match="labels: 6 is out of range"):
        _core.group(labels, starts[:7], order)

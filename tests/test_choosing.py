"""The criteria for a K are computed as defined, and the rule follows from their values."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import (
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
    silhouette_score,
)

from eulermeans.choosing import Confidence, Row, k_values, recommend
from eulermeans.choosing.criteria import WINDOW, Silhouettes, border_density, compactness
from eulermeans.choosing.sweep_fits import adjusted_rand, prediction_strength
from eulermeans.oracles import as_oracle, memory_oracle
from eulermeans.seeding import add_centers

N, D, K = 400, 5, 6


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return rng.permutation(np.repeat(10 * rng.standard_normal((K, D)), N // K + 1, axis=0)[:N]) + rng.uniform(
        0, 12, size=(N, D)
    )


@pytest.fixture(scope="module")
def centers(points):
    return points[:K] + 0.1


@pytest.fixture(scope="module")
def labels(points, centers):
    return memory_oracle(points).label(centers).labels


# Compact clusters


@pytest.mark.parametrize(
    "stored",
    [
        np.asarray,
        np.asfortranarray,
        lambda p: p.astype(np.float32),
        lambda p: np.rint(p).astype(np.int16),
        sparse.csr_array,
    ],
    ids=["float64", "fortran", "float32", "int16", "csr"],
)
def test_criteria_are_scikit_learns(points, centers, stored, monkeypatch):
    monkeypatch.setattr("eulermeans.choosing.criteria.BLOCK_DISTANCES", 100 * K)  # several blocks
    rows = as_oracle(stored(points))
    kept = rows.points.stored
    dense = kept.toarray() if sparse.issparse(kept) else np.asarray(kept)
    labels = rows.label(centers).labels
    found = compactness(rows, centers)
    assert found.calinski_harabasz == pytest.approx(calinski_harabasz_score(dense, labels), rel=1e-5)
    assert found.davies_bouldin == pytest.approx(davies_bouldin_score(dense, labels), rel=1e-5)
    assert found.smallest == np.bincount(labels).min() / N
    silhouette = Silhouettes(rows).mean(labels, K)
    assert silhouette == pytest.approx(silhouette_score(dense.astype(float), labels), abs=1e-5)


def test_weights_count_as_rows_do(points, centers):
    weights = np.random.default_rng(1).integers(0, 4, size=N).astype(float)
    weighted = compactness(memory_oracle(points, weights), centers)
    repeated = compactness(memory_oracle(np.repeat(points, weights.astype(int), axis=0)), centers)
    assert weighted.davies_bouldin == pytest.approx(repeated.davies_bouldin)
    n, n_positive = weights.sum(), np.count_nonzero(weights)
    assert weighted.calinski_harabasz == pytest.approx(repeated.calinski_harabasz * (n_positive - K) / (n - K))


def test_the_scale_of_weights_does_not_matter(points, centers, labels):
    weights = np.random.default_rng(2).uniform(0, 3, size=N)
    one, other = memory_oracle(points, weights), memory_oracle(points, 1e-6 * weights)
    assert compactness(one, centers).calinski_harabasz == pytest.approx(
        compactness(other, centers).calinski_harabasz
    )
    assert Silhouettes(one).mean(labels, K) == pytest.approx(Silhouettes(other).mean(labels, K))
    assert border_density(one, centers) == pytest.approx(border_density(other, centers))


def test_rows_without_weight_do_not_count(points, centers, labels):
    weights = np.repeat([1.0, 0.0], N // 2)
    weighted, half = memory_oracle(points, weights), memory_oracle(points[: N // 2])
    assert compactness(weighted, centers).davies_bouldin == pytest.approx(
        compactness(half, centers).davies_bouldin
    )
    assert border_density(weighted, centers) == pytest.approx(border_density(half, centers))
    found = Silhouettes(weighted).mean(labels, K)
    assert found == pytest.approx(Silhouettes(half).mean(labels[: N // 2], K), abs=1e-6)
    other = np.random.default_rng(3).integers(K, size=N)
    expected = adjusted_rand_score(labels[: N // 2], other[: N // 2])
    assert adjusted_rand(labels, other, weights) == pytest.approx(expected)


def test_undefined_criteria_are_nan(points):
    one = compactness(memory_oracle(points), points[:1])
    assert np.isnan([one.calinski_harabasz, one.davies_bouldin]).all()
    assert np.isnan(Silhouettes(memory_oracle(points)).mean(np.zeros(N, dtype=int), 1))
    alone = compactness(memory_oracle(points[:4]), points[:4])
    assert np.isnan(alone.calinski_harabasz)


def test_clusters_without_points_are_left_out(points, centers):
    far = np.concatenate([centers, np.full((2, D), 1e4)])
    with_empty, without = compactness(memory_oracle(points), far), compactness(memory_oracle(points), centers)
    assert with_empty.calinski_harabasz == without.calinski_harabasz
    assert with_empty.davies_bouldin == without.davies_bouldin
    assert with_empty.smallest == 0


# Agreement of labels


@pytest.mark.parametrize("n_other", [1, 3, 30])
def test_adjusted_rand_is_scikit_learns(labels, n_other):
    other = np.random.default_rng(n_other).integers(n_other, size=N)
    other[:200] = labels[:200] % n_other
    assert adjusted_rand(labels, other, np.ones(N)) == pytest.approx(adjusted_rand_score(labels, other))
    assert adjusted_rand(labels, labels, np.ones(N)) == 1


def naive_strength(own, given, n_clusters):
    parts = []
    for cluster in range(n_clusters):
        members = np.flatnonzero(own == cluster)
        kept = [given[a] == given[b] for a, b in permutations(members, 2)]
        parts.append(np.mean(kept) if kept else 0.0)
    return min(parts)


@pytest.mark.parametrize("n_given", [1, 2, 5])
def test_strength_is_that_of_the_worst_cluster(n_given):
    rng = np.random.default_rng(n_given)
    own, given = rng.integers(4, size=60), rng.integers(n_given, size=60)
    given[own == 2] = 0
    assert prediction_strength(own, given, np.ones(60), 4) == pytest.approx(naive_strength(own, given, 4))
    assert prediction_strength(own, own, np.ones(60), 4) == 1
    assert prediction_strength(own, own, np.ones(60), 5) == 0  # the fifth has no points


# Density at borders


def naive_valley(points, centers):
    """By the definition, one pair of centers at a time."""
    squares = ((points[:, None] - centers) ** 2).sum(axis=2)
    order = squares.argsort(axis=1)[:, :2]
    worst = 0.0
    for i, j in permutations(range(len(centers)), 2):
        if not np.any((order == (i, j)).all(axis=1)):
            continue
        line = centers[j] - centers[i]
        both = points[np.isin(order[:, 0], (i, j))]
        along = (both - centers[i]) @ line / (line @ line)
        at = [np.sum(np.abs(along - place) < WINDOW) + 1 for place in (0, 1, 0.5)]
        worst = max(worst, at[2] / (min(at[:2]) ** 0.75 * max(at[:2]) ** 0.25))
    return worst


@pytest.mark.parametrize("n_clusters", [2, 3, K])
def test_border_density_is_as_defined(points, centers, n_clusters):
    found = border_density(memory_oracle(points), centers[:n_clusters])
    assert found == pytest.approx(naive_valley(points, centers[:n_clusters]))
    assert border_density(as_oracle(sparse.csr_array(points)), centers[:n_clusters]) == pytest.approx(found)


def test_a_border_is_empty_between_clusters_and_dense_within_one():
    rng = np.random.default_rng(4)
    one = rng.standard_normal((20000, 2))
    halves = np.array([[-0.8, 0], [0.8, 0]])  # the means of both halves of a normal distribution
    assert 1.25 < border_density(memory_oracle(one), halves) < 1.5  # φ(0) / φ(0.8) = 1.38
    even = rng.uniform(-1, 1, size=(20000, 2))
    assert 0.9 < border_density(memory_oracle(even), np.array([[-0.5, 0], [0.5, 0]])) < 1.1
    two = one + np.where(rng.random(20000) < 0.5, -4, 4)[:, None] * [1, 0]
    assert border_density(memory_oracle(two), np.array([[-4.0, 0], [4.0, 0]])) < 0.01


def test_centers_in_one_place_have_no_border_between_them():
    points = np.random.default_rng(5).standard_normal((100, 2))
    assert border_density(memory_oracle(points), np.zeros((2, 2))) == 1


# New centers


def add(oracle, centers, n_clusters):
    rng, weights = np.random.default_rng(0), np.ones(oracle.n_points)
    return add_centers(oracle, centers, n_clusters, rng, weights=weights, n_candidates=5)


def test_new_centers_go_where_the_error_is(points):
    far = np.concatenate([points, np.full((20, D), 500.0)])
    grown = add(memory_oracle(far), points[:2], 3)
    np.testing.assert_array_equal(grown[:2], points[:2])
    np.testing.assert_array_equal(grown[2], np.full(D, 500.0))


def test_centers_are_added_even_if_the_error_is_zero():
    grown = add(memory_oracle(np.zeros((5, 2))), np.zeros((1, 2)), 3)
    np.testing.assert_array_equal(grown, np.zeros((3, 2)))


# Which K to try


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (range(2, 5), [2, 3, 4]),
        ([5, 2, 2], [2, 5]),
        (np.arange(2, 4), [2, 3]),
        ("2:5", [2, 3, 4, 5]),
        ("2:9:3", [2, 5, 8]),
        ("2,8, 4", [2, 4, 8]),
        ("2:4,10", [2, 3, 4, 10]),
        ("7", [7]),
        (iter([3, 2]), [2, 3]),
    ],
)
def test_k_can_be_given_in_many_ways(given, expected):
    assert k_values(given) == expected


@pytest.mark.parametrize(
    "given", ["", "a", "2:", "2:3:4:5", "2:9:0", "9:2", [], [0], [2.5], [True], 5, None, "0:3"]
)
def test_anything_else_is_refused_as_k(given):
    with pytest.raises(ValueError, match=r"n_clusters must be values of K from 1 on.*'2:20'"):
        k_values(given)


# The rule


def row(k, strength=1.0, valley=0.1, silhouette=0.5, smallest=0.1):
    return Row(k, 1.0, 1.0, silhouette, 1.0, 1.0, 1.0, strength, valley, smallest, 0.1, 1, 1)


def test_chooses_the_largest_k_that_is_stable_and_separated():
    found = recommend([row(2), row(3), row(4, valley=1.3), row(5, strength=0.5)])
    assert (found.n_clusters, found.confidence) == (3, Confidence.HIGH)
    assert "K = 3 is the largest K" in found.reason
    assert "With K = 4, a border runs through a dense region (130%)" in found.reason


def test_a_k_in_between_may_fail():
    found = recommend([row(2), row(3, strength=0.4), row(4), row(5, strength=0.5, silhouette=0.3)])
    assert found.n_clusters == 4
    assert "With K = 5, one cluster is not found again (50%)" in found.reason


def test_touching_clusters_are_reported():
    found = recommend([row(2), row(3), row(4, valley=0.8), row(5, valley=1.4)])
    assert (found.n_clusters, found.confidence) == (4, Confidence.MODERATE)
    assert "Some clusters touch; K = 3 is the largest K whose clusters are well separated." in found.reason
    doubtful = recommend([row(2, strength=0.85), row(3, valley=1.5)])
    assert "Not all clusters are stable." in doubtful.reason


def test_no_k_stands_out():
    found = recommend([row(2, valley=1.1), row(3, strength=0.5, silhouette=0.6), row(4, valley=1.2)])
    assert (found.n_clusters, found.confidence) == (3, Confidence.LOW)
    assert found.reason.startswith("No K stands out")
    even_as_noise = recommend([row(2, valley=0.95), row(3, valley=1.2)])
    assert even_as_noise.confidence is Confidence.LOW


def test_the_ends_of_the_range_are_reported():
    last = recommend([row(2), row(3), row(4)])
    assert (last.n_clusters, last.confidence) == (4, Confidence.MODERATE)
    assert "It is the largest K tried" in last.reason
    rising = recommend([row(2), row(3, strength=0.5), row(4, strength=0.5, silhouette=0.9)])
    assert (rising.n_clusters, rising.confidence) == (2, Confidence.MODERATE)
    assert "so try larger values" in rising.reason
    assert "so try smaller values" in recommend([row(5, valley=2, silhouette=0.9), row(6, valley=2)]).reason
    assert "so try larger values" in recommend([row(5, valley=2), row(6, valley=2, silhouette=0.9)]).reason


def test_outliers_are_reported():
    found = recommend([row(2, strength=0, smallest=0.001), row(3, strength=0, smallest=0.001)])
    assert found.confidence is Confidence.LOW
    assert "With K = 2, one cluster has only 0.10% of the rows" in found.reason
    assert "check for outliers" in found.reason


def test_undefined_values_do_not_count():
    nothing = row(2, strength=np.nan, valley=np.nan, silhouette=np.nan)
    found = recommend([nothing])
    assert (found.n_clusters, found.confidence) == (2, Confidence.LOW)
    assert recommend([row(2), row(3, strength=np.nan, valley=np.nan, silhouette=np.nan)]).n_clusters == 2

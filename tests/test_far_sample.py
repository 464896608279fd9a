"""Samples of data with heavy tails: no point that has much of the cost is missing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from eulermeans import EulerMeans, search_budget
from eulermeans.oracles import as_oracle, dense_points, sample_with_far

N, SIZE = 4000, 300
FAR_ROWS = [17, 1200, 3999]


@pytest.fixture
def tailed():
    points = np.random.default_rng(0).standard_normal((N, 5))
    points[FAR_ROWS] *= 200
    return points


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("copied", [0, 1 << 30])
def test_far_points_are_in_and_the_others_stand_for_the_rest(tailed, weighted, kind, copied, monkeypatch):
    monkeypatch.setattr(dense_points, "COPIED_SAMPLE_BYTES", copied)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2, size=N) if weighted else None
    sample = sample_with_far(as_oracle(kind(tailed), weights), SIZE, rng)
    rows = sample.points.dense(np.arange(sample.n_points))
    norms = np.linalg.norm(rows, axis=1)
    assert SIZE - 3 <= sample.n_points <= SIZE + 3
    assert len(np.unique(rows, axis=0)) == sample.n_points
    assert np.count_nonzero(norms > 100) == 3
    own = np.ones(3) if weights is None else weights[FAR_ROWS]
    np.testing.assert_allclose(np.sort(sample.points.weights[norms > 100]), np.sort(own))
    assert sample.total_weight == pytest.approx(N if weights is None else weights.sum())


def test_the_cost_of_a_center_is_estimated_without_bias(tailed):
    oracle, center = as_oracle(tailed), np.full((1, 5), 0.3)
    rng = np.random.default_rng(2)
    costs = [sample_with_far(oracle, SIZE, rng).full(center).cost for _ in range(40)]
    assert np.mean(costs) == pytest.approx(oracle.full(center).cost, rel=1e-3)
    assert np.std(costs) < 0.01 * np.mean(costs)


def test_without_far_points_it_is_the_uniform_sample(plane):
    oracle = as_oracle(plane)
    found = sample_with_far(oracle, SIZE, np.random.default_rng(3))
    uniform = oracle.sample(SIZE, np.random.default_rng(3))
    np.testing.assert_array_equal(found.points.stored, uniform.points.stored)
    assert found.points.weights is None


def test_few_points_with_weight_are_all_taken(tailed):
    weights = np.zeros(N)
    weights[:4] = 1
    sample = sample_with_far(as_oracle(tailed, weights), SIZE, np.random.default_rng(4))
    assert sample.total_weight == pytest.approx(4)


@pytest.mark.parametrize(("effort", "factor"), [(0, 1.05), (1, 1.0)])  # uniform samples end 16 to 24 % higher
def test_a_search_on_a_sample_of_heavy_tails_ends_as_low_as_k_means(effort, factor, monkeypatch):
    monkeypatch.setattr(search_budget, "WHOLE_OPERATIONS", 0.0)
    points = np.random.default_rng(5).standard_t(1.5, (60_000, 5))
    found = [EulerMeans(30, effort=effort, random_state=seed).fit(points).inertia_ for seed in range(3)]
    others = [KMeans(30, n_init=1, random_state=seed).fit(points).inertia_ for seed in range(3)]
    assert np.mean(found) < factor * np.mean(others)

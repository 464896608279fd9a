"""partial_fit over endless data: how it begins, what it learns, and how it follows clusters that move."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from eulermeans import EulerMeans
from eulermeans.oracles import memory_oracle
from eulermeans.solvers import running_means

MEANS = np.array([[0, 0], [10, 0], [0, 10], [10, 10], [5, 20]], dtype=np.float64)


def batch(rng, means=MEANS, size=100, spread=0.5):
    return means[rng.integers(len(means), size=size)] + spread * rng.standard_normal((size, means.shape[1]))


def distance_to_nearest(means, centers):
    return np.linalg.norm(means[:, None] - centers, axis=2).min(axis=1)


# How it begins


def test_a_first_batch_that_is_too_small_for_any_center():
    model = EulerMeans(5, random_state=0).partial_fit(MEANS[:3])
    with pytest.raises(NotFittedError):
        model.predict(MEANS)
    model.partial_fit(MEANS[3:])
    assert sorted(model.predict(MEANS)) == [0, 1, 2, 3, 4]


def test_the_number_of_features_is_held_from_the_first_batch():
    model = EulerMeans(5, random_state=0).partial_fit(MEANS[:3])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(np.zeros((4, 3)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1, 7, 60])
def test_it_is_seeded_from_a_buffer_and_not_from_the_first_batch(size, seed):
    """The first batches come from one cluster alone: centers that were seeded there would stay there."""
    rng = np.random.default_rng(seed)
    model = EulerMeans(5, random_state=seed)
    seen = np.concatenate([batch(rng, MEANS[:1], 60), batch(rng, size=600)])
    for first in range(0, len(seen), size):
        model.partial_fit(seen[first : first + size])
    assert distance_to_nearest(MEANS, model.cluster_centers_).max() < 0.5


def test_the_buffer_is_let_go():
    model = EulerMeans(5, random_state=0)
    rng = np.random.default_rng(0)
    sizes = []
    for _ in range(30):
        model.partial_fit(batch(rng))
        sizes.append(len(pickle.dumps(model)))
    assert sizes[-1] < max(sizes[:3]) + 30 * 200  # what grows is the history alone


# What it learns


def test_without_forgetting_centers_are_the_means_of_all_that_they_saw():
    """Clusters so far apart that no point changes sides."""
    rng = np.random.default_rng(1)
    model = EulerMeans(5, random_state=0)
    batches = [batch(rng, size=50 * (1 + i % 3)) for i in range(20)]
    for each in batches:
        model.partial_fit(each)
    everything = np.concatenate(batches)
    labels = model.predict(everything)
    means = np.array([everything[labels == j].mean(axis=0) for j in range(5)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-9)
    np.testing.assert_allclose(model.cluster_weights_, np.bincount(labels))


def test_weights_count_like_repetitions():
    rng = np.random.default_rng(2)
    one, other = EulerMeans(5, random_state=0), EulerMeans(5, random_state=0)
    first = batch(rng, size=400)
    one.partial_fit(first)
    other.partial_fit(first)
    points, weights = batch(rng), rng.integers(0, 4, size=100)
    one.partial_fit(points, sample_weight=weights)
    other.partial_fit(np.repeat(points, weights, axis=0))
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, atol=1e-12)


def test_a_batch_is_assigned_implicitly():
    """Points are assigned to where the centers are after the step, not before: a fixed point of the step."""
    rng = np.random.default_rng(3)
    centers, weights = rng.standard_normal((4, 2)), np.full(4, 30.0)
    oracle = memory_oracle(rng.standard_normal((200, 2)))
    moved = next(running_means(oracle, centers, weights, n_inner=100)).centers
    moments = oracle.full(moved)
    # w (x⁺ − x) = −(n x⁺ − Σ p): the implicit equation, with the gradient where the step ends.
    gradient = moments.counts[:, None] * moved - moments.sums
    np.testing.assert_allclose(weights[:, None] * (moved - centers), -gradient, atol=1e-9)


def test_a_stream_ends_near_what_a_fit_finds(blobs):
    fitted = EulerMeans(5, random_state=0).fit(blobs)
    model = EulerMeans(5, random_state=0)
    for each in np.array_split(blobs, 10):
        model.partial_fit(each)
    assert -model.score(blobs) < 1.001 * fitted.inertia_


def test_sparse_batches():
    rng = np.random.default_rng(4)
    dense, thin = EulerMeans(5, random_state=0), EulerMeans(5, random_state=0)
    for _ in range(6):
        points = np.maximum(batch(rng, size=80), 0)
        dense.partial_fit(points)
        thin.partial_fit(sparse.csr_array(points))
    np.testing.assert_allclose(dense.cluster_centers_, thin.cluster_centers_, atol=1e-9)


def test_the_history_of_an_endless_stream_ends():
    model, points = EulerMeans(2, random_state=0), np.array([[0.0], [1.0]])
    for _ in range(1100):
        model.partial_fit(points)
    assert model.n_iter_ == 1100
    assert len(model.history_) == 1000


# Drift


def drifted(forgetting, seed, n_batches=100):
    """A model of a stream whose clusters turn by a quarter about their middle, and where they are at the end."""
    rng = np.random.default_rng(seed)
    model = EulerMeans(5, forgetting=forgetting, random_state=seed)
    middle = MEANS.mean(axis=0)
    for angle in np.linspace(0, np.pi / 2, n_batches):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        means = middle + (MEANS - middle) @ turn.T
        model.partial_fit(batch(rng, means))
    return model, means


@pytest.mark.parametrize("seed", range(5))
def test_centers_follow_clusters_that_move(seed):
    model, means = drifted(0.2, seed)
    assert distance_to_nearest(means, model.cluster_centers_).max() < 1.0
    stiff, _ = drifted(0.0, seed)
    assert distance_to_nearest(means, stiff.cluster_centers_).max() > 3.0


@pytest.mark.parametrize("seed", range(5))
def test_a_cluster_that_vanishes_gives_its_center_to_one_that_appears(seed):
    rng = np.random.default_rng(seed)
    model = EulerMeans(5, forgetting=0.2, random_state=seed)
    later = np.concatenate([MEANS[:4], [[30.0, -20.0]]])
    for means in [MEANS] * 20 + [MEANS[:4]] * 40 + [later] * 10:
        model.partial_fit(batch(rng, means))
    assert distance_to_nearest(later, model.cluster_centers_).max() < 1.0


def test_forgetting_all_leaves_the_newest_batch():
    rng = np.random.default_rng(5)
    model = EulerMeans(5, forgetting=1.0, random_state=0)
    for _ in range(3):
        model.partial_fit(batch(rng, size=300))
    newest = batch(rng, MEANS + 1.0, size=300)
    model.partial_fit(newest)
    labels = model.predict(newest)
    means = np.array([newest[labels == j].mean(axis=0) for j in range(5)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-9)


@pytest.mark.parametrize("forgetting", [-0.1, 1.1, "much"])
def test_forgetting_is_a_part(forgetting):
    with pytest.raises(ValueError, match="forgetting"):
        EulerMeans(2, forgetting=forgetting).partial_fit(MEANS)

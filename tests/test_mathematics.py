"""What the paper states and proves, held by the code."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from conftest import PLANE_START
from naive import naive_moments
from sklearn.datasets import load_iris

from eulermeans import EulerMeans, StochasticBackwardEuler
from eulermeans.oracles import memory_oracle
from eulermeans.solvers import backward_euler, em, entropy_sgd, minibatch_em

BETTER = 0.95  # between the 2-D data's better minimum, 0.89, and the one that EM is stuck in, 1.34


def phi(points, centers, weights=None):
    """The objective by its definition."""
    weights = np.ones(len(points)) if weights is None else weights
    distances = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    return weights @ distances.min(axis=1) / (2 * weights.sum())


def start(points, k, seed):
    return np.random.default_rng(seed).choice(points, size=k, replace=False)


# The objective and its gradient


@pytest.mark.parametrize("weighted", [False, True])
def test_objective_is_its_definition(plane, weighted):
    weights = np.random.default_rng(0).uniform(0, 3, size=len(plane)) if weighted else None
    centers = start(plane, 5, 0)
    found = memory_oracle(plane, weights).full(centers).objective
    assert found == pytest.approx(phi(plane, centers, weights), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_gradient_is_that_of_finite_differences(plane, weighted, k):
    rng = np.random.default_rng(k)
    weights = rng.uniform(0, 3, size=len(plane)) if weighted else None
    oracle, centers = memory_oracle(plane, weights), start(plane, k, 1) + rng.standard_normal((k, 2))
    gradient, step = oracle.full(centers).gradient(centers), 1e-5
    for at in np.ndindex(centers.shape):
        ahead, behind = centers.copy(), centers.copy()
        ahead[at] += step
        behind[at] -= step
        slope = (phi(plane, ahead, weights) - phi(plane, behind, weights)) / (2 * step)
        assert gradient[at] == pytest.approx(slope, abs=1e-4)  # a point may change its center within the step


def test_hessian_is_the_share_of_each_center(blobs):
    """While the assignment stands, the gradient is linear with slope |C_j| / N."""
    oracle, centers = memory_oracle(blobs), EulerMeans(5, random_state=0).fit(blobs).cluster_centers_
    moments = oracle.full(centers)
    move = 0.1 * np.random.default_rng(0).standard_normal(centers.shape)
    change = oracle.full(centers + move).gradient(centers + move) - moments.gradient(centers)
    share = moments.counts / moments.total_weight
    np.testing.assert_allclose(change, share[:, None] * move, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("estimator", [EulerMeans(4, random_state=0), StochasticBackwardEuler(4, random_state=0)])
def test_objective_is_inertia_by_twice_the_weight(plane, estimator):
    estimator.fit(plane)
    assert estimator.objective_ == pytest.approx(estimator.inertia_ / (2 * len(plane)), rel=1e-14)
    weights = np.random.default_rng(0).uniform(size=len(plane))
    estimator.fit(plane, sample_weight=weights)
    assert estimator.objective_ == pytest.approx(estimator.inertia_ / (2 * weights.sum()), rel=1e-12)


def test_spread_is_the_objective_of_the_mean_alone(plane):
    weights = np.random.default_rng(0).uniform(size=len(plane))
    mean = np.average(plane, axis=0, weights=weights)
    centers = start(plane, 6, 0) * 3
    spread = memory_oracle(plane, weights).full(centers).spread(centers)
    assert spread == pytest.approx(phi(plane, mean[None, :], weights), rel=1e-10)


def test_twin_and_definition_agree(plane):
    centers = start(plane, 6, 0)
    assert naive_moments(plane, centers)[0].objective == pytest.approx(phi(plane, centers), rel=1e-12)


# Deterministic backward Euler: Proposition 1 and Theorem 1


def fixed_point_iterates(oracle, anchor, step_size, n):
    """y⁰ … yⁿ of y ← x − γ∇φ(y), from the solver itself: without averaging a step ends at the last."""
    iterates = [anchor]
    for n_inner in range(1, n + 1):
        solver = backward_euler(
            oracle,
            anchor,
            step_size=step_size,
            batch_size=None,
            averaging=0.0,
            decay=1.0,
            n_inner=n_inner,
            rng=np.random.default_rng(0),
        )
        iterates.append(next(solver).centers)
    return iterates


def lipschitz(oracle, iterates):
    """The exact piecewise constant where the iterates are: the largest share |C_j| / N."""
    return max(oracle.full(y).counts.max() for y in iterates) / oracle.total_weight


def below_the_bound(oracle, anchor, n, fraction):
    """γ = fraction / L and its iterates, with L the largest share that these iterates meet."""
    bound = lipschitz(oracle, [anchor])
    while True:
        iterates = fixed_point_iterates(oracle, anchor, fraction / bound, n)
        met = lipschitz(oracle, iterates)
        if met <= bound:
            return fraction / bound, bound, iterates
        bound = met


def proximal(oracle, y, anchor, step_size):
    return oracle.full(y).objective + np.sum((y - anchor) ** 2) / (2 * step_size)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fraction", [0.3, 0.95])
def test_theorem_1a_every_inner_step_lowers_the_proximal_objective(plane, seed, fraction):
    oracle = memory_oracle(plane[::4])
    anchor = start(plane, 5, seed)
    step_size, bound, iterates = below_the_bound(oracle, anchor, 25, fraction)
    for y, following in pairwise(iterates):
        least = (1 / (2 * step_size) - bound / 2) * np.sum((following - y) ** 2)
        fall = proximal(oracle, y, anchor, step_size) - proximal(oracle, following, anchor, step_size)
        assert fall >= least - 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_theorem_1a_the_inner_steps_vanish(plane, seed):
    oracle = memory_oracle(plane[::4])
    _, _, iterates = below_the_bound(oracle, start(plane, 5, seed), 60, 0.6)
    assert np.abs(iterates[1] - iterates[0]).max() > 1e-3
    assert np.abs(iterates[-1] - iterates[-2]).max() < 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_theorem_1b_the_limit_is_a_backward_euler_step(plane, seed):
    oracle, anchor = memory_oracle(plane[::4]), start(plane, 5, seed)
    step_size, _, iterates = below_the_bound(oracle, anchor, 80, 0.6)
    y = iterates[-1]
    np.testing.assert_allclose(y, anchor - step_size * oracle.full(y).gradient(y), atol=1e-9)


@pytest.mark.parametrize("step_size", [0.2, 0.9])
def test_proposition_1_with_one_center(plane, step_size):
    """φ is then quadratic everywhere with L = 1: one solution, from anywhere, at the rate γ exactly."""
    oracle, anchor = memory_oracle(plane), np.array([[30.0, -70.0]])
    solution = (anchor + step_size * plane.mean(axis=0)) / (1 + step_size)
    errors = [np.linalg.norm(y - solution) for y in fixed_point_iterates(oracle, anchor, step_size, 12)]
    np.testing.assert_allclose(errors[1:], step_size * np.array(errors[:-1]), rtol=1e-5)


def near_the_groups(blobs):
    """Centers at the five groups, moved a little: no step from here changes the assignment."""
    means = EulerMeans(5, random_state=0).fit(blobs).cluster_centers_
    return means + np.random.default_rng(1).uniform(-1, 1, size=means.shape)


def backward_euler_closed_form(oracle, anchor, step_size):
    """x⁺_j = (x_j + γ Σp_i / N) / (1 + γ |C_j| / N), for the assignment of the anchor."""
    moments = oracle.full(anchor)
    n = moments.total_weight
    return (anchor + step_size * moments.sums / n) / (1 + step_size * moments.counts / n)[:, None]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_inner_iteration_is_linear_at_the_rate_of_the_theorem(blobs, weighted):
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(blobs)) if weighted else None
    oracle, anchor = memory_oracle(blobs, weights), near_the_groups(blobs)
    bound = lipschitz(oracle, [anchor])
    step_size = 0.8 / bound
    solution = backward_euler_closed_form(oracle, anchor, step_size)
    errors = [np.linalg.norm(y - solution) for y in fixed_point_iterates(oracle, anchor, step_size, 15)]
    assert all(after <= 0.8 * before + 1e-12 for before, after in pairwise(errors))
    assert errors[-1] < 0.05 * errors[0]


@pytest.mark.parametrize("averaging", [0.0, 0.75])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_step_with_frozen_assignment_is_its_closed_form(blobs, averaging, weighted):
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(blobs)) if weighted else None
    oracle, anchor = memory_oracle(blobs, weights), near_the_groups(blobs)
    step_size = 0.8 / lipschitz(oracle, [anchor])
    solver = backward_euler(
        oracle,
        anchor,
        step_size=step_size,
        batch_size=None,
        averaging=averaging,
        decay=1.0,
        n_inner=150,
        rng=np.random.default_rng(0),
    )
    expected = backward_euler_closed_form(oracle, anchor, step_size)
    np.testing.assert_allclose(next(solver).centers, expected, rtol=1e-10)


def test_backward_euler_descends_to_a_stationary_point(plane):
    """Steps solved well for γ < 1/L never raise φ, and where they end its gradient is zero."""
    oracle, centers = memory_oracle(plane[::4]), start(plane, 4, 0)
    step_size = 0.9  # L is at most one
    options = {"batch_size": None, "averaging": 0.0, "decay": 1.0, "n_inner": 40}
    solver = backward_euler(oracle, centers, step_size=step_size, rng=np.random.default_rng(0), **options)
    path = [iterate.centers for iterate in islice(solver, 300)]
    objectives = [oracle.full(x).objective for x in path]
    assert all(after <= before + 1e-12 for before, after in pairwise(objectives))
    assert np.abs(oracle.full(path[-1]).gradient(path[-1])).max() < 1e-6


# Stochastic backward Euler


def test_algorithm_1_is_its_listing(plane):
    """The solver against the paper's listing, written out with the slow twin on the same batches."""
    step_size, averaging, decay, n_inner, size = 3.0, 0.6, 0.9, 4, 50
    first = start(plane, 3, 0)
    solver = backward_euler(
        memory_oracle(plane),
        first,
        step_size=step_size,
        batch_size=size,
        averaging=averaging,
        decay=decay,
        n_inner=n_inner,
        rng=np.random.default_rng(5),
    )
    found = [iterate.centers for iterate in islice(solver, 6)]
    rng, x = np.random.default_rng(5), first
    for k in range(6):
        y = average = x
        for _ in range(n_inner):
            batch = plane[rng.integers(len(plane), size=size)]
            y = x - step_size * decay**k * naive_moments(batch, y)[0].gradient(y)
            average = averaging * average + (1 - averaging) * y
        x = average
        np.testing.assert_allclose(found[k], x, rtol=1e-9, atol=1e-9)


def test_entropy_sgd_without_noise_is_stochastic_backward_euler(plane):
    oracle, centers = memory_oracle(plane), start(plane, 4, 2)
    shared = {"batch_size": 100, "averaging": 0.75, "decay": 1 / 1.01, "n_inner": 5}
    sbe = backward_euler(oracle, centers, step_size=4.0, rng=np.random.default_rng(8), **shared)
    entropy = entropy_sgd(
        oracle,
        centers,
        scope=4.0,
        outer_step=None,
        inner_step=None,
        temperature=0.0,
        rng=np.random.default_rng(8),
        **shared,
    )
    for one, other in islice(zip(sbe, entropy, strict=False), 20):
        np.testing.assert_allclose(one.centers, other.centers, rtol=1e-8, atol=1e-8)
        assert one.step_size == pytest.approx(other.step_size)


# EM


@pytest.mark.parametrize("empty", ["stay", "reseed", "farthest"])
@pytest.mark.parametrize("seed", range(10))
def test_em_never_raises_the_objective(plane, seed, empty):
    oracle = memory_oracle(plane[::2])
    centers = start(plane, 8, seed)
    if seed >= 5:  # empty clusters: far away, and twice the same
        centers[0] = 1000
        centers[2] = centers[1]
    before = oracle.full(centers).objective
    for iterate in islice(em(oracle, centers, empty=empty, rng=np.random.default_rng(seed)), 30):
        after = oracle.full(iterate.centers).objective
        assert after <= before * (1 + 1e-12)
        assert iterate.objective == pytest.approx(before, rel=1e-12)
        before = after


def test_em_ends_where_every_center_is_the_mean_of_its_points(plane):
    *_, last = islice(em(memory_oracle(plane), start(plane, 4, 0)), 100)
    oracle = memory_oracle(plane)
    np.testing.assert_allclose(oracle.full(last.centers).gradient(last.centers), 0, atol=1e-12)


# The experiments of Secs. 3.1 and 3.2


@pytest.fixture(scope="module")
def stuck(plane):
    """Where EM ends from the paper's start."""
    *_, last = islice(em(memory_oracle(plane), PLANE_START), 100)
    return last.centers


def test_em_is_stuck_in_the_plane(plane, stuck):
    assert phi(plane, stuck) == pytest.approx(1.34, abs=0.04)


@pytest.mark.parametrize("rule", ["mean", "count"])
def test_minibatch_em_is_stuck_in_the_plane(plane, rule):
    for seed in range(5):
        solver = minibatch_em(
            memory_oracle(plane), PLANE_START, batch_size=400, rule=rule, rng=np.random.default_rng(seed)
        )
        *_, last = islice(solver, 200)
        assert phi(plane, last.centers) == pytest.approx(1.34, abs=0.06)


def test_sbe_escapes_in_the_plane(plane, stuck):
    escaped = 0
    for seed in range(10):
        model = StochasticBackwardEuler(4, batch_size=400, n_inner=10, init=stuck, random_state=seed).fit(plane)
        escaped += model.objective_ < BETTER
    assert escaped >= 7


def test_the_better_minimum_in_the_plane(plane):
    best = min(EulerMeans(4, random_state=seed).fit(plane).objective_ for seed in range(5))
    assert best == pytest.approx(0.89, abs=0.03)


def test_sbe_on_iris_ends_well_from_every_start():
    iris = load_iris().data
    objectives = [
        StochasticBackwardEuler(3, batch_size=60, n_outer=100, n_inner=40, init="random", random_state=seed)
        .fit(iris)
        .objective_
        for seed in range(100)
    ]
    assert max(objectives) < 0.27

"""The kernels for solvers, runs of implicit steps and transfers, against their slow twins."""

from itertools import islice

import numpy as np
import pytest

from eulermeans import _core
from eulermeans.moments import Moments
from eulermeans.oracles import StepRun, memory_oracle
from eulermeans.solvers import backward_euler, take_steps

STEPS = StepRun(n_steps=3, n_inner=4, batch_size=50, step_size=6.0, decay=0.7, averaging=0.75, limit=2.0)


def points_of(dtype, d, seed=0):
    rng = np.random.default_rng(seed)
    return (
        20 * rng.standard_normal((6, d))[rng.integers(6, size=400)] + 5 * rng.standard_normal((400, d))
    ).astype(dtype)


def steps_of_the_solver(oracle, centers, rng):
    """The plain form of the compiled kernel: the generator itself."""
    solver = backward_euler(
        oracle,
        centers,
        step_size=STEPS.step_size,
        batch_size=STEPS.batch_size,
        averaging=STEPS.averaging,
        decay=STEPS.decay,
        n_inner=STEPS.n_inner,
        rng=rng,
        limit=STEPS.limit,
    )
    return list(islice(solver, STEPS.n_steps))[-1].centers


def naive_transfer(contested, centers):
    """Transfers by the definition: the slow twin of the compiled loop."""
    counts, sums = contested.moments.counts.copy(), contested.moments.sums.copy()
    for point, weight, own in zip(contested.coordinates, contested.weights, contested.labels, strict=True):
        if counts[own] <= weight:
            continue
        means = Moments(counts, sums, 0.0).means(otherwise=centers)
        squares = np.sum((point - means) ** 2, axis=1)
        # What the cost rises by if the point joins each cluster, and falls by if it leaves its own.
        burden = squares * counts / (counts + weight)
        burden[own] = squares[own] * counts[own] / (counts[own] - weight)
        to = int(np.argmin(burden))
        counts[own] -= weight
        sums[own] -= weight * point
        counts[to] += weight
        sums[to] += weight * point
    return Moments(counts, sums, contested.moments.cost)


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.int32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_compiled_steps_are_those_of_the_solver(dtype, d, order):
    oracle = memory_oracle(np.asarray(points_of(dtype, d), order=order))
    centers = oracle.points.dense(np.arange(6))
    at_once = take_steps(oracle, centers, STEPS, np.random.default_rng(1))
    one_by_one = steps_of_the_solver(oracle, centers, np.random.default_rng(1))
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-12, atol=1e-12)


def test_compiled_steps_draw_by_weight():
    weights = np.random.default_rng(2).integers(0, 3, size=400).astype(float)
    oracle = memory_oracle(points_of(np.float64, 3), weights)
    centers = oracle.points.dense(np.arange(5))
    at_once = take_steps(oracle, centers, STEPS, np.random.default_rng(1))
    one_by_one = steps_of_the_solver(oracle, centers, np.random.default_rng(1))
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-12)


def test_implicit_steps_do_not_write_their_start():
    oracle = memory_oracle(points_of(np.float64, 3))
    centers = oracle.points.dense(np.arange(6))
    before = centers.copy()
    take_steps(oracle, centers, STEPS, np.random.default_rng(4))
    np.testing.assert_array_equal(centers, before)


@pytest.mark.parametrize("d", [1, 2, 17])
@pytest.mark.parametrize("weighted", [False, True])
def test_transfers_are_those_of_the_definition(d, weighted):
    points = points_of(np.float64, d, seed=5)
    weights = np.random.default_rng(6).integers(0, 4, size=len(points)).astype(float) if weighted else None
    oracle = memory_oracle(points, weights)
    centers = points[:40].copy()
    contested = oracle.contested(centers)
    assert len(contested.rows) > 10
    found, expected = contested.transferred(centers), naive_transfer(contested, centers)
    np.testing.assert_allclose(found.counts, expected.counts)
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-10, atol=1e-8)
    assert not np.array_equal(found.counts, contested.moments.counts)  # some points moved


def test_transfers_lower_the_cost():
    points = points_of(np.float64, 2, seed=7)
    oracle = memory_oracle(points)
    centers = oracle.full(points[:40].copy()).means(otherwise=points[:40])
    contested = oracle.contested(centers)
    without = oracle.full(contested.moments.means(otherwise=centers)).cost
    assert oracle.full(contested.transferred(centers).means(otherwise=centers)).cost < without


@pytest.mark.parametrize(
    ("rows", "n_outer", "message"),
    [(np.zeros(7, np.int64), 2, "multiple of n_outer"), (np.full(8, 9), 2, "out of range")],
)
def test_wrong_batches_are_refused(rows, n_outer, message):
    with pytest.raises(ValueError, match=message):
        _core.implicit_steps(np.zeros((4, 2)), rows, np.zeros((2, 2)), n_outer, 2, 1.0, 1.0, 0.5, 2.0)


def test_wrong_labels_are_refused():
    with pytest.raises(ValueError, match="labels: 3 is out of range, expected 0 to 1"):
        _core.transfer(
            np.zeros((1, 2)),
            np.zeros(1, np.int64),
            np.ones(1),
            np.full(1, 3, np.int32),
            np.ones(2),
            np.zeros((2, 2)),
            np.zeros((2, 2)),
        )

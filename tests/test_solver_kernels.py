"""The kernel for runs of implicit steps, against its slow twin."""

from itertools import islice

import numpy as np
import pytest

from eulermeans import _core
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


@pytest.mark.parametrize(
    ("rows", "n_outer", "message"),
    [(np.zeros(7, np.int64), 2, "multiple of n_outer"), (np.full(8, 9), 2, "out of range")],
)
def test_wrong_batches_are_refused(rows, n_outer, message):
    with pytest.raises(ValueError, match=message):
        _core.implicit_steps(np.zeros((4, 2)), rows, np.zeros((2, 2)), n_outer, 2, 1.0, 1.0, 0.5, 2.0)

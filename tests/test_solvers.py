"""The solvers as generators: what they yield, what empty clusters do, and that they leave their input alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from eulermeans.oracles import StepRun, memory_oracle
from eulermeans.solvers import (
    Iterate,
    backward_euler,
    backward_euler_in_runs,
    em,
    entropy_sgd,
    minibatch_em,
    take_steps,
)

EULER = {"batch_size": 50, "averaging": 0.75, "decay": 0.99, "n_inner": 3}
RUN = StepRun(n_steps=4, n_inner=3, batch_size=50, step_size=4.0, decay=0.9, averaging=0.75, limit=2.0)


def solvers(oracle, centers, seed=0):
    def rng():
        return np.random.default_rng(seed)

    return {
        "backward_euler": backward_euler(oracle, centers, step_size=4.0, rng=rng(), **EULER),
        "backward_euler_in_runs": backward_euler_in_runs(oracle, centers, run=RUN, rng=rng()),
        "em": em(oracle, centers),
        "minibatch_em mean": minibatch_em(oracle, centers, batch_size=50, rule="mean", rng=rng()),
        "minibatch_em count": minibatch_em(oracle, centers, batch_size=50, rule="count", rng=rng()),
        "em reseed": em(oracle, centers, empty="reseed", rng=rng()),
        "minibatch_em reseed": minibatch_em(
            oracle, centers, batch_size=50, rule="mean", empty="reseed", rng=rng()
        ),
        "minibatch_em farthest": minibatch_em(
            oracle, centers, batch_size=50, rule="count", empty="farthest", rng=rng()
        ),
        "entropy_sgd": entropy_sgd(
            oracle, centers, scope=4.0, outer_step=1.0, inner_step=0.5, temperature=1e-3, rng=rng(), **EULER
        ),
    }


NAMES = list(solvers(memory_oracle(np.zeros((1, 1))), np.zeros((1, 1))))
every_solver = pytest.mark.parametrize("name", NAMES)


@every_solver
def test_yields_iterates_and_leaves_its_start_alone(plane, name):
    start = plane[::1000].copy()
    start.flags.writeable = False
    seen = list(islice(solvers(memory_oracle(plane), start)[name], 4))
    assert all(isinstance(iterate, Iterate) for iterate in seen)
    assert all(iterate.centers.shape == start.shape for iterate in seen)
    assert all(iterate.points_read > 0 for iterate in seen)
    np.testing.assert_array_equal(start, plane[::1000])
    assert not np.array_equal(seen[0].centers, seen[1].centers)


@every_solver
def test_earlier_iterates_stay_as_they_were(plane, name):
    solver = solvers(memory_oracle(plane), plane[::1000])[name]
    first = next(solver).centers
    copy = first.copy()
    list(islice(solver, 3))
    np.testing.assert_array_equal(first, copy)


@every_solver
def test_same_generator_same_path(plane, name):
    paths = [list(islice(solvers(memory_oracle(plane), plane[::1000])[name], 4)) for _ in range(2)]
    for one, other in zip(*paths, strict=True):
        np.testing.assert_array_equal(one.centers, other.centers)


@every_solver
def test_improves_a_poor_start(plane, name):
    oracle, start = memory_oracle(plane), plane[::1000] + 3
    *_, last = islice(solvers(oracle, start)[name], 60)
    assert oracle.full(last.centers).objective < 0.5 * oracle.full(start).objective


# A hand-computed case: points 0, 2, 10 with centers at 1 and 4; 2 is nearer to 1.

LINE = np.array([[0.0], [2.0], [10.0]])


def test_em_by_hand():
    iterate = next(em(memory_oracle(LINE), np.array([[1.0], [4.0]])))
    assert iterate.centers.ravel().tolist() == [1.0, 10.0]
    assert iterate.objective == pytest.approx((1 + 1 + 36) / 6)
    assert iterate.exact


def test_backward_euler_by_hand():
    """∇φ = ((2·1 − 2)/3, (4 − 10)/3) = (0, −2); y = x − 0.5 ∇φ = (1, 5); half of the way to it on average."""
    solver = backward_euler(
        memory_oracle(LINE),
        np.array([[1.0], [4.0]]),
        step_size=0.5,
        batch_size=None,
        averaging=0.5,
        decay=0.5,
        n_inner=1,
        rng=np.random.default_rng(0),
    )
    first, second = next(solver), next(solver)
    np.testing.assert_allclose(first.centers.ravel(), [1.0, 4.5])
    assert (first.step_size, second.step_size) == (0.5, 0.25)
    assert first.points_read == 3


# Empty clusters


def test_em_moves_an_empty_center_to_the_farthest_point():
    points = np.array([[0.0], [1.0], [2.0], [50.0]])
    iterate = next(em(memory_oracle(points), np.array([[1.0], [1000.0]])))
    assert iterate.centers.ravel().tolist() == [1.0, 50.0]


def test_em_fills_several_empty_centers(blobs):
    start = np.concatenate([blobs[:1], np.full((4, 3), 1e4)])
    *_, last = islice(em(memory_oracle(blobs), start), 20)
    assert memory_oracle(blobs).full(last.centers).counts.all()


def test_em_with_fewer_distinct_points_than_centers():
    points = np.repeat([[0.0], [1.0]], 5, axis=0)
    *_, last = islice(em(memory_oracle(points), np.array([[0.0], [0.0], [1.0], [9.0]])), 5)
    assert np.isfinite(last.centers).all()
    assert memory_oracle(points).full(last.centers).cost == 0


FAR = [[1e5, 1e5], [-2e5, 0.0]]  # no point of the plane is nearest to centers there


def with_far_centers(plane):
    return np.concatenate([plane[::1000], FAR])


def rows_of(points, places):
    """Whether each of the places is one of the points."""
    return [bool((points == place).all(axis=1).any()) for place in places]


def test_stay_never_moves_an_empty_center_of_em(plane):
    for iterate in islice(em(memory_oracle(plane), with_far_centers(plane), empty="stay"), 10):
        np.testing.assert_array_equal(iterate.centers[-2:], FAR)


@pytest.mark.parametrize("rule", ["mean", "count"])
def test_stay_never_moves_an_empty_center_of_minibatch_em(plane, rule):
    options = {"batch_size": 50, "rule": rule, "rng": np.random.default_rng(0)}
    for iterate in islice(
        minibatch_em(memory_oracle(plane), with_far_centers(plane), empty="stay", **options), 10
    ):
        np.testing.assert_array_equal(iterate.centers[-2:], FAR)


@pytest.mark.parametrize("seed", range(5))
def test_reseed_moves_empty_centers_of_em_to_distinct_data_points(plane, seed):
    oracle, start = memory_oracle(plane), with_far_centers(plane)
    first, second = islice(em(oracle, start, empty="reseed", rng=np.random.default_rng(seed)), 2)
    np.testing.assert_array_equal(first.centers[:-2], oracle.full(start).means(start)[:-2])
    assert all(rows_of(plane, first.centers[-2:]))
    assert not np.array_equal(first.centers[-2], first.centers[-1])
    assert oracle.full(first.centers).counts.all()
    assert second.objective < first.objective


@pytest.mark.parametrize("empty", ["reseed", "farthest"])
@pytest.mark.parametrize("rule", ["mean", "count"])
def test_minibatch_em_moves_empty_centers_to_data_points(plane, rule, empty):
    oracle, start = memory_oracle(plane), with_far_centers(plane)
    options = {"batch_size": 50, "rule": rule}
    moved, stayed = (
        next(minibatch_em(oracle, start, empty=choice, rng=np.random.default_rng(3), **options))
        for choice in (empty, "stay")
    )
    np.testing.assert_array_equal(moved.centers[:-2], stayed.centers[:-2])
    assert all(rows_of(plane, moved.centers[-2:]))
    assert moved.objective == stayed.objective
    extra = 50 if empty == "farthest" else 0
    assert moved.points_read == stayed.points_read + extra
    assert moved.n_distances == stayed.n_distances + extra * len(start)


@pytest.mark.parametrize("empty", ["reseed", "farthest"])
@pytest.mark.parametrize("rule", ["mean", "count"])
@pytest.mark.parametrize("seed", range(3))
def test_no_center_stays_without_points_for_good(plane, rule, empty, seed):
    """Centers that start far away get points; with "stay" they never do."""
    oracle, start = memory_oracle(plane), with_far_centers(plane)
    options = {"batch_size": 200, "rule": rule}
    for choice, filled in ((empty, True), ("stay", False)):
        solver = minibatch_em(oracle, start, empty=choice, rng=np.random.default_rng(seed), **options)
        seen = [oracle.full(iterate.centers).counts[-2:] > 0 for iterate in islice(solver, 10)]
        assert np.any(seen, axis=0).all() == filled
    rng = np.random.default_rng(seed)
    *_, last = islice(em(oracle, start, empty=empty, rng=rng), 20)
    assert oracle.full(last.centers).counts.all()


def test_the_farthest_point_of_a_batch_that_is_all_points():
    points = np.array([[0.0], [1.0], [2.0], [50.0]])
    solver = minibatch_em(
        memory_oracle(points),
        np.array([[1.0], [1000.0]]),
        batch_size=4,
        rule="mean",
        empty="farthest",
        rng=np.random.default_rng(0),
    )
    assert next(solver).centers[1] == 50.0


def test_a_reseeded_center_forgets_the_points_it_had():
    """With rule "count" it is then the mean of what it is given at its new place."""
    rng = np.random.default_rng(0)
    points = np.concatenate([np.zeros((1, 1)), rng.normal(100.0, 1.0, size=(2000, 1))])
    start = np.array([[100.0], [0.0]])
    solver = minibatch_em(
        memory_oracle(points), start, batch_size=2000, rule="count", empty="reseed", rng=np.random.default_rng(5)
    )
    places = [iterate.centers[1, 0] for iterate in islice(solver, 40)]
    left = next(i for i, place in enumerate(places) if place > 50)  # a batch had no copy of the point at 0
    assert left > 0
    assert all(abs(place - 100) < 6 for place in places[left:])


@pytest.mark.parametrize("empty", ["reseed", "farthest"])
def test_more_centers_than_distinct_points(empty):
    points = np.repeat([[0.0], [1.0]], 5, axis=0)
    start = np.array([[0.0], [0.0], [1.0], [9.0]])
    options = {"empty": empty, "rng": np.random.default_rng(0)}
    for solver in (
        em(memory_oracle(points), start, **options),
        minibatch_em(memory_oracle(points), start, batch_size=3, rule="mean", **options),
    ):
        *_, last = islice(solver, 10)
        assert set(last.centers.ravel()) <= {0.0, 1.0, 9.0}


@pytest.mark.parametrize("empty", ["stay", "farthest"])
def test_a_rule_does_nothing_where_no_center_is_empty(plane, empty):
    oracle, start = memory_oracle(plane), plane[::1000]
    chosen, reseeding = (
        [iterate.centers for iterate in islice(em(oracle, start, empty=rule, rng=np.random.default_rng(0)), 10)]
        for rule in (empty, "reseed")
    )
    np.testing.assert_array_equal(chosen, reseeding)


@pytest.mark.parametrize("name", ["backward_euler", "minibatch_em mean", "minibatch_em count"])
def test_a_center_without_points_in_a_batch_stays(plane, name):
    start = np.concatenate([plane[::1000], [[1e5, 1e5]]])
    for iterate in islice(solvers(memory_oracle(plane), start)[name], 5):
        np.testing.assert_allclose(iterate.centers[-1], [1e5, 1e5], rtol=1e-12)


def test_entropy_sgd_draws_a_center_without_points_to_its_anchor(plane):
    start = np.concatenate([plane[::1000], [[1e5, 1e5]]])
    options = {"scope": 2.0, "outer_step": None, "inner_step": None, "temperature": 0.0}
    solver = entropy_sgd(memory_oracle(plane), start, rng=np.random.default_rng(0), **options, **EULER)
    np.testing.assert_allclose(next(solver).centers[-1], [1e5, 1e5], rtol=1e-9)


# Mini-batch EM


def test_rule_mean_is_the_mean_of_the_batch(plane):
    solver = minibatch_em(
        memory_oracle(plane), plane[:1], batch_size=40, rule="mean", rng=np.random.default_rng(0)
    )
    rng = np.random.default_rng(0)
    for iterate in islice(solver, 3):
        np.testing.assert_allclose(iterate.centers[0], plane[rng.integers(len(plane), size=40)].mean(axis=0))


def test_rule_count_is_the_mean_of_all_points_seen(plane):
    solver = minibatch_em(
        memory_oracle(plane), plane[:1], batch_size=40, rule="count", rng=np.random.default_rng(0)
    )
    rng, seen = np.random.default_rng(0), []
    for iterate in islice(solver, 4):
        seen.append(plane[rng.integers(len(plane), size=40)])
        np.testing.assert_allclose(iterate.centers[0], np.concatenate(seen).mean(axis=0))


# Entropy-SGD


def test_entropy_sgd_noise_has_its_temperature():
    """On data at one point with a center there, what moves y in one inner step is the noise alone."""
    solver = entropy_sgd(
        memory_oracle(np.zeros((1, 20_000))),
        np.zeros((1, 20_000)),
        scope=3.0,
        outer_step=None,
        inner_step=0.5,
        temperature=0.2,
        batch_size=1,
        averaging=0.0,
        decay=1.0,
        n_inner=1,
        rng=np.random.default_rng(0),
    )
    assert next(solver).centers.std() == pytest.approx(np.sqrt(0.5 * 0.2), rel=0.03)


def test_entropy_sgd_outer_step_scales_the_move(plane):
    def moved(outer_step):
        options = {"scope": 2.0, "inner_step": None, "temperature": 0.0}
        rng = np.random.default_rng(0)
        solver = entropy_sgd(
            memory_oracle(plane), plane[::1000], outer_step=outer_step, rng=rng, **options, **EULER
        )
        return next(solver).centers - plane[::1000]

    np.testing.assert_allclose(moved(0.5), moved(2.0) / 4, rtol=1e-9, atol=1e-12)


# Limited steps


def test_limited_steps_keep_the_factor_below_the_limit(unbalanced):
    moments = memory_oracle(unbalanced).full(unbalanced[:20])
    steps = moments.limited(20.0, 2.0)[:, 0]
    share = moments.counts / moments.total_weight
    assert (steps * share <= 2 + 1e-12).all()
    free = 20.0 * share <= 2
    assert free.any()
    assert not free.all()
    np.testing.assert_array_equal(steps[free], 20.0)


def test_a_limit_that_is_never_met_changes_nothing(plane):
    paths = [
        backward_euler(
            memory_oracle(plane), plane[::1000], step_size=4.0, rng=np.random.default_rng(0), limit=limit, **EULER
        )
        for limit in (None, 1e9)
    ]
    for one, other in islice(zip(*paths, strict=False), 5):
        np.testing.assert_array_equal(one.centers, other.centers)


def test_a_run_takes_its_steps_and_the_next_one_goes_on_with_their_size(plane):
    oracle, start, rng = memory_oracle(plane), plane[::1000], np.random.default_rng(3)
    first, second = islice(backward_euler_in_runs(oracle, start, run=RUN, rng=np.random.default_rng(3)), 2)
    np.testing.assert_array_equal(first.centers, take_steps(oracle, start, RUN, rng))
    oracle.minibatch(first.centers, RUN.batch_size, rng)  # estimates the objective
    smaller = replace(RUN, step_size=RUN.step_size * RUN.decay**RUN.n_steps)
    np.testing.assert_array_equal(second.centers, take_steps(oracle, first.centers, smaller, rng))
    assert (first.step_size, second.step_size) == (RUN.step_size, smaller.step_size)
    assert first.points_read == (4 * 3 + 1) * 50


def test_runs_resume_with_the_same_bits(plane):
    oracle, rng = memory_oracle(plane), np.random.default_rng(5)
    whole = backward_euler_in_runs(oracle, plane[::1000], run=RUN, rng=rng)
    stopped = next(whole)
    state = rng.bit_generator.state
    expected = [iterate.centers for iterate in islice(whole, 3)]
    rng.bit_generator.state = state
    resumed = backward_euler_in_runs(oracle, stopped.centers, stopped.memory(), run=RUN, rng=rng)
    np.testing.assert_array_equal([iterate.centers for iterate in islice(resumed, 3)], expected)

"""The driver: when it stops, what it records, whom it notifies. The solvers are made up."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from eulermeans import driver
from eulermeans.driver import Journal, StoppingRules, run
from eulermeans.history import StopReason
from eulermeans.solvers import Iterate

START = np.zeros((2, 1))


def iterate(value, objective=1.0, spread=2.0):
    return Iterate(np.full((2, 1), float(value)), objective, spread, points_read=10, step_size=3.0)


def steps(*values):
    return iter([iterate(value) for value in values])


def no_steps():
    """A solver that must not be asked for a step."""
    pytest.fail("a step was taken")
    yield


class Clock:
    """A clock that stands still unless a slow solver takes a step."""

    now = 100.0

    def slow(self, solver):
        """The solver, whose steps take one second each."""
        for step in solver:
            self.now += 1
            yield step


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(driver.time, "perf_counter", lambda: clock.now)
    return clock


class Watcher:
    def __init__(self, stop_at=None):
        self.begun, self.ended, self.stop_at = [], [], stop_at

    def begin(self, phase):
        self.begun.append(phase)

    def end(self, record, centers):
        self.ended.append((record, centers.copy()))
        return record.step == self.stop_at


def test_runs_to_the_maximum():
    ended = run(steps(1, 2, 3, 4), START, Journal(), "p", StoppingRules(3))
    assert (ended.stop_reason, ended.n_iter) == (StopReason.MAX_ITER, 3)
    assert ended.centers[0, 0] == 3


def test_converges_where_a_step_is_within_the_tolerance():
    ended = run(steps(1, 1.5, 1.6, 9), START, Journal(), "p", StoppingRules(9, tolerance=2 * 0.11**2))
    assert (ended.stop_reason, ended.n_iter) == (StopReason.CONVERGED, 3)
    assert ended.centers[0, 0] == 1.6


def test_tolerance_zero_converges_where_nothing_moves():
    ended = run(steps(1, 1), START, Journal(), "p", StoppingRules(9, tolerance=0.0))
    assert (ended.stop_reason, ended.n_iter) == (StopReason.CONVERGED, 2)


def test_no_tolerance_never_converges():
    assert run(steps(1, 1, 1), START, Journal(), "p", StoppingRules(3)).stop_reason is StopReason.MAX_ITER


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_keeps_the_last_finite_centers(value):
    ended = run(steps(1, 2, value, 4), START, Journal(), "p", StoppingRules(9))
    assert ended.stop_reason is StopReason.DIVERGED
    assert ended.centers[0, 0] == 2


def test_a_step_that_gains_too_little_converges():
    path = (iterate(i, objective=value) for i, value in enumerate([8.0, 4.0, 3.9, 3.85, 1.0], start=1))
    ended = run(path, START, Journal(), "p", StoppingRules(9, gain=0.02))
    assert (ended.stop_reason, ended.n_iter) == (StopReason.CONVERGED, 4)
    assert ended.centers[0, 0] == 4


def test_a_solver_that_has_nothing_left_to_try_ends_the_phase():
    path = iter([iterate(1), replace(iterate(2), last=True), iterate(3)])
    ended = run(path, START, Journal(), "p", StoppingRules(9))
    assert (ended.stop_reason, ended.n_iter) == (StopReason.SEARCHED, 2)
    assert ended.centers[0, 0] == 2


def test_centers_that_run_away_are_divergence():
    path = iter([iterate(1), *(iterate(2.0**i, objective=2.0 ** (2 * i)) for i in range(1, 80))])
    ended = run(path, START, Journal(), "p", StoppingRules(80))
    assert ended.stop_reason is StopReason.DIVERGED
    assert ended.n_iter == 3  # objectives 1, 4 and 16; 64 is more than ten times the spread of 2
    assert ended.centers[0, 0] == 4


def test_a_start_far_from_the_data_is_no_divergence():
    """The objective falls from a high value: whatever ran away, it was not the solver."""
    path = (iterate(i, objective=value, spread=1.0) for i, value in enumerate([1e4, 1e2, 1.0, 0.5]))
    ended = run(path, START, Journal(), "p", StoppingRules(4))
    assert ended.stop_reason is StopReason.MAX_ITER
    assert ended.centers[0, 0] == 3


def test_history_has_a_record_for_each_step(clock):
    journal = Journal()
    run(clock.slow(steps(1, 2)), START, journal, "one", StoppingRules(2))
    run(clock.slow(steps(3)), START, journal, "two", StoppingRules(1))
    assert [(record.phase, record.step) for record in journal.history] == [("one", 1), ("one", 2), ("two", 1)]
    assert all(record.points_read == 10 and record.step_size == 3.0 for record in journal.history)
    assert [record.seconds for record in journal.history] == [1.0, 2.0, 3.0]


def test_n_iter_is_the_number_of_records_also_where_it_diverges():
    journal = Journal()
    ended = run(steps(1, 2, np.nan), START, journal, "p", StoppingRules(9))
    assert ended.n_iter == len(journal.history) == 2


@pytest.mark.parametrize(("max_time", "n_steps"), [(0.1, 1), (5.9, 6), (6.0, 6), (6.1, 7), (60.0, 49)])
def test_time_limit_stops_between_steps(clock, max_time, n_steps):
    journal = Journal(max_time=max_time)
    ended = run(clock.slow(steps(*range(1, 50))), START, journal, "p", StoppingRules(49))
    assert ended.stop_reason is (StopReason.MAX_TIME if n_steps < 49 else StopReason.MAX_ITER)
    assert ended.n_iter == n_steps
    assert ended.centers[0, 0] == n_steps


def test_a_phase_that_begins_too_late_takes_no_step(clock):
    journal = Journal(max_time=0.5)
    run(clock.slow(steps(1)), START, journal, "p", StoppingRules(1))
    ended = run(no_steps(), START, journal, "q", StoppingRules(1))
    assert (ended.n_iter, ended.stop_reason) == (0, StopReason.MAX_TIME)
    np.testing.assert_array_equal(ended.centers, START)


def test_an_observer_is_told_of_each_step():
    watcher = Watcher()
    run(steps(1, 2), START, Journal(observer=watcher), "p", StoppingRules(2))
    assert watcher.begun == ["p", "p"]
    assert [record.step for record, _ in watcher.ended] == [1, 2]
    assert [centers[0, 0] for _, centers in watcher.ended] == [1, 2]


def test_an_observer_can_stop():
    watcher = Watcher(stop_at=2)
    ended = run(steps(1, 2, 3), START, Journal(observer=watcher), "p", StoppingRules(3))
    assert (ended.stop_reason, ended.n_iter) == (StopReason.CALLBACK, 2)
    assert ended.centers[0, 0] == 2


def test_an_observer_is_told_the_end_of_every_step_that_began():
    watcher = Watcher()
    run(steps(1, np.nan), START, Journal(observer=watcher), "p", StoppingRules(3))
    assert watcher.begun == ["p", "p"]
    assert [record.step for record, _ in watcher.ended] == [1, 2]
    np.testing.assert_array_equal(watcher.ended[1][1], watcher.ended[0][1])  # the centers that are kept


@pytest.mark.parametrize("reason", list(StopReason))
def test_a_stop_reason_reads_as_a_message(reason):
    text = str(reason)
    assert text == f"{reason}" == reason.value
    assert text[0].islower()  # it continues a sentence, and whoever shows it adds the full stop
    assert text[-1].isalnum()
    assert len(text.split()) >= 4
    assert reason.name not in text
    assert pickle.loads(pickle.dumps(reason)) is reason

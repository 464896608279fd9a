"""The benchmark of the search's parts: what it switches off is off, and it leaves the search as it was."""

import sys
from pathlib import Path

import numpy as np
import pytest

from eulermeans import _core, fitting, search_budget
from eulermeans.oracles import Clustering
from eulermeans.solvers import local_search, recombination
from eulermeans.solvers.annealing import Annealing
from eulermeans.solvers.local_search import Search

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import search_parts
import search_parts_clock
from quality_sets import Data, Problem
from search_parts import BEST_START, LONG, NO_ROUNDS, ONE_START, PARTS, WHOLE, Run, excesses, fitted, shares
from search_parts_clock import KERNELS, STAGES, Clock

PATCHED = [*STAGES, *KERNELS, (Search, "__init__", ""), (local_search, "ANNEALED", "")]
PATCHED += [(local_search, "BREATHED", ""), (fitting, "recombine", ""), (search_budget, "START_EFFORT", "")]


@pytest.fixture
def problem(monkeypatch):
    monkeypatch.setattr(search_budget, "SEARCH_WORK", 2e8)  # enough for a few rounds of each kind
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))[rng.integers(40, size=1500)] + 0.1 * rng.normal(size=(1500, 2))
    return Problem(Data("groups", lambda: points), 30)


def calls_of(monkeypatch, owner, name):
    """How often a function was called."""
    calls, function = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args, **options: calls.append(name) or function(*args, **options))
    return calls


@pytest.mark.parametrize(
    ("part", "owner", "name"),
    [
        ("no breaths", local_search, "breathe"),
        ("no exchanges", local_search, "moves_apart"),
        ("no exchanges", local_search, "moves_by_parts"),
        ("no swaps", local_search, "moves_together"),
        ("no transfers", _core, "transfer_nearby"),
        (NO_ROUNDS, Search, "round"),
    ],
)
def test_a_part_is_used_unless_it_is_switched_off(problem, monkeypatch, part, owner, name):
    calls = calls_of(monkeypatch, owner, name)
    fitted(problem, part, 0)
    assert not calls
    fitted(problem, WHOLE, 0)
    assert calls


def test_annealing_is_used_unless_it_is_switched_off(monkeypatch):
    points = np.random.default_rng(1).standard_normal((1500, 40)).astype(np.float32)
    many_features = Problem(Data("noise", lambda: points), 60)
    rounds = calls_of(monkeypatch, Annealing, "round")
    fitted(many_features, "no annealing", 0)
    assert not rounds
    fitted(many_features, WHOLE, 0)
    assert rounds


def test_what_several_starts_find_is_recombined_unless_that_is_switched_off(problem, monkeypatch):
    joins, searches = calls_of(monkeypatch, recombination, "join"), calls_of(monkeypatch, fitting, "search")
    fitted(problem, ONE_START, 0)
    assert len(searches) == 1
    fitted(problem, BEST_START, 0)
    assert len(searches) == 6
    assert not joins
    fitted(problem, LONG, 0)
    assert len(searches) == 11
    assert joins


def test_without_transfers_trials_move_no_single_points(problem, monkeypatch):
    kernel, given = _core.try_moves, []
    monkeypatch.setattr(_core, "try_moves", lambda *a, **o: given.append(o["transfers"]) or kernel(*a, **o))
    fitted(problem, "no transfers", 0)
    assert given
    assert not any(given)


def test_the_search_is_left_as_it_was(problem):
    before = [getattr(owner, name) for owner, name, _ in PATCHED]
    for part in PARTS:
        fitted(problem, part, 0)
    shares(problem, range(1), STAGES)
    shares(problem, range(1), KERNELS)
    assert [getattr(owner, name) for owner, name, _ in PATCHED] == before
    assert "transfer" in vars(Clustering)


def test_watching_does_not_change_a_fit(problem):
    plain = fitted(problem, WHOLE, 0)
    with Clock().watching(KERNELS):
        watched = fitted(problem, WHOLE, 0)
    assert watched.inertia == plain.inertia


def test_time_belongs_to_the_innermost_name(monkeypatch):
    now = iter([0, 1, 3, 6, 10])
    monkeypatch.setattr(search_parts_clock.time, "process_time", lambda: next(now))
    clock = Clock()  # at 0
    with clock.span("pass"), clock.span("trial"):  # from 1 to 10, from 3 to 6
        pass
    assert clock.seconds == {"the rest": 1, "pass": 2 + 4, "trial": 3}


def test_excess_is_over_the_best_run_of_the_set():
    runs = [
        Run("a/2", WHOLE, 0, 100.0, 1.0),
        Run("a/2", "no swaps", 0, 101.0, 1.0),
        Run("b/2", WHOLE, 0, 7.0, 1.0),
    ]
    found = excesses(runs)
    assert found["a/2", WHOLE] == [0.0]
    assert found["a/2", "no swaps"] == pytest.approx([1.0])
    assert found["b/2", WHOLE] == [0.0]


def test_sets_that_are_not_there_are_refused(monkeypatch, capsys, problem):
    monkeypatch.setattr(search_parts, "problems", lambda: [problem])
    monkeypatch.setattr(sys, "argv", ["search_parts.py", "--only", "D13/100"])
    with pytest.raises(SystemExit):
        search_parts.main()
    assert "D13/100; the sets are groups/30" in capsys.readouterr().err

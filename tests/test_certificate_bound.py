"""Validity first: no bound ever exceeds the optimum, whatever the data, and wherever the solver is stopped."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from exact_optimum import exact_optimum, exact_spherical_optimum
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eulermeans.certificate.cuts import Cuts, violated
from eulermeans.certificate.one_dimension import optimum_on_line
from eulermeans.certificate.parts import Clock, bounds_of
from eulermeans.certificate.principal_components import principal_components
from eulermeans.certificate.problem import ldexp_down, make_problem
from eulermeans.certificate.relaxation import capped_simplex, tighten
from eulermeans.certificate.safe_bound import CutTerm, safe_bound, smallest_eigenvalues
from eulermeans.oracles import memory_oracle, unit_rows

coordinates = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e3, 1e3, width=32),
    st.floats(-1e150, 1e150),
    st.floats(-1e-150, 1e-150),
)


@st.composite
def problems(draw, most_features=3):
    shape = (draw(st.integers(1, 7)), draw(st.integers(1, most_features)))
    kind = draw(st.sampled_from([coordinates, st.integers(-3, 3).map(float), st.floats(-1, 1, width=16)]))
    points = draw(arrays(np.float64, shape, elements=kind))
    weights = draw(st.none() | arrays(np.float64, shape[0], elements=st.floats(0, 1e3, width=32)))
    if weights is not None and not weights.any():
        weights = None
    return points, weights, draw(st.integers(1, shape[0]))


def best_of(points, weights, n_clusters, n_bounds=12):
    problem = make_problem(points, weights, n_clusters)
    return 0.0 if problem is None else max(problem.unscaled(b) for b in islice(tighten(problem), n_bounds))


@settings(max_examples=400, deadline=None)
@given(problems())
def test_no_bound_exceeds_the_optimum(given_problem):
    points, weights, n_clusters = given_problem
    optimum = exact_optimum(points, weights, n_clusters)
    problem = make_problem(points, weights, n_clusters)
    if problem is None:
        assert optimum == 0
        return
    for bound in islice(tighten(problem), 12):  # each of them: the solver may be stopped anywhere
        assert Fraction(problem.unscaled(bound)) <= optimum


@settings(max_examples=200, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1), st.floats(0, 3))
def test_perturbed_multipliers_give_valid_bounds(given_problem, seed, size):
    points, weights, n_clusters = given_problem
    problem = make_problem(points, weights, n_clusters)
    if problem is None:
        return
    rng = np.random.default_rng(seed)
    n = problem.n_points
    noise = size * problem.costs.max() * rng.standard_normal((n, n))
    cuts = Cuts(problem)
    cuts.update(np.abs(rng.standard_normal((n, n))) + 1)  # violated at random
    cuts.multipliers = size * problem.costs.max() * rng.random(len(cuts))
    term = cuts.term(1.0)
    proposal = problem.costs + (0 if term is None else term.total) + noise + noise.T
    bound = problem.unscaled(safe_bound(problem, proposal, term))
    assert Fraction(bound) <= exact_optimum(points, weights, n_clusters)


@settings(max_examples=300, deadline=None)
@given(problems(most_features=1))
def test_the_line_is_solved_from_below(given_problem):
    points, weights, n_clusters = given_problem
    bound = optimum_on_line(points, weights, n_clusters)
    assert Fraction(bound) <= exact_optimum(points, weights, n_clusters)


@settings(max_examples=300, deadline=None)
@given(problems())
def test_principal_components_bound_the_optimum(given_problem):
    points, weights, n_clusters = given_problem
    bound = principal_components(memory_oracle(points, weights).points, n_clusters, 2).bound
    assert Fraction(bound) <= exact_optimum(points, weights, n_clusters)


@pytest.mark.parametrize("seed", range(20))
def test_a_hundred_random_problems_each(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        n, n_features = rng.integers(2, 7), rng.integers(1, 4)
        points = rng.standard_normal((n, n_features)) * rng.choice([1, 10.0], n_features)
        if rng.random() < 0.3:
            points = np.round(points)  # duplicates
        if rng.random() < 0.3:
            points = np.outer(points[:, 0], rng.standard_normal(n_features))  # collinear
        points = points.astype(rng.choice(["f4", "f8"])).astype(np.float64)
        points = points * 10.0 ** rng.choice([0, 0, -150, 150])
        weights = None if rng.random() < 0.5 else rng.random(n) + 0.01
        n_clusters = int(rng.integers(1, n + 1))
        optimum = exact_optimum(points, weights, n_clusters)
        bound = best_of(points, weights, n_clusters, 6)
        assert Fraction(bound) <= optimum
        assert optimum == 0 or bound > 0.5 * optimum or n_clusters > 1


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_twelve_points_are_bounded_tightly(n_clusters):
    points = np.random.default_rng(n_clusters).standard_normal((12, 2))
    optimum = exact_optimum(points, None, n_clusters)
    bound = best_of(points, None, n_clusters, 80)
    assert 0.97 * optimum <= Fraction(bound) <= optimum


@pytest.mark.parametrize("exponent", [-500, -200, 0, 200, 500])
def test_bounds_scale_with_the_data(exponent):
    points = np.random.default_rng(0).standard_normal((20, 2))
    plain, scaled = best_of(points, None, 3), best_of(np.ldexp(points, exponent), None, 3)
    assert scaled == pytest.approx(np.ldexp(plain, 2 * exponent), rel=1e-12)


def test_a_far_offset_does_not_matter():
    points = np.random.default_rng(0).integers(0, 50, (20, 2)).astype(float)
    assert best_of(points + 2.0**40, None, 3) == pytest.approx(best_of(points, None, 3), rel=1e-9)


def test_weights_are_repeats():
    rng = np.random.default_rng(1)
    points, repeats = rng.standard_normal((15, 2)), rng.integers(1, 5, 15)
    weighted = best_of(points, repeats.astype(float), 3, 40)
    assert best_of(np.repeat(points, repeats, axis=0), None, 3, 40) == pytest.approx(weighted, rel=1e-9)


def test_one_cluster_is_exact():
    points = np.random.default_rng(0).standard_normal((30, 3))
    inertia = np.sum((points - points.mean(axis=0)) ** 2)
    assert inertia * (1 - 1e-9) <= best_of(points, None, 1) <= inertia * (1 + 1e-12)


@settings(max_examples=150, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 3)), elements=st.floats(-1, 1, width=16)),
    st.integers(1, 4),
)
def test_bounds_on_the_sphere_are_valid(points, n_clusters):
    points = unit_rows(points[np.any(points != 0, axis=1)]) if np.any(points) else np.ones((2, 1))
    n_clusters = min(n_clusters, len(points))
    optimum = exact_spherical_optimum(points, None, n_clusters)
    labels = np.zeros(len(points), dtype=np.int32)
    for bound in islice(bounds_of(points, None, labels, n_clusters, Clock(600), spherical=True, tolerance=0), 10):
        assert bound <= optimum + 1e-12 * len(points)


def test_opposite_points_have_no_direction():
    """All cost is on the sphere: the mean is at zero, and rounding under the root matters most."""
    points = unit_rows(np.array([[1.0, 2.0], [-1.0, -2.0]]))
    (bound, *_) = bounds_of(points, None, np.zeros(2, dtype=np.int32), 1, Clock(600), spherical=True, tolerance=0)
    assert 4 - 1e-5 < bound <= exact_spherical_optimum(points, None, 1)


def test_a_bound_beyond_the_largest_number_stays_finite():
    assert ldexp_down(0.5, 5000) == np.finfo(np.float64).max
    assert ldexp_down(-1.0, 0) == ldexp_down(np.nan, 3) == ldexp_down(0.5, -5000) == 0


# The parts of the bound.


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_eigenvalues_are_bounded_from_below(n, seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8)
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    matrix = (basis * values) @ basis.T
    matrix = (matrix + matrix.T) / 2
    for count in range(1, n + 1):
        expected = np.sort(np.linalg.eigvalsh(matrix))[:count].sum()
        bound = smallest_eigenvalues(matrix, count)
        assert expected - 1e-11 * np.abs(values).sum() <= bound <= expected + 1e-15 * np.abs(values).sum()


def test_wrong_eigenvectors_lower_the_bound(monkeypatch):
    """The bound does not trust the routine that computes eigenvectors."""
    points = np.random.default_rng(3).standard_normal((7, 2))
    problem = make_problem(points, None, 2)
    eigh, rng = np.linalg.eigh, np.random.default_rng(0)

    def wrong(matrix):
        values, vectors = eigh(matrix)
        return values + 0.3, vectors + 0.01 * rng.standard_normal(vectors.shape)

    exact = safe_bound(problem)
    monkeypatch.setattr(np.linalg, "eigh", wrong)
    assert safe_bound(problem) < exact


@settings(max_examples=100, deadline=None)
@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(-3, 3)), st.floats(0, 1))
def test_the_capped_simplex_is_met(values, share):
    values = np.sort(values)
    total = share * len(values)
    found = capped_simplex(values, total)
    assert found.sum() == pytest.approx(total, abs=1e-9)
    assert np.all((found >= 0) & (found <= 1))
    inside = (found > 1e-9) & (found < 1 - 1e-9)
    shifts = (values - found)[inside]  # optimality: the same shift for all that are not at a limit
    assert np.ptp(shifts) < 1e-9 if len(shifts) else True


def test_partitions_satisfy_every_cut():
    rng = np.random.default_rng(0)
    labels, weights = rng.integers(0, 3, 12), rng.random(12) + 0.1
    same = labels[:, None] == labels
    scaled = same / (same * weights).sum(axis=1)
    assert len(violated(scaled, 1e-12, 1000)) == 0
    cuts = Cuts(make_problem(rng.standard_normal((12, 2)), None, 3))
    cuts.update(np.abs(rng.standard_normal((12, 12))))
    assert len(cuts) > 50
    assert np.all(cuts._matrix @ (same / same.sum(axis=1)).ravel() <= 1e-12)


def test_cut_terms_must_not_be_understated():
    """More rounding in the cuts lowers the bound."""
    problem = make_problem(np.random.default_rng(0).standard_normal((9, 2)), None, 2)
    zeros = np.zeros((9, 9))
    small, large = (CutTerm(zeros, np.full((9, 9), size), 10) for size in (1.0, 1e6))
    assert safe_bound(problem, None, large) < safe_bound(problem, None, small) < safe_bound(problem)


def test_cutting_planes_improve_the_relaxation():
    points = np.random.default_rng(5).standard_normal((40, 2))
    problem = make_problem(points, None, 4)
    bounds = list(islice(tighten(problem), 60))
    assert max(bounds[30:]) > 1.005 * max(bounds[:3])


def test_clusters_on_a_line_are_found():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(place, 0.1, 50) for place in (0, 5, 9)])[:, None]
    labels = np.repeat(np.arange(3), 50)
    inertia = sum(values[labels == k].var() * 50 for k in range(3))
    assert optimum_on_line(values, None, 3) == pytest.approx(inertia, rel=1e-6)

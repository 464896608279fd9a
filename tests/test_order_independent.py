"""Sums that do not depend on their order: exact where floating point rounds."""

from __future__ import annotations

from fractions import Fraction
from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import naive_moments

from eulermeans.oracles import DensePoints
from eulermeans.oracles.order_independent import Extent, Grid, OrderIndependent
from eulermeans.oracles.questions import FullMoments


def total(grid: Grid, values) -> float:
    return float(grid.values(sum(grid.digits(np.array([value])) for value in values))[0])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.randoms())
def test_sums_are_the_same_in_any_order_and_in_any_groups(values, random):
    grid = Grid(sum(map(abs, values)), len(values))
    expected = total(grid, values)
    shuffled = random.sample(values, len(values))
    cut = random.randint(0, len(values))
    parts = [sum(grid.digits(np.array([value])) for value in part) for part in (shuffled[:cut], shuffled[cut:])]
    assert grid.values(parts[0] + parts[1])[0] == expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_sums_are_right_to_a_small_part_of_the_bound(values):
    magnitude = sum(map(abs, values))
    error = abs(total(Grid(magnitude, len(values)), values) - fsum(values))
    assert error <= 2**-90 * magnitude + np.spacing(abs(fsum(values))) + 1e-300


def test_floating_point_would_depend_on_the_order():
    values = np.random.default_rng(0).standard_normal(200) * 10.0 ** np.random.default_rng(1).uniform(-8, 8, 200)
    grid = Grid(float(np.abs(values).sum()), len(values))
    assert sum(values) != sum(values[::-1])
    assert total(grid, values) == total(grid, values[::-1]) == float(sum(map(Fraction, values)))


@pytest.mark.parametrize("bound", [0.0, 5e-324, 1e-300, 1e300, np.inf])
def test_extreme_bounds(bound):
    value = min(bound, 1e300)
    assert total(Grid(bound, 3), [value]) == pytest.approx(value, rel=1e-12, abs=1e-300)


def test_what_is_not_finite_stays_so():
    grid = Grid(10.0, 2)
    assert total(grid, [np.inf, 1.0]) == np.inf
    assert np.isnan(total(grid, [np.nan, 1.0]))


def test_moments_of_parts_add_up(blobs):
    centers = blobs[:4]
    question = FullMoments(centers, detail=True)
    exact = OrderIndependent(question, question.grids(Extent(600.0, float(np.abs(blobs).max()), 3, 6)))
    parts = [exact.answer(DensePoints(part)) for part in np.array_split(blobs, 6)]
    found, expected = exact.total(exact.merge_all(parts)), naive_moments(blobs, centers)[0]
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-13)
    np.testing.assert_allclose(found.utilities, expected.utilities, rtol=1e-12)
    assert found.cost == pytest.approx(expected.cost, rel=1e-13)
    assert found.n_distances == len(blobs) * 4
    backwards = exact.total(exact.merge_all(parts[::-1]))
    np.testing.assert_array_equal(found.sums, backwards.sums)
    assert found.cost == backwards.cost

"""Over unit rows and projected centers every solver is its spherical twin."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from eulermeans.driver import Journal, StoppingRules, run
from eulermeans.oracles import memory_oracle, unit_centers, unit_rows
from eulermeans.seeding import seed_plus_plus
from eulermeans.solvers import breathe, em, plan_by_effort, polish

N, D, K = 700, 9, 6


@pytest.fixture(scope="module")
def points():
    """Six bunches of directions, of lengths between 0.01 and 100."""
    rng = np.random.default_rng(0)
    directions = unit_centers(rng.standard_normal((K, D)))[rng.integers(K, size=N)]
    lengths = 10 ** rng.uniform(-2, 2, size=(N, 1))
    return lengths * (directions + 0.3 * rng.standard_normal((N, D)))


@pytest.fixture(scope="module")
def start(points):
    return points[np.random.default_rng(1).choice(N, size=K, replace=False)]


def naive_spherical(points, weights, centers, n_steps):
    """Spherical k-means by the definition; the cost of the centers before each step."""
    points = points / np.sqrt((points**2).sum(axis=1, keepdims=True))
    costs = []
    for _ in range(n_steps):
        centers = centers / np.sqrt((centers**2).sum(axis=1, keepdims=True))
        cosines = points @ centers.T
        labels = cosines.argmax(axis=1)
        costs.append(2 * np.sum(weights * (1 - cosines.max(axis=1))))
        centers = np.stack([(weights[:, None] * points)[labels == j].sum(axis=0) for j in range(len(centers))])
    return centers / np.sqrt((centers**2).sum(axis=1, keepdims=True)), np.array(costs)


def steps(solver, n_steps):
    return [next(solver) for _ in range(n_steps)]


def layouts(points):
    return {
        "dense": points,
        "csr_array": sparse.csr_array(points),
        "csr_matrix": sparse.csr_matrix(points),
        "fortran": np.asfortranarray(points),
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", layouts(np.eye(2)))
@pytest.mark.parametrize("solver", [em, polish])
def test_lloyd_is_spherical_k_means(points, start, layout, weighted, solver):
    weights = np.random.default_rng(2).uniform(0.1, 3, size=N) if weighted else None
    oracle = memory_oracle(layouts(points)[layout], weights, spherical=True)
    iterates = steps(solver(oracle, start), 12)
    expected, costs = naive_spherical(points, np.ones(N) if weights is None else weights, start, 12)
    np.testing.assert_allclose([2 * oracle.total_weight * it.objective for it in iterates], costs, rtol=1e-10)
    np.testing.assert_allclose(unit_centers(iterates[-1].centers), expected, atol=1e-10)


def test_the_objective_never_rises(points, start):
    oracle = memory_oracle(points, spherical=True)
    objectives = np.array([iterate.objective for iterate in steps(em(oracle, start), 30)])
    assert np.all(np.diff(objectives) <= 1e-15)
    assert objectives[-1] < 0.9 * objectives[0]


def test_the_search_ends_no_higher_than_spherical_k_means_from_the_same_start(points):
    def fitted(effort):
        rng = np.random.default_rng(3)
        oracle = memory_oracle(points, spherical=True)
        centers = seed_plus_plus(oracle, 20, rng)
        if effort:
            solver = breathe(oracle, centers, batch_size=100, plan=plan_by_effort(20, effort), rng=rng)
            centers = run(solver, centers, Journal(), "search", StoppingRules(1000)).centers
        rules = StoppingRules(300, tolerance=1e-12)
        ended = run(polish(oracle, centers), centers, Journal(), "polish", rules)
        return oracle.full(ended.centers).cost

    assert fitted(effort=1) < fitted(effort=0)


def test_only_directions_of_points_and_centers_matter(points, start):
    rng = np.random.default_rng(4)
    one = memory_oracle(points, spherical=True)
    other = memory_oracle(points * 10.0 ** rng.integers(-8, 8, size=(N, 1)), spherical=True)
    scaled = start * 10.0 ** rng.integers(-8, 8, size=(K, 1))
    for oracle, centers in ((other, start), (one, scaled)):
        np.testing.assert_array_equal(one.label(start).labels, oracle.label(centers).labels)
        np.testing.assert_allclose(one.full(start).cost, oracle.full(centers).cost, rtol=1e-12)
        np.testing.assert_allclose(one.distances(start), oracle.distances(centers), rtol=1e-7, atol=1e-12)
        np.testing.assert_array_equal(one.farthest(start, 5).labels, oracle.farthest(centers, 5).labels)
        batches = [o.minibatch(c, 50, np.random.default_rng(0)) for o, c in ((one, start), (oracle, centers))]
        np.testing.assert_allclose(batches[0].sums, batches[1].sums, atol=1e-12)


def test_distances_are_chords(points, start):
    unit = unit_rows(points)
    cosines = unit @ unit_centers(start).T
    chords = memory_oracle(unit, spherical=True).distances(start)
    np.testing.assert_allclose(chords**2, 2 * (1 - cosines), atol=1e-12)


def test_a_sample_is_on_the_sphere_too(points, start):
    sample = memory_oracle(points, spherical=True).sample(100, np.random.default_rng(0))
    assert sample.n_points == 100
    assert sample.full(1000 * start).cost == pytest.approx(sample.full(start).cost, rel=1e-12)


def test_what_concerns_points_alone_is_the_oracles_own(points):
    plain = memory_oracle(unit_rows(points))
    on_sphere = memory_oracle(points, spherical=True)
    np.testing.assert_array_equal(on_sphere.mean(), plain.mean())
    np.testing.assert_array_equal(on_sphere.variance(), plain.variance())
    assert on_sphere.row_bytes == plain.row_bytes
    assert (on_sphere.n_points, on_sphere.total_weight, on_sphere.dtype) == (N, N, np.float64)
    np.testing.assert_array_equal(on_sphere.points.stored, plain.points.stored)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda oracle: pickle.loads(pickle.dumps(oracle))])
def test_can_be_copied(points, start, copied):
    oracle = memory_oracle(points, spherical=True)
    assert copied(oracle).full(start).cost == oracle.full(start).cost


def test_points_without_a_mean_direction_are_served_by_any():
    antipodes = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 1.0], [0.0, -1.0]])
    oracle = memory_oracle(antipodes, spherical=True)
    last = steps(em(oracle, np.array([[1.0, 0.0]])), 3)[-1]
    assert last.objective == pytest.approx(1.0)  # 2 Σ (1 − cos) / 2N with Σ cos = 0
    np.testing.assert_array_equal(unit_centers(last.centers), [[1.0, 0.0]])


# Rows of unit length


@pytest.mark.parametrize("layout", layouts(np.eye(2)))
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float64", "float64"), ("float32", "float32"), ("int64", "float64"), ("u1", "float32")],
)
def test_rows_are_divided_by_their_norms(layout, dtype, expected, monkeypatch):
    monkeypatch.setattr("eulermeans.oracles.sphere._BLOCK_VALUES", 40)  # several blocks
    points = np.random.default_rng(5).integers(1, 100, size=(101, 7)).astype(dtype)
    given = layouts(points)[layout]
    before = given.copy()
    unit = unit_rows(given)
    assert unit.dtype == expected
    assert type(unit) is type(given)
    dense = unit.toarray() if sparse.issparse(unit) else unit
    norms = np.linalg.norm(points.astype(float), axis=1, keepdims=True)
    np.testing.assert_allclose(dense, points / norms, rtol=4 * np.finfo(expected).eps)
    assert (given != before).sum() == 0


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_rows_are_not_copied(points, make, dtype):
    unit = unit_rows(make(points.astype(dtype)))
    assert unit_rows(unit) is unit


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_lengths_may_be_as_small_and_as_large_as_numbers_are(make):
    points = np.array([[3e-200, 4e-200], [3e200, 4e200], [-3e-310, 4e-310]])
    unit = unit_rows(make(points))
    dense = unit.toarray() if sparse.issparse(unit) else unit
    np.testing.assert_allclose(dense, [[0.6, 0.8], [0.6, 0.8], [-0.6, 0.8]], rtol=1e-10)


def test_what_is_stored_twice_is_added_first():
    twice = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    np.testing.assert_allclose(unit_rows(twice).toarray(), [[0.6, 0.8]])
    assert twice.nnz == 3  # what was given is not changed


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_a_row_without_direction_is_named(make, monkeypatch):
    monkeypatch.setattr("eulermeans.oracles.sphere._BLOCK_VALUES", 4)
    points = np.ones((10, 2))
    points[7] = points[9] = 0
    with pytest.raises(ValueError, match="Row 7 of X is zero in every feature") as raised:
        unit_rows(make(points))
    assert "\n" not in str(raised.value)
    stored = sparse.csr_array(points[:8])
    stored.data[0:2] = 0  # zeros that are stored
    with pytest.raises(ValueError, match="Row 0 of X"):
        unit_rows(stored)

"""The exact polish: the same as plain Lloyd, from fewer distances."""

import os
from itertools import islice

import numpy as np
import pytest
from kernel_passes import run_python

from eulermeans import _core
from eulermeans.oracles import memory_oracle, triangle_bounds, with_bounds
from eulermeans.solvers import em, polish


def blobs(n, d, k, seed, dtype=np.float64, spread=3.0):
    rng = np.random.default_rng(seed)
    centers = spread * rng.standard_normal((k, d))
    return (centers[rng.integers(k, size=n)] + rng.standard_normal((n, d))).astype(dtype)


def start(points, k, seed):
    rows = np.random.default_rng(seed).choice(len(points), k, replace=False)
    return points[rows].astype(np.float64)


def centers_after(solver, n_steps):
    return [iterate.centers for iterate in islice(solver, n_steps)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "d", "k"),
    [
        (300, 2, 5),
        (2000, 2, 40),
        (1500, 16, 30),
        (1200, 40, 12),
        (1200, 100, 25),
        (1000, 300, 40),
        (500, 33, 1),
        (60, 50, 60),
    ],
)
def test_every_step_is_that_of_plain_lloyd(n, d, k, dtype):
    points = blobs(n, d, min(k, 20), seed=n + d, dtype=dtype)
    first = start(points, k, seed=1)
    plain = centers_after(em(memory_oracle(points), first), 25)
    bounded = centers_after(polish(memory_oracle(points), first), 25)
    for ours, theirs in zip(bounded, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bounds", ["one for all centers", "one for each center"])
def test_any_number_of_bounds_gives_the_same_labels(bounds, monkeypatch):
    points = blobs(900, 40, 10, seed=3)
    monkeypatch.setattr(triangle_bounds, "MANY_FEATURES", 1 if bounds == "one for each center" else 1000)
    monkeypatch.setattr(triangle_bounds, "MANY_CLUSTERS", 1)
    first = start(points, 25, seed=2)
    plain = centers_after(em(memory_oracle(points), first), 20)
    bounded = centers_after(polish(memory_oracle(points), first), 20)
    np.testing.assert_allclose(bounded[-1], plain[-1], rtol=1e-9, atol=1e-9)


def test_bounds_are_kept_from_the_first_pass_on():
    points = blobs(2000, 12, 10, seed=9)
    bounded, centers = with_bounds(memory_oracle(points)), start(points, 10, seed=3)
    centers = bounded.full(centers).means(centers)
    assert {"labels", "upper", "lower"} <= bounded.memory().keys()
    bounded.full(centers)
    assert bounded.full(centers).n_distances <= 2000  # the centers rest: at most the distance to the own one


def test_bounds_that_take_too_much_memory_are_not_kept(monkeypatch):
    points = blobs(2000, 12, 10, seed=10)
    first = start(points, 10, seed=4)
    bounded = with_bounds(memory_oracle(points))
    monkeypatch.setattr(triangle_bounds, "BOUND_BYTES", 0)
    monkeypatch.setattr(triangle_bounds, "BOUND_PART", 0)
    plain = with_bounds(memory_oracle(points))
    for oracle in (bounded, plain):
        centers = first
        for _ in range(12):
            moments = oracle.full(centers)
            centers = moments.means(centers)
    assert moments.n_distances == 2000 * 10
    assert not plain.memory()
    assert {"labels", "upper", "lower"} <= bounded.memory().keys()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float16, np.int32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_storage_is_read(dtype, order):
    rng = np.random.default_rng(4)
    points = np.asarray(rng.integers(0, 100, size=(800, 40)), dtype=dtype, order=order)
    first = start(points, 12, seed=5)
    bounded = centers_after(polish(memory_oracle(points), first), 15)
    plain = centers_after(em(memory_oracle(points), first), 15)
    np.testing.assert_allclose(bounded[-1], plain[-1], rtol=1e-6)


@pytest.mark.parametrize("d", [3, 50])
def test_weights_count(d):
    points = blobs(700, d, 6, seed=6)
    weights = np.random.default_rng(7).integers(0, 4, size=len(points)).astype(np.float64)
    first = start(points, 8, seed=8)
    bounded = centers_after(polish(memory_oracle(points, weights), first), 20)
    plain = centers_after(em(memory_oracle(points, weights), first), 20)
    np.testing.assert_allclose(bounded[-1], plain[-1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("d", [2, 60])
def test_duplicates_and_empty_clusters_end_like_plain_lloyd(d):
    points = np.repeat(np.random.default_rng(9).standard_normal((6, d)), 40, axis=0)
    first = np.vstack([points[:1]] * 5 + [points[-1:]] * 4)
    plain = list(islice(em(memory_oracle(points), first), 12))
    bounded = list(islice(polish(memory_oracle(points), first), 12))
    assert bounded[-1].objective == pytest.approx(plain[-1].objective, abs=1e-12)


@pytest.mark.parametrize("d", [2, 64])
def test_objectives_are_those_of_plain_lloyd(d):
    points = blobs(2000, d, 15, seed=10)
    first = start(points, 20, seed=11)
    plain = [iterate.objective for iterate in islice(em(memory_oracle(points), first), 30)]
    bounded = [iterate.objective for iterate in islice(polish(memory_oracle(points), first), 30)]
    np.testing.assert_allclose(bounded, plain, rtol=1e-9)


@pytest.mark.parametrize("d", [2, 64])
def test_far_from_the_origin_nothing_is_lost(d):
    points = blobs(1500, d, 8, seed=12) + 1e6
    first = start(points, 10, seed=13)
    bounded = centers_after(polish(memory_oracle(points), first), 20)
    plain = centers_after(em(memory_oracle(points), first), 20)
    np.testing.assert_allclose(bounded[-1], plain[-1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("d", [2, 64])
def test_most_distances_are_skipped_once_the_centers_settle(d):
    points = blobs(3000, d, 12, seed=14)
    first = start(points, 30, seed=15)
    steps = list(islice(polish(memory_oracle(points), first), 40))
    assert steps[0].n_distances == len(points) * 30
    assert steps[-1].n_distances < 0.1 * steps[0].n_distances


# Threads

THREADS_POINTS, THREADS_CLUSTERS = 20_000, 40  # enough work for eight threads; the first test below checks that

COUNT_THREADS = """
import os, sys
import numpy as np
from eulermeans import _core

n, d, k = map(int, sys.argv[1:])
floats = np.zeros(k, np.float32)
before = len(os.listdir("/proc/self/task"))
_core.refine(
    np.ones((n, d), np.float32), np.ones((k, d), np.float32), np.zeros(k), np.zeros((k, d)), np.zeros(n, np.int32),
    np.full(n, np.inf, np.float32), np.zeros((n, 1), np.float32), floats, floats[:1], floats, n_threads=8,
)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc to count threads")
@pytest.mark.parametrize("d", [16, 64])
def test_data_of_this_size_are_shared_among_threads(d):
    """Otherwise the test of equal bits below might compare one thread with itself."""
    sizes = map(str, (THREADS_POINTS, d, THREADS_CLUSTERS))
    done = run_python(COUNT_THREADS, *sizes, OPENBLAS_NUM_THREADS="1")
    assert int(done.stdout) == 7, done.stderr


@pytest.mark.parametrize("d", [16, 64])
def test_same_bits_for_any_number_of_threads(d):
    points = blobs(THREADS_POINTS, d, 30, seed=16, dtype=np.float32)
    first = start(points, THREADS_CLUSTERS, seed=17)
    one = centers_after(polish(memory_oracle(points, n_threads=1), first), 12)[-1]
    for n_threads in (2, 3, 8):
        many = centers_after(polish(memory_oracle(points, n_threads=n_threads), first), 12)[-1]
        np.testing.assert_array_equal(one, many)


# Arguments of refine


def arguments(n_lower=1, **changes):
    """Valid arguments for 5 points with 2 features and 3 centers, except for the changes."""
    valid = {
        "points": np.arange(10.0).reshape(5, 2),
        "centers": np.arange(6.0).reshape(3, 2),
        "counts": np.zeros(3),
        "sums": np.zeros((3, 2)),
        "labels": np.zeros(5, np.int32),
        "upper": np.full(5, np.inf, np.float32),
        "lower": np.zeros((5, n_lower), np.float32),
        "moved": np.zeros(3, np.float32),
        "lower_moved": np.zeros(n_lower, np.float32),
        "half_gap": np.zeros(3, np.float32),
        "weights": np.ones(5),
    }
    return valid | changes


@pytest.mark.parametrize("n_lower", [1, 3])
def test_either_number_of_lower_bounds_finds_the_nearest_centers(n_lower):
    given = arguments(n_lower)
    assert _core.refine(**given) > 0
    assert given["labels"].tolist() == [0, 1, 2, 2, 2]


@pytest.mark.parametrize("n_lower", [1, 3])
@pytest.mark.parametrize("label", [0, 1, 2])
def test_ties_go_to_the_lowest_index(label, n_lower):
    given = arguments(n_lower, centers=np.ones((3, 2)), labels=np.full(5, label, np.int32))
    _core.refine(**given)
    assert given["labels"].tolist() == [0] * 5


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("points", (4, 2), "weights: expected one for each point"),
        ("points", (5, 3), "centers: expected as many features as points have"),
        ("centers", (3, 3), "centers: expected as many features as points have"),
        ("centers", (2, 2), "counts: expected one for each center"),
        ("centers", (0, 2), "centers: expected at least one"),
        ("counts", (2,), "counts: expected one for each center"),
        ("sums", (2, 2), "sums: expected the shape of centers"),
        ("sums", (3, 3), "sums: expected the shape of centers"),
        ("labels", (4,), "labels: expected one for each point"),
        ("upper", (4,), "upper: expected one for each point"),
        ("lower", (4, 1), "lower: expected a row for each point, with one column or one for each center"),
        ("lower", (5, 2), "lower: expected a row for each point, with one column or one for each center"),
        ("lower", (5, 0), "lower: expected a row for each point, with one column or one for each center"),
        ("lower", (5, 3), "lower_moved: expected one for each column of lower"),
        ("moved", (2,), "moved: expected one for each center"),
        ("lower_moved", (3,), "lower_moved: expected one for each column of lower"),
        ("half_gap", (4,), "half_gap: expected one for each center"),
        ("weights", (6,), "weights: expected one for each point"),
    ],
)
def test_a_wrong_shape_is_refused(name, shape, message):
    given = arguments()
    given[name] = np.zeros(shape, given[name].dtype)
    with pytest.raises(ValueError, match=message):
        _core.refine(**given)


@pytest.mark.parametrize("name", sorted(arguments()))
def test_a_wrong_number_of_dimensions_is_refused(name):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.refine(**arguments(**{name: arguments()[name][None]}))


@pytest.mark.parametrize("name", sorted(arguments()))
def test_a_wrong_dtype_is_refused(name):
    with pytest.raises(TypeError):
        _core.refine(**arguments(**{name: np.zeros(arguments()[name].shape, np.int64)}))


@pytest.mark.parametrize("name", ["counts", "sums", "labels", "upper", "lower"])
def test_a_read_only_output_is_refused(name):
    given = arguments()
    given[name].flags.writeable = False
    with pytest.raises(TypeError):
        _core.refine(**given)


@pytest.mark.parametrize("n_lower", [1, 3])
@pytest.mark.parametrize("wrong", [-1, 3, 2**31 - 1, -(2**31)])
def test_labels_out_of_range_are_refused_and_nothing_is_written(wrong, n_lower):
    given = arguments(n_lower, labels=np.array([0, 1, 2, 0, wrong], np.int32))
    before = {name: array.copy() for name, array in given.items()}
    with pytest.raises(ValueError, match=f"labels: {wrong} is out of range, expected 0 to 2"):
        _core.refine(**given)
    for name, array in given.items():
        np.testing.assert_array_equal(array, before[name])


# Checkpoints


def test_a_restored_memory_gives_the_same_bits(blobs):
    """A new oracle with the memory of the old one continues exactly as the old one."""
    old, new = with_bounds(memory_oracle(blobs)), with_bounds(memory_oracle(blobs))
    centers = blobs[:7].copy()
    for _ in range(4):
        centers = old.full(centers).means(otherwise=centers)
    assert "upper" in old.memory()  # bounds are in use
    new.remember(old.memory())
    for _ in range(3):
        one, other = old.full(centers), new.full(centers)
        np.testing.assert_array_equal(one.sums, other.sums)
        assert (one.cost, one.n_distances) == (other.cost, other.n_distances)
        centers = one.means(otherwise=centers)

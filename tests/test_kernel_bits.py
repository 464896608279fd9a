"""The bits of a pass do not depend on the number of threads, nor on how it is split into calls."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from kernel_passes import DTYPES, assert_same_bits, kernel, make, run_python

from eulermeans import _core

LARGE_WORK = 9 * 2**24  # products: some milliseconds, enough for every thread to wake


def large(dtype, d):
    """Enough work for eight threads, in many blocks, the last one not full."""
    n = 40 * _core.BLOCK_ROWS + 17
    return make(n, d, LARGE_WORK // (n * d) + 1, dtype)


COUNT_THREADS = """
import os, sys
import numpy as np
from eulermeans import _core

n, d, k = map(int, sys.argv[1:])
points, centers = np.ones((n, d), np.float32), np.ones((k, d), np.float32)
before = len(os.listdir("/proc/self/task"))
_core.accumulate(points, centers, np.zeros(k), np.zeros((k, d)), np.zeros(1), n_threads=8)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc to count threads")
@pytest.mark.parametrize("d", [5, 40])
def test_data_of_this_size_are_shared_among_threads(d):
    """Otherwise the tests of equal bits below might compare one thread with itself."""
    points, centers = large("float32", d)
    done = run_python(COUNT_THREADS, *map(str, (*points.shape, len(centers))), OPENBLAS_NUM_THREADS="1")
    assert int(done.stdout) == 7, done.stderr


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [5, 40])
def test_same_bits_for_any_number_of_threads(dtype, d):
    points, centers = large(dtype, d)
    weights = np.random.default_rng(0).uniform(size=len(points))
    one = kernel(points, centers, weights=weights, n_threads=1)
    for n_threads in (2, 3, 8, None):
        assert_same_bits(one, kernel(points, centers, weights=weights, n_threads=n_threads))


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_same_bits_for_any_number_of_threads_with_few_centers(dtype):
    n, d, k = 200 * _core.BLOCK_ROWS + 17, 320, 10
    assert n * d * k > LARGE_WORK
    points, centers = make(n, d, k, dtype)
    one = kernel(points, centers, n_threads=1)
    for n_threads in (2, 3, 8):
        assert_same_bits(one, kernel(points, centers, n_threads=n_threads))


def test_same_bits_for_any_number_of_threads_with_rows():
    points, centers = large("float32", 40)
    rows = np.random.default_rng(0).integers(len(points), size=len(points))
    one = kernel(points, centers, rows=rows, n_threads=1)
    for n_threads in (2, 3, 8):
        assert_same_bits(one, kernel(points, centers, rows=rows, n_threads=n_threads))


def test_calls_at_the_same_time_share_the_threads_to_the_same_bits():
    """Several Python threads at once, each running passes on several threads."""
    problems = [make(60 * _core.BLOCK_ROWS + 11, 24, k, "float32", seed=k) for k in (30, 45, 60, 75)]
    alone = [kernel(*problem, n_threads=1) for problem in problems]
    with ThreadPoolExecutor(len(problems)) as callers:
        for _ in range(5):
            together = callers.map(lambda problem: kernel(*problem, n_threads=3), problems)
            for one, other in zip(alone, together, strict=True):
                assert_same_bits(one, other)


def test_distances_have_the_same_bits_for_any_number_of_threads():
    points, centers = large("float32", 40)
    one, other = (np.empty((len(points), len(centers)), dtype=np.float32) for _ in range(2))
    _core.distances(points, centers, one, n_threads=1)
    for n_threads in (2, 3, 8):
        _core.distances(points, centers, other, n_threads=n_threads)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [5, 40, 70])
def test_calls_over_blocks_give_the_same_bits_as_one(dtype, d):
    points, centers = make(10 * _core.BLOCK_ROWS + 31, d, 12, dtype)
    whole = kernel(points, centers, n_threads=2)
    parts = None
    bounds = [0, 1, 4, 5, 9, 11]  # in blocks
    for first, last in pairwise(bounds):
        block = points[first * _core.BLOCK_ROWS : last * _core.BLOCK_ROWS]
        parts = kernel(block, centers, into=parts, n_threads=2)
    for name in ("counts", "sums", "cost", "errors", "utilities"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_max_threads_follows_the_environment():
    done = run_python("from eulermeans import _core; print(_core.max_threads())", OMP_NUM_THREADS="3")
    assert done.stdout.strip() == "3"

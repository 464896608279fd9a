"""Random problems for the kernels, compared with brute force in long double."""

from __future__ import annotations

import numpy as np
from generated_points import assert_nearest, generated, squared_distances
from mutation import cases
from scipy import sparse

from eulermeans import _core

REGRESSIONS: list[int] = []
FEW = 1500  # cases in an ordinary run
IN_PLACE = ("float32", "float64", "float16", "uint8", "int8")


def solve(rng: np.random.Generator) -> None:
    """One pass over random points about random centers, dense or sparse, all rows or some."""
    problem = generated(rng, most_points=130, most_features=12)
    in_place = problem.values.dtype.isnative and problem.values.dtype.name in IN_PLACE
    values = problem.values if in_place else problem.values.astype(problem.arithmetic)
    values = np.ascontiguousarray(values)
    n, d = values.shape
    arithmetic = np.dtype(np.float64 if values.dtype == np.float64 else np.float32)
    k = int(rng.integers(1, 40))
    centers = values[rng.integers(n, size=k)].astype(arithmetic)
    if rng.random() < 0.5:
        centers += (problem.scale * 0.1 * rng.standard_normal(centers.shape)).astype(arithmetic)
    rows = rng.integers(n, size=int(rng.integers(0, 2 * n))) if rng.random() < 0.3 else None
    read = (values if rows is None else values[rows]).astype(arithmetic)
    weights = None if problem.weights is None else np.require(problem.weights, requirements="A")
    of_rows = np.ones(len(read)) if weights is None else weights if rows is None else weights[rows]
    n_threads = int(rng.integers(1, 4))
    labels, nearest = np.empty(len(read), np.int32), np.empty(len(read))
    counts, sums, cost = np.zeros(k), np.zeros((k, d)), np.zeros(1)
    options = {"rows": rows, "n_threads": n_threads, "labels": labels, "nearest": nearest}
    is_sparse = sparse.issparse(problem.given) or rng.random() < 0.1
    if is_sparse:
        stored = sparse.csr_array(values.astype(arithmetic))
        wide = rng.random() < 0.5
        index = stored.indices.astype(np.int64 if wide else np.int32)
        arrays = (stored.data, index, stored.indptr.astype(np.int64))
        _core.accumulate_csr(*arrays, centers, counts, sums, cost, weights=weights, **options)
    else:
        _core.accumulate(values, centers, counts, sums, cost, weights=weights, **options)
    assert_nearest(read, centers, labels)
    squares = squared_distances(read, centers).min(axis=1)
    eps = np.finfo(arithmetic).eps
    norms = (read.astype(np.longdouble) ** 2).sum(axis=1) + (centers.astype(np.longdouble) ** 2).sum(axis=1).max()
    relative = 2e-9 if is_sparse else 0  # of sparse points a square is computed again only if it is less precise
    slack = (relative + 16 * (d + 8) * eps) * squares + 8 * np.finfo(np.float64).eps ** 2 * norms
    assert (np.abs(nearest - squares) <= slack).all()
    np.testing.assert_allclose(counts, np.bincount(labels, of_rows, k), rtol=1e-12)
    expected = np.zeros((k, d), np.longdouble)
    magnitude = np.zeros((k, d), np.longdouble)
    np.add.at(expected, labels, of_rows.astype(np.longdouble)[:, None] * read)
    np.add.at(magnitude, labels, of_rows.astype(np.longdouble)[:, None] * np.abs(read))
    assert (np.abs(sums - expected) <= 1e-13 * magnitude).all()
    assert (
        abs(cost[0] - (of_rows * squares).sum()) <= (of_rows * slack).sum() * 2 + 1e-13 * (of_rows * squares).sum()
    )
    again = np.empty(len(read), np.int32)
    if is_sparse:
        _core.assign_csr(*arrays, centers, rows=rows, labels=again, n_threads=n_threads)
    else:
        _core.assign(values, centers, rows=rows, labels=again, n_threads=n_threads)
    np.testing.assert_array_equal(again, labels)


def test_random_problems():
    for case, rng in cases(REGRESSIONS, few=FEW):
        try:
            solve(rng)
        except Exception as error:
            raise AssertionError(f"case {case}") from error

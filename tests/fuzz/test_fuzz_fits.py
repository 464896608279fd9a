"""Fits of random points by both estimators, compared with brute force in long double."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from generated_points import Problem, assert_nearest, generated, squared_distances
from mutation import cases

from eulermeans import EulerMeans, StochasticBackwardEuler

REGRESSIONS = [2900, 3110, 4223, 5408]  # sparse points, whose squares are right to 1e-9 only
REGRESSIONS += [8577]  # a center of 2e-103, because nearly all of the weight is at zero
FEW = 150  # cases in an ordinary run


def estimator(problem: Problem, rng: np.random.Generator) -> EulerMeans | StochasticBackwardEuler:
    n_clusters, seed = problem.n_clusters, int(rng.integers(2**31))
    n_threads = [None, 1, 2, 3][rng.integers(4)]
    if rng.random() < 0.3:
        init = ["partition", "mean", "random", "k-means++"][rng.integers(4)]
        batch_size = [None, 5, 500][rng.integers(3)]
        return StochasticBackwardEuler(
            n_clusters,
            n_outer=5,
            n_inner=3,
            init=init,
            batch_size=batch_size,
            random_state=seed,
            n_threads=n_threads,
        )
    return EulerMeans(
        n_clusters,
        effort=[0, 0.02, 0.1][rng.integers(3)],
        polish=bool(rng.random() < 0.8),
        init=["partition", "mean", "random", "k-means++"][rng.integers(4)],
        random_state=seed,
        n_threads=n_threads,
    )


def check(problem: Problem, model: EulerMeans | StochasticBackwardEuler) -> None:
    values, weights = problem.values, problem.weights
    model.fit(problem.given, sample_weight=weights)
    centers = model.cluster_centers_
    assert centers.shape == (problem.n_clusters, values.shape[1])
    assert centers.dtype == problem.arithmetic
    for name in ("cluster_centers_", "cluster_weights_", "inertia_", "objective_"):
        assert np.isfinite(getattr(model, name)).all(), name
    read = values.astype(centers.dtype)  # as the kernels read them
    assert_nearest(read, centers, model.labels_)
    np.testing.assert_array_equal(model.predict(problem.given), model.labels_)
    assert model.score(problem.given, sample_weight=weights) == -model.inertia_
    of_rows = np.ones(len(values)) if weights is None else weights
    squares = squared_distances(read, centers)
    expected = (of_rows.astype(np.longdouble) * squares.min(axis=1)).sum()
    assert close(model.inertia_, expected, read, centers, of_rows)
    np.testing.assert_allclose(
        model.cluster_weights_, np.bincount(model.labels_, of_rows, problem.n_clusters), rtol=1e-12
    )
    np.testing.assert_allclose(
        model.transform(problem.given).astype(float) ** 2, squares.astype(float), **within(read)
    )
    if isinstance(model, EulerMeans) and model.polish:
        mean = (of_rows.astype(np.longdouble)[:, None] * read).sum(axis=0) / of_rows.astype(np.longdouble).sum()
        single = (of_rows.astype(np.longdouble) * squared_distances(read, mean[None])[:, 0]).sum()
        assert model.inertia_ <= single * (1 + 1e-6) or close(model.inertia_, single, read, centers, of_rows)


def within(values: np.ndarray) -> dict[str, float]:
    """Tolerances of squared distances."""
    eps = float(np.finfo(values.dtype).eps)
    return {
        "rtol": 64 * values.shape[1] * eps,
        "atol": 64 * eps * float((values.astype(float) ** 2).sum(axis=1).max()),
    }


def close(
    found: float, expected: np.longdouble, values: np.ndarray, centers: np.ndarray, weights: np.ndarray
) -> bool:
    """Whether a sum of squares is right up to rounding in the precision of the data."""
    eps = np.finfo(values.dtype).eps
    norms = (values.astype(np.longdouble) ** 2).sum(axis=1) + (centers.astype(np.longdouble) ** 2).sum(
        axis=1
    ).max()
    # Of sparse points a square is computed again only if it is less precise than 1e-9.
    slack = 64 * (values.shape[1] + 8) * (eps * expected + eps**2 * (weights * norms).sum()) + 2e-9 * expected
    return bool(abs(found - expected) <= slack)


def test_fits_of_random_points():
    for case, rng in cases(REGRESSIONS, few=FEW):
        problem = generated(rng)
        model = estimator(problem, rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(problem, model)
        except Exception as error:
            raise AssertionError(f"case {case}: {model}, {problem}") from error


@pytest.mark.parametrize("seed", [0, 1])
def test_streams_of_random_points(seed):
    """Batches of any kind, one after the other: centers stay finite, labels are those of the batch."""
    rng = np.random.default_rng([1, seed])
    for _ in range(10):
        d, n_clusters = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        model = [EulerMeans, StochasticBackwardEuler][rng.integers(2)](n_clusters, random_state=0)
        for _ in range(8):
            points = rng.standard_normal((int(rng.integers(n_clusters, 90)), d)) * 10.0 ** rng.integers(-3, 3)
            batch = points.astype(["float64", "float32", "int32"][rng.integers(3)])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.partial_fit(batch)
            assert np.isfinite(model.cluster_centers_).all()
            assert_nearest(batch.astype(model.cluster_centers_.dtype), model.cluster_centers_, model.labels_)

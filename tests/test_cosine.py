"""metric="cosine": spherical k-means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_distances

from eulermeans import EulerMeans


@pytest.fixture(scope="module")
def directions():
    """Rows around eight directions in 30 dimensions, of lengths from 0.01 to 100."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((8, 30))
    which = rng.integers(8, size=4000)
    rows = means[which] + 0.5 * rng.standard_normal((4000, 30))
    return rows * 10 ** rng.uniform(-2, 2, size=(4000, 1)), which


def fitted(rows, **options):
    return EulerMeans(8, metric="cosine", random_state=0, **options).fit(rows)


def test_directions_are_found_whatever_the_lengths(directions):
    rows, which = directions
    assert adjusted_rand_score(which, fitted(rows).labels_) > 0.99
    assert adjusted_rand_score(which, EulerMeans(8, random_state=0).fit(rows).labels_) < 0.5


def test_centers_have_unit_length_and_are_the_directions_of_their_means(directions):
    rows, _ = directions
    model = fitted(rows, tol=0)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    sums = np.array([unit[model.labels_ == j].sum(axis=0) for j in range(8)])
    np.testing.assert_allclose(
        model.cluster_centers_, sums / np.linalg.norm(sums, axis=1, keepdims=True), atol=1e-9
    )


def test_labels_inertia_and_distances_are_those_of_the_cosine(directions):
    rows, _ = directions
    model = fitted(rows)
    distances = cosine_distances(rows, model.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    np.testing.assert_allclose(model.transform(rows), distances, atol=1e-9)
    assert model.inertia_ == pytest.approx(2 * distances.min(axis=1).sum())
    assert model.inertia_ == -model.score(rows)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_the_length_of_a_row_changes_nothing(directions):
    rows, _ = directions
    one, other = fitted(rows), fitted(8 * rows)  # a power of two: the same bits
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


def test_sparse_rows(directions):
    rows = np.maximum(directions[0], 0)
    dense, thin = fitted(rows), fitted(sparse.csr_array(rows))
    assert thin.inertia_ == pytest.approx(dense.inertia_, rel=1e-6)
    np.testing.assert_array_equal(thin.predict(sparse.csr_array(rows)), thin.labels_)


def test_a_stream_of_batches(directions):
    rows, which = directions
    model = EulerMeans(8, metric="cosine", random_state=0)
    for batch in np.array_split(rows, 8):
        model.partial_fit(batch)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
    assert adjusted_rand_score(which, model.predict(rows)) > 0.99


def test_a_file_larger_than_the_limit(directions, tmp_path):
    rows, _ = directions
    np.save(tmp_path / "rows.npy", rows)
    model = fitted(tmp_path / "rows.npy", memory_limit=400_000)
    assert model.inertia_ < 1.001 * fitted(rows).inertia_
    np.testing.assert_allclose(
        np.asarray(model.transform(tmp_path / "rows.npy")), model.transform(rows), atol=1e-9
    )


def test_a_row_without_a_direction(directions):
    rows = directions[0].copy()
    rows[17] = 0
    with pytest.raises(ValueError, match="Row 17 of X is zero"):
        fitted(rows)


def test_an_unknown_metric(directions):
    with pytest.raises(ValueError, match="metric"):
        EulerMeans(2, metric="manhattan").fit(directions[0])

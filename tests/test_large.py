"""Numbers of values and clusters beyond those that small integers count."""

from __future__ import annotations

import numpy as np
import pytest

from eulermeans import EulerMeans

pytestmark = pytest.mark.slow


def test_more_values_than_an_int32_counts(tmp_path):
    """2.2e9 bytes in a file with holes, mapped into memory; only the last rows are not zero."""
    n, d, n_last = 2**25 + 1000, 65, 777
    assert n * d > 2**31
    rows = np.memmap(tmp_path / "rows", dtype=np.uint8, mode="w+", shape=(n, d))
    rows[-n_last:] = 200
    start = np.array([np.full(d, 10.0), np.full(d, 150.0)])
    model = EulerMeans(2, init=start, effort=0, max_iter=2, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.cluster_weights_, [n - n_last, n_last])
    np.testing.assert_array_equal(model.cluster_centers_[:, [0, -1]], [[0, 0], [200, 200]])
    assert model.labels_[-n_last:].all()
    assert not model.labels_[:-n_last].any()
    assert model.inertia_ == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_more_clusters_than_an_int16_counts(dtype):
    k = 2**15 + 5000
    grid = np.stack(np.divmod(np.arange(k), 200), axis=1).astype(dtype)
    rows = np.repeat(grid, 2, axis=0)
    model = EulerMeans(k, init=grid, effort=0, max_iter=1, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.labels_, np.repeat(np.arange(k), 2))
    np.testing.assert_array_equal(model.cluster_centers_, grid)
    assert model.inertia_ == 0
    assert model.transform(rows[:3]).shape == (3, k)

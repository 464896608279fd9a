"""Labels of a file or a stream are computed when they are read: data that have changed by then are an error."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
import zarr
from kinds_of_data import KINDS

from eulermeans import EulerMeans
from eulermeans.sources import Blocks, SourceError, as_source, mapped

N, D = 6000, 4
OPTIONS = {"n_clusters": 3, "random_state": 0, "effort": 0.1, "memory_limit": 100_000}
FILES = ["npy", "npz", "parquet", "csv", "arrow", "feather"]


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, D)).astype("f4").round(2)


def fitted(data):
    model = EulerMeans(**OPTIONS).fit(data)
    assert isinstance(model.labels_, Blocks)
    return model


@pytest.fixture(params=[kind for kind in FILES if kind in KINDS])
def written(request, points, tmp_path):
    """A function that writes rows to the same file, and the path of the file."""

    def write(rows):
        return KINDS[request.param](rows, tmp_path)

    return write, write(points)


def test_the_formats_are_known():
    assert {"npy", "parquet", "csv"} <= set(KINDS)


def test_labels_of_a_file_that_was_changed(written, points):
    write, path = written
    model = fitted(path)
    before = np.asarray(model.labels_)
    np.testing.assert_array_equal(before, np.asarray(model.predict(path)))
    write(points[::-1])
    with pytest.raises(SourceError, match="has changed since it was opened"):
        np.asarray(model.labels_)
    np.testing.assert_array_equal(np.asarray(model.predict(path)), before[::-1])  # a new look at the file


def test_a_change_that_keeps_size_and_time_is_noticed_by_the_content(points, tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, points)
    status = path.stat()
    model = fitted(path)
    np.save(path, points[::-1])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(SourceError, match=r"points.npy has other values now than when it was first read"):
        np.asarray(model.labels_)


def test_a_file_that_was_written_again_with_the_same_rows_and_time(points, tmp_path):
    """As a copy that keeps times: nothing has changed."""
    path = tmp_path / "points.npy"
    np.save(path, points)
    status = path.stat()
    model = fitted(path)
    np.save(path, points)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert np.asarray(model.labels_).shape == (N,)


def test_one_of_many_files(points, tmp_path):
    for number in range(3):
        np.save(tmp_path / f"part-{number}.npy", points)
    model = fitted(tmp_path / "part-*.npy")
    np.save(tmp_path / "part-1.npy", points[::-1])
    with pytest.raises(SourceError, match=r"part-1.npy has changed since it was opened"):
        np.asarray(model.labels_)


def test_a_zarr_folder(points, tmp_path):
    array = zarr.open(str(tmp_path / "a.zarr"), mode="w", shape=points.shape, chunks=(1000, D), dtype="f4")
    array[:] = points
    model = fitted(tmp_path / "a.zarr")
    assert np.asarray(model.labels_).shape == (N,)
    array[17, 2] += 1
    with pytest.raises(SourceError, match="has other values now"):
        np.asarray(model.labels_)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_function_whose_rows_change(points, weighted):
    now = points.copy()
    weights = np.ones(N)

    def batches():
        for part in np.array_split(np.arange(N), 7):
            yield (now[part], weights[part]) if weighted else now[part]

    model = fitted(batches)
    assert np.asarray(model.labels_).shape == (N,)
    if weighted:
        weights[5] = 2
    else:
        now[[0, 1]] = now[[1, 0]]
    with pytest.raises(SourceError, match="the stream has other values now"):
        np.asarray(model.labels_)


def test_the_same_rows_in_other_batches_are_the_same(points):
    sizes = iter(range(3, 100))
    model = fitted(lambda: np.array_split(points, next(sizes)))
    assert np.asarray(model.labels_).shape == (N,)


def test_rows_after_a_function_and_in_another_process(points, tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, points)
    labels = EulerMeans(**OPTIONS).fit(mapped(as_source(path), np.negative)).labels_
    again = pickle.loads(pickle.dumps(labels))
    np.testing.assert_array_equal(np.asarray(again), np.asarray(labels))
    np.save(path, points[::-1])
    with pytest.raises(SourceError, match="has changed"):
        np.asarray(again)


def test_a_file_that_is_changed_during_a_fit(points, tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, points)

    class Changes:
        def begin(self, phase):
            np.save(path, points[::-1])

        def end(self, record, centers):
            return False

    model = EulerMeans(**OPTIONS)
    model._watcher = Changes()
    with pytest.raises(SourceError, match="has changed since it was opened"):
        model.fit(path)

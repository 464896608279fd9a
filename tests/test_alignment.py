"""Arrays that are not aligned to their elements: users get the right results, and the kernels refuse them."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from eulermeans import EulerMeans, SizedMeans, StochasticBackwardEuler, _core
from eulermeans.arrays import aligned
from eulermeans.oracles import Placer, SizeBounds, memory_oracle
from eulermeans.oracles.dense_points import DensePoints
from eulermeans.oracles.priced_questions import PricedLabels, PricedMoments
from eulermeans.oracles.questions import BatchMoments


def unaligned(array: np.ndarray) -> np.ndarray:
    """A copy at an odd address."""
    buffer = np.empty(array.nbytes + 2, np.uint8)
    start = 1 - buffer.ctypes.data % 2
    view = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def unaligned_csr(points: sparse.csr_array) -> sparse.csr_array:
    changed = points.copy()
    for name in ("data", "indices", "indptr"):
        setattr(changed, name, unaligned(getattr(points, name)))
    return changed


def assert_same(one, other) -> None:
    for name in ("cluster_centers_", "labels_", "inertia_", "objective_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


ESTIMATORS = {
    "default": EulerMeans(6, random_state=0),
    "cosine": EulerMeans(6, metric="cosine", random_state=0),
    "steps": StochasticBackwardEuler(6, n_outer=8, batch_size=50, random_state=0),
    "sizes": SizedMeans(6, size_min=20, random_state=0),
}


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return ESTIMATORS[request.param]


@pytest.mark.parametrize("n_features", [2, 40])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int16"])
def test_points(estimator, dtype, n_features):
    points = (100 * np.random.default_rng(0).standard_normal((900, n_features))).astype(dtype)
    expected = fitted(estimator, points)
    found = fitted(estimator, unaligned(points))
    assert_same(found, expected)
    for verb in (found.predict, found.transform, found.score):
        np.testing.assert_array_equal(verb(unaligned(points)), verb(points))


def fitted(estimator, points, **options):
    return type(estimator)(**estimator.get_params()).fit(points, **options)


def test_weights(estimator):
    rng = np.random.default_rng(0)
    points, weights = rng.standard_normal((900, 3)), 1 + rng.random(900)
    found = fitted(estimator, points, sample_weight=unaligned(weights))
    assert_same(found, fitted(estimator, points, sample_weight=weights))
    score = found.score(points, sample_weight=weights)
    assert found.score(points, sample_weight=unaligned(weights)) == score


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sparse_points(estimator, dtype, index):
    points = sparse.random_array((500, 30), density=0.2, rng=np.random.default_rng(0), dtype=dtype, format="csr")
    points = points[np.diff(points.indptr) > 0]
    points.indices, points.indptr = points.indices.astype(index), points.indptr.astype(index)
    found = fitted(estimator, unaligned_csr(points))
    assert_same(found, fitted(estimator, points))
    for verb in (found.predict, found.transform, found.score):
        np.testing.assert_array_equal(verb(unaligned_csr(points)), verb(points))


@pytest.mark.parametrize("kind", [EulerMeans, StochasticBackwardEuler])
def test_initial_centers(kind, blobs):
    start = blobs[:5].astype(np.float64)
    odd = unaligned(start)
    assert_same(kind(5, init=odd, random_state=0).fit(blobs), kind(5, init=start, random_state=0).fit(blobs))
    found = kind(5, init=lambda points, k, random_state: odd, random_state=0).fit(blobs)
    assert_same(found, kind(5, init=lambda points, k, random_state: start, random_state=0).fit(blobs))


def test_assigned_centers(blobs):
    model = EulerMeans(5, random_state=0).fit(blobs)
    labels, distances = model.predict(blobs), model.transform(blobs)
    model.cluster_centers_ = unaligned(model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(blobs), labels)
    np.testing.assert_array_equal(model.transform(blobs), distances)
    model.partial_fit(blobs[:50])
    assert np.isfinite(model.cluster_centers_).all()


def test_partial_fit(blobs):
    weights = np.random.default_rng(0).random(len(blobs))
    one, other = EulerMeans(5, random_state=0), EulerMeans(5, random_state=0)
    for first in range(0, len(blobs), 100):
        rows = slice(first, first + 100)
        one.partial_fit(blobs[rows], sample_weight=weights[rows])
        other.partial_fit(unaligned(blobs[rows]), sample_weight=unaligned(weights[rows]))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


def test_fields_of_a_packed_record(blobs):
    records = np.zeros(len(blobs), dtype=[("flag", "u1"), ("place", "f8", (3,)), ("weight", "f8")])
    records["place"], records["weight"] = blobs, np.linspace(1, 2, len(blobs))
    assert not records["place"].flags.aligned
    found = EulerMeans(5, random_state=0).fit(records["place"], sample_weight=records["weight"])
    assert_same(found, EulerMeans(5, random_state=0).fit(blobs, sample_weight=records["weight"].copy()))


def test_a_memory_map_and_a_buffer_behind_an_odd_header(blobs, tmp_path):
    path = tmp_path / "points.bin"
    path.write_bytes(b"\x01" + blobs.tobytes())
    expected = EulerMeans(5, random_state=0).fit(blobs)
    mapped = np.memmap(path, dtype=np.float64, mode="r", offset=1, shape=blobs.shape)
    read = np.frombuffer(path.read_bytes(), offset=1).reshape(blobs.shape)
    for points in (mapped, read):
        assert not points.flags.aligned
        assert_same(EulerMeans(5, random_state=0).fit(points), expected)


def test_batches_of_a_stream(blobs):
    weights = np.linspace(1, 2, len(blobs))

    def batches(change):
        return lambda: ((change(blobs[i : i + 97]), change(weights[i : i + 97])) for i in range(0, len(blobs), 97))

    options = {"random_state": 0, "memory_limit": "100kB"}
    found = EulerMeans(5, **options).fit(batches(unaligned))
    expected = EulerMeans(5, **options).fit(batches(np.copy))
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(np.asarray(found.labels_), np.asarray(expected.labels_))


def sent(record):
    """The record as Dask may deliver it: its arrays lie in a message, at any address."""
    buffers = []
    content = pickle.dumps(record, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(content, buffers=[unaligned(np.frombuffer(each, np.uint16)).data for each in buffers])


@pytest.mark.parametrize("weighted", [False, True])
def test_questions_and_answers_of_workers(blobs, weighted):
    weights = np.linspace(1, 2, len(blobs)) if weighted else None
    points = DensePoints(blobs, weights)
    centers, prices = blobs[:4].copy(), np.arange(4.0)
    rows = {0: points.draw_positions(30, np.random.default_rng(0))}
    questions = [BatchMoments(centers, rows), PricedMoments(centers, prices, 0.1), PricedLabels(centers, prices)]
    batch, blocks, labels = (sent(question).answer(points) for question in questions)
    expected = [question.answer(points) for question in questions]
    np.testing.assert_array_equal(batch.sums, expected[0].sums)
    np.testing.assert_array_equal(labels, expected[2])
    np.testing.assert_array_equal(blocks[0].contested.distances, expected[1][0].contested.distances)


@pytest.mark.parametrize("weighted", [False, True])
def test_placements_of_points_of_workers(blobs, weighted, monkeypatch):
    oracle = memory_oracle(blobs, np.linspace(1, 2, len(blobs)) if weighted else None)
    bounds = SizeBounds(0.2 * oracle.total_weight, 0.3 * oracle.total_weight)
    expected = Placer(oracle, bounds, 4).approach(blobs[:4])
    monkeypatch.setattr(oracle, "_execute", lambda question: sent(sent(question).answer(oracle.points)))
    found = Placer(oracle, bounds, 4).approach(blobs[:4])
    np.testing.assert_array_equal(found.prices, expected.prices)
    np.testing.assert_array_equal(found.moments.sums, expected.moments.sums)


def test_aligned_arrays_are_not_copied(blobs):
    weights = np.ones(len(blobs))
    assert aligned(blobs) is blobs
    assert np.shares_memory(DensePoints(blobs, weights).weights, weights)


def test_unaligned_points_are_not_copied_whole():
    points = unaligned(np.random.default_rng(0).standard_normal((500_000, 8)))  # 32 MB
    model = EulerMeans(4, random_state=0).fit(points[:2000])
    tracemalloc.start()
    try:
        model.predict(points)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < points.nbytes / 2


def test_the_kernels_refuse_what_is_not_aligned():
    points, labels = np.zeros((4, 3)), np.zeros(4, np.int32)
    with pytest.raises(ValueError, match="argument 1 is an array that is not aligned"):
        _core.assign(unaligned(points), points, labels=labels)
    with pytest.raises(ValueError, match="argument 4 is an array that is not aligned"):
        _core.assign(points, points, labels=unaligned(labels))
    _core.assign(points[:0], points, labels=unaligned(labels)[:0])  # nothing to load

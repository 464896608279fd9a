"""Ctrl-C and time limits end long kernel calls early, and leave a model that can be used."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

from eulermeans import EulerMeans, StopReason, _core, seeding
from eulermeans.oracles import OutOfTime, memory_oracle, time_limit

UNTOUCHED = -7


@contextmanager
def ctrl_c_soon() -> Iterator[None]:
    """Ctrl-C is pressed while the block runs."""
    timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


class LongCall:
    """A kernel call of minutes, in which the last rows get their labels last."""

    def __init__(self, kind: str) -> None:
        rng, n, d, k = np.random.default_rng(0), 400_000, 64, 20_000
        self.labels = np.full(n, UNTOUCHED, np.int32)
        points, centers = np.zeros((n, d), np.float32), rng.standard_normal((k, d), np.float32)
        sums = {"counts": np.zeros(k), "sums": np.zeros((k, d)), "cost": np.zeros(1)}
        calls: dict[str, Callable[[], object]] = {
            "accumulate": lambda: _core.accumulate(points, centers, **sums, labels=self.labels),
            "assign": lambda: _core.assign(points, centers, labels=self.labels),
            "accumulate_csr": lambda: _core.accumulate_csr(
                *self._csr(points), centers, **sums, labels=self.labels
            ),
            "assign_csr": lambda: _core.assign_csr(*self._csr(points), centers, labels=self.labels),
            "implicit_steps": lambda: self._steps(points, centers),
            "neighbours": lambda: self._neighbours(centers),
        }
        self.run = calls[kind]

    @staticmethod
    def _csr(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        points[:, ::7] = 1
        stored = sparse.csr_array(points)
        return stored.data, stored.indices, stored.indptr.astype(np.int64)

    def _steps(self, points: np.ndarray, centers: np.ndarray) -> None:
        rows = np.arange(len(points))
        options = {"step_size": 1.0, "decay": 1.0, "averaging": 0.5, "limit": 2.0}
        _core.implicit_steps(points, rows, centers.astype(float), n_outer=10, n_inner=10, **options)
        self.labels[:] = 0

    def _neighbours(self, centers: np.ndarray) -> None:
        many = np.tile(centers.astype(float), (5, 3))
        _core.neighbours(many, np.zeros((len(many), 5), np.int32))
        self.labels[:] = 0

    def assert_unfinished(self) -> None:
        assert self.labels[-1] == UNTOUCHED or (self.labels == UNTOUCHED).any()


KINDS = ["accumulate", "assign", "accumulate_csr", "assign_csr", "implicit_steps", "neighbours"]


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_ends_a_kernel_call(kind):
    call = LongCall(kind)
    with pytest.raises(KeyboardInterrupt), ctrl_c_soon():
        call.run()
    call.assert_unfinished()


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_limit_ends_a_kernel_call(kind):
    call = LongCall(kind)
    with pytest.raises(OutOfTime), time_limit(0.05):
        call.run()
    call.assert_unfinished()


def test_a_handler_that_returns_lets_the_call_go_on():
    """As the command's first Ctrl-C, which only takes a note."""
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    call = LongCall("accumulate")
    try:
        with pytest.raises(OutOfTime), ctrl_c_soon(), time_limit(0.5):
            call.run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [True]


def test_a_limit_of_another_thread_does_not_count():
    points, found = np.zeros((100, 2)), []
    with time_limit(0):
        thread = threading.Thread(target=lambda: found.append(memory_oracle(points).mean()))
        thread.start()
        thread.join()
        with pytest.raises(OutOfTime):
            memory_oracle(points).mean()
    np.testing.assert_array_equal(found[0], [0, 0])
    memory_oracle(points).mean()  # the limit is over


def test_the_smaller_of_two_limits_counts():
    points = np.zeros((100, 2))
    with time_limit(0), time_limit(1e6), pytest.raises(OutOfTime):
        memory_oracle(points).mean()
    with time_limit(1e6):
        with time_limit(0), pytest.raises(OutOfTime):
            memory_oracle(points).mean()
        memory_oracle(points).mean()


# Fits


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((30_000, 16), np.float32)


def assert_usable(model: EulerMeans, X: np.ndarray) -> None:
    assert model.cluster_centers_.shape == (model.n_clusters, X.shape[1])
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.restarts_).all()
    assert np.isfinite(model.cluster_weights_).all()
    labels = model.predict(X[:100])
    assert ((labels >= 0) & (labels < model.n_clusters)).all()


def test_max_time_holds_in_the_seeding(X, monkeypatch):
    n_known, real = [], seeding.nearest_distances

    def counted(sample, centers):
        n_known.append(len(centers))
        if sum(n_known) > 100:
            time.sleep(0.3)  # the rest of the time
        return real(sample, centers)

    monkeypatch.setattr(seeding, "nearest_distances", counted)
    model = EulerMeans(8000, max_time=0.3, compute_labels=False, random_state=0).fit(X)
    assert sum(n_known) < 7999
    assert model.stop_reason_ is StopReason.MAX_TIME
    assert model.n_iter_ == 0
    assert_usable(model, X)
    assert len(np.unique(model.cluster_centers_, axis=0)) > 4000


@pytest.mark.parametrize("init", ["k-means++", "random", "partition", "mean"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_fit_without_any_time_gives_a_model(X, init, form):
    model = EulerMeans(5, init=init, max_time=1e-9, random_state=0).fit(form(X[:2000]))
    assert model.stop_reason_ is StopReason.MAX_TIME
    assert_usable(model, X)
    assert model.inertia_ == -model.score(form(X[:2000]))


def test_max_time_ends_a_pass_in_the_middle(X):
    """A pass over these points takes far longer than the limit."""
    points = np.tile(X, (10, 4))
    start = points[:20_000].astype(float)
    options = {"init": start, "effort": 0, "max_time": 0.5, "compute_labels": False, "random_state": 0}
    model = EulerMeans(20_000, **options).fit(points)
    assert model.stop_reason_ is StopReason.MAX_TIME
    assert model.n_iter_ == 0
    np.testing.assert_array_equal(model.cluster_centers_, start.astype(np.float32))


def test_ctrl_c_in_a_pass_leaves_the_model_as_it_was(X):
    model = EulerMeans(3, random_state=0).fit(X[:500])
    before = dict(vars(model))
    points = np.tile(X, (10, 4))
    model.set_params(n_clusters=20_000, init=points[:20_000], effort=0)
    with pytest.raises(KeyboardInterrupt), ctrl_c_soon():
        model.fit(points)
    model.set_params(n_clusters=3, init="k-means++", effort=1.0)
    assert vars(model).keys() == before.keys()
    assert model.cluster_centers_ is before["cluster_centers_"]
    np.testing.assert_array_equal(model.predict(X[:500]), model.labels_)

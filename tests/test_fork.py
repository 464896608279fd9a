"""Fits in threads, forked children and spawned processes. No child waits for a lock of a thread that it lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse

from eulermeans import EulerMeans, SizedMeans, StochasticBackwardEuler
from eulermeans.oracles import memory_oracle

PATIENCE = 60  # seconds after which a child is stuck
N_CHILDREN = 25


@contextmanager
def load() -> Iterator[None]:
    """Threads that ask new oracles for means and draw by weight, all the time.

    No fits: they use BLAS, and OpenBLAS has a fork handler of its own, which may wait for other threads in BLAS.
    """
    X, stop = np.random.default_rng(0).standard_normal((20_000, 8)), threading.Event()
    weights = np.random.default_rng(1).random(len(X))

    def ask() -> None:
        rng = np.random.default_rng(2)
        while not stop.is_set():
            oracle = memory_oracle(X, weights)
            oracle.mean()
            oracle.variance()
            oracle.minibatch(X[:3], 100, rng)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def work_of_child() -> bool:
    """What a child does; True if it is right."""
    X = np.random.default_rng(3).standard_normal((300, 4))
    oracle = memory_oracle(X, np.ones(300))
    oracle.minibatch(X[:2], 50, np.random.default_rng(0))
    model = EulerMeans(2, effort=0, random_state=0).fit(X, sample_weight=np.ones(300))
    return bool(np.allclose(oracle.mean(), X.mean(axis=0)) and len(model.labels_) == 300)


def wait(child: int) -> int:
    """The exit code of a child; one that is stuck is killed, and gives a negative one."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_children_forked_under_load_work():
    codes = []
    with load(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
        for _ in range(N_CHILDREN):
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if work_of_child() else 1)
                finally:
                    os._exit(2)
            codes.append(wait(child))
    assert codes == [0] * N_CHILDREN


def test_no_module_uses_a_cached_property():
    """Before Python 3.12 it holds one lock for all instances while it computes."""
    uses = [
        name
        for name, module in list(sys.modules.items())
        if name.startswith("eulermeans") and hasattr(module, "cached_property")
    ]
    assert not uses


def fitted(seed: int) -> bytes:
    X = np.random.default_rng(seed).standard_normal((400, 3))
    model = EulerMeans(4, effort=0.1, random_state=seed).fit(X)
    return model.cluster_centers_.tobytes() + model.predict(X).tobytes()


def test_fits_in_threads_give_the_same_bits():
    expected = [fitted(seed) for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fitted, range(6))) == expected


def test_a_spawned_process_gives_the_same_bits():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(fitted, (3,)) == fitted(3)


def fitted_as(kind: str) -> bytes:
    """The bits of a fit of one kind, with the threads that it takes by default."""
    rng = np.random.default_rng(len(kind))
    X = rng.standard_normal((3000, 16))
    if kind == "sparse":
        model = EulerMeans(5, effort=0.1, random_state=0).fit(scipy.sparse.csr_array(X * (X > 1)))
    elif kind == "float32":
        model = EulerMeans(5, effort=0.1, random_state=0).fit(X.astype(np.float32))
    elif kind == "sized":
        model = SizedMeans(5, size_min=90, random_state=0).fit(X[:500])
    elif kind == "stream":
        model = EulerMeans(5, random_state=0)
        for batch in np.split(X, 6):
            model.partial_fit(batch)
    else:
        model = StochasticBackwardEuler(5, random_state=0, n_outer=5).fit(X)
    return model.cluster_centers_.tobytes() + model.predict(X[:500]).tobytes()


def test_fits_of_all_kinds_from_many_threads_at_once_give_the_bits_of_each_alone():
    """More callers than cores: their kernels run at the same time, with or without the GIL, on one pool."""
    kinds = ["sparse", "float32", "sized", "stream", "paper"]
    alone = {kind: fitted_as(kind) for kind in kinds}
    started = threading.Barrier(16)

    def fitted_at_once(kind: str) -> bytes:
        started.wait()
        return fitted_as(kind)

    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(fitted_at_once, (kinds * 4)[:16]))
    assert together == [alone[kind] for kind in (kinds * 4)[:16]]


def test_threads_that_log_at_once_write_each_line_once(capsys):
    started = threading.Barrier(8)

    def fit(seed: int) -> None:
        started.wait()
        EulerMeans(2, effort=0, random_state=seed, verbose=1).fit(np.arange(20.0).reshape(-1, 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fit, range(8)))
    assert capsys.readouterr().out.count("ended after") == 8

"""Threads: what sets their number, and where only one may be used."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from eulermeans import _core
from eulermeans.oracles import memory_oracle


def large_problem():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((20000, 64), dtype=np.float32)
    return points, points[:64].astype(np.float64)


def threads_in_a_worker(_):
    return _core.max_threads()


def test_none_follows_threadpoolctl():
    with threadpool_limits(limits=1, user_api="openmp"):
        assert _core.max_threads() == 1
    with threadpool_limits(limits=3, user_api="openmp"):
        assert _core.max_threads() == 3


def test_none_follows_the_environment():
    command = [sys.executable, "-c", "from eulermeans import _core; print(_core.max_threads())"]
    environment = os.environ | {"OMP_NUM_THREADS": "5"}
    assert subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout == "5\n"


def test_workers_of_joblib_share_the_cores():
    cores = joblib.cpu_count()
    found = joblib.Parallel(n_jobs=cores)(joblib.delayed(threads_in_a_worker)(i) for i in range(cores))
    assert found == [1] * cores


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_after_a_pass_with_threads_can_make_one_too():
    points, centers = large_problem()
    oracle = memory_oracle(points, n_threads=2)
    expected = oracle.full(centers)
    child = os.fork()
    if child == 0:
        same = np.array_equal(oracle.full(centers).sums, expected.sums) and _core.max_threads() == 1
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_no_threads_is_refused():
    points, centers = large_problem()
    with pytest.raises(ValueError, match="n_threads"):
        memory_oracle(points, n_threads=0).full(centers)

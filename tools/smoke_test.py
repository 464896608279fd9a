"""Check an installed eulermeans in a few seconds: its kernels, a fit, a model file, the number of threads.

    python tools/smoke_test.py

cibuildwheel runs it on every wheel, `make wheel` on the one that it has built. It needs nothing but eulermeans.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits  # comes with scikit-learn

import eulermeans
from eulermeans import EulerMeans, _core

CORNERS = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0], [9.0, 9.0]])
OPTIONAL = ["plot", "report", "choosing", "certificate", "sources"]


def check(condition: bool, what: str) -> None:
    """End with an error unless the condition holds."""
    if not condition:
        sys.exit(f"smoke test failed: {what}")


def main() -> None:
    """Run all checks, and print what was checked."""
    rng = np.random.default_rng(0)
    points = np.repeat(CORNERS, 500, axis=0) + rng.standard_normal((2000, 2))
    model = EulerMeans(4, random_state=0).fit(points)
    order = np.lexsort(model.cluster_centers_.T[::-1])
    check(np.abs(model.cluster_centers_[order] - CORNERS).max() < 0.2, "the four corners are not found")
    check(np.array_equal(model.labels_, model.predict(points)), "labels_ and predict differ")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.eulermeans"
        model.save(path)
        loaded = eulermeans.load(path)
    check(np.array_equal(loaded.predict(points), model.labels_), "the model file predicts otherwise")
    with threadpool_limits(limits=1):
        check(_core.max_threads() == 1, "threadpoolctl does not limit the threads")
        alone = EulerMeans(4, random_state=0).fit(points)
    same = np.array_equal(alone.cluster_centers_, model.cluster_centers_)
    check(same, "the number of threads changes the result")
    for name in OPTIONAL:  # without the packages of the extras
        importlib.import_module(f"eulermeans.{name}")
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    check(not has_gil or "free-threading" not in sys.version, "the module has switched the GIL on")
    print(f"eulermeans {eulermeans.__version__}, Python {sys.version.split()[0]}, {Path(_core.__file__).name}")
    threads = f"{_core.max_threads()} threads, {'with' if has_gil else 'without'} the GIL"
    print(f"{threads}; kernels: {', '.join(_core.instruction_sets())}")


if __name__ == "__main__":
    main()

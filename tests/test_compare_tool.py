"""benchmarks/over_time: what `make bench-compare` measures, and how it says that a commit is slower."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "over_time"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("compare_tool", FOLDER / "compare.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def test_measures_the_benchmarks_with_such_names():
    command = [sys.executable, FOLDER / "measure.py", "--only", "predict|without search|uint8, 2 features, K = 10"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    names = ["fits: without search", "fits: predict", "passes: uint8, 2 features, K = 10"]
    assert set(found) == {*names, "fits: without search, inertia"}
    assert all(0 < found[name] < 10 for name in names)


@pytest.mark.parametrize(
    ("name", "before", "after", "verdict"),
    [
        ("a pass", (1.0, 1.1, 1.0), (1.3, 1.3, 1.2), "SLOWER"),
        ("a pass", (1.0, 1.1, 2.0), (1.3, 1.3, 1.2), ""),  # one round says otherwise: it may be noise
        ("a pass", (1.0, 1.0, 1.0), (1.1, 1.1, 1.1), ""),
        ("a pass", (1.0, 1.0, 1.0), (0.8, 0.8, 0.7), "faster"),
        ("a fit, inertia", (50.0, 50.0, 50.0), (51.0, 51.0, 51.0), "HIGHER"),
        ("a fit, inertia", (50.0, 50.0, 50.0), (50.1, 50.1, 50.1), ""),
        ("a fit, inertia", (50.0, 50.0, 50.0), (49.0, 49.0, 49.0), "lower"),
    ],
)
def test_the_verdict_on_a_benchmark(tool, name, before, after, verdict):
    (ratio,) = tool.compared([{name: value} for value in before], [{name: value} for value in after])
    assert ratio.verdict(1.15) == verdict
    assert tool.table([ratio], 1.15).splitlines()[1].endswith(verdict or "to " + f"{max(ratio.ratios):.2f}")


def test_only_what_both_commits_have_is_compared(tool):
    before = [{"old": 1.0, "both": 1.0}]
    assert [ratio.name for ratio in tool.compared(before, [{"both": 1.0, "new": 2.0}])] == ["both"]

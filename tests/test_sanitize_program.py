"""The program of `make test-sanitize` fits the kernels' headers. The sanitizers themselves take minutes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SET = ["-DEULERMEANS_SET=baseline", "-DEULERMEANS_HAS_BASELINE", "-DEULERMEANS_VECTOR_BYTES=16"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_it_compiles():
    command = ["g++", "-std=c++20", "-fsyntax-only", "-Wno-psabi", "-Isrc/core", *SET]
    checked = subprocess.run(
        [*command, "tests/sanitize/kernel_calls.cpp"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr

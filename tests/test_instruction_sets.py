"""The kernels for each instruction set that this machine supports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_passes import run_python

from eulermeans import _core

HERE = Path(__file__).parent
KERNEL_TESTS = [
    "test_kernel.py",
    "test_kernel_accuracy.py",
    "test_kernel_bits.py",
    "test_kernel_not_finite.py",
    "test_csr_kernel.py",
    "test_polish.py",
    "test_solver_kernels.py",
]
WHICH = "from eulermeans import _core; print(_core.instruction_set())"


@pytest.mark.parametrize("name", [name for name in _core.instruction_sets() if name != _core.instruction_set()])
def test_the_kernels_tests_pass_on_the_other_instruction_sets(name):
    assert run_python(WHICH, EULERMEANS_ISA=name).stdout.strip() == name
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *(str(HERE / file) for file in KERNEL_TESTS)],
        env={**os.environ, "EULERMEANS_ISA": name},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]


def test_the_best_instruction_set_is_taken():
    assert run_python(WHICH, EULERMEANS_ISA="").stdout.strip() == _core.instruction_sets()[-1]


def test_an_unknown_instruction_set_is_an_import_error():
    done = run_python("import eulermeans._core", EULERMEANS_ISA="abacus")
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    assert "abacus" in done.stderr
    assert _core.instruction_sets()[0] in done.stderr

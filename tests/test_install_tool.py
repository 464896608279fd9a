"""tools/install.py: what people see while `make demo` fetches and compiles."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1] / "tools" / "install.py"
OUTPUT = """\
Obtaining file:///home/someone/eulermeans
  Installing build dependencies: started
  Preparing editable metadata (pyproject.toml): started
Collecting numpy>=1.24 (from eulermeans==0.1.0)
Collecting numpy>=1.24 (from eulermeans==0.1.0)
  Building editable for eulermeans (pyproject.toml): started
  [2/14] Building CXX object CMakeFiles/kernels_avx2.dir/src/core/kernels_csr.cpp.o
  [14/14] Linking CXX shared module _core.so
Installing collected packages: numpy, eulermeans
"""


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("install_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_thing_is_shown_once(tool):
    assert list(tool.shown(OUTPUT.splitlines())) == [
        "fetching what the build needs",
        "reading the project",
        "fetching numpy>=1.24",
        "compiling eulermeans",
        "compiled 2 of 14: kernels_avx2 kernels_csr.cpp",
        "linked 14 of 14",
        "installing numpy, eulermeans",
    ]


def test_a_failure_shows_what_pip_said(tool, capfd, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert tool.main(["--quiet", "no-such-package-anywhere"]) != 0
    assert "no-such-package-anywhere" in capfd.readouterr().err

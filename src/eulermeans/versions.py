"""Versions of the installed packages and of the compiled core, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from . import _core

_PACKAGES = ("eulermeans", "numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib", "typer", "rich")


def versions() -> dict[str, str]:
    """Versions of Python and the packages, the platform, and the instruction set and threads of the kernels."""
    return {
        "python": sys.version.split()[0],
        "machine": platform.platform(),
        **{package: _version(package) for package in _PACKAGES},
        "instruction set": f"{_core.instruction_set()} (supported: {', '.join(_core.instruction_sets())})",
        "threads": str(_core.max_threads()),
    }


def show_versions() -> None:
    """Print the versions that matter for a bug report, and the instruction set and threads of the kernels.

    Examples
    --------
    >>> import eulermeans
    >>> eulermeans.show_versions()  # doctest: +ELLIPSIS
              python: ...
             machine: ...
          eulermeans: ...
    ...
     instruction set: ...
             threads: ...
    """
    print("\n".join(f"{name:>16}: {value}" for name, value in versions().items()))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"

"""Optional packages, imported where they are used; one error that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any


class MissingExtra(ImportError):
    """A package that this feature needs is not installed."""


def optional(module: str, extra: str) -> Any:
    """The module, which the extra of that name installs."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtra(f'this needs {package}: pip install "eulermeans[{extra}]"', name=package) from error

"""Optional packages, imported where they are used. One error names the extra to install."""

from __future__ import annotations

import importlib
from types import ModuleType


class MissingExtra(ImportError):
    """A feature needs a package that is not installed."""


def optional(module: str, extra: str) -> ModuleType:
    """Import a module that the extra installs."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtra(f'this needs {package}: pip install "eulermeans[{extra}]"', name=package) from error

"""Optional packages, imported where they are used. One error names what to install."""

from __future__ import annotations

import importlib
import re
import sys
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
        # The packages by their own names: that also works where eulermeans came from a clone or a file.
        install = f"pip install {' '.join(packages_of(extra))}"
        message = f"this needs {package}: {install} (the extra eulermeans[{extra}])"
        raise MissingExtra(message, name=package) from error


def packages_of(extra: str) -> list[str]:
    """The packages of an extra as a shell takes them, such as `matplotlib` and `"dask[array,dataframe]"`."""
    from importlib.metadata import requires  # takes longer to import than all else that an early answer needs

    packages = []
    for requirement in requires("eulermeans") or []:
        found = re.fullmatch(r"([\w.-]+)(\[[\w,-]+\])?[^;]*;(.*)extra == [\"'](\w+)[\"']", requirement)
        if found is None or found[4] != extra or ("python_version <" in found[3] and sys.version_info >= (3, 11)):
            continue
        name, extras = found[1], found[2] or ""
        if name == "eulermeans":  # an extra made of others
            packages += [package for other in extras.strip("[]").split(",") for package in packages_of(other)]
        else:
            packages.append(f'"{name}{extras}"' if extras else name)
    return list(dict.fromkeys(packages))

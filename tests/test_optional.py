"""Missing optional packages: the error says what to install, also to who installed from a clone."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

from eulermeans.optional import MissingExtra, optional, packages_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYPROJECT = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]


def test_the_error_names_all_packages_of_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra) as caught:
        optional("jinja2", "plot")
    assert str(caught.value) == "this needs jinja2: pip install matplotlib jinja2 (the extra eulermeans[plot])"


def test_an_extra_of_extras_names_the_packages_of_all():
    assert packages_of("excel") == ["pyarrow", "zarr", "python-calamine"]
    assert '"dask[array,dataframe]"' in packages_of("all")


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_extra_names_packages_and_never_this_one(extra):
    packages = [package for word in packages_of(extra) for package in shlex.split(word)]
    assert packages
    assert not any(package.startswith("eulermeans") for package in packages)


def test_what_is_installed_has_the_extras_of_pyproject():
    assert set(metadata("eulermeans").get_all("Provides-Extra")) == set(EXTRAS)


def test_a_package_that_is_there_but_broken_keeps_its_own_error(monkeypatch, tmp_path):
    (tmp_path / "broken_package.py").write_text("import no_such_package_either")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_package_either") as caught:
        optional("broken_package", "plot")
    assert not isinstance(caught.value, MissingExtra)

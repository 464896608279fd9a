"""Every public name has an example in its docstring, and every example runs as it is printed."""

from __future__ import annotations

import doctest
import inspect
from types import ModuleType

import matplotlib.pyplot as plt
import pytest

import eulermeans
from eulermeans import datasets, plot

NEED_FILES = {"mnist", "gaussian_mnist", "lenet_features"}  # data that have to be fetched: no example


def public_objects() -> dict[str, object]:
    """What the API reference lists, by its name there."""
    names = {name: getattr(eulermeans, name) for name in eulermeans.__all__}
    found = {name: value for name, value in names.items() if not isinstance(value, str | ModuleType)}
    found |= {f"plot.{name}": getattr(plot, name) for name in plot.__all__}
    found |= {f"datasets.{name}": value for name in datasets.__all__ if callable(value := getattr(datasets, name))}
    return found


OBJECTS = public_objects()


def doctests(name: str) -> list[doctest.DocTest]:
    """The examples of the object and of its own methods."""
    return [test for test in doctest.DocTestFinder(recurse=True).find(OBJECTS[name], name) if test.examples]


@pytest.mark.parametrize("name", OBJECTS)
def test_the_examples_of_a_docstring_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tests = doctests(name)
    if name.removeprefix("datasets.") not in NEED_FILES:
        assert any(test.name == name for test in tests), "there is no example"
    printed: list[str] = []
    for test in tests:
        test.globs = {}  # an example imports what it uses
        doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(test, out=printed.append)
    plt.close("all")
    assert not printed, "".join(printed)


@pytest.mark.parametrize("name", [name for name, value in OBJECTS.items() if inspect.isfunction(value)])
def test_every_parameter_is_described(name):
    function = OBJECTS[name]
    described = inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters:
        assert f"{parameter} : " in described, parameter


@pytest.mark.parametrize("name", ["EulerMeans", "SizedMeans", "StochasticBackwardEuler"])
def test_every_parameter_of_an_estimator_is_described(name):
    described = inspect.getdoc(OBJECTS[name]).partition("Attributes\n")[0]
    heads = [line.split(" : ")[0] for line in described.splitlines() if " : " in line]
    words = {word for head in heads for word in head.split(", ")}
    assert words >= set(inspect.signature(OBJECTS[name]).parameters)

"""The command."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from eulermeans.cli import app
from eulermeans.optional import MissingExtra
from eulermeans.paper import experiment_data


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_reproduce_shows_the_verdicts_and_names_the_page(tmp_path):
    result = run("reproduce", "landscape", "iris", "--runs", 2, "--jobs", 1, "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert "SBE's step leaves the valley" in result.output
    assert "Iris (3.2), 2 runs" in result.output
    assert str(tmp_path / "index.html") in result.output
    assert (tmp_path / "iris" / "iris.png").is_file()


def test_an_unknown_name_is_refused(tmp_path):
    result = run("reproduce", "table4", "--output", tmp_path)
    assert result.exit_code == 2
    assert "table4" in result.output
    assert "sensitivity" in result.output


def test_what_is_missing_does_not_stop_the_others(tmp_path, monkeypatch):
    def no_torch(seed):
        raise MissingExtra('this needs torch: pip install "eulermeans[paper]"')

    monkeypatch.setitem(experiment_data.LOADERS, "lenet_features", no_torch)
    result = run("reproduce", "table3", "landscape", "--output", tmp_path)
    assert result.exit_code == 1
    assert 'table3: this needs torch: pip install "eulermeans[paper]"' in result.output
    assert (tmp_path / "landscape" / "landscape.svg").is_file()


def test_missing_data_say_where_they_belong(tmp_path, monkeypatch):
    monkeypatch.setenv("EULERMEANS_DATA", str(tmp_path / "nothing"))
    result = run("reproduce", "table2", "--output", tmp_path)
    assert result.exit_code == 1
    assert "EULERMEANS_DATA" in result.output


@pytest.mark.parametrize("arguments", [("--help",), ("reproduce", "--help"), ("demo", "--help")])
def test_help(arguments):
    assert run(*arguments).exit_code == 0


def test_the_demo_still_escapes(tmp_path):
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert "EM's minimum" in result.output
    assert (tmp_path / "escape.png").is_file()

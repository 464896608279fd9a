"""The root command, its help texts, and the commands `demo` and `reproduce`."""

from __future__ import annotations

import inspect
import re

import pytest
import typer
from cli_running import app
from typer.testing import CliRunner

import eulermeans
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


def test_a_missing_package_does_not_stop_the_other_experiments(tmp_path, monkeypatch):
    def no_torch(seed):
        raise MissingExtra("this needs torch: pip install torch")

    monkeypatch.setitem(experiment_data.LOADERS, "lenet_features", no_torch)
    result = run("reproduce", "table3", "landscape", "--output", tmp_path)
    assert result.exit_code == 1
    assert "table3: this needs torch: pip install torch" in result.output
    assert (tmp_path / "landscape" / "landscape.svg").is_file()


def test_missing_data_names_the_environment_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("EULERMEANS_DATA", str(tmp_path / "nothing"))
    result = run("reproduce", "table2", "--output", tmp_path)
    assert result.exit_code == 1
    assert "EULERMEANS_DATA" in result.output


COMMANDS = typer.main.get_command(app).commands


def test_the_root_help_lists_all_commands_and_exit_codes():
    result = run("--help")
    assert result.exit_code == 0
    for name in ("fit", "sweep", "predict", "score", "report", "info", "demo", "reproduce"):
        assert re.search(rf"^\W*{name} +[A-Z]", result.output, re.MULTILINE), name
    assert "Exit codes: 0 success" in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_explains_every_option(name):
    result = run(name, "--help")
    assert result.exit_code == 0
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", result.output).split())
    assert inspect.cleandoc(COMMANDS[name].help).splitlines()[0][:60] in shown
    for parameter in COMMANDS[name].params:
        assert max(parameter.opts, key=len) in result.output or parameter.metavar in result.output
        assert re.match("[A-Z].*[.]$", parameter.help), parameter.help
    assert "<bool>" not in re.sub(r"--help .*", "", shown)  # flags take no value


def test_the_version_is_printed():
    assert run("--version").output == f"eulermeans {eulermeans.__version__}\n"


def test_the_demo_still_escapes(tmp_path):
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert "EM's minimum" in result.output
    assert (tmp_path / "escape.png").is_file()

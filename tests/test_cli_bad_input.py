"""Errors in data, models and arguments are reported in one line on stderr, with exit code 2."""

from __future__ import annotations

import re

import numpy as np
import pytest
from broken_files import BROKEN, GOOD
from cli_running import run

from eulermeans.cli import input_data


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_gives_one_line(name, tmp_path, capsys):
    make, message, arguments = BROKEN[name]
    path, model = make(tmp_path), tmp_path / "model.eulermeans"
    ended = run(capsys, "fit", path, "-k", 3, "-q", "-o", model, *arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("eulermeans: ")
    assert re.search(message, ended.err), ended.err
    assert not model.exists()


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(GOOD)
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "DATA"], "Missing option '--clusters' / '-k'. See: eulermeans fit --help"),
        (["fit", "-k", 3], "Missing argument 'DATA'"),
        (["fit", "DATA", "-k", 0], "'--clusters' / '-k'"),
        (["fit", "DATA", "-k", "many"], "'--clusters' / '-k'"),
        (["fit", "DATA", "-k", 3, "--scale", "big"], "'--scale'"),
        (["fit", "DATA", "-k", 3, "--colour"], "No such option: --colour|No such option '--colour'"),
        (["fit", "DATA", "-k", 3, "--memory", "lots"], "'lots' is not a memory size"),
        (["fit", "DATA", "-k", 3, "--memory", "1kB"], "--memory 1000 bytes is too small"),
        (["fit", "DATA", "-k", 3, "-o", "FOLDER/none/m.eulermeans"], "there is no folder"),
        (["fit", "DATA", "-k", 3, "--labels", "FOLDER/labels.xlsx"], "suffix must be one of .csv, .tsv"),
        (
            ["fit", "DATA", "-k", 3, "--labels", "FOLDER/labels.npy", "--id", "a"],
            "a .npy file can only hold labels",
        ),
        (["fit", "DATA", "-k", 3, "--report", "FOLDER/report.pdf"], "suffix must be one of .html, .htm"),
        (["fit", "DATA", "-k", 3, "--report", "FOLDER/none/report.html"], "there is no folder"),
        (["fit", "DATA", "-k", 3, "--id", "a"], "--id needs --labels or --report"),
        (["fit", "DATA", "-k", 3, "--id", "key", "--labels", "FOLDER/l.csv"], "has no column key"),
        (["sweep", "DATA", "-k", "many"], "n_clusters must be values of K from 1 on.*'2:20'"),
        (["sweep", "DATA", "--plot", "FOLDER/s.doc"], "suffix must be one of .png, .svg, .pdf"),
        (["predict", "FOLDER/no.eulermeans", "DATA"], "no.eulermeans: no such file or directory"),
        (["predict", "DATA", "DATA"], "data.csv is not an eulermeans model file"),
        (["info", "DATA"], "data.csv is not an eulermeans model file"),
        (["score", "DATA", "DATA"], "data.csv is not an eulermeans model file"),
        (["fti", "DATA"], "No such command 'fti'"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_wrong_usage_gives_one_line(arguments, message, data, tmp_path, capsys):
    given = [str(a).replace("DATA", str(data)).replace("FOLDER", str(tmp_path)) for a in arguments]
    ended = run(capsys, *given)
    assert ended.code == 2
    lines = [line for line in ended.err.splitlines() if "reading" not in line]
    assert len(lines) == 1, ended.err
    assert re.search(message, lines[0]), lines


def test_data_that_does_not_match_the_model(data, tmp_path, capsys):
    model = tmp_path / "data.eulermeans"
    assert run(capsys, "fit", data, "-k", 3, "-q", "-o", model).code == 0
    other = tmp_path / "other.csv"
    other.write_text("a,c\n1,2\n")
    ended = run(capsys, "predict", model, other, "-q")
    assert ended.code == 2
    assert "has no column b, which the model needs; it has a, c" in ended.err
    np.save(tmp_path / "other.npy", np.zeros((5, 3)))
    ended = run(capsys, "score", model, tmp_path / "other.npy", "-q")
    assert ended.code == 2
    assert "has 3 features; the model expects 2" in ended.err


def test_debug_shows_the_traceback(tmp_path, capsys):
    ended = run(capsys, "fit", tmp_path / "nothing.csv", "-k", 3, "-q", "--debug")
    assert ended.code == 2
    assert "Traceback" in ended.err
    assert ended.err.splitlines()[-1] == f"eulermeans: no such file: {tmp_path / 'nothing.csv'}."


def test_a_bug_is_reported_as_a_bug(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(input_data, "TableFiles", lambda path, options: {}["oops"])
    ended = run(capsys, "fit", data, "-k", 3, "-q", "-o", tmp_path / "m.eulermeans")
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert "KeyError: 'oops'. This is a bug in eulermeans; --debug shows the traceback" in ended.err


def test_control_characters_do_not_reach_the_terminal(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text("a,\x1b[31mred\n1,x\n2,y\n3,z\n")
    ended = run(capsys, "fit", path, "-k", 2, "-q")
    assert ended.code == 2
    assert "\x1b" not in ended.err
    assert "?[31mred" in ended.err

"""`eulermeans certify`, and `--certify` of fit and report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from cli_running import program, run
from sklearn.datasets import load_iris

from eulermeans.certificate import methods


@pytest.fixture(autouse=True)
def little_work(monkeypatch):
    """Stop early: the work ends by its results, not by the clock."""
    monkeypatch.setattr(methods, "CLOSED", 0.005)


@pytest.fixture
def iris(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savetxt("iris.csv", load_iris().data, delimiter=",", header="a,b,c,d", comments="")
    assert run(capsys, "fit", "iris.csv", "-k", 3, "-q").code == 0
    return tmp_path


def test_certify_says_it_in_a_sentence(iris, capsys):
    ended = run(capsys, "certify", "iris.eulermeans", "iris.csv", "--max-time", 600)
    assert ended.code == 0
    assert ended.out.startswith("The inertia 78.8514 is at most 0.")
    assert "proven" in ended.out
    assert "certifying" in ended.err


def test_certify_as_json(iris, capsys):
    found = json.loads(run(capsys, "certify", "iris.eulermeans", "iris.csv", "--json", "-q").out)
    assert found["proven"] is True
    assert found["confidence"] is None
    assert found["gap"] < 0.01
    assert found["lower_bound"] <= found["inertia"] == pytest.approx(78.8514, rel=1e-5)


def test_scaled_models_are_certified_in_scaled_units(iris, capsys):
    assert run(capsys, "fit", "iris.csv", "-k", 3, "--scale", "standard", "-o", "s.eulermeans", "-q").code == 0
    found = json.loads(run(capsys, "certify", "s.eulermeans", "iris.csv", "--json", "-q", "--max-time", 600).out)
    assert found["inertia"] == pytest.approx(139.82, rel=1e-4)
    assert found["gap"] < 0.05


def test_fit_with_a_certificate_and_a_report(iris, capsys):
    ended = run(capsys, "fit", "iris.csv", "-k", 2, "--certify", 600, "--report", "r.html", "--json", "-q")
    sentence = json.loads(ended.out)["certificate"]["sentence"]
    assert "proven" in sentence
    page = (iris / "r.html").read_text(encoding="utf-8")
    assert sentence in page
    assert "figure-certificate" in page
    assert sentence in run(capsys, "fit", "iris.csv", "-k", 2, "--certify", 600, "-q").out.replace("\n", " ")


def test_report_with_and_without_a_certificate(iris, capsys):
    assert run(capsys, "report", "iris.eulermeans", "iris.csv", "-o", "r.html", "-q", "--certify", 1).code == 0
    page = (iris / "r.html").read_text(encoding="utf-8")
    assert "above the optimum, proven" in page
    assert "Lower bound on the optimum" in page
    assert run(capsys, "report", "iris.eulermeans", "iris.csv", "-o", "r.html", "-q").code == 0
    assert "above the optimum" not in (iris / "r.html").read_text(encoding="utf-8")


def test_ctrl_c_gives_the_best_so_far(iris, capsys):
    points = np.random.default_rng(0).standard_normal((5000, 8))
    np.save("points.npy", points)
    assert run(capsys, "fit", "points.npy", "-k", 8, "-q").code == 0
    command = program("certify", "points.eulermeans", "points.npy", "--max-time", 300)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        for line in running.stderr:
            if "lower bound" in line:
                break
        time.sleep(0.5)
        os.kill(running.pid, signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "bound" in out or "optimum" in out


def test_wrong_confidence(iris, capsys):
    ended = run(capsys, "certify", "iris.eulermeans", "iris.csv", "--confidence", 2)
    assert ended.code == 2
    assert "confidence must be between 0 and 1" in ended.err

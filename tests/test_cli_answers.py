"""What is answered at once, and what the terminal shows: imports, help texts and tables of 80 columns."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import typer
from cli_running import app, run

from eulermeans.storage.model_summary import read_summary
from eulermeans.storage.models import read_model

report = import_module("eulermeans.report")  # the room, not what the package calls so
SLOW = ["sklearn", "scipy", "matplotlib", "pandas", "pyarrow", "eulermeans.sources"]
SLOWER_THAN_AN_ERROR = [*SLOW, "numpy", "rich.console"]
MODEL = Path(__file__).parent / "fixtures" / "format-1-scaled.eulermeans"
# Modules that Python has imported when such a command ends, and when an error ends it. Most of them are of typer;
# our own commands are imported one at a time.
MOST_MODULES, MOST_FOR_AN_ERROR = 470, 320

COUNT_IMPORTS = """
import sys
from eulermeans.__main__ import main
try:
    main()
finally:
    print(len(sys.modules), *(name for name in %r if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", str(MODEL)],
        ["info", "none.eulermeans"],
        ["fit", "none.csv", "-k", "3"],
        ["fit", "none.csv", "-k", "3", "--labels", "l.csv", "--centers", "c.csv"],
        ["sweep", "none.csv"],
        ["predict", "none.eulermeans", "none.csv"],
        ["predict", str(MODEL), "none.csv"],
        ["score", str(MODEL), "none.csv"],
        ["certify", str(MODEL), "none.csv"],
        ["report", str(MODEL), "none.csv", "-o", "r.html"],
        ["--help"],
        ["fit", "--help"],
    ],
    ids=" ".join,
)
def test_answers_that_need_no_clustering_import_little(arguments, tmp_path):
    missing = re.search(r"\bnone\.", " ".join(arguments)) is not None
    program = [sys.executable, "-c", COUNT_IMPORTS % (SLOWER_THAN_AN_ERROR if missing else SLOW), *arguments]
    # No limit of time: what is imported is counted, and a starved machine may take minutes to import it.
    ended = subprocess.run(
        program, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ended.returncode == (2 if missing else 0), ended.stderr
    assert ("none." in ended.stderr) == missing
    n_modules, *slow = ended.stderr.splitlines()[-1].split()
    assert slow == []
    assert int(n_modules) < (MOST_FOR_AN_ERROR if missing else MOST_MODULES)


def test_info_shows_what_the_loaded_model_has(tmp_path, capsys):
    """`info` reads the file by itself."""
    quick, whole = read_summary(MODEL), read_model(MODEL).summary
    for name in ("kind", "n_clusters", "n_features", "feature_names", "objective", "inertia", "n_iter", "scaler"):
        assert getattr(quick, name) == getattr(whole, name), name
    assert quick.stop_reason is whole.stop_reason
    np.testing.assert_allclose(quick.centers, whole.centers)
    np.testing.assert_array_equal(quick.weights, whole.weights)
    assert quick.notes == whole.notes
    assert json.loads(run(capsys, "info", MODEL, "--json").out)["n_clusters"] == whole.n_clusters


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_info_undoes_the_scaling(scale, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", np.random.default_rng(0).normal([5, -900], [0.1, 40], (200, 2)))
    assert run(capsys, "fit", "t.npy", "-k", 3, "--scale", scale, "-q").code == 0
    np.testing.assert_allclose(read_summary("t.eulermeans").centers, read_model("t.eulermeans").centers)


def test_the_seconds_are_those_of_the_fit(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", np.random.default_rng(0).normal(size=(300, 2)))
    clock = iter(np.arange(0.0, 9e9, 1000.0))  # a command that takes hours, but for the fit
    monkeypatch.setattr("eulermeans.cli.progress.time.monotonic", lambda: next(clock))
    found = json.loads(run(capsys, "fit", "t.npy", "-k", 2, "--json", "-q").out)
    assert found["seconds"] < 500


# Help


COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_flags_show_no_type(name, capsys):
    ended = run(capsys, *([name] if name else []), "--help")
    assert ended.code == 0
    assert "<bool>" not in ended.out


def test_help_texts_are_those_of_the_command():
    """A text that names another option is about an option that the command has."""
    for name, command in COMMANDS.items():
        options = {option for parameter in command.params for option in parameter.opts}
        for parameter in command.params:
            assert set(re.findall(r"--[a-z][a-z-]+", parameter.help)) <= options, f"{name} {parameter.name}"


# Tables


def test_the_table_has_the_features_that_separate_best_and_fits_80_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 600)
    points = rng.normal(size=(600, 30))
    points[:, 17] += 60 * kind
    points[:, 4] += 30 * (kind == 1)
    names = [f"a feature with a rather long name, number {i}" for i in range(30)]
    pyarrow.parquet.write_table(pa.table(dict(zip(names, points.T, strict=True))), "t.parquet")
    ended = run(capsys, "fit", "t.parquet", "-k", 3, "-q")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    table = lines[2 : next(i for i, line in enumerate(lines) if line.startswith("The 4 of 30 features"))]
    assert max(map(len, table)) <= 80
    summary = read_summary("t.eulermeans")
    assert summary.by_separation[:2] == [17, 4]
    told = run(capsys, "info", "t.eulermeans").out
    assert "that separate the clusters best; --json and --centers have all" in told


def test_large_and_tiny_numbers_are_legible(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns = {"income": [20_000.0, 20_001, 60_000, 60_002], "x": [0.0, 0, 1, 1]}
    pyarrow.parquet.write_table(pa.table(columns), "t.parquet")
    ended = run(capsys, "fit", "t.parquet", "-k", 2, "-q", "--scale", "standard")
    assert "60,001" in ended.out
    assert "e-1" not in ended.out.partition("centers, in")[2]  # what is left over when the scaling is undone


# Reports of images and of sweeps


def test_a_report_of_images(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", np.random.default_rng(0).random((60, 12)))
    given = []
    monkeypatch.setattr(report, "write", lambda *a, **options: given.append(options["image_shape"]))
    assert run(capsys, "fit", "t.npy", "-k", 2, "-q", "--report", "r.html", "--image-shape", "3x4").code == 0
    assert run(capsys, "report", "t.eulermeans", "t.npy", "-q", "-o", "r.html", "--image-shape", "2X2x3").code == 0
    options = ["-k", "2:3", "--report", "r.html", "--image-shape", "3x4"]
    assert run(capsys, "sweep", "t.npy", "-q", *options).code == 0
    assert given == [(3, 4), (2, 2, 3), (3, 4)]


def test_a_sweep_writes_a_report_on_the_recommended_number(tmp_path, monkeypatch, capsys, blobs):
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", blobs)
    ended = run(capsys, "sweep", "t.npy", "-k", "4:6", "-q", "--report", "r.html", "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert (found["recommended"], found["report"]) == (5, "r.html")
    assert "eulermeans sweep t.npy" in Path("r.html").read_text(encoding="utf-8")


def test_the_report_gets_the_sweep(tmp_path, monkeypatch, capsys, blobs):
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", blobs)
    given = []

    def write(*arguments, sweep=None, **options):
        given.append(sweep.recommended)

    monkeypatch.setattr(report, "write", write)
    assert run(capsys, "sweep", "t.npy", "-k", "4:6", "-q", "--report", "r.html").code == 0
    assert run(capsys, "fit", "t.npy", "-k", "4:6", "-q", "--report", "r.html").code == 0
    assert given == [5, 5]

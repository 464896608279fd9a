"""The files of a command: outputs never replace inputs, and what can not be read or written is said."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from broken_files import GOOD
from cli_running import program, run

import eulermeans

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and links are POSIX's")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current folder, with data, a model, and links to both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text(GOOD)
    eulermeans.save(eulermeans.EulerMeans(2, random_state=0).fit(np.arange(20.0).reshape(-1, 2)), "m.eulermeans")
    (tmp_path / "page.html").write_text("<html>")
    (tmp_path / "link.csv").symlink_to("d.csv")
    (tmp_path / "hard.csv").hardlink_to("d.csv")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "up.csv").symlink_to("../d.csv")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


FIT = ["fit", "d.csv", "-k", 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*FIT, "-o", "d.csv"], "--output d.csv is also DATA, which it would overwrite"),
        ([*FIT, "--labels", "d.csv"], "--labels d.csv is also DATA"),
        ([*FIT, "--labels", "sub/../d.csv"], "is also DATA"),
        ([*FIT, "--labels", "link.csv"], "--labels link.csv is also DATA"),
        ([*FIT, "--labels", "hard.csv"], "--labels hard.csv is also DATA"),
        ([*FIT, "--labels", "sub/up.csv"], "is also DATA"),
        (["fit", "link.csv", "-k", 2, "--labels", "d.csv"], "--labels d.csv is also DATA"),
        (["fit", "[dl]*.csv", "-k", 2, "--labels", "d.csv"], "--labels d.csv is also DATA"),
        ([*FIT, "-o", "x.html", "--report", "x.html"], "--output and --report are the same file"),
        ([*FIT, "-o", "sub/../x.csv", "--labels", "x.csv"], "--output and --labels are the same file"),
        ([*FIT, "-o", "page.html", "--report", "page.html"], "--output and --report are the same file"),
        (["predict", "m.eulermeans", "d.csv", "-o", "d.csv"], "--output d.csv is also DATA"),
        (["predict", "m.eulermeans", "d.csv", "-o", "link.csv"], "--output link.csv is also DATA"),
        (["predict", "d.csv", "link.csv", "-o", "hard.csv"], "--output hard.csv is also DATA"),
        (["report", "page.html", "d.csv", "-o", "page.html"], "--output page.html is also MODEL"),
        (["sweep", "d.csv", "-o", "d.csv"], "--output d.csv is also DATA"),
        (["sweep", "d.csv", "-o", "x.png", "--plot", "x.png"], "--output and --plot are the same file"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
@posix
def test_no_output_replaces_an_input_or_another_output(arguments, message, folder, capsys):
    before = contents(folder)
    ended = run(capsys, *arguments, *([] if "sweep" in arguments else ["-q"]))
    assert ended.code == 2
    assert re.search(message, ended.err), ended.err
    assert contents(folder) == before


@posix
@pytest.mark.parametrize("command", [["fit", "-", "-k", "2"], ["predict", "m.eulermeans", "-"]])
def test_stdin_may_be_a_file_too(command, folder):
    with (folder / "d.csv").open("rb") as data:
        ended = subprocess.run(program(*command, "-o", "link.csv"), stdin=data, capture_output=True, check=False)
    assert ended.returncode == 2
    assert b"--output link.csv is also DATA" in ended.stderr
    assert (folder / "d.csv").read_text() == GOOD


def test_a_file_of_a_zarr_folder_is_part_of_the_data(folder, capsys):
    zarr = pytest.importorskip("zarr")
    zarr.open("d.zarr", mode="w", shape=(50, 2), chunks=(10, 2), dtype="f8")[:] = np.arange(100.0).reshape(50, 2)
    before = contents(folder)
    for name in ("zarr.json", "new.eulermeans"):
        ended = run(capsys, "fit", "d.zarr", "-k", 2, "-q", "-o", f"d.zarr/{name}")
        assert ended.code == 2
        assert "is inside DATA" in ended.err
    assert contents(folder) == before


@posix
def test_files_that_differ_are_written(folder, capsys):
    """Those that exist are replaced, also where links lead to them."""
    (folder / "old.csv").write_text("old")
    (folder / "to-old.csv").symlink_to("old.csv")
    files = ["-o", "n.eulermeans", "--labels", "to-old.csv"]
    assert run(capsys, *FIT, "-q", *files).code == 0
    assert run(capsys, *FIT, "-q", *files).code == 0
    assert (folder / "old.csv").read_text().startswith("cluster\n")
    assert run(capsys, "predict", "n.eulermeans", "d.csv", "-q", "-o", "to-old.csv").code == 0

"""The files of a command: outputs never replace inputs, and what can not be read or written is said."""

from __future__ import annotations

import csv
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.feather
import pyarrow.parquet
import pytest
from broken_files import GOOD
from cli_running import program, run

import eulermeans
from eulermeans.cli.column_choice import choose_columns
from eulermeans.cli.selection import Selection
from eulermeans.sources import TableColumn, csv_file

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and links are POSIX's")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current folder, with data, a model, and links to both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text(GOOD)
    eulermeans.save(eulermeans.EulerMeans(2, random_state=0).fit(np.arange(20.0).reshape(-1, 2)), "m.eulermeans")
    np.save(tmp_path / "d.npy", np.arange(100.0).reshape(50, 2))
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


# What is not a file


@posix
@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.parquet", "d.arrow", "d.npy", "d.npz"])
@pytest.mark.parametrize("special", ["pipe", "device"])
def test_a_pipe_or_a_device_behind_the_name_of_a_file(name, special, tmp_path, capsys):
    """Opening the pipe would wait for ever, and /dev/zero never ends."""
    path = tmp_path / name
    if special == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    for data in (path, tmp_path / f"*{path.suffix}"):
        ended = run(capsys, "fit", data, "-k", 2, "-q", "-o", tmp_path / "m.eulermeans")
        assert ended.code == 2
        assert f"{path} is a pipe or a device" in ended.err


@posix
def test_a_model_that_is_a_pipe(folder, capsys):
    os.mkfifo("pipe.eulermeans")
    ended = run(capsys, "info", "pipe.eulermeans")
    assert ended.code == 2
    assert "is a pipe or a device" in ended.err


@posix
def test_a_model_is_written_into_a_pipe(folder):
    """As into any file that is not a regular one."""
    os.mkfifo("pipe.eulermeans")
    with subprocess.Popen(program(*FIT, "-q", "-o", "pipe.eulermeans"), stdout=subprocess.DEVNULL) as running:
        content = Path("pipe.eulermeans").read_bytes()
    assert running.returncode == 0
    Path("new.eulermeans").write_bytes(content)
    assert eulermeans.load("new.eulermeans").n_clusters == 2


def test_a_field_longer_than_the_csv_module_allows(tmp_path, capsys):
    path = tmp_path / "d.csv"
    path.write_text("a,text\n" + "".join(f"{i},{200_000 * 'x'}\n" for i in range(3)))
    ended = run(capsys, "fit", path, "-k", 2, "-q", "--drop", "text", "-o", tmp_path / "m.eulermeans")
    assert ended.code == 2
    assert "can't read the first lines of" in ended.err
    assert "field larger than field limit (131072)" in ended.err


def test_a_line_without_end(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(csv_file, "_LONGEST_LINE", 1000)
    path = tmp_path / "d.csv"
    path.write_bytes(bytes(5000))
    ended = run(capsys, "fit", path, "-k", 2, "-q", "-o", tmp_path / "m.eulermeans")
    assert ended.code == 2
    assert "has a line of more than 1000 characters" in ended.err


# Standard streams that are closed or full


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["sh", "-c", command], capture_output=True, check=False, timeout=120)


@posix
@pytest.mark.parametrize("arguments", ["info m.eulermeans", "predict m.eulermeans d.npy -q", "--version"])
def test_a_closed_stdout(arguments, folder):
    ended = shell(f"{shlex.join(program())} {arguments} >&-")
    assert ended.returncode == 1
    assert ended.stderr.decode() == "eulermeans: can't write the result: stdout is closed.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_stdout(folder):
    ended = shell(f"{shlex.join(program())} predict m.eulermeans d.npy -q > /dev/full")
    assert ended.returncode == 1
    assert ended.stderr.decode() == "eulermeans: reading or writing failed: no space left on device.\n"


@posix
def test_a_closed_stderr_and_stdin(folder):
    ended = shell(f"{shlex.join(program())} predict m.eulermeans d.csv 2>&- <&-")
    assert ended.returncode == 0
    assert ended.stdout.decode().splitlines()[0] == "cluster"
    assert len(ended.stdout.splitlines()) == 51
    ended = shell(f"{shlex.join(program())} predict m.eulermeans none.csv 2>&-")
    assert (ended.returncode, ended.stdout) == (2, b"")


@posix
def test_no_file_takes_the_number_of_a_closed_stream(folder):
    """A model that is written as file 1 would get what is printed."""
    ended = shell(f"{shlex.join(program(*FIT))} -o new.eulermeans -q <&- >&- 2>&-")
    assert ended.returncode == 1
    assert eulermeans.load("new.eulermeans").n_clusters == 2


@posix
def test_a_closed_stdin_has_no_data(folder):
    ended = shell(f"{shlex.join(program())} fit - -k 2 -q <&-")
    assert ended.returncode == 2
    assert b"stdin is empty" in ended.stderr


# Ids


@pytest.mark.parametrize("name", ["l.csv", "l.tsv", "l.parquet", "l.arrow"])
def test_ids_are_written_as_they_are(name, folder, capsys):
    """Also those that a spreadsheet takes for formulas: docs/command.md says so."""
    ids = ["=1+2", "+1", "-1", "@a", 'a "quoted", one', "line\nbreak", "007"]
    rows = [f'"{each.replace(chr(34), 2 * chr(34))}",{i},{i}' for i, each in enumerate(ids)]
    (folder / "ids.csv").write_text("\n".join(["id,a,b", *rows]) + "\n")
    assert run(capsys, "fit", "ids.csv", "-k", 2, "-q", "--id", "id", "--labels", name).code == 0
    if name.endswith("sv"):
        with (folder / name).open(newline="") as file:
            found = [row[0] for row in csv.reader(file, delimiter="," if name == "l.csv" else "\t")][1:]
    else:
        read = pyarrow.parquet.read_table if name == "l.parquet" else pyarrow.feather.read_table
        found = read(name).column("id").to_pylist()
    assert found == ids


def test_null_characters_beside_the_labels(folder, capsys):
    table = pyarrow.table({"a": [0.0, 1.0], "b": [1.0, 2.0], "name": ["x\0y", "z"]})
    pyarrow.parquet.write_table(table, "named.parquet")
    arguments = ["predict", "m.eulermeans", "named.parquet", "--id", "name", "-o"]
    ended = run(capsys, *arguments, "labels.csv")
    if sys.version_info >= (3, 11):
        assert (folder / "labels.csv").read_text().splitlines()[1].startswith("x\0y,")
    else:  # where the module csv can't write them
        assert ended.code == 2
        assert "a text contains a null character" in ended.err
        assert not (folder / "labels.csv").exists()
    assert run(capsys, *arguments, "labels.parquet").code == 0
    assert pyarrow.parquet.read_table("labels.parquet")["name"].to_pylist() == ["x\0y", "z"]


# Many columns


class Name(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("given", ["nothing", "columns", "drop", "model"])
def test_columns_are_chosen_in_time_linear_in_their_number(given):
    names, others = ([Name(f"column {i}") for i in range(3000)] for _ in range(2))
    files = SimpleNamespace(path="d.csv", columns=[TableColumn(name, "double", True) for name in names])
    files.has_header = True
    files.identifiers = lambda: others[:1000] if given == "nothing" else []
    columns, drop = (others if given == "columns" else None), (others[1:] if given == "drop" else None)
    Name.compared = 0
    selected = Selection("d.csv", columns, drop)
    chosen = choose_columns(selected, files, others if given == "model" else None).names
    assert len(chosen) == {"drop": 1, "nothing": 2000}.get(given, 3000)
    assert Name.compared < 10 * len(names)

"""Progress and Ctrl-C, tested with real programs, signals and terminals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cli_running import program, run, run_program

import eulermeans
from eulermeans import Record, StopReason
from eulermeans.cli.errors import Interrupt
from eulermeans.cli.estimator_fit import FitObserver
from eulermeans.cli.progress import Progress
from eulermeans.cli.terminal_text import duration, one_line, short, sparkline

pty = pytest.importorskip("pty")


@pytest.fixture
def data(tmp_path) -> Path:
    path = tmp_path / "data.npy"
    np.save(path, np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32))
    return path


# Ctrl-C


def interrupted(data: Path, after: str, command: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run endless work and send it SIGINT once stderr matches `after`."""
    command = program(command, data.name, *arguments)
    said = data.parent / "stderr"
    with (
        said.open("wb") as stderr,
        subprocess.Popen(command, cwd=data.parent, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        while not re.search(after, said.read_text()):
            assert process.poll() is None, said.read_text()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, said.read_text())


@pytest.mark.parametrize("memory", ["1GiB", "200kB"])  # 200 kB: interrupted within a pass
def test_ctrl_c_writes_a_model(memory, data):
    arguments = ["-k", 40, "--effort", 1e5, "--memory", memory, "--json", "--labels", "labels.csv"]
    ended = interrupted(data, r"20,000 rows", "fit", *arguments)
    assert ended.returncode == 130, ended.stderr
    assert json.loads(ended.stdout)["interrupted"] is True
    model = eulermeans.load(data.with_suffix(".eulermeans"))
    assert model.stop_reason_ is StopReason.CALLBACK
    assert len(model.history_) >= 1
    points = np.load(data)
    assert set(np.unique(model.predict(points))) <= set(range(40))
    assert -model.score(points) < 0.75 * np.sum(
        (points - points.mean(axis=0)) ** 2
    )  # these are centers of the data
    assert not (data.parent / "labels.csv").exists()
    assert "Traceback" not in ended.stderr


def test_ctrl_c_in_a_sweep_reports_the_finished_part(data):
    ended = interrupted(data, "K = 3, objective", "sweep", "-k", "2:5000", "--json")
    assert ended.returncode == 130, ended.stderr
    result = json.loads(ended.stdout)
    assert result["interrupted"] is True
    assert [row["n_clusters"] for row in result["rows"]][:2] == [2, 3]
    assert result["recommended"] in range(2, 100)
    assert result["skipped"][-1] == 5000


def test_ctrl_c_before_there_are_centers(data):
    with subprocess.Popen(
        program("fit", "-", "-k", 3),
        cwd=data.parent,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(data.parent)},
    ) as process:
        assert "reading stdin" in process.stderr.readline()
        while not list(data.parent.glob("eulermeans-*/stdin")):  # it waits for input
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert rest == "eulermeans: stopped by Ctrl-C; no file was written.\n"
    assert list(data.parent.iterdir()) == [data]  # no model and no temporary file


def test_a_second_ctrl_c_raises_at_once():
    interrupt = Interrupt()
    with interrupt.listening():
        signal.raise_signal(signal.SIGINT)
        assert interrupt.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# Output


def test_a_live_line_on_a_terminal(data):
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        program("fit", data.name, "-k", 20, "--effort", 40, "--json"),
        cwd=data.parent,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while block := os.read(ours, 1 << 16):
                seen += block
        except OSError:  # Linux: the other end was closed
            pass
        out = process.stdout.read()
    os.close(ours)
    assert process.returncode == 0, seen
    assert json.loads(out)["n_rows"] == 20_000  # stdout has no part of the live line
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "reading data.npy" in text
    assert re.search(r"searching +step \d+ · objective [\d.]+ · [\d.]+[kM]? rows/s · [\d.]+ s", text), text[-2000:]
    assert re.search("[▁▂▃▄▅▆▇█]{2,}", text)
    assert seen.count(b"\x1b[2K") > 3  # the line is erased each time it is redrawn


def test_log_lines_without_a_terminal(data):
    ended = run_program("fit", data.name, "-k", 20, folder=data.parent)
    assert ended.code == 0
    assert "\x1b" not in ended.err + ended.out
    lines = ended.err.splitlines()
    assert re.fullmatch(r"eulermeans: \[0\.\d s\] reading data\.npy", lines[0])
    assert re.search(r"reading data\.npy, 20,000 rows, [\d.]+[kM] rows/s$", lines[1])
    assert [
        line for line in lines if re.search(r"searching, step \d+, objective [\d.]+, [\d.]+[kM] rows/s$", line)
    ]
    assert len(lines) < 15


def test_quiet(data, capsys):
    ended = run(capsys, "fit", data, "-k", 3, "-q", "-o", data.with_suffix(".eulermeans"))
    assert ended.code == 0
    assert ended.err == ""


def test_the_shell_completes_commands_options_and_files():
    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_EULERMEANS_COMPLETE": "complete_bash"}
        ended = subprocess.run(program(), env={**os.environ, **words}, capture_output=True, text=True, check=True)
        return ended.stdout.split()

    assert completed("eulermeans pre") == ["predict"]
    assert completed("eulermeans fit data.csv --sc") == ["--scale"]
    assert completed("eulermeans fit data.csv --scale m") == ["minmax"]
    assert completed("eulermeans fit da") == []  # the shell completes files itself


def test_help_and_completion_do_not_import_numpy():
    program = "import sys, eulermeans.__main__, eulermeans.cli; print({'numpy', 'sklearn'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


# Contents of the live line


def test_the_status_has_rows_and_time_left(capsys):
    progress = Progress("reading")
    progress.begin_pass(1000)
    progress.add_rows(250)
    name, rows, left, rate = progress.status()
    assert name == "reading"
    assert rows == "250 rows (25%)"
    assert rate.endswith("rows/s")
    assert left.endswith("left")
    progress.add_rows(900)  # more than estimated
    assert progress.status()[1] == "1,150 rows"
    progress.stop()
    assert progress.status()[0].startswith("stopping")


def test_the_status_of_a_phase_has_its_steps(capsys):
    progress = Progress("reading", max_time=100)
    progress.begin("polish")
    for step, objective in enumerate([8.0, 4.0, 2.0, 1.0], 1):
        progress.step(step, objective, 10)
    assert progress.status()[:3] == ["polishing", "step 4", "objective 1"]
    assert progress.status()[-1].startswith("at most")
    assert progress.sparkline(24) == "█▄▂▁"


def record(phase: str, objective: float) -> Record:
    return Record(phase, 1, objective, True, None, 0.0, 1)


@pytest.mark.parametrize(
    ("steps", "best"),
    [
        ([("search", 3), ("search", 2), ("search", 4)], 1),
        ([("search", 3), ("polish", 2), ("search", 4), ("polish", 2.5)], 1),  # the second restart is worse
        ([("search", 3), ("polish", 2), ("search", 4), ("polish", 1)], 3),
        ([("search", 3), ("descend", 5), ("descend", 6)], 2),  # each on a new batch
        ([("search", 3), ("descend", 5), ("polish", 6), ("finish", 7), ("finish", 6.5)], 4),
    ],
)
def test_the_best_centers_so_far_are_kept(steps, best):
    observer = FitObserver(Progress("fit", quiet=True), Interrupt())
    for number, (phase, objective) in enumerate(steps):
        observer.begin(phase)
        assert not observer.end(record(phase, objective), np.full((2, 2), float(number)))
    assert observer.centers[0, 0] == best


@pytest.mark.parametrize(
    ("formatted", "expected"),
    [
        (short(0), "0"),
        (short(999), "999"),
        (short(1234), "1.23k"),
        (short(999_999), "1M"),
        (short(2.5e12), "2.5T"),
        (duration(0.84), "0.8 s"),
        (duration(59.4), "59 s"),
        (duration(187), "3:07"),
        (duration(3729), "1:02:09"),
        (sparkline([1.0], 24), ""),
        (sparkline([1.0, 1.0], 24), "▁▁"),
        (sparkline(list(map(float, range(1000))), 8), "▁▂▃▄▅▆▇█"),
        (one_line("a\nb\x1b[1m"), "a b?[1m"),
    ],
)
def test_formatting(formatted, expected):
    assert formatted == expected

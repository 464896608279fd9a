"""Every command of the README runs as it is printed, one after the other, on data like those that it names."""

from __future__ import annotations

import csv
import gzip
import shlex
from pathlib import Path

import numpy as np
import pytest
from cli_running import run

README = Path(__file__).resolve().parents[1] / "README.md"


def printed_commands() -> list[str]:
    """The lines of the README's blocks that begin with the name of the command."""
    lines, is_inside = [], False
    for line in README.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_inside = not is_inside
        elif is_inside and line.startswith("eulermeans "):
            lines.append(line)
    return lines


def customers(n: int, seed: int) -> list[list[object]]:
    """Rows as a spreadsheet writes them in Germany: decimal commas, gaps, a number for each customer."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, n)
    age = np.array([22, 35, 50, 70])[kind] + rng.normal(size=n)
    spent = np.array([100, 2500, 900, 1500])[kind] + 50 * rng.normal(size=n)
    country = np.array(["DE", "FR", "IT", "DE"])[kind]
    rows: list[list[object]] = [["customer_id", "age", "spent", "country", "since"]]
    for i in range(n):
        gap = rng.random() < 0.05
        cells = ["" if gap else f"{age[i]:.1f}".replace(".", ","), f"{spent[i]:.2f}".replace(".", ",")]
        rows.append([1000 + i, *cells, country[i], f"2024-{1 + i % 12:02}-{1 + i % 28:02}"])
    return rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("customers.csv", "w", newline="", encoding="cp1252") as file:
        csv.writer(file, delimiter=";").writerows(customers(300, 0))
    with gzip.open("new.csv.gz", "wt", newline="") as file:
        csv.writer(file, delimiter=";").writerows(customers(40, 1))
    return tmp_path


def test_every_command_of_the_readme_runs(folder, capsys):
    commands = printed_commands()
    assert len(commands) >= 4
    assert {shlex.split(command)[1] for command in commands} >= {"fit", "sweep", "predict"}
    for command in commands:
        arguments = shlex.split(command, comments=True)[1:]
        if arguments[0] in ("demo", "reproduce"):  # tested where they are at home; they take minutes
            continue
        ended = run(capsys, *arguments)
        assert ended.code == 0, f"{command}\n{ended.err}"
    with (folder / "labeled.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 40
    assert "<svg" in (folder / "report.html").read_text(encoding="utf-8")

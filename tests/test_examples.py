"""Every example runs in miniature and prints what it promises."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name, folder, *options):
    """The output of the example, run in a folder of its own."""
    command = [sys.executable, EXAMPLES / name, "--small", *options]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert "Warning" not in ended.stderr
    return ended.stdout


def numbers(pattern, printed):
    found = re.search(pattern, printed)
    assert found, f"{pattern!r} is not in:\n{printed}"
    return [float(group) for group in found.groups()]


def is_drawn(path):
    """Whether the picture exists and has more than one color."""
    return imread(path)[..., :3].std() > 0.05


def test_colour_quantisation(tmp_path):
    printed = run("colour_quantisation.py", tmp_path, "--colors", "8", "--output", "eight.png")
    worst, best = numbers(r"EulerMeans +PSNR ([\d.]+) to ([\d.]+) dB", printed)
    _, others_best = numbers(r"KMeans +PSNR ([\d.]+) to ([\d.]+) dB", printed.split("\n", 2)[2])
    assert worst > 20
    assert best >= others_best - 0.05
    assert is_drawn(tmp_path / "eight.png")


def test_vector_search(tmp_path):
    printed = run("vector_search.py", tmp_path)
    line = r"^{} +error ([\d.]+) +[\d.]+ s +([\d.]+) of +([\d.]+)% +[\d.]+ of +[\d.]+% +([\d.]+) of"
    error, recall_of_one, read_of_one, recall_of_four = numbers("(?m)" + line.format("EulerMeans"), printed)
    others_error = numbers("(?m)" + line.format("KMeans"), printed)[0]
    assert error < others_error
    assert recall_of_one > 0.5  # from 2 % of the vectors
    assert read_of_one < 5
    assert recall_of_four > recall_of_one


def test_customer_segments(tmp_path):
    printed = run("customer_segments.py", tmp_path, "--output", "segments.png")
    assert "K = 5 is the largest K" in printed
    assert numbers(r"true kinds, scaled: ([\d.]+)", printed)[0] > 0.95
    assert numbers(r"true kinds, not scaled: ([\d.]+)", printed)[0] < 0.7
    spenders = numbers(r"(?m)^0 +([\d.]+) +([\d.]+) +[\d.]+ +([\d.]+)", printed)  # the first segment, in its units
    assert spenders == pytest.approx([0.1, 38, 4800], rel=0.1)
    assert is_drawn(tmp_path / "segments.png")


def test_out_of_core(tmp_path):
    printed = run("out_of_core.py", tmp_path)
    assert "40000 rows, 5 MB in memory; the limit is 2MB" in printed
    assert numbers(r"wrote (\d+) labels; the smallest cluster has (\d+) rows", printed) == [40000, 2000]
    assert numbers(r"objective [\d.]+, ([\d.]+) times that", printed)[0] < 1.01


def test_every_example_is_run_and_short():
    tested = re.findall(r'run\("(\w+\.py)"', Path(__file__).read_text())
    examples = sorted(EXAMPLES.glob("*.py"))
    assert sorted(tested) == [path.name for path in examples]
    for path in examples:
        source = path.read_text()
        assert len(source.splitlines()) < 80
        assert f"python examples/{path.name}" in (ast.get_docstring(ast.parse(source)) or "")


def test_balanced_lists(tmp_path):
    printed = run("balanced_lists.py", tmp_path)
    line = r"(?m)^{} +[\d.]+ s +lists (\d+) to (\d+), spread ([\d.]+) +recall ([\d.]+) +([\d.]+) +([\d.]+)"
    shortest, longest, spread, *_, found = numbers(line.format("SizedMeans"), printed)
    *_, plain_spread, _, _, plain_found = numbers(line.format("EulerMeans"), printed)
    assert shortest >= 53  # 66.7 in each on average, within 20 %
    assert longest <= 81
    assert spread < 0.5 * plain_spread
    assert found > plain_found - 0.05

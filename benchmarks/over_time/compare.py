"""The processor time of kernels and fits in two commits, as ratios: above 1, the later one is slower.

    python benchmarks/over_time/compare.py BASE [--new HEAD] [--only REGEX] [--rounds 5] [--factor 1.15]

Builds both commits into build/compare, for this machine alone; a commit that is there is not built again. Then
they are measured in turns, with one thread, so that both see the same load of the machine. A benchmark is slower
if the median of its ratios is above the factor and every ratio is above 1. An inertia is higher by 1 % or more. If
any is slower or higher, the exit code is 1.

The Python that runs this must have NumPy, SciPy and scikit-learn, and no eulermeans.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILDS = ROOT / "build" / "compare"
HIGHER = 1.01  # an inertia has no noise

Measured = dict[str, float]  # by the name of a benchmark


@dataclass(frozen=True)
class Ratio:
    """One benchmark in both commits."""

    name: str
    before: float  # the least of all rounds
    after: float
    ratios: tuple[float, ...]  # after / before, of each round

    def verdict(self, factor: float) -> str:
        """Whether the later commit is slower, faster, or neither."""
        median = statistics.median(self.ratios)
        if self.name.endswith("inertia"):
            return "HIGHER" if median > HIGHER else "lower" if median < 1 / HIGHER else ""
        if median > factor and min(self.ratios) > 1:
            return "SLOWER"
        return "faster" if median < 1 / factor and max(self.ratios) < 1 else ""


def compared(before: Sequence[Measured], after: Sequence[Measured]) -> list[Ratio]:
    """The ratios of all benchmarks that both commits have."""
    return [
        Ratio(
            name,
            min(measured[name] for measured in before),
            min(measured[name] for measured in after),
            tuple(new[name] / old[name] for old, new in zip(before, after, strict=True)),
        )
        for name in before[0]
        if name in after[0]
    ]


def table(ratios: Sequence[Ratio], factor: float) -> str:
    """A line for each benchmark."""
    width = max(len(ratio.name) for ratio in ratios)
    lines = [f"{'':{width}}  {'before':>10}  {'after':>10}  {'ratio':>6}  {'of all rounds':>13}"]
    for ratio in ratios:
        unit, scale = ("", 1.0) if ratio.name.endswith("inertia") else (" ms", 1e3)
        values = "  ".join(f"{f'{scale * value:.5g}{unit}':>10}" for value in (ratio.before, ratio.after))
        spread = f"{min(ratio.ratios):.2f} to {max(ratio.ratios):.2f}"
        median = statistics.median(ratio.ratios)
        line = f"{ratio.name:{width}}  {values}  {median:6.2f}  {spread:>13}  {ratio.verdict(factor)}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def build(commit: str) -> Path:
    """The folder with the package of the commit; it is built if it is not there."""
    folder = BUILDS / commit
    if folder.is_dir():
        return folder
    work = BUILDS / f"{commit}.part"
    shutil.rmtree(work, ignore_errors=True)
    (work / "source").mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "--extract", "--directory", work / "source"], input=archive, check=True)
    print(f"building {git('log', '-1', '--format=%h %s', commit)}", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--config-settings=cmake.define.EULERMEANS_SETS=native", "--target", work / "package"]
    subprocess.run(
        [*command, work / "source"], check=True, env=os.environ | {"SETUPTOOLS_SCM_PRETEND_VERSION": "0"}
    )
    (work / "package").rename(folder)
    shutil.rmtree(work)
    return folder


def measured(package: Path, only: str) -> Measured:
    """What a process of its own measures."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, Path(__file__).with_name("measure.py"), "--only", only]
    environment = os.environ | one_thread | {"PYTHONPATH": str(package)}
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    found: Measured = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="a tag, a branch, or any other name of a commit")
    parser.add_argument("--new", default="HEAD", help="the later commit (HEAD)")
    parser.add_argument("--only", metavar="REGEX", default="", help="benchmarks with such names")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--factor", type=float, default=1.15)
    options = parser.parse_args()
    commits = [git("rev-parse", "--verify", f"{name}^{{commit}}") for name in (options.base, options.new)]
    packages = [build(commit) for commit in commits]
    rounds: tuple[list[Measured], list[Measured]] = ([], [])
    for i in range(options.rounds):
        print(f"round {i + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for which in (0, 1) if i % 2 == 0 else (1, 0):
            rounds[which].append(measured(packages[which], options.only))
    ratios = compared(*rounds)
    if not ratios:
        sys.exit(f"no benchmark has a name with {options.only!r}")
    for word, commit in zip(("before:", "after: "), commits, strict=True):
        print(word, git("log", "-1", "--format=%h %cs %s", commit))
    print(table(ratios, options.factor))
    return int(any(ratio.verdict(options.factor).isupper() for ratio in ratios))


if __name__ == "__main__":
    sys.exit(main())

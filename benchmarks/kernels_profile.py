"""Where the time of one pass goes, function by function, as measured by Linux perf.

    python benchmarks/kernels_profile.py [--clusters 10 200] [--seconds 4]

60000×784 float32 on one thread: MNIST if the folder EULERMEANS_DATA has it, otherwise synthetic images. Needs perf
(package linux-perf or linux-tools). Samples by the CPU clock, which works on virtual machines too.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np
from kernels import centers_for, images, one_pass

from eulermeans import _core

# The part of a pass that a function belongs to, by the start of its name.
PARTS = {
    "distances or products with all centers": (
        "multiply",
        "NearestDirect<float>::",
        "NearestColumns<float, float>::",
    ),
    "choosing the nearest": ("NearestProduct<float, float",),
    "exact distance to the nearest": ("squared_distance",),
    "sums of a block": ("BlockSums<float>::add_long", "BlockSums<float>::add(", "__memset"),
    "adding up blocks": ("BlockSums<float>::add_up",),
}
OTHER = "reading rows, handing out blocks"


def passes(n_clusters: int, seconds: float) -> None:
    points = images()[1].astype(np.float32) / np.float32(255)
    run, end = one_pass(points, centers_for(points, n_clusters), 1), time.perf_counter() + seconds
    while time.perf_counter() < end:
        run()


def part_of(function: str) -> str:
    for part, names in PARTS.items():
        if function.startswith(names):
            return part
    return OTHER


def profile(n_clusters: int, seconds: float) -> dict[str, float]:
    """The share of each part in the samples of the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        passing = [sys.executable, __file__, "--pass", str(n_clusters), "--seconds", str(seconds)]
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-o", data, *passing]
        subprocess.run(record, check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        report = ["perf", "report", "-i", data, "--stdio", "-q", "-F", "overhead,dso,symbol"]
        lines = subprocess.run(report, check=True, capture_output=True, text=True).stdout.splitlines()
    shares: dict[str, float] = {}
    for line in lines:
        found = re.match(r"\s*([\d.]+)%\s+(\S+)\s+\[.\]\s+(.*)", line)
        if found and (found[2].startswith("_core") or found[3].startswith("__memset")):
            name = found[3].replace("void ", "").replace("eulermeans::", "").replace("(anonymous namespace)::", "")
            part = part_of(name.strip())
            shares[part] = shares.get(part, 0.0) + float(found[1])
    total = sum(shares.values())
    return {part: share / total for part, share in shares.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clusters", type=int, nargs="+", default=[10, 200])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--pass", type=int, dest="only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        passes(options.only, options.seconds)
        return
    if shutil.which("perf") is None:
        parser.error("perf not found: install the package linux-perf or linux-tools")
    found = {k: profile(k, options.seconds) for k in options.clusters}
    print(f"60000x784 float32, one thread, {_core.instruction_set()}, {date.today()}: % of a pass")
    print(f"{'':42s}" + "".join(f"K = {k:<8d}" for k in found))
    for part in (*PARTS, OTHER):
        print(f"{part:42s}" + "".join(f"{100 * shares.get(part, 0):<12.1f}" for shares in found.values()))


if __name__ == "__main__":
    main()

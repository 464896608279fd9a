"""What a fit takes beside its data: 1 GiB of every dtype that the kernels read in place.

    python benchmarks/fit_memory.py [--clusters 50] [--features 64] [--output benchmarks/results]

Each fit runs in a process of its own. Its peak is the system's (VmHWM), from when the data are there and a small
fit has loaded all that a fit loads; labels, four bytes a point, are given apart. Needs Linux with GNU's C library.
Writes fit_memory.json.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np

DTYPES = ("float64", "float32", "float16", "uint8", "int8")
SIZE = 2**30
MIB = 2**20


def clusters_of(dtype: str, n_points: int, n_features: int) -> np.ndarray:
    """Points in 64 clusters that overlap, between 0 and 127 nearly all, a part at a time."""
    rng = np.random.default_rng(0)
    means, part = rng.integers(32, 96, size=(64, n_features)), 100_000
    points = np.empty((n_points, n_features), dtype=dtype)
    for first in range(0, n_points, part):
        n = min(part, n_points - first)
        values = means[rng.integers(64, size=n)] + 16 * rng.standard_normal((n, n_features), dtype=np.float32)
        points[first : first + n] = np.clip(values, 0, 127)
    return points


def status(name: str) -> int:
    """A line of this process' status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def fit(dtype: str, n_features: int, n_clusters: int) -> dict[str, float]:
    from eulermeans import EulerMeans

    points = clusters_of(dtype, SIZE // (np.dtype(dtype).itemsize * n_features), n_features)
    EulerMeans(n_clusters, random_state=0).fit(points[: 20 * n_clusters])
    ctypes.CDLL(None).malloc_trim(0)  # what is free but still held would hide what the fit takes
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = status("VmRSS")
    model = EulerMeans(n_clusters, random_state=0).fit(points)
    labels = model.labels_.nbytes / MIB
    return {
        "points": len(points),
        "labels_mib": labels,
        "other_mib": (status("VmHWM") - before) / MIB - labels,
        "passes": model.n_iter_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--only", choices=DTYPES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(fit(options.only, options.features, options.clusters)))
        return
    result = {"date": str(date.today()), "clusters": options.clusters, "features": options.features, "fits": {}}
    print(f"1 GiB of points with {options.features} features, K = {options.clusters}; MiB beside them")
    for dtype in DTYPES:
        done = subprocess.run([sys.executable, *sys.argv, "--only", dtype], check=True, stdout=subprocess.PIPE)
        found = result["fits"][dtype] = json.loads(done.stdout)
        print(
            f"{dtype:8s} {found['points']:9d} points: labels {found['labels_mib']:5.1f},"
            f" all else {found['other_mib']:5.1f}",
            flush=True,
        )
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "fit_memory.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

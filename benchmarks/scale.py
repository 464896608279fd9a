"""What data of any size cost: out of core against a loop by hand, and how the time grows with the rows.

    python benchmarks/scale.py                      # both parts, 16 million rows (4 GB of Parquet in --folder)
    python benchmarks/scale.py --parts growth

The part on Dask is benchmarks/scale_dask.py. Prints tables; writes JSON and pictures to benchmarks/results.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np
from scale_contender import CONTENDERS
from scale_data import N_CLUSTERS, N_FEATURES, batches, write_parquet

from eulermeans import EulerMeans
from eulermeans.optional import optional
from eulermeans.oracles import as_oracle

RESULTS = Path(__file__).parent / "results"
GIB = 1 << 30


def out_of_core(folder: Path, n_points: int, repeats: int) -> dict[str, object]:
    """Each contender in a process of its own, in turn; the median of their times."""
    data = write_parquet(folder, n_points)
    size = sum(path.stat().st_size for path in data.glob("*.parquet"))
    print(f"\nOut of core: {n_points} x {N_FEATURES} float32, {size / GIB:.1f} GiB of Parquet, K = {N_CLUSTERS}")
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    for _ in range(repeats):
        for name in CONTENDERS:
            centers = folder / "centers.npy"
            script = Path(__file__).with_name("scale_contender.py")
            command = [sys.executable, str(script), name, str(data), str(centers)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            run = json.loads(done.stdout)
            run["objective"] = as_oracle(str(data)).full(np.load(centers).astype(np.float64)).objective
            runs[name].append(run)
            print(f"  {name}: {run['seconds']:.1f} s, objective {run['objective']:.4f}", flush=True)
    medians = {
        name: {key: float(np.median([run[key] for run in of_name])) for key in of_name[0]}
        for name, of_name in runs.items()
    }
    peer = medians["MiniBatchKMeans.partial_fit"]
    print(
        f"\n| {'':46} | time | of peer | peak RSS | read | objective | below peer |\n|---|---|---|---|---|---|---|"
    )
    for name, found in medians.items():
        print(
            f"| {name:46} | {found['seconds']:.1f} s | {found['seconds'] / peer['seconds']:.2f} | "
            f"{found['peak_rss'] / GIB:.2f} GiB | {found['bytes_read'] / GIB:.1f} GiB | "
            f"{found['objective']:.4f} | {100 * (1 - found['objective'] / peer['objective']):.2f} % |"
        )
    return {"n_points": n_points, "bytes": size, "medians": medians, "runs": runs}


def growth(sizes: list[int], repeats: int) -> list[dict[str, float]]:
    """The seconds of each phase of a fit in memory, against the number of rows."""
    print(f"\nGrowth with the rows: d = {N_FEATURES}, K = {N_CLUSTERS}, float32 in memory, medians of {repeats}")
    print("| rows | search | descend | polish | polish / pass | whole fit |\n|---|---|---|---|---|---|")
    rows = []
    for n_points in sizes:
        points = np.concatenate(list(batches(n_points)))
        fits = [phases_of(points, seed) for seed in range(repeats)]
        median = {key: float(np.median([fit[key] for fit in fits])) for key in fits[0]}
        rows.append({"n_points": n_points, **median})
        print(
            f"| {n_points:.0e} | {median['search']:.2f} s | {median['descend']:.2f} s | "
            f"{median['polish']:.2f} s | {median['pass']:.3f} s | {median['whole']:.2f} s |",
            flush=True,
        )
    return rows


def phases_of(points: np.ndarray, seed: int) -> dict[str, float]:
    begun = time.perf_counter()
    model = EulerMeans(N_CLUSTERS, random_state=seed).fit(points)
    whole = time.perf_counter() - begun
    taken = dict.fromkeys(("search", "descend", "polish"), 0.0)
    last = 0.0
    for record in model.history_:
        taken[record.phase] += record.seconds - last
        last = record.seconds
    n_passes = sum(record.phase == "polish" for record in model.history_)
    return {**taken, "pass": taken["polish"] / max(1, n_passes), "whole": whole}


def draw(results: dict[str, object]) -> None:
    plt = optional("matplotlib.pyplot", "plot")
    if "out_of_core" in results:
        medians = results["out_of_core"]["medians"]  # type: ignore[index]
        figure, axes = plt.subplots(1, 3, figsize=(11, 2.6), sharey=True)
        names = list(medians)[::-1]
        peer = medians["MiniBatchKMeans.partial_fit"]["objective"]
        below = [100 * (1 - medians[name]["objective"] / peer) for name in names]
        for ax, what, values in (
            (axes[0], "seconds", [medians[name]["seconds"] for name in names]),
            (axes[1], "peak memory, GiB", [medians[name]["peak_rss"] / GIB for name in names]),
            (axes[2], "objective, % below the peer's", below),
        ):
            colors = ["#bbbbbb" if "MiniBatch" in name else "#0072b2" for name in names]
            bars = ax.barh(names, values, color=colors)
            ax.set_xlabel(what)
            ax.bar_label(bars, fmt="%.3g", padding=2)
            ax.margins(x=0.25)
            for side in ("top", "right"):
                ax.spines[side].set_visible(False)
        figure.tight_layout()
        figure.savefig(RESULTS / "scale-out-of-core.svg")
    if "growth" in results:
        rows = results["growth"]
        figure, ax = plt.subplots(figsize=(6, 3.6))
        n_points = [row["n_points"] for row in rows]  # type: ignore[index, union-attr]
        for phase, color in (("search", "#0072b2"), ("descend", "#009e73"), ("polish", "#d55e00")):
            ax.loglog(n_points, [row[phase] for row in rows], "o-", color=color, label=phase)  # type: ignore[index, union-attr]
        ax.set_xlabel("rows")
        ax.set_ylabel("seconds")
        ax.set_title("The search does not grow with the data", fontsize=10)
        ax.grid(alpha=0.3, which="both")
        ax.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(RESULTS / "scale-growth.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=["out-of-core", "growth"], default=["out-of-core", "growth"])
    parser.add_argument("--rows", type=int, default=16_000_000)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 3e5, 1e6, 3e6, 1e7])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the Parquet files are made, and kept")
    arguments = parser.parse_args()
    path = RESULTS / "scale.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results["measured"] = {"date": str(date.today()), "machine": platform.processor() or platform.machine()}
    if "growth" in arguments.parts:
        results["growth"] = growth([int(size) for size in arguments.sizes], arguments.repeats)
    if "out-of-core" in arguments.parts:
        with tempfile.TemporaryDirectory() as temporary:
            folder = arguments.folder or Path(temporary)
            results["out_of_core"] = out_of_core(folder, arguments.rows, arguments.repeats)
    path.write_text(json.dumps(results, indent=1) + "\n")
    draw(results)


if __name__ == "__main__":
    main()

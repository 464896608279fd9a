"""How low and how fast `SizedMeans` is, beside `k-means-constrained` and beside no bounds at all.

    python benchmarks/sizes.py [--only peer exact million] [--sets D31/31 S2/15 ...] [--bounds equal ...]
                               [--seeds N] [--long SECONDS] [--fresh] [--output FOLDER]

- peer: objective and processor time of both at their defaults, on one thread, with sizes within 10 % of equal and
  with equal sizes. 5 seeds of ours; 5 of the peer, or 1 if that takes longer than 20 seconds. The
  problems are in sizes_sets.py. Results of the peer are kept in sizes.json and not computed again, unless with
  `--fresh`: they take about an hour. Ours are always computed again.
- exact: the placement for given centers against SciPy's exact assignment to replicated centers.
- million: 1,000,000 points in 64 dimensions, K = 256, sizes within 5 %, against `EulerMeans` without bounds.

Prints tables and writes sizes.json and sizes.md. Needs k-means-constrained (dependency group `bench`) and the
folder of data sets: EULERMEANS_DATA or ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sizes_sets import ROOT, Problem, problems
from threadpoolctl import threadpool_limits

BOUNDS = {"±10 %": 0.1, "equal": 0.0}
WANTED_RATIO = 20  # of the peer's time to ours, where it takes more than a second
ROUNDING = 1e-9  # of an objective: the same clusters in another order
LONG = 20.0  # seconds: where the peer takes longer, it is run with one seed only, unless with `--long`
ONE_RUN = timedelta(hours=3)  # results that are older than this come from another run
Results = dict[str, Any]


def sizes_of(n_points: int, n_clusters: int, slack: float) -> tuple[int, int]:
    equal = n_points / n_clusters
    if slack == 0:
        return int(np.floor(equal)), int(np.ceil(equal))
    return int(np.ceil((1 - slack) * equal)), int(np.floor((1 + slack) * equal))


def peer(points: np.ndarray, n_clusters: int, sizes: tuple[int, int], seed: int) -> Results:
    from k_means_constrained import KMeansConstrained

    model = KMeansConstrained(n_clusters, size_min=sizes[0], size_max=sizes[1], random_state=seed)
    seconds = seconds_of(lambda: model.fit(points))
    at = datetime.now().isoformat(timespec="minutes")
    return {"inertia": inertia(points, model.labels_, n_clusters), "seconds": seconds, "at": at}


def ours(points: np.ndarray, n_clusters: int, sizes: tuple[int, int], seed: int) -> Results:
    from eulermeans import SizedMeans

    model = SizedMeans(n_clusters, size_min=sizes[0], size_max=sizes[1], random_state=seed, n_threads=1)
    seconds = seconds_of(lambda: model.fit(points))
    counts = np.bincount(model.labels_, minlength=n_clusters)
    assert sizes[0] <= counts.min()
    assert counts.max() <= sizes[1]
    above = model.objective_ / model.unbounded_objective_ - 1
    return {"inertia": inertia(points, model.labels_, n_clusters), "seconds": seconds, "above": above}


def seconds_of(action: Callable[[], object]) -> float:
    """Processor time on one thread."""
    with threadpool_limits(1):
        began = time.process_time()
        action()
        return time.process_time() - began


def inertia(points: np.ndarray, labels: np.ndarray, n_clusters: int) -> float:
    """About the means of the clusters, whatever centers a model has."""
    wide = points.astype(np.float64)
    means = np.stack([wide[labels == j].mean(axis=0) for j in range(n_clusters)])
    return float(np.sum((wide - means[labels]) ** 2))


def compare_with_peer(
    kept: Results, names: list[str], wanted: list[str], n_seeds: int, long: float, fresh: bool
) -> Iterator[str]:
    """Fits what is missing; the lines of the table, those of other runs among them."""
    for problem in problems():
        chosen = not names or problem.key in names
        points = problem.load() if chosen else None
        for bounds, slack in BOUNDS.items():
            key = f"{problem.key}/{bounds}"
            if points is not None and bounds in wanted:
                old = {} if fresh else kept.get(key, {})
                kept[key] = measure(points, problem.n_clusters, slack, n_seeds, long, old.get("peer", []))
            if "ours" in kept.get(key, {}):
                yield peer_line(problem, bounds, kept[key])


def measure(
    points: np.ndarray, n_clusters: int, slack: float, n_seeds: int, long: float, of_peer: list[Results]
) -> Results:
    """Runs of both, each seed of one beside that of the other; `of_peer` has earlier ones."""
    sizes = sizes_of(len(points), n_clusters, slack)
    runs: dict[str, list[Results]] = {"peer": list(of_peer), "ours": []}
    for seed in range(n_seeds):
        if seed == len(runs["peer"]) and (seed == 0 or runs["peer"][0]["seconds"] <= long):
            runs["peer"].append(peer(points, n_clusters, sizes, seed))
        runs["ours"].append(ours(points, n_clusters, sizes, seed))
    at = datetime.now().isoformat(timespec="minutes")
    return {"shape": points.shape, "sizes": sizes, "at": at, **runs}


def peer_line(problem: Problem, bounds: str, row: Results) -> str:
    mean = {
        who: {name: np.mean([run[name] for run in row[who]]) for name in ("inertia", "seconds")}
        for who in ("peer", "ours")
    }
    difference = 100 * (mean["ours"]["inertia"] / mean["peer"]["inertia"] - 1)
    ratio = mean["peer"]["seconds"] / mean["ours"]["seconds"]
    above = 100 * np.mean([run["above"] for run in row["ours"]])
    lower = difference <= 100 * ROUNDING
    faster = ratio >= WANTED_RATIO or mean["peer"]["seconds"] <= 1
    n, d = row["shape"]
    marks = ("*" if problem.generated else "") + ("†" if is_from_another_run(row) else "")
    return (
        f"| {problem.name}{marks} | {n:,}×{d} | {problem.n_clusters} | {bounds} | "
        f"{mean['peer']['inertia']:.6g} | {mean['ours']['inertia']:.6g} | {difference:+.3f} % | "
        f"{mean['peer']['seconds']:.2f} | {mean['ours']['seconds']:.3f} | 1/{ratio:.0f} | {above:.1f} % | "
        f"{len(row['peer'])}, {len(row['ours'])} | {'yes' if lower else 'no'}, {'yes' if faster else 'no'} |"
    )


def is_from_another_run(row: Results) -> bool:
    """Whether the peer was measured hours before."""
    if not all("at" in run for run in (row, *row["peer"])):
        return True
    first = min(datetime.fromisoformat(run["at"]) for run in row["peer"])
    return datetime.fromisoformat(row["at"]) - first > ONE_RUN


def compare_with_assignment() -> Iterator[str]:
    """The placement for given centers against the exact assignment."""
    from eulermeans.oracles import Placer, SizeBounds, memory_oracle

    for n, k, slack in [(500, 10, 0.1), (1000, 20, 0.0), (2000, 10, 0.1), (2000, 40, 0.0)]:
        worst = 0.0
        for seed in range(5):
            rng = np.random.default_rng(seed)
            points = rng.standard_normal((n, 4))
            centers = points[rng.choice(n, k, replace=False)]
            lowest, highest = sizes_of(n, k, slack)
            placed = Placer(memory_oracle(points), SizeBounds(lowest, highest), k).place(centers)
            costs = np.sum((points[:, None] - centers) ** 2, axis=2)
            needed = np.repeat(np.arange(k), lowest)
            copies = np.concatenate([needed, np.repeat(np.arange(k), highest - lowest)])
            replicated = costs[:, copies]
            replicated[:, : len(needed)] -= 2 * np.ptp(costs) + 1  # so that these are all taken
            rows, columns = linear_sum_assignment(replicated)
            worst = max(worst, placed.moments.cost / costs[rows, copies[columns]].sum() - 1)
        yield f"| {n:,} | {k} | {sizes_of(n, k, slack)[0]} to {sizes_of(n, k, slack)[1]} | {100 * worst:.1e} % |"


def gaussians(n_points: int, n_gaussians: int, n_features: int) -> np.ndarray:
    """Unit Gaussians whose means are 0.8·N(0, I)."""
    rng = np.random.default_rng(0)
    means = 0.8 * rng.standard_normal((n_gaussians, n_features), dtype=np.float32)
    points = rng.standard_normal((n_points, n_features), dtype=np.float32)
    return points + means[rng.integers(n_gaussians, size=n_points)]


def compare_with_unbounded(n_points: int = 1_000_000, n_clusters: int = 256) -> Iterator[str]:
    from eulermeans import EulerMeans, SizedMeans

    points = gaussians(n_points, 400, 64)
    sizes = sizes_of(n_points, n_clusters, 0.05)
    for n_threads in (1, os.cpu_count()):
        models = (
            EulerMeans(n_clusters, random_state=0, n_threads=n_threads),
            SizedMeans(n_clusters, size_min=sizes[0], size_max=sizes[1], random_state=0, n_threads=n_threads),
        )
        first = None
        for model in models:
            began, processor = time.perf_counter(), time.process_time()
            with threadpool_limits(n_threads):
                model.fit(points)
            took = time.perf_counter() - began, time.process_time() - processor
            first = first or (model.objective_, *took)
            counts = np.bincount(model.labels_, minlength=n_clusters)
            yield (
                f"| {type(model).__name__} | {n_threads} | {model.objective_:.5f} | "
                f"{100 * (model.objective_ / first[0] - 1):+.2f} % | "
                f"{took[0]:.1f} s | {took[0] / first[1]:.2f} | {took[1]:.1f} s | {took[1] / first[2]:.2f} | "
                f"{counts.min():,} to {counts.max():,} |"
            )


TABLES = {
    "peer": (
        "Against k-means-constrained",
        "Means over the seeds; seconds are processor time of one thread. Sets with a star are generated, and "
        "came after most constants were chosen; sizes_sets.py says which were looked at. Seeds: the peer's (one "
        "where it takes more than 20 s, unless with --long), ours. "
        "†: the peer was measured hours before, on the same machine.",
        "| set | shape | K | sizes | peer's inertia | ours | difference | peer's s | ours | ratio | "
        "above unbounded | seeds | not above, 1/20 |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ),
    "exact": (
        "Against the exact assignment",
        "Cost of the placement for given centers above that of the exact assignment, the worst of 5.",
        "| points | K | sizes | above |\n|---|---|---|---|",
    ),
    "million": (
        "Against no bounds",
        "1,000,000×64, 400 Gaussians, K = 256, sizes within 5 % (3,711 to 4,101).",
        "| estimator | threads | objective | difference | wall | ratio | processor | ratio | sizes |\n"
        "|---|---|---|---|---|---|---|---|---|",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--sets", nargs="+", default=[], help="problems such as S2/15; default: all")
    parser.add_argument("--bounds", nargs="+", choices=BOUNDS, default=list(BOUNDS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--long", type=float, default=LONG, help="seconds; a slower peer gets a single seed")
    parser.add_argument("--fresh", action="store_true", help="run the peer again, instead of taking what is kept")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results")
    arguments = parser.parse_args()
    file = arguments.output / "sizes.json"
    results: Results = {"peer": {}, "lines": {}}
    if file.exists():
        results |= json.loads(file.read_text(encoding="utf-8"))
    for name in arguments.only:
        title, note, head = TABLES[name]
        print(f"\n{title}\n\n{note}\n\n{head}")
        lines = {
            "peer": lambda: compare_with_peer(
                results["peer"],
                arguments.sets,
                arguments.bounds,
                arguments.seeds,
                arguments.long,
                arguments.fresh,
            ),
            "exact": compare_with_assignment,
            "million": compare_with_unbounded,
        }[name]()
        machine = f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores"
        kept = {"machine": machine, "lines": []}
        for line in lines:
            print(line, flush=True)
            kept["lines"].append(line)
            results["lines"][name] = kept
            file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page = ["# Clusters of bounded size", "", "Printed by `python benchmarks/sizes.py`.", ""]
    for name, (title, note, head) in TABLES.items():
        if name in results["lines"]:
            kept = results["lines"][name]
            page += [f"## {title}", "", f"{note} {kept['machine']}.", "", head, *kept["lines"], ""]
    (arguments.output / "sizes.md").write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()

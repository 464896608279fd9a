"""What a fit costs on a Dask cluster of 1, 2 and 4 workers, beside dask-ml's KMeans on the same partitions.

    python benchmarks/scale_dask.py [--points 200000] [--clusters 64 256] [--workers 1 2 4] [--seeds 1]

Workers are processes of one thread each that talk over TCP; both contenders find the partitions in their memory.
The objective is recomputed in float64 from the centers. The bytes of a step are counted in the workers, over every
connection. Prints tables and the bar (a lower objective than dask-ml's in at most half of its time); writes
scale-dask.json and scale-dask.svg to benchmarks/results. More workers than cores can't be faster.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from quality_sets import Problem
from scale_data import N_FEATURES, batches

from eulermeans import EulerMeans
from eulermeans.oracles import as_oracle

RESULTS = Path(__file__).parent / "results"
# One partition for each of four workers: more would cost dask-ml, which sends tasks for each, more than us.
N_PARTITIONS, N_STEPS, N_PASSES = 4, 100, 10
OURS, PEER = "EulerMeans", "dask-ml KMeans"


def euler_means(rows: da.Array, n_clusters: int, seed: int) -> np.ndarray:
    return EulerMeans(n_clusters, random_state=seed).fit(rows).cluster_centers_


def dask_ml(rows: da.Array, n_clusters: int, seed: int) -> np.ndarray:
    from dask_ml.cluster import KMeans

    return np.asarray(KMeans(n_clusters, random_state=seed).fit(rows).cluster_centers_)


CONTENDERS = {OURS: euler_means, PEER: dask_ml}


def counted(dask_worker: object = None) -> dict[str, int]:
    """The bytes that have come to a worker and gone from it since this was first called there."""
    from distributed.comm import tcp

    if not hasattr(tcp, "counted"):
        tcp.counted = {"in": 0, "out": 0}
        from_frames, to_frames = tcp.from_frames, tcp.to_frames

        async def counting_from_frames(frames: list, *args: object, **options: object) -> object:
            tcp.counted["in"] += sum(memoryview(frame).nbytes for frame in frames)
            return await from_frames(frames, *args, **options)

        async def counting_to_frames(*args: object, **options: object) -> list:
            frames = await to_frames(*args, **options)
            tcp.counted["out"] += sum(memoryview(frame).nbytes for frame in frames)
            return frames

        tcp.from_frames, tcp.to_frames = counting_from_frames, counting_to_frames
    return dict(tcp.counted)


def steps(client: Client, rows: da.Array, n_clusters: int) -> dict[str, dict[str, float]]:
    """Milliseconds and bytes for each worker of a mini-batch and of a pass."""
    oracle, rng = as_oracle(rows), np.random.default_rng(0)
    centers = oracle.sample(n_clusters, rng).rows(np.arange(n_clusters))
    kinds = {
        "mini-batch": (N_STEPS, lambda: oracle.minibatch(centers, max(500, 10 * n_clusters), rng)),
        "pass": (N_PASSES, lambda: oracle.full(centers)),
    }
    return {name: measured(client, *kind) for name, kind in kinds.items()}


def measured(client: Client, repeats: int, ask: Callable[[], object]) -> dict[str, float]:
    ask()
    before, times = client.run(counted), []
    for _ in range(repeats):
        start = time.perf_counter()
        ask()
        times.append(time.perf_counter() - start)
    after = client.run(counted)
    moved = {
        way: float(np.mean([after[w][way] - before[w][way] for w in before])) / repeats for way in ("in", "out")
    }
    return {"milliseconds": 1e3 * float(np.median(times)), **moved}


def on_workers(n_workers: int, parts: list[np.ndarray], problem: Problem, seeds: int) -> dict[str, object]:
    with (
        LocalCluster(n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as workers,
        Client(workers) as client,
    ):
        # Scattered round-robin, so that every worker holds as much; neither contender pays for it.
        held = client.scatter(parts, hash=False)
        blocks = [da.from_delayed(dask.delayed(f), p.shape, p.dtype) for f, p in zip(held, parts, strict=True)]
        rows = client.persist(da.concatenate(blocks))
        wait(rows)
        client.run(counted)
        # A small fit by each first, so that no worker imports anything while the clock runs.
        for fit in CONTENDERS.values():
            fit(rows[: 20 * problem.n_clusters].rechunk({1: -1}), 2, 0)
        found: dict[str, object] = {"n_workers": n_workers, "steps": steps(client, rows, problem.n_clusters)}
        for name, fit in CONTENDERS.items():
            runs = []
            for seed in range(seeds):
                start = time.perf_counter()
                centers = fit(rows, problem.n_clusters, seed)
                seconds = time.perf_counter() - start
                objective = problem.inertia(centers) / (2 * len(problem.points))
                runs.append({"seed": seed, "seconds": seconds, "objective": objective})
                print(f"  {n_workers} workers, {name}: {seconds:.1f} s, objective {objective:.4f}", flush=True)
            found[name] = runs
        return found


def median(found: dict[str, object], name: str, key: str) -> float:
    return float(np.median([run[key] for run in found[name]]))


def tables(results: list[dict[str, object]]) -> None:
    print("\n| workers | mini-batch | in, out a worker | pass | in, out a worker |\n|---|---|---|---|---|")
    for found in results:
        cells = [
            f"{kind['milliseconds']:.1f} ms | {kind['in'] / 1e3:.0f} kB, {kind['out'] / 1e3:.0f} kB"
            for kind in found["steps"].values()
        ]
        print(f"| {found['n_workers']} | {' | '.join(cells)} |")
    print(f"\n| workers | {OURS} | {PEER} | time, of peer | objectives | below peer | bar |")
    print("|---|---|---|---|---|---|---|")
    for found in results:
        ours, peer = ((median(found, n, "seconds"), median(found, n, "objective")) for n in (OURS, PEER))
        below = 100 * (1 - ours[1] / peer[1])
        met = "met" if ours[0] <= 0.5 * peer[0] and ours[1] < peer[1] else "MISSED"
        print(
            f"| {found['n_workers']} | {ours[0]:.1f} s | {peer[0]:.1f} s | {ours[0] / peer[0]:.2f} | "
            f"{ours[1]:.4f}, {peer[1]:.4f} | {below:.2f} % | {met} |"
        )


def draw(results: dict[int, list[dict[str, object]]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6 * len(results)), layout="constrained")
    for (left, right), (n_clusters, of_k) in zip(
        figure.subplots(len(results), 2, squeeze=False), results.items(), strict=True
    ):
        at = np.arange(len(of_k))
        for shift, name, color in ((-0.2, OURS, "#d1495b"), (0.2, PEER, "#30638e")):
            bars = left.bar(
                at + shift, [median(found, name, "seconds") for found in of_k], 0.4, label=name, color=color
            )
            left.bar_label(bars, [f"φ {median(found, name, 'objective'):.3f}" for found in of_k], fontsize=7)
        left.set(title=f"K = {n_clusters}: a fit, and the objective it ends at", ylabel="seconds")
        for shift, kind, color in ((-0.2, "mini-batch", "#edae49"), (0.2, "pass", "#66a182")):
            measures = [found["steps"][kind] for found in of_k]
            bars = right.bar(at + shift, [each["milliseconds"] for each in measures], 0.4, label=kind, color=color)
            right.bar_label(bars, [f"{(each['in'] + each['out']) / 1e3:.0f} kB" for each in measures], fontsize=7)
        right.set(title=f"K = {n_clusters}: a step, and what it moves a worker", ylabel="milliseconds")
        for axes in (left, right):
            axes.set(xlabel="workers", yscale="log")
            axes.set_xticks(at, [str(found["n_workers"]) for found in of_k])
            low, high = axes.get_ylim()
            axes.set_ylim(low, high * (high / low) ** 0.3)  # room for the legend above the bars
            axes.legend(fontsize=8, ncols=2, loc="upper center")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    points = np.concatenate(list(batches(options.points)))
    parts = np.array_split(points, N_PARTITIONS)
    results = {}
    for n_clusters in options.clusters:
        print(f"\n{options.points} x {N_FEATURES} float32 in {N_PARTITIONS} partitions, K = {n_clusters}")
        problem = Problem("scale", n_clusters, lambda: points)
        results[n_clusters] = [on_workers(n, parts, problem, options.seeds) for n in options.workers]
        tables(results[n_clusters])
    record = {
        "date": str(date.today()),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[1],
        "versions": {name: importlib.metadata.version(name) for name in ("dask", "distributed", "dask-ml")},
        "n_points": options.points,
        "n_partitions": N_PARTITIONS,
        "results": results,
    }
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "scale-dask.json").write_text(json.dumps(record, indent=1) + "\n")
    draw(results, options.output / "scale-dask.svg")


if __name__ == "__main__":
    main()

"""What a fit costs, as a formula with coefficients that are measured here, and what it predicts.

    python benchmarks/scale_model.py [--latency 0.01]

The formula is explained in docs/scaling.md. `--latency` is that of a step of benchmarks/scale_dask.py.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scale_data import N_CLUSTERS, N_FEATURES, batches, write_parquet

from eulermeans import EulerMeans
from eulermeans.oracles import memory_oracle
from eulermeans.sources import as_source

REPEATS = 5


@dataclass(frozen=True)
class Coefficients:
    """Measured on one machine."""

    per_distance: float  # seconds a feature of a distance takes in a pass, on one core
    per_search: float  # the same in the search, which also transfers points and takes implicit steps
    passes_of_search: float  # distances of the search, in passes over its sample
    passes_of_polish: float  # passes over points in memory, to the tolerance
    passes_that_gain: float  # of those, until one gains less than a tenth of tol: elsewhere they end there
    per_byte: float  # seconds to read a byte of Parquet, by one reader
    latency: float  # seconds that a step takes on a cluster, beside the work


@dataclass(frozen=True)
class Job:
    """A fit."""

    name: str
    n_points: float
    n_clusters: int
    n_features: int
    n_workers: int
    n_cores: int  # of each worker
    on_disk: bool  # read for every pass, or held in memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.01)
    c = measured(parser.parse_args().latency)
    print(f"a pass:        {c.per_distance * 1e12:.1f} ps per row, cluster and feature, on one core")
    print(f"the search:    {c.per_search * 1e12:.1f} ps, {c.passes_of_search:.0f} passes over its sample")
    print(
        f"the polish:    {c.passes_of_polish:.0f} passes in memory, {c.passes_that_gain:.0f} that gain elsewhere"
    )
    print(f"reading:       {1e-9 / c.per_byte:.2f} GB/s")
    print(f"latency:       {1e3 * c.latency:.1f} ms a step\n")
    print("| fit | search | descend | passes | whole |\n|---|---|---|---|---|")
    cores = os.cpu_count() or 1
    for job in (
        Job("1e6 x 64, K = 256, in memory", 1e6, 256, 64, 1, cores, False),
        Job("16e6 x 64, K = 256, Parquet", 16e6, 256, 64, 1, cores, True),
        Job("1e9 x 64, K = 256, Parquet", 1e9, 256, 64, 1, cores, True),
        Job("1e9 x 64, K = 256, 10 workers", 1e9, 256, 64, 10, cores, False),
        Job("1e10 x 64, K = 256, 100 workers", 1e10, 256, 64, 100, cores, False),
        Job("1e10 x 64, K = 4096, 100 workers", 1e10, 4096, 64, 100, cores, False),
    ):
        print("| " + " | ".join([job.name, *predicted(job, c)]) + " |")


def measured(latency: float) -> Coefficients:
    points = np.concatenate(list(batches(1_000_000)))
    centers = points[:N_CLUSTERS].astype(np.float64)
    oracle = memory_oracle(points, n_threads=1)
    one_pass = median_of(lambda: oracle.full(centers))
    model = EulerMeans(N_CLUSTERS, random_state=0, n_threads=1).fit(points)
    search = [record for record in model.history_ if record.phase == "search"]
    distances = sum(record.n_distances for record in search)
    objectives = np.array([record.objective for record in model.history_ if record.phase == "polish"])
    gains = 1 - objectives[1:] / objectives[:-1]
    with tempfile.TemporaryDirectory() as folder:
        source = as_source(str(write_parquet(Path(folder), 4_000_000)))
        read = median_of(lambda: [chunk.points for chunk in source.chunks()])
    return Coefficients(
        per_distance=one_pass / (len(points) * N_CLUSTERS * N_FEATURES),
        per_search=search[-1].seconds / (distances * N_FEATURES),
        passes_of_search=distances / (sample_of(N_CLUSTERS) * N_CLUSTERS),
        passes_of_polish=sum(record.phase == "polish" for record in model.history_),
        passes_that_gain=1 + int(np.argmax(np.append(gains, 0.0) < 0.1 * model.tol)),
        per_byte=read / (4_000_000 * N_FEATURES * 4),
        latency=latency,
    )


def median_of(function: object) -> float:
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        function()  # type: ignore[operator]
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def sample_of(n_clusters: int) -> int:
    return max(10_000, 100 * n_clusters)


def predicted(job: Job, c: Coefficients) -> list[str]:
    """The seconds of each part."""
    per_pair = job.n_clusters * job.n_features
    search = c.per_search * c.passes_of_search * sample_of(job.n_clusters) * per_pair / job.n_cores
    batch = max(500, 10 * job.n_clusters)
    descend = 200 * (c.per_distance * batch * per_pair + (c.latency if job.n_workers > 1 else 0.0))
    compute = c.per_distance * job.n_points * per_pair / (job.n_workers * job.n_cores)
    read = c.per_byte * job.n_points * job.n_features * 4 / job.n_workers
    if job.on_disk:  # passes to draw the pool, to finish and to label, reading while computing; the pool's polish
        pool = (1 << 29) / (4 * job.n_features)
        passes = read + 2 * max(read, compute) + c.passes_that_gain * compute * pool / job.n_points / 3
    elif job.n_workers > 1:  # read once; no bounds are kept
        passes = read + c.passes_that_gain * (compute + c.latency)
    else:  # the polish skips about two thirds of the distances
        passes = c.passes_of_polish * compute / 3 + compute
    return [shown(search), shown(descend), shown(passes), shown(search + descend + passes)]


def shown(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    main()

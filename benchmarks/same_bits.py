"""The bits of many fits as hashes, to show that a change of the code changed no result.

    python benchmarks/same_bits.py --save before.json      # on the old version
    python benchmarks/same_bits.py --compare before.json   # on the new one

Hashes depend on the machine's instruction set and on NumPy's version, so compare runs on one machine only. Uses
nothing but the public API, so one copy of this file serves both versions. Exits with 1 if any hash differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from eulermeans import EulerMeans, StochasticBackwardEuler, as_source

Case = Callable[[], Any]  # returns a fitted model


def blobs(n: int, d: int, k: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = 6 * rng.standard_normal((k, d))
    return means[rng.integers(k, size=n)] + rng.standard_normal((n, d))


def bits_of(model: Any) -> str:
    digest = hashlib.sha256()
    for name in ("cluster_centers_", "cluster_weights_", "labels_", "restarts_"):
        value = getattr(model, name, None)
        if value is not None:
            digest.update(np.ascontiguousarray(value).tobytes())
    digest.update(repr([getattr(model, name, None) for name in ("inertia_", "objective_", "n_iter_")]).encode())
    steps = [(r.phase, r.step, r.objective, r.points_read, r.step_size) for r in model.history_]
    digest.update(repr(steps).encode())
    return digest.hexdigest()[:16]


def as_uint8(points: np.ndarray) -> np.ndarray:
    low, high = points.min(), points.max()
    return ((points - low) / (high - low) * 255).astype(np.uint8)


def partial_fits(model: Any, points: np.ndarray, size: int, weights: np.ndarray | None = None) -> Any:
    for first in range(0, len(points), size):
        of_batch = None if weights is None else weights[first : first + size]
        model.partial_fit(points[first : first + size], sample_weight=of_batch)
    return model


def resumed(folder: Path, make: Callable[..., Any], points: Any) -> Any:
    """A fit that ran out of time at once, and one that went on from its checkpoint."""
    path = folder / "fit.checkpoint"
    path.unlink(missing_ok=True)
    make(max_time=1e-3).fit(points, checkpoint=path)
    return make().fit(points, checkpoint=path)


def cases(folder: Path) -> Iterator[tuple[str, Case]]:
    few, many = blobs(1500, 5, 12), blobs(60_000, 6, 30)
    wide = blobs(4000, 300, 20)
    sizes = np.random.default_rng(1).random(len(few)) * (np.arange(len(few)) % 7 > 0)
    weights_of_many = np.random.default_rng(2).exponential(size=len(many))
    text = sparse.random(3000, 400, density=0.02, format="csr", random_state=3, dtype=np.float64)
    one_each = sparse.csr_matrix((np.ones(3000), (np.arange(3000), np.arange(3000) % 400)), shape=text.shape)
    sparse_rows = sparse.csr_matrix(text + one_each)

    def fit(points: Any, k: int, sample_weight: Any = None, **options: Any) -> Case:
        return lambda: EulerMeans(k, random_state=0, **options).fit(points, sample_weight=sample_weight)

    def sbe(points: Any, k: int, sample_weight: Any = None, **options: Any) -> Case:
        return lambda: StochasticBackwardEuler(k, random_state=0, **options).fit(
            points, sample_weight=sample_weight
        )

    for k in (1, 2, 12, 50, 200):
        yield f"few float64 K={k}", fit(few, k)
    for dtype in ("float32", "float16", "int32"):
        yield f"few {dtype}", fit(few.astype(dtype), 12)
    yield "few Fortran order", fit(np.asfortranarray(few), 12)
    yield "few weights", fit(few, 12, sizes)
    yield "few uint8", fit(as_uint8(few), 12)
    yield "one feature", fit(few[:, :1], 5)
    yield "duplicates", fit(np.repeat(few[:20], 50, axis=0), 12)
    yield "wide float32 K=40", fit(wide.astype(np.float32), 40)
    yield "wide uint8", fit(as_uint8(wide), 20)
    yield "many float32 K=30", fit(many.astype(np.float32), 30)
    yield "many float64 K=150", fit(many, 150)
    yield "many weights", fit(many, 30, weights_of_many)
    yield "many without polish", fit(many, 30, polish=False)
    yield "many without labels", fit(many, 30, compute_labels=False)
    yield "many integers", fit(np.round(many).astype(np.int32), 30)
    yield "restarts", fit(few, 8, n_init=3, init="random")
    yield "effort 0", fit(many, 30, effort=0)
    yield "effort 4", fit(few, 12, effort=4.0)
    for init in ("random", "partition", "mean"):
        yield f"init {init}", fit(few, 12, init=init)
    yield "init array", fit(few, 12, init=few[:12])
    yield "init callable", fit(few, 12, init=lambda X, n_clusters, random_state: X[:n_clusters])
    yield "CSR", fit(sparse_rows, 15)
    yield "CSR float32 weights", fit(sparse_rows.astype(np.float32), 15, np.linspace(0, 2, 3000))
    yield "cosine", fit(few, 12, metric="cosine")
    yield "cosine many", fit(many.astype(np.float32), 30, metric="cosine")
    yield "cosine CSR", fit(sparse_rows, 15, metric="cosine")
    yield "SBE", sbe(few, 12, n_outer=30)
    yield "SBE weights", sbe(few, 12, sizes, n_outer=30)
    yield "SBE full gradient", sbe(few, 6, batch_size=None, n_outer=20)
    yield "SBE CSR", sbe(sparse_rows, 5, n_outer=20)
    yield "partial_fit", lambda: partial_fits(EulerMeans(20, random_state=0), many[:20_000], 700)
    yield (
        "partial_fit forgetting weights",
        lambda: partial_fits(EulerMeans(8, forgetting=0.1, random_state=0), few, 100, sizes + 0.1),
    )
    yield "SBE partial_fit", lambda: partial_fits(StochasticBackwardEuler(8, random_state=0), few, 300)
    yield "checkpoint resumed", lambda: resumed(folder, lambda **o: EulerMeans(30, random_state=0, **o), many)
    yield (
        "checkpoint resumed, settled",
        lambda: resumed(folder, lambda **o: EulerMeans(12, random_state=0, **o), few),
    )
    yield from streams(folder, many, weights_of_many)
    yield from clusters_of_dask(many, weights_of_many)


def streams(folder: Path, many: np.ndarray, weights: np.ndarray) -> Iterator[tuple[str, Case]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{i}": column for i, column in enumerate(many.T)}
    path = folder / "rows.parquet"
    pq.write_table(pa.table(columns | {"w": weights}), path, row_group_size=7000)
    features = list(columns)

    def fit(limit: str, *, weighted: bool = False, data: Any = None, **options: Any) -> Case:
        def run() -> Any:
            source = data or as_source(str(path), columns=features, weights="w" if weighted else None)
            return EulerMeans(30, random_state=0, memory_limit=limit, **options).fit(source)

        return run

    yield "Parquet in memory", fit("1GiB")
    yield "Parquet stream", fit("2MB")
    yield "Parquet stream weights", fit("2MB", weighted=True)
    yield "Parquet stream cosine", fit("2MB", metric="cosine")
    yield "Parquet stream without labels", fit("2MB", compute_labels=False)

    def sbe(init: str) -> Case:
        def run() -> Any:
            model = StochasticBackwardEuler(6, init=init, n_outer=20, random_state=0)
            model.memory_limit = "2MB"  # not a parameter of this estimator
            return model.fit(as_source(str(path), columns=features, weights="w"))

        return run

    yield "SBE Parquet stream partition", sbe("partition")
    yield "SBE Parquet stream mean", sbe("mean")
    yield "function of batches", fit("2MB", data=lambda: iter(np.array_split(many, 17)))


def clusters_of_dask(many: np.ndarray, weights: np.ndarray) -> Iterator[tuple[str, Case]]:
    import dask.array as da
    from distributed import Client, LocalCluster

    def fit(*, cluster: bool, chunk: int = 9000, weighted: bool = False, **options: Any) -> Case:
        def run() -> Any:
            points = da.from_array(many, chunks=(chunk, -1))
            of_rows = da.from_array(weights, chunks=chunk) if weighted else None
            model = EulerMeans(30, random_state=0, **options)
            if not cluster:
                return evaluated(model.fit(points, sample_weight=of_rows))
            with (
                LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
                Client(workers),
            ):
                return evaluated(model.fit(points, sample_weight=of_rows))

        return run

    yield "Dask without a client", fit(cluster=False)
    yield "Dask without a client, stream", fit(cluster=False, memory_limit="4MB", chunk=2000)
    yield "Dask cluster", fit(cluster=True)
    yield (
        "SBE Dask without a client",
        lambda: evaluated(
            StochasticBackwardEuler(6, n_outer=20, random_state=0).fit(da.from_array(many, chunks=(9000, -1)))
        ),
    )
    yield "Dask cluster weights", fit(cluster=True, weighted=True)
    yield "Dask cluster cosine", fit(cluster=True, metric="cosine")


def evaluated(model: Any) -> Any:
    model.labels_ = np.asarray(model.labels_)
    return model


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--save", type=Path, help="write the hashes to this file")
    parser.add_argument("--compare", type=Path, help="hashes that --save wrote")
    parser.add_argument("--only", default="", help="run only cases whose name contains this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(options.compare.read_text()) if options.compare else {}
    found, n_changed = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases(Path(folder)):
            if options.only not in name:
                continue
            found[name] = bits_of(case())
            changed = name in known and known[name] != found[name]
            n_changed += changed
            print(f"{found[name]}  {name}{'  CHANGED' if changed else ''}", flush=True)
    if options.save:
        options.save.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found)} fits, {sum(n in known for n in found)} compared, {n_changed} changed")
    return 1 if n_changed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Cluster a folder of Parquet files that is larger than the memory limit.

    python examples/out_of_core.py [--small]

Needs the extra `io`. Writes files with one cluster each, fits them by their path under a memory limit, and
writes the labels to another file, one block at a time. Prints how much the peak memory of the process grew
(including Parquet's buffers and the threads' own), and compares with a fit of the same rows in memory.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eulermeans import EulerMeans

N_CLUSTERS, N_FEATURES = 20, 16


def main() -> None:
    """Write, fit, label, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="use 40000 rows instead of 4000000, for a quick look")
    n_rows, limit = (40_000, "2MB") if parser.parse_args().small else (4_000_000, "64MB")
    with tempfile.TemporaryDirectory() as folder:
        files = str(Path(folder) / "part-*.parquet")
        write_rows(Path(folder), n_rows)
        print(f"{n_rows} rows, {8 * n_rows * N_FEATURES / 1e6:.0f} MB in memory; the limit is {limit}")

        before, start = peak_memory(), time.perf_counter()
        model = EulerMeans(N_CLUSTERS, memory_limit=limit, random_state=0).fit(files)
        seconds, growth = time.perf_counter() - start, peak_memory() - before
        print(f"fitted in {seconds:.1f} s; peak memory grew by {growth / 1e6:.0f} MB")

        schema = pa.schema([("label", pa.int32())])
        with pq.ParquetWriter(Path(folder) / "labels.parquet", schema) as writer:
            for block in model.predict(files):  # labels of one chunk of rows, in file order
                writer.write_table(pa.table([block], schema=schema))
        labels = pq.read_table(Path(folder) / "labels.parquet")["label"].to_numpy()
        print(f"wrote {len(labels)} labels; the smallest cluster has {np.bincount(labels).min()} rows")

        table = pa.concat_tables([pq.read_table(path) for path in sorted(Path(folder).glob("part-*.parquet"))])
        rows = np.column_stack([column.to_numpy() for column in table.columns])
        ratio = model.objective_ / EulerMeans(N_CLUSTERS, random_state=0).fit(rows).objective_
        print(f"objective {model.objective_:.4f}, {ratio:.4f} times that of a fit in memory")


def write_rows(folder: Path, n_rows: int) -> None:
    """One file per cluster, so that the order of the rows is as bad as possible."""
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{f}", pa.float64()) for f in range(N_FEATURES)])
    for j, center in enumerate(2.5 * rng.standard_normal((N_CLUSTERS, N_FEATURES))):
        with pq.ParquetWriter(folder / f"part-{j:02d}.parquet", schema) as writer:
            for _ in range(10):
                rows = center + rng.standard_normal((n_rows // N_CLUSTERS // 10, N_FEATURES))
                writer.write_table(pa.table(list(rows.T), schema=schema))


def peak_memory() -> int:
    """The peak memory of the process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    main()

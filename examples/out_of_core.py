"""Cluster a folder of Parquet files that is larger than the memory it may take.

    python examples/out_of_core.py [--small]

Needs the extra `io`. Writes files, each of one cluster, fits them by their path under a memory limit, and writes
the labels to another file, a block at a time. Prints how much more memory the process came to need than before
(Parquet's and the threads' own included), and compares with the same rows in memory.
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
    parser.add_argument("--small", action="store_true", help="40000 rows instead of 4000000, for a quick look")
    n_rows, limit = (40_000, "2MB") if parser.parse_args().small else (4_000_000, "64MB")
    with tempfile.TemporaryDirectory() as folder:
        files = str(Path(folder) / "part-*.parquet")
        write_rows(Path(folder), n_rows)
        print(f"{n_rows} rows, {8 * n_rows * N_FEATURES / 1e6:.0f} MB as numbers; the limit is {limit}")

        before, start = most_memory(), time.perf_counter()
        model = EulerMeans(N_CLUSTERS, memory_limit=limit, random_state=0).fit(files)
        seconds, more = time.perf_counter() - start, most_memory() - before
        print(f"fitted in {seconds:.1f} s with {more / 1e6:.0f} MB more memory than before")

        schema = pa.schema([("label", pa.int32())])
        with pq.ParquetWriter(Path(folder) / "labels.parquet", schema) as writer:
            for block in model.predict(files):  # the labels of one chunk of rows, in the order of the files
                writer.write_table(pa.table([block], schema=schema))
        labels = pq.read_table(Path(folder) / "labels.parquet")["label"].to_numpy()
        print(f"wrote {len(labels)} labels; the smallest cluster has {np.bincount(labels).min()} rows")

        table = pa.concat_tables([pq.read_table(path) for path in sorted(Path(folder).glob("part-*.parquet"))])
        rows = np.column_stack([column.to_numpy() for column in table.columns])
        ratio = model.objective_ / EulerMeans(N_CLUSTERS, random_state=0).fit(rows).objective_
        print(f"objective {model.objective_:.4f}, {ratio:.4f} of that of the same rows in memory")


def write_rows(folder: Path, n_rows: int) -> None:
    """A file for every cluster, so that each holds rows of one cluster only."""
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{f}", pa.float64()) for f in range(N_FEATURES)])
    for j, center in enumerate(2.5 * rng.standard_normal((N_CLUSTERS, N_FEATURES))):
        with pq.ParquetWriter(folder / f"part-{j:02d}.parquet", schema) as writer:
            for _ in range(10):
                rows = center + rng.standard_normal((n_rows // N_CLUSTERS // 10, N_FEATURES))
                writer.write_table(pa.table(list(rows.T), schema=schema))


def most_memory() -> int:
    """The most memory that the process has had so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    main()

"""One fit of one contender in a process of its own: prints a JSON line with what it took, and saves the centers.

python benchmarks/scale_contender.py NAME DATA CENTERS
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scale_data import N_CLUSTERS

MEMORY_LIMIT = 1 << 30
BATCH_ROWS = 1 << 14  # of the loop by hand


def euler_means(data: str, **options: object) -> np.ndarray:
    from eulermeans import EulerMeans

    model = EulerMeans(N_CLUSTERS, random_state=0, memory_limit=MEMORY_LIMIT, **options).fit(data)
    return model.cluster_centers_


def minibatch_kmeans(data: str) -> np.ndarray:
    """All rows once, batch by batch, as the documentation of partial_fit shows it."""
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(N_CLUSTERS, random_state=0)
    for path in sorted(Path(data).glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                model.partial_fit(np.column_stack([column.to_numpy() for column in batch.columns]))
    return model.cluster_centers_


CONTENDERS: dict[str, Callable[[str], np.ndarray]] = {
    "EulerMeans()": euler_means,
    "EulerMeans(compute_labels=False)": lambda data: euler_means(data, compute_labels=False),
    "EulerMeans(polish=False, compute_labels=False)": lambda data: euler_means(
        data, polish=False, compute_labels=False
    ),
    "MiniBatchKMeans.partial_fit": minibatch_kmeans,
}


def bytes_read() -> int:
    """By this process, from files or from what the system remembers of them."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


def main() -> None:
    name, data, target = sys.argv[1:]
    fit = CONTENDERS[name]
    __import__("sklearn.cluster"), __import__("eulermeans.estimators")  # what importing takes is not measured
    before, begun, cpu = bytes_read(), time.perf_counter(), time.process_time()
    centers = fit(data)
    result = {
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - cpu,
        "bytes_read": bytes_read() - before,
        "peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    np.save(target, centers)
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()

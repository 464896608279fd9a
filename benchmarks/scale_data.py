"""The data of the scale benchmark: the Gaussians of the default solver's benchmark, as many rows as wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_FEATURES, N_CLUSTERS, N_GAUSSIANS = 64, 256, 400
ROWS_AT_ONCE = 1 << 18


def batches(n_points: int) -> Iterator[np.ndarray]:
    """400 unit Gaussians whose means are 0.8·N(0, I), in batches that do not depend on how many follow."""
    rng = np.random.default_rng(0)
    means = 0.8 * rng.standard_normal((N_GAUSSIANS, N_FEATURES), dtype=np.float32)
    for first in range(0, n_points, ROWS_AT_ONCE):
        size = min(ROWS_AT_ONCE, n_points - first)
        points = rng.standard_normal((size, N_FEATURES), dtype=np.float32)
        points += means[rng.integers(N_GAUSSIANS, size=size)]
        yield points


def write_parquet(folder: Path, n_points: int, n_files: int = 8) -> Path:
    """A folder of Parquet files with a column for each feature, made once."""
    target = folder / f"gaussians-{n_points}"
    if (target / "complete").exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    names = [f"x{j}" for j in range(N_FEATURES)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    writer, per_file, written = None, -(-n_points // n_files), 0
    for points in batches(n_points):
        if writer is None or written >= per_file:
            if writer is not None:
                writer.close()
            number = len(list(target.glob("*.parquet")))
            # Random floats neither compress nor repeat: a person who knows their data would turn both off.
            writer = pq.ParquetWriter(
                target / f"part-{number}.parquet", schema, compression="none", use_dictionary=False
            )
            written = 0
        columns = np.ascontiguousarray(points.T)
        writer.write_table(pa.table(list(columns), schema=schema), row_group_size=1 << 17)
        written += len(points)
    assert writer is not None
    writer.close()
    (target / "complete").touch()
    return target

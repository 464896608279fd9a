"""
Data that do not fit in memory
==============================

A path is data: ``fit`` reads Parquet, Arrow, CSV, NPY and Zarr files in chunks and stays below ``memory_limit``.
Needs the extra ``io``. Files may be sorted by cluster, as here, where the order is as bad as possible.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eulermeans import EulerMeans, plot

N_ROWS, N_CLUSTERS, N_FEATURES = 100_000, 20, 16

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
for j, center in enumerate(2.5 * rng.standard_normal((N_CLUSTERS, N_FEATURES))):
    rows = center + rng.standard_normal((N_ROWS // N_CLUSTERS, N_FEATURES))
    columns = {f"x{feature}": rows[:, feature] for feature in range(N_FEATURES)}
    pq.write_table(pa.table(columns), Path(folder.name) / f"part-{j:02d}.parquet")
files = f"{folder.name}/part-*.parquet"
print(f"{N_ROWS} rows in {N_CLUSTERS} files, {8 * N_ROWS * N_FEATURES / 1e6:.0f} MB in memory")

# %%
# Two megabytes are enough to cluster thirteen.

model = EulerMeans(N_CLUSTERS, memory_limit="2MB", random_state=0).fit(files)
print(f"objective {model.objective_:.4f}, clusters of {model.cluster_weights_.min():.0f} rows or more")

# %%
# ``predict`` gives labels in blocks, in the order of the rows, so that they need not fit in memory either.

n_labels = 0
with pq.ParquetWriter(Path(folder.name) / "labels.parquet", pa.schema([("label", pa.int32())])) as writer:
    for block in model.predict(files):
        writer.write_table(pa.table({"label": block}))
        n_labels += len(block)
print(f"wrote {n_labels} labels")

# %%
# The same rows in memory give the same objective.

table = pa.concat_tables([pq.read_table(path) for path in sorted(Path(folder.name).glob("part-*.parquet"))])
in_memory = EulerMeans(N_CLUSTERS, random_state=0).fit(table)
ratio = model.objective_ / in_memory.objective_
print(f"the objective is {ratio:.4f} times that of a fit in memory")

# %%
# Where the time went. Estimates on samples are hollow, exact values are filled.

plot.objective(model)
plt.show()
folder.cleanup()

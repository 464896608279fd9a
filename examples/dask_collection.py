"""
A Dask collection
=================

Dask arrays and dataframes are data. With a client, the kernels run on the workers, next to the partitions, and
only sums move: rows stay where they are, apart from the sample that is searched. Needs the extra ``dask``.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from eulermeans import EulerMeans, plot

N_CLUSTERS, N_FEATURES = 12, 8
centers = 4 * np.random.default_rng(0).standard_normal((N_CLUSTERS, N_FEATURES))


def partition(seed: int) -> np.ndarray:
    """The rows of one partition, made where they are needed."""
    rng = np.random.default_rng(seed)
    return centers[rng.integers(N_CLUSTERS, size=10_000)] + rng.standard_normal((10_000, N_FEATURES))


X = da.map_blocks(
    lambda block_info=None: partition(block_info[None]["chunk-location"][0]),
    chunks=((10_000,) * 6, (N_FEATURES,)),
    dtype=float,
    meta=np.empty((0, N_FEATURES)),
)

# %%
# A cluster of two workers in this process. On a real one only the address of the client changes.

with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
    model = EulerMeans(N_CLUSTERS, random_state=0).fit(X)
    labels = model.predict(X)  # a lazy Dask array, with the partitions of X
    sizes = np.bincount(labels.compute())
print(f"objective {model.objective_:.4f}; sizes of the clusters: {sizes}")

# %%
# The result has the same bits for any number of workers.

with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    again = EulerMeans(N_CLUSTERS, random_state=0).fit(X)
print("the same bits with one worker:", np.array_equal(model.cluster_centers_, again.cluster_centers_))

# %%
# Plots take an array of rows: here those of the first partition.

plot.plane(model, partition(0))
plt.show()

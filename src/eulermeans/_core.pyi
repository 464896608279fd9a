"""Compiled kernels: one pass over points, without a points-by-centers matrix.

Arrays are in C order. Points are float32, float64, float16, uint8 or int8. Centers are float64 for float64 points
and float32 for all others. Sparse points are float32 or float64, with int32 or int64 indices, and centers have the
dtype of the values. n_threads=None uses as many threads as OpenMP would.

Every function checks its arguments: shapes, dtypes, indices, and that no array which is written shares memory
with another. A wrong one is a TypeError or ValueError; that values are finite is not checked. Ctrl-C and a time
limit end a call early, with its outputs in any state.
"""

import numpy as np
from numpy.typing import NDArray

from .arrays import Array

BLOCK_ROWS: int
"""Calls over ranges of rows that start at multiples of this give the same bits as one call over all rows."""

class OutOfTime(TimeoutError):
    """The time limit of this thread's calls has passed; see limit_time."""

def limit_time(seconds: float | None) -> float | None:
    """Set after how many seconds calls from this thread end with OutOfTime; None: never. Return what was left."""

def accumulate(
    points: Array,  # (n_points, n_features), IN
    centers: Array,  # (n_clusters, n_features), IN
    counts: NDArray[np.float64],  # (n_clusters,) total weight of each cluster, INOUT
    sums: NDArray[np.float64],  # (n_clusters, n_features) weighted sum of each cluster's points, INOUT
    cost: NDArray[np.float64],  # (1,) weighted sum of squared distances, INOUT
    rows: NDArray[np.int64] | None = None,  # (n_rows,) indices of the points to read, IN; None: all
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None: all 1
    errors: NDArray[np.float64] | None = None,  # (n_clusters,) each cluster's part of the cost, INOUT
    utilities: NDArray[np.float64] | None = None,  # (n_clusters,) growth of the cost without the center, INOUT
    n_tied: NDArray[np.float64] | None = None,  # (1,) how many rows have several nearest centers, INOUT
    labels: NDArray[np.int32] | None = None,  # (n_rows,), OUT
    nearest: NDArray[np.float64] | None = None,  # (n_rows,) squared distance to the nearest center, OUT
    second: NDArray[np.float64] | None = None,  # (n_rows,) squared distance to the second nearest, OUT
    prices: NDArray[np.float64] | None = None,  # (n_clusters,), IN; None: all 0
    n_threads: int | None = None,
) -> float:
    """Assign points to their nearest centers: add to counts, sums, cost and so on, and fill the rest.

    Of equally near centers, the one with the lowest index wins. Returns the largest squared distance of a row to
    its nearest center, up to rounding: infinity if a coordinate of a row is NaN or infinite. With prices,
    for two centers or more, the squared distance plus the price takes the place of the squared distance.
    """

def assign(
    points: Array,  # (n_points, n_features), IN
    centers: Array,  # (n_clusters, n_features), IN
    rows: NDArray[np.int64] | None = None,  # (n_rows,) indices of the points to read, IN; None: all
    labels: NDArray[np.int32] | None = None,  # (n_rows,), OUT
    nearest: NDArray[np.float64] | None = None,  # (n_rows,) squared distance to the nearest center, OUT
    second: NDArray[np.float64] | None = None,  # (n_rows,) squared distance to the second nearest, OUT
    prices: NDArray[np.float64] | None = None,  # (n_clusters,), IN; None: all 0
    n_threads: int | None = None,
) -> float:
    """The same as accumulate without sums: fill labels, nearest and second only."""

def distances(
    points: Array,  # (n_points, n_features), IN
    centers: Array,  # (n_clusters, n_features), IN
    out: Array,  # (n_rows, n_clusters) of the centers' dtype, OUT
    rows: NDArray[np.int64] | None = None,  # (n_rows,) indices of the points to read, IN; None: all
    n_threads: int | None = None,
) -> None:
    """Fill out with the Euclidean distance of each point to each center."""

def accumulate_csr(
    values: Array,  # (n_stored,), IN
    indices: Array,  # (n_stored,) feature of each value, increasing and distinct for each point, IN
    starts: NDArray[np.int64],  # (n_points + 1,) position of each point's first value, IN
    centers: Array,  # (n_clusters, n_features), IN
    counts: NDArray[np.float64],  # (n_clusters,), INOUT
    sums: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    cost: NDArray[np.float64],  # (1,), INOUT
    rows: NDArray[np.int64] | None = None,  # (n_rows,), IN
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN
    errors: NDArray[np.float64] | None = None,  # (n_clusters,), INOUT
    utilities: NDArray[np.float64] | None = None,  # (n_clusters,), INOUT
    n_tied: NDArray[np.float64] | None = None,  # (1,), INOUT
    labels: NDArray[np.int32] | None = None,  # (n_rows,), OUT
    nearest: NDArray[np.float64] | None = None,  # (n_rows,), OUT
    second: NDArray[np.float64] | None = None,  # (n_rows,), OUT
    prices: NDArray[np.float64] | None = None,  # (n_clusters,), IN
    checked: CheckedCsr | None = None,
    n_threads: int | None = None,
) -> float:
    """The same as accumulate, for sparse points. `checked` is of the same arrays: they are not checked again."""

def assign_csr(
    values: Array,  # (n_stored,), IN
    indices: Array,  # (n_stored,), IN
    starts: NDArray[np.int64],  # (n_points + 1,), IN
    centers: Array,  # (n_clusters, n_features), IN
    rows: NDArray[np.int64] | None = None,  # (n_rows,), IN
    labels: NDArray[np.int32] | None = None,  # (n_rows,), OUT
    nearest: NDArray[np.float64] | None = None,  # (n_rows,), OUT
    second: NDArray[np.float64] | None = None,  # (n_rows,), OUT
    prices: NDArray[np.float64] | None = None,  # (n_clusters,), IN
    checked: CheckedCsr | None = None,
    n_threads: int | None = None,
) -> float:
    """The same as assign, for sparse points. `checked` is of the same arrays: they are not checked again."""

def distances_csr(
    values: Array,  # (n_stored,), IN
    indices: Array,  # (n_stored,), IN
    starts: NDArray[np.int64],  # (n_points + 1,), IN
    centers: Array,  # (n_clusters, n_features), IN
    out: Array,  # (n_points, n_clusters) of the centers' dtype, OUT
    checked: CheckedCsr | None = None,
    n_threads: int | None = None,
) -> None:
    """The same as distances, for sparse points. `checked` is of the same arrays: they are not checked again."""

def sweep_csr(
    values: Array,  # (n_stored,), IN
    indices: Array,  # (n_stored,), IN
    starts: NDArray[np.int64],  # (n_points + 1,), IN
    order: NDArray[np.int64],  # (n_points,) in which points are visited, IN
    labels: NDArray[np.int32],  # (n_points,), INOUT; -1: in no cluster yet
    counts: NDArray[np.float64],  # (n_clusters,), INOUT
    sums: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    errors: NDArray[np.float64],  # (n_clusters,) cost of each cluster, OUT
    extra: NDArray[np.float64],  # (n_points,) how much dearer another cluster is than the own, OUT
    n_sweeps: int,  # at most
    few: int,  # a sweep that moves at most this many points is the last
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None: all 1
    checked: CheckedCsr | None = None,
    n_threads: int | None = None,
) -> int:
    """Let every point go to the cluster where it raises the cost least. Returns how many sweeps were made."""

class CheckedCsr:
    """Indices and starts that no kernel would read out of bounds. Holds both, which must not be changed."""

    in_order: bool
    """Whether the indices of each row are increasing and distinct, as the kernels need them."""

    def __init__(
        self,
        indices: Array,  # (n_stored,), IN
        starts: NDArray[np.int64],  # (n_points + 1,), IN
        n_features: int,
    ) -> None:
        """Raise ValueError if a kernel would read out of bounds."""

def instruction_set() -> str:
    """The instruction set in use."""

def instruction_sets() -> list[str]:
    """The instruction sets that this machine supports, the best last."""

def max_threads() -> int:
    """The number of threads used by default."""

def refine(
    points: Array,  # (n_points, n_features), IN
    centers: Array,  # (n_clusters, n_features), IN
    counts: NDArray[np.float64],  # (n_clusters,), INOUT
    sums: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    labels: NDArray[np.int32],  # (n_points,), INOUT
    upper: NDArray[np.float32],  # (n_points,) bound on the distance to the own center, INOUT
    lower: NDArray[np.float32],  # (n_points, 1 or n_clusters) bound for all other centers, or for each, INOUT
    moved: NDArray[np.float32],  # (n_clusters,) how far each center has moved in all so far, IN
    lower_moved: NDArray[np.float32],  # (1 or n_clusters,) the same for the centers behind each lower bound, IN
    half_gap: NDArray[np.float32],  # (n_clusters,) half the distance to the nearest other center, IN
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None: all 1
    n_threads: int | None = None,
) -> int:
    """Update labels and bounds for centers that have moved, and add the changes to counts and sums.

    Bounds are relative to all moves so far: the current ones are upper + moved[label] and lower - lower_moved.
    With one lower bound, lower_moved is the sum of the largest moves. Returns the number of distances computed.
    """

def place(
    distances: Array,  # (n_points, n_clusters) float32 or float64, finite, IN
    lowest: NDArray[np.float64],  # (n_clusters,) the least weight that each cluster must get, IN
    highest: NDArray[np.float64],  # (n_clusters,) the most, IN
    prices: NDArray[np.float64],  # (n_clusters,) finite, INOUT
    labels: NDArray[np.int32],  # (n_points,), OUT
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None: all 1
    current: NDArray[np.int32] | None = None,  # (n_points,) the present clusters, IN
    counts: NDArray[np.float64] | None = None,  # (n_clusters,) the present weights of all clusters, IN
    exact: bool = True,
    reach: float = ...,  # infinite unless given
    n_in_doubt: NDArray[np.int64] | None = None,  # (1,) points whose choice was no surer than prices moved, OUT
) -> bool:
    """Place points at the least sum of squared distances with every cluster's weight within its bounds.

    Starts from the given prices, and leaves prices for which every point is where its squared distance plus price
    is least. A price is positive only for a cluster at its highest weight, negative only for one at its lowest.
    With unit weights this is exact; a weighted point that would have to be cut goes where the bounds suffer least.
    With `current` and `counts`, costs are those of single transfers that take the means along: n / (n - w) times
    the squared distance to the own center and n / (n + w) times the others. If not `exact`, only improves the
    prices while many points find a place at once. Prices do not move further against each other than `reach`: if
    that is too near for the bounds, they are as good as they can be there. Returns whether the bounds are met.
    """

def implicit_steps(
    points: Array,  # (n_points, n_features), IN
    rows: NDArray[np.int64],  # (n_outer * n_inner * batch_size,) the mini-batches, one after the other, IN
    centers: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    n_outer: int,
    n_inner: int,
    step_size: float,
    decay: float,
    averaging: float,
    limit: float,
    n_threads: int | None = None,
) -> None:
    """Take n_outer stochastic backward Euler steps of n_inner mini-batches each."""

def seed_greedily(
    points: Array,  # (n_points, n_features), IN
    centers: Array,  # (n_centers, n_features) that are there already, IN
    labels: NDArray[np.int32],  # (n_rows,) the nearest of these, IN
    nearest: NDArray[np.float64],  # (n_rows,) its squared distance, IN
    numbers: NDArray[np.float64],  # (n_new, n_candidates) from 0 up to 1, which draw the candidates, IN
    chosen: NDArray[np.int64],  # (n_new,) the rows of points that become centers, OUT
    rows: NDArray[np.int64] | None = None,  # (n_rows,) which points to read, IN; None: all
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None: all 1
    n_threads: int | None = None,
) -> None:
    """Add centers by greedy k-means++. After OutOfTime, the rest of `chosen` is as it was."""

def neighbours(
    centers: NDArray[np.float64],  # (n_clusters, n_features), IN
    out: NDArray[np.int32],  # (n_clusters, n_neighbours), OUT
    n_threads: int | None = None,
) -> None:
    """Fill each row of out with the nearest other centers of a center, the nearest first."""

def group(
    labels: NDArray[np.int32],  # (n,), IN
    starts: NDArray[np.int64],  # (n_clusters + 1,) where each cluster begins in order, OUT
    order: NDArray[np.int64],  # (n,) the indices of the labels, cluster after cluster, OUT
) -> None:
    """Sort by label; equal labels stay in their order."""

def split_cells(
    points: NDArray[np.float64],  # (n_points, n_features), IN
    cells: NDArray[np.int64],  # (n_cells, size) rows of points, OUT; the number of cells is a power of two
) -> None:
    """Cut the first points into cells, each half again in two halves where it varies most."""

def reassign(
    points: Array,  # (n_points, n_features), IN
    centers: Array,  # (n_clusters, n_features), IN
    members: NDArray[np.int64],  # (n_members,) rows of points, cluster after cluster, IN
    starts: NDArray[np.int64],  # (n_clusters + 1,) where the members of each cluster begin, IN
    neighbours: NDArray[np.int32],  # (n_clusters, n_neighbours) the nearest other centers, the nearest first, IN
    chosen: NDArray[np.int32],  # (n_chosen,) the clusters to work on, IN
    labels: NDArray[np.int32],  # (n_members,), OUT for the members of chosen clusters, as are the next two
    nearest: NDArray[np.float64],  # (n_members,) squared distance to the nearest center, OUT
    second: NDArray[np.float64],  # (n_members,) lower bound on the one to the second nearest, OUT
    n_threads: int | None = None,
) -> None:
    """Compare the members of chosen clusters with their own center and its neighbours."""

def shortlist(
    points: Array,  # (n_points, n_features), IN
    centers: Array,  # (n_clusters, n_features), IN
    rows: NDArray[np.int64],  # (n_rows,) indices of the points to read, IN
    lists: NDArray[np.int32],  # (n_rows, length), OUT
    n_threads: int | None = None,
) -> None:
    """Fill lists with the nearest centers of each of the rows, the nearest first, up to rounding."""

def compare_listed(
    points: Array,  # (n_points, n_features), IN
    centers: Array,  # (n_clusters, n_features), IN
    rows: NDArray[np.int64],  # (n_rows,) indices of the points to read, IN
    order: NDArray[np.int64],  # (n_rows,) which list belongs to each of the rows, IN
    lists: NDArray[np.int32],  # (n_lists, length) centers, IN
    labels: NDArray[np.int32],  # (n_rows,), OUT
    nearest: NDArray[np.float64],  # (n_rows,) squared distance to the nearest center of the list, OUT
    second: NDArray[np.float64],  # (n_rows,) the one to the second nearest, OUT
    n_threads: int | None = None,
) -> None:
    """Compare each of the rows with the centers of its list."""

def sum_clusters(
    points: Array,  # (n_points, n_features), IN
    members: NDArray[np.int64],  # (n_members,), IN
    starts: NDArray[np.int64],  # (n_clusters + 1,), IN
    neighbours: NDArray[np.int32],  # (n_clusters, n_neighbours), IN
    chosen: NDArray[np.int32],  # (n_chosen,), IN
    counts: NDArray[np.float64],  # (n_clusters,), OUT for chosen clusters
    sums: NDArray[np.float64],  # (n_clusters, n_features), OUT for chosen clusters
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None: all 1
    n_threads: int | None = None,
) -> None:
    """Set counts and sums of chosen clusters from their members."""

def transfer_nearby(
    points: Array,  # (n_points, n_features), IN
    rows: NDArray[np.int64],  # (n_rows,) indices of the points that may move, IN
    weights: NDArray[np.float64],  # (n_rows,), IN
    labels: NDArray[np.int32],  # (n_rows,) their clusters, INOUT
    neighbours: NDArray[np.int32],  # (n_clusters, n_neighbours), IN
    counts: NDArray[np.float64],  # (n_clusters,), INOUT
    sums: NDArray[np.float64],  # (n_clusters, n_features), INOUT
    means: NDArray[np.float64],  # (n_clusters, n_features), INOUT
) -> None:
    """Move single points to a neighbouring cluster where that lowers the cost."""

def sweep(
    points: Array,  # (n_points, n_features), IN
    rows: NDArray[np.int64],  # (n_rows,) indices of the points, in the order in which they are visited, IN
    order: NDArray[np.int64],  # (n_rows,) which of the lists and labels belongs to each of the rows, IN
    lists: NDArray[np.int32],  # (n_lists, length) the centers near each point, IN
    labels: NDArray[np.int32],  # (n_lists,), INOUT
    counts: NDArray[np.float64],  # (n_clusters,), INOUT
    means: Array,  # (n_clusters, n_features), INOUT
    nearest: NDArray[np.float64],  # (n_lists,) squared distance to the mean of the own cluster, OUT
    second: NDArray[np.float64],  # (n_lists,) the least cost of joining another cluster of the list, OUT
    temperature: float,  # 0: every point goes where it costs least
    seed: int,  # of the random numbers that a temperature needs
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None: all 1
    n_threads: int | None = None,
) -> int:
    """Let every row go to the cluster of its list where it raises the cost least. Returns how many moved."""

def try_moves(
    points: Array,  # (n_points, n_features), IN
    centers: NDArray[np.float64],  # (n_clusters, n_features), IN
    errors: NDArray[np.float64],  # (n_clusters,) the cost of each cluster, IN
    members: NDArray[np.int64],  # (n_members,), IN
    starts: NDArray[np.int64],  # (n_clusters + 1,), IN
    neighbours: NDArray[np.int32],  # (n_clusters, n_neighbours), IN
    removed: NDArray[np.int32],  # (n_moves,) the center that is removed, or -1, IN
    inside: NDArray[np.int32],  # (n_moves,) the cluster that gets another center, or -1, IN
    added: NDArray[np.int64],  # (n_moves,) the row at which it starts, or -1, IN
    gains: NDArray[np.float64],  # (n_moves,) how much the cost of the points nearby falls, OUT
    n_adapting: int,
    largest_adapting: int,  # a center nearby with more points than this stays where it is
    n_steps: int,
    part_of_way: float,  # from the center of its cluster to its row, where a new center starts
    may_give_up: bool,
    transfers: bool,
    sphere: bool,
    weights: NDArray[np.float64] | None = None,  # (n_points,), IN; None: all 1
    touched: NDArray[np.int32] | None = None,  # (n_moves, at least 2 n_adapting + 2) centers that moved, OUT
    positions: NDArray[np.float64] | None = None,  # (n_moves, as many, n_features) where to, OUT
    n_threads: int | None = None,
) -> int:
    """Try moves of centers, each on its own. Returns the number of distances computed."""

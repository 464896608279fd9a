"""Random points for the differential fuzz, and the answers by brute force in long double."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

DTYPES = ["float64", "float32", "float16", "uint8", "int8", "int32", "int64", "bool", ">f8", "longdouble"]
FORMATS = [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]


@dataclass(frozen=True)
class Problem:
    """Points as a user may give them."""

    given: object  # (n, d) an array or a sparse matrix
    values: np.ndarray  # (n, d) the same as a plain array
    weights: np.ndarray | None  # (n,)
    n_clusters: int
    scale: float

    @property
    def arithmetic(self) -> np.dtype:
        """float32 where it holds every value, else float64."""
        return np.dtype(np.float32 if np.can_cast(self.values.dtype, np.float32) else np.float64)


def generated(rng: np.random.Generator, *, most_points: int = 60, most_features: int = 9) -> Problem:
    """Points of any dtype, layout, scale and number, often with ties and duplicates, with weights or without."""
    n, d = int(rng.integers(1, most_points + 1)), int(rng.integers(1, most_features + 1))
    if rng.random() < 0.1:
        d = int(rng.integers(10, 140))
    n_clusters = int(rng.integers(1, min(n, 12) + 1)) if rng.random() < 0.95 else n
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    values, scale = _values(rng, n, d, dtype)
    given: object = _laid_out(rng, values)
    if rng.random() < 0.25 and values.dtype.kind in "fiu" and values.dtype.itemsize <= 8:
        values = np.where(rng.random(values.shape) < 0.6, values.dtype.type(0), values)
        native = values.astype(values.dtype.newbyteorder("="))
        if native.dtype != np.float16:
            given, values = FORMATS[rng.integers(len(FORMATS))](native), native
        else:
            given = _laid_out(rng, values)
    weights = _weights(rng, n)
    apart = rng.spawn(1)[0]  # draws of its own: the cases stay what they were
    if apart.random() < 0.1:
        given = _unaligned(given)
    if weights is not None and apart.random() < 0.1:
        weights = _at_odd_address(weights)
    return Problem(given, values, weights, n_clusters, scale)


def _unaligned(given: object) -> object:
    """The same points in arrays that are not aligned to their elements; in CSR format, if they are sparse."""
    if not sparse.issparse(given):
        return _at_odd_address(given)
    rows = given.tocsr()
    for name in ("data", "indices", "indptr"):
        setattr(rows, name, _at_odd_address(getattr(rows, name)))
    return rows


def _at_odd_address(array: np.ndarray) -> np.ndarray:
    buffer = np.empty(array.nbytes + 2, np.uint8)
    start = 1 - buffer.ctypes.data % 2
    placed = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    placed[...] = array
    return placed


def _values(rng: np.random.Generator, n: int, d: int, dtype: np.dtype) -> tuple[np.ndarray, float]:
    if dtype.kind in "iub":
        low, high = (0, 2) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        width = rng.choice([3, 10, 200, 2**40])
        low, high = max(low, -width), min(high, width)
        return rng.integers(low, high, size=(n, d), endpoint=dtype.kind != "b").astype(dtype), 1.0
    means = rng.standard_normal((int(rng.integers(1, 6)), d)) * rng.choice([0.1, 3, 100])
    points = means[rng.integers(len(means), size=n)] + rng.standard_normal((n, d)) * rng.choice([0, 0.01, 1])
    if rng.random() < 0.3:
        points = np.round(points)  # ties
    if rng.random() < 0.2:
        points = points[rng.integers(n, size=n)]  # duplicates
    if rng.random() < 0.15:
        points += 10.0 ** rng.integers(0, 7) * rng.standard_normal(d)  # far from zero
    exponents = {2: (-2, 2), 4: (-15, 15)}.get(dtype.itemsize, (-90, 120))
    scale = 10.0 ** rng.integers(*exponents) if rng.random() < 0.4 else 1.0
    points = points * scale
    if dtype == np.float16:
        points = np.clip(points, -6e4, 6e4)
    with np.errstate(over="ignore"):
        return points.astype(dtype), scale


def _laid_out(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    match rng.integers(6):
        case 0:
            return np.asfortranarray(values)
        case 1:
            return np.repeat(values, 2, axis=0)[::2]
        case 2:
            return np.repeat(values, 2, axis=1)[:, ::2]
        case 3:
            return values[::-1, ::-1].copy()[::-1, ::-1]
        case 4:
            read_only = values.copy()
            read_only.flags.writeable = False
            return read_only
        case _:
            return values


def _weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    match rng.integers(6):
        case 0:
            weights = rng.random(n)
        case 1:
            weights = rng.integers(0, 3, size=n).astype(float)
        case 2:
            weights = 10.0 ** rng.integers(-40, 40) * rng.random(n)
        case 3:
            weights = 10.0 ** rng.integers(-30, 30, size=n).astype(float)
        case _:
            return None
    weights[rng.integers(n)] += weights.max() if weights.any() else 1.0
    return weights


def squared_distances(values: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Of each point to each center, (n, n_clusters), in long double."""
    points, centers = values.astype(np.longdouble), centers.astype(np.longdouble)
    return np.stack([((points - center) ** 2).sum(axis=1) for center in centers], axis=1)


FEW_FEATURES = 7  # with at most so many, float32 distances are compared as they are (nearest_few_features.hpp)


def assert_nearest(values: np.ndarray, centers: np.ndarray, labels: np.ndarray) -> None:
    """The centers that labels name are nearest, up to rounding.

    A sum of d squared differences is rounded by at most D (d + 2) u, where u = eps / 2 (Higham: two roundings of a
    square, one of the difference's own, d - 1 of the sum). So if a center at D_a is taken before one at D_b,
    D_a <= D_b (1 + (d + 2) eps + O(eps²)). eps is that of float32 only where the kernels compare float32 sums
    directly, which they do with few features. With more of them, and for float64, candidates that rounding leaves
    open are compared in double.
    """
    squares = squared_distances(values, centers)
    wide, d = np.finfo(np.float64).eps, values.shape[1]
    eps = np.finfo(centers.dtype).eps if d <= FEW_FEATURES else wide
    norms = (values.astype(np.longdouble) ** 2).sum(axis=1) + (centers.astype(np.longdouble) ** 2).sum(
        axis=1
    ).max()
    slack = (d + 4) * eps * squares.min(axis=1) + 8 * wide**2 * norms
    taken = squares[np.arange(len(labels)), labels]
    wrong = np.flatnonzero(taken > squares.min(axis=1) + slack)
    assert not len(wrong), f"row {wrong[0]}: label {labels[wrong[0]]}, nearest {squares[wrong[0]].argmin()}"

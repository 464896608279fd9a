"""Calls of the dense kernel, and checks that hold for every call."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from naive import naive_moments

from eulermeans import _core

DTYPES = ["float32", "float64", "float16", "uint8", "int8"]


@dataclass
class Pass:
    """The results of one call of the kernel."""

    counts: np.ndarray
    sums: np.ndarray
    cost: np.ndarray
    errors: np.ndarray
    utilities: np.ndarray
    labels: np.ndarray
    nearest: np.ndarray
    second: np.ndarray

    def arrays(self):
        return vars(self).values()


@dataclass
class BothPasses(Pass):
    """Also the results of a second call, which asks only for the required outputs."""

    plain_sums: np.ndarray
    plain_cost: np.ndarray
    plain_nearest: np.ndarray


# Two centers are equally near to a point in double if their squared distances differ by this fraction. Ways that
# compute in double from keys about the mean of the centers may tell them apart, others take the lower index.
EQUALLY_NEAR = 8 * np.finfo(np.float64).eps


def kernel(points, centers, *, rows=None, weights=None, n_threads=None, into=None) -> BothPasses:
    (k, d), n = centers.shape, len(points) if rows is None else len(rows)
    sums = (np.zeros(k), np.zeros((k, d)), np.zeros(1), np.zeros(k), np.zeros(k))
    plain_sums, plain_cost = np.zeros((k, d)), np.zeros(1)
    if into is not None:
        sums = (into.counts, into.sums, into.cost, into.errors, into.utilities)
        plain_sums, plain_cost = into.plain_sums, into.plain_cost
    labels, nearest, second = np.full(n, -1, dtype=np.int32), np.empty(n), np.empty(n)
    out = BothPasses(*sums, labels, nearest, second, plain_sums, plain_cost, np.empty(n))
    given = {"rows": rows, "weights": weights, "n_threads": n_threads}
    _core.accumulate(
        points,
        centers,
        out.counts,
        out.sums,
        out.cost,
        errors=out.errors,
        utilities=out.utilities,
        labels=out.labels,
        nearest=out.nearest,
        second=out.second,
        **given,
    )
    # Without the second nearest, another way to find the nearest may be chosen. It must find the same.
    plain, counts = np.full(n, -1, dtype=np.int32), np.zeros(k)
    _core.accumulate(
        points, centers, counts, plain_sums, plain_cost, labels=plain, nearest=out.plain_nearest, **given
    )
    differ = plain != out.labels
    if differ.any():
        read = (points if rows is None else points[rows])[differ].astype(np.longdouble)
        one, other = (np.sum((read - centers[found[differ]]) ** 2, axis=1) for found in (plain, out.labels))
        assert np.all(np.abs(one - other) <= EQUALLY_NEAR * one)
    else:
        np.testing.assert_array_equal(plain_sums, out.sums)
    rtol = 1e-10 if points.dtype == np.float64 else 2e-5
    np.testing.assert_allclose(out.plain_nearest, out.nearest, rtol=rtol)
    np.testing.assert_allclose(plain_cost, out.cost, rtol=rtol)
    return out


def center_dtype(points):
    return np.float64 if points.dtype == np.float64 else np.float32


def make(n, d, k, dtype="float64", seed=0):
    """Points of a dtype, and centers scattered among them."""
    rng = np.random.default_rng([seed, n, d, k])
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        points = rng.integers(limits.min, limits.max + 1, size=(n, d)).astype(dtype)
        centers = rng.uniform(limits.min, limits.max, size=(k, d))
    else:
        points = rng.standard_normal((n, d)).astype(dtype)
        centers = rng.standard_normal((k, d))
    return points, centers.astype(center_dtype(points))


def squared_distances(points, centers):
    offsets = points.astype(np.longdouble)[:, None, :] - centers.astype(np.longdouble)[None, :, :]
    return (offsets**2).sum(axis=2)


def assert_agrees(found: Pass, points, centers, weights=None):
    """Each label is a nearest center up to rounding, and the moments are those of the labels."""
    rtol = 1e-10 if points.dtype == np.float64 else 2e-5
    n, k = len(points), len(centers)
    exact = squared_distances(points, centers)
    in_order = np.sort(exact, axis=1).astype(np.float64)
    atol = rtol * float(exact.max(initial=0))
    chosen = exact[np.arange(n), found.labels].astype(np.float64)
    np.testing.assert_allclose(chosen, in_order[:, 0], rtol=rtol, atol=1e-6 * atol)
    np.testing.assert_allclose(found.nearest, in_order[:, 0], rtol=rtol, atol=atol)

    weight = np.ones(n) if weights is None else weights
    member = np.zeros((k, n))
    member[found.labels, np.arange(n)] = weight
    sums = member @ points.astype(np.float64)
    np.testing.assert_allclose(found.counts, member.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(found.sums, sums, rtol=1e-12, atol=1e-12 * np.abs(sums).max(initial=0))
    np.testing.assert_allclose(found.errors, member @ in_order[:, 0], rtol=rtol, atol=n * atol)
    np.testing.assert_allclose(found.cost[0], weight @ in_order[:, 0], rtol=rtol, atol=atol)
    assert found.cost[0] == pytest.approx(naive_moments(points, centers, weights)[0].cost, rel=rtol, abs=atol)
    if k == 1:
        assert np.isposinf(found.second).all()
    else:
        np.testing.assert_allclose(found.second, in_order[:, 1], rtol=rtol, atol=atol)
        utilities = member @ (in_order[:, 1] - in_order[:, 0])
        np.testing.assert_allclose(found.utilities, utilities, rtol=rtol, atol=n * atol)


def assert_nearest(labels, exact, rtol):
    """No center is nearer than the chosen one. exact: (n, k) all squared distances."""
    chosen = exact[np.arange(len(exact)), labels].astype(float)
    np.testing.assert_allclose(chosen, exact.min(axis=1).astype(float), rtol=rtol)


def assert_same_bits(one: Pass, other: Pass):
    for a, b in zip(one.arrays(), other.arrays(), strict=True):
        np.testing.assert_array_equal(a, b)


def run_python(code, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

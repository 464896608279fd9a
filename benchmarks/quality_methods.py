"""The methods of the quality benchmark: ours, and what people use now, as they use it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from quality_sets import Problem
from sklearn.cluster import KMeans, MiniBatchKMeans
from threadpoolctl import threadpool_limits

from eulermeans import EulerMeans

OURS, OURS_RANDOM = "eulermeans", "eulermeans random"
OURS_SAMPLED, OURS_FAST = "eulermeans no polish", "eulermeans fast"
KMEANS_1, KMEANS_10 = "KMeans ×1", "KMeans ×10"
MINIBATCH, MINIBATCH_ADAPTIVE, MINIBATCH_8192 = "MiniBatch", "MiniBatch adaptive", "MiniBatch 8192"
BKMEANS, FLSPP, FAISS, INTELEX = "bkmeans", "FLS++", "faiss", "intelex"

Fit = Callable[[Problem, int], np.ndarray]  # the problem and the seed; gives the centers


class NotAvailable(Exception):
    """What is missing."""


@dataclass(frozen=True)
class Method:
    name: str
    what: str
    prepare: Callable[[int], Fit]  # for so many threads; raises ImportError or NotAvailable
    package: str = "scikit-learn"
    large: bool = False  # meant for the large set
    small: bool = True  # meant for the others

    @property
    def ours(self) -> bool:
        return self.package == "eulermeans"


def euler_means(**options: Any) -> Callable[[int], Fit]:
    def prepare(threads: int) -> Fit:
        def fit(problem: Problem, seed: int) -> np.ndarray:
            model = EulerMeans(problem.n_clusters, random_state=seed, n_threads=threads, **options)
            return model.fit(problem.points).cluster_centers_

        return fit

    return prepare


def estimator(Estimator: type, **options: Any) -> Callable[[int], Fit]:
    """One with scikit-learn's interface, whose threads are limited from outside if at all."""

    def prepare(threads: int) -> Fit:
        def fit(problem: Problem, seed: int) -> np.ndarray:
            return Estimator(n_clusters=problem.n_clusters, random_state=seed, **options).fit(
                problem.points
            ).cluster_centers_  # fmt: skip

        return fit

    return prepare


def minibatch_adaptive(threads: int) -> Fit:
    if "adaptive_lr" not in inspect.signature(MiniBatchKMeans).parameters:
        raise NotAvailable("this scikit-learn has no adaptive_lr")
    return estimator(MiniBatchKMeans, adaptive_lr=True)(threads)


def bkmeans(threads: int) -> Fit:
    from bkmeans import BKMeans

    return estimator(BKMeans)(threads)


def flspp(threads: int) -> Fit:
    from flspp import FLSpp

    return estimator(FLSpp)(threads)


def intelex(threads: int) -> Fit:
    """Its own class: nothing of scikit-learn is patched."""
    import daal4py
    from sklearnex.cluster import KMeans as IntelexKMeans

    daal4py.daalinit(threads)
    return estimator(IntelexKMeans, n_init=1)(threads)


def faiss_kmeans(threads: int) -> Fit:
    import faiss

    faiss.omp_set_num_threads(threads)

    def fit(problem: Problem, seed: int) -> np.ndarray:
        points = problem.single
        kmeans = faiss.Kmeans(
            points.shape[1],
            problem.n_clusters,
            niter=50,
            seed=seed + 1,
            max_points_per_centroid=len(points),
            min_points_per_centroid=1,
        )
        kmeans.train(points)
        return kmeans.centroids

    return fit


METHODS = [
    Method(OURS, "EulerMeans()", euler_means(), "eulermeans", large=True),
    Method(OURS_RANDOM, 'EulerMeans(init="random")', euler_means(init="random"), "eulermeans"),
    Method(OURS_SAMPLED, "EulerMeans(polish=False)", euler_means(polish=False), "eulermeans", True, False),
    Method(
        OURS_FAST,
        "EulerMeans(effort=0, polish=False)",
        euler_means(effort=0, polish=False),
        "eulermeans",
        True,
        False,
    ),
    Method(KMEANS_1, "scikit-learn KMeans(n_init=1)", estimator(KMeans, n_init=1)),
    Method(KMEANS_10, "scikit-learn KMeans(n_init=10)", estimator(KMeans, n_init=10)),
    Method(MINIBATCH, "scikit-learn MiniBatchKMeans()", estimator(MiniBatchKMeans), large=True),
    Method(MINIBATCH_ADAPTIVE, "scikit-learn MiniBatchKMeans(adaptive_lr=True)", minibatch_adaptive),
    Method(
        MINIBATCH_8192,
        "scikit-learn MiniBatchKMeans(batch_size=8192)",
        estimator(MiniBatchKMeans, batch_size=8192),
        large=True,
        small=False,
    ),
    Method(BKMEANS, "bkmeans BKMeans()", bkmeans, "bkmeans"),
    Method(FLSPP, "flspp FLSpp()", flspp, "flspp"),
    Method(FAISS, "faiss Kmeans(niter=50), all points, float32", faiss_kmeans, "faiss-cpu"),
    Method(INTELEX, "scikit-learn-intelex KMeans(n_init=1)", intelex, "scikit-learn-intelex"),
]


def prepared(names: list[str], threads: int) -> tuple[dict[str, Fit], dict[str, str]]:
    """How to run each method that is there, and why the others are not."""
    fits, missing = {}, {}
    for method in METHODS:
        if method.name not in names:
            continue
        try:
            fits[method.name] = method.prepare(threads)
        except NotAvailable as error:
            missing[method.name] = str(error)
        except Exception as error:  # a peer that is installed but broken must not end the run
            missing[method.name] = f"{method.package} is not installed, or does not load ({error})"
    return fits, missing


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """So many threads in every pool that is loaded by now."""
    with threadpool_limits(limits=threads):
        yield


def versions() -> dict[str, str]:
    found = {}
    for package in ["numpy", *dict.fromkeys(method.package for method in METHODS)]:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found

"""The methods of the quality benchmark: ours, and what people use now, as they use it."""

from __future__ import annotations

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

OURS, OURS_RANDOM, OURS_STREAM = "eulermeans", "eulermeans random", "eulermeans stream"
EFFORTS = {
    0: "eulermeans effort 0",
    0.3: "eulermeans effort 0.3",
    1: OURS,
    3: "eulermeans effort 3",
    10: "eulermeans effort 10",
}
OURS_FAST, OURS_LONG = EFFORTS[0], EFFORTS[10]
KMEANS_1, KMEANS_3, KMEANS_10, KMEANS_30 = "KMeans ×1", "KMeans ×3", "KMeans ×10", "KMeans ×30"
MINIBATCH, MINIBATCH_8192, MINIBATCH_STREAM = "MiniBatch", "MiniBatch 8192", "MiniBatch stream"
BKMEANS, FLSPP, INTELEX = "bkmeans", "FLS++", "intelex"
FAISS, FAISS_PLUS_PLUS, FAISS_SUPER, SUPER = "faiss", "faiss k-means++", "faiss SuperKmeans", "SuperKMeans"

ITERATIONS = 25  # of faiss and SuperKMeans: faiss' default
BATCH = 1000  # points that partial_fit gets at a time

Fit = Callable[[Problem, int], np.ndarray]  # the problem and the seed; gives the centers
Prepare = Callable[[int], Fit]  # for a number of threads; raises ImportError if the package is missing


@dataclass(frozen=True)
class Method:
    """A way to cluster. Methods of one family are one algorithm that may run for longer or shorter."""

    name: str
    what: str
    prepare: Prepare
    package: str
    family: str

    @property
    def ours(self) -> bool:
        return self.package == "eulermeans"


def estimator(Estimator: type, **options: Any) -> Prepare:
    """One with scikit-learn's interface, whose threads are limited from outside if at all."""

    def prepare(threads: int) -> Fit:
        def fit(problem: Problem, seed: int) -> np.ndarray:
            model = Estimator(n_clusters=problem.n_clusters, random_state=seed, **options)
            return model.fit(problem.data.points).cluster_centers_

        return fit

    return prepare


def euler_means(**options: Any) -> Prepare:
    return lambda threads: estimator(EulerMeans, n_threads=threads, **options)(threads)


def stream(make: Callable[[int, int, int], Any]) -> Prepare:
    """`partial_fit` of the points in their order. `make` gets the number of clusters, the seed and the threads."""

    def prepare(threads: int) -> Fit:
        def fit(problem: Problem, seed: int) -> np.ndarray:
            model, points = make(problem.n_clusters, seed, threads), problem.data.points
            for first in range(0, len(points), BATCH):
                model.partial_fit(points[first : first + BATCH])
            return model.cluster_centers_

        return fit

    return prepare


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


def faiss_kmeans(class_name: str = "Kmeans", init_method: str | None = None) -> Prepare:
    """One of faiss' two classes. `init_method` names one of its constants; SuperKmeans has none."""

    def prepare(threads: int) -> Fit:
        import faiss

        faiss.omp_set_num_threads(threads)
        Estimator = getattr(faiss, class_name)  # SuperKmeans came with 1.15
        options = {"init_method": getattr(faiss, init_method)} if init_method else {}

        def fit(problem: Problem, seed: int) -> np.ndarray:
            points = problem.data.single
            kmeans = Estimator(
                points.shape[1],
                problem.n_clusters,
                niter=ITERATIONS,
                seed=seed + 1,
                max_points_per_centroid=len(points),
                min_points_per_centroid=1,
                **options,
            )
            kmeans.train(points)
            return kmeans.centroids

        return fit

    return prepare


def super_kmeans(threads: int) -> Fit:
    from superkmeans import SuperKMeans

    def fit(problem: Problem, seed: int) -> np.ndarray:
        points = problem.data.single
        kmeans = SuperKMeans(
            problem.n_clusters,
            points.shape[1],
            hierarchical=False,
            iters=ITERATIONS,
            early_termination=False,
            sampling_fraction=1.0,
            max_points_per_cluster=len(points),
            n_threads=threads,
            seed=seed + 1,
        )
        return kmeans.train(points)

    return fit


def ours(name: str, what: str, prepare: Prepare) -> Method:
    return Method(name, what, prepare, "eulermeans", OURS)


def sklearn_method(name: str, what: str, prepare: Prepare, family: str) -> Method:
    return Method(name, f"scikit-learn {what}", prepare, "scikit-learn", family)


ALL_POINTS = f"niter={ITERATIONS}, all points, float32"
METHODS = {
    method.name: method
    for method in [
        *(
            ours(
                name,
                "EulerMeans()" if name == OURS else f"EulerMeans(effort={effort})",
                euler_means(effort=effort),
            )
            for effort, name in sorted(EFFORTS.items(), key=lambda item: item[1] != OURS)  # the default first
        ),
        ours(OURS_RANDOM, 'EulerMeans(init="random")', euler_means(init="random")),
        ours(
            OURS_STREAM,
            f"EulerMeans.partial_fit, {BATCH} points at a time",
            stream(lambda k, seed, threads: EulerMeans(k, random_state=seed, n_threads=threads)),
        ),
        *(
            sklearn_method(name, f"KMeans(n_init={n})", estimator(KMeans, n_init=n), KMEANS_1)
            for name, n in ((KMEANS_1, 1), (KMEANS_3, 3), (KMEANS_10, 10), (KMEANS_30, 30))
        ),
        sklearn_method(MINIBATCH, "MiniBatchKMeans()", estimator(MiniBatchKMeans), MINIBATCH),
        sklearn_method(
            MINIBATCH_8192,
            "MiniBatchKMeans(batch_size=8192)",
            estimator(MiniBatchKMeans, batch_size=8192),
            MINIBATCH,
        ),
        sklearn_method(
            MINIBATCH_STREAM,
            f"MiniBatchKMeans.partial_fit, {BATCH} points at a time",
            stream(lambda k, seed, threads: MiniBatchKMeans(k, random_state=seed)),
            MINIBATCH,
        ),
        Method(BKMEANS, "bkmeans BKMeans()", bkmeans, "bkmeans", BKMEANS),
        Method(FLSPP, "flspp FLSpp()", flspp, "flspp", FLSPP),
        Method(FAISS, f"faiss Kmeans({ALL_POINTS})", faiss_kmeans(), "faiss-cpu", FAISS),
        Method(
            FAISS_PLUS_PLUS,
            f"faiss Kmeans({ALL_POINTS}, k-means++)",
            faiss_kmeans(init_method="ClusteringInitMethod_KMEANS_PLUS_PLUS"),
            "faiss-cpu",
            FAISS_PLUS_PLUS,
        ),
        Method(
            FAISS_SUPER,
            f"faiss SuperKmeans({ALL_POINTS})",
            faiss_kmeans("SuperKmeans"),
            "faiss-cpu",
            FAISS_SUPER,
        ),
        Method(
            SUPER,
            f"superkmeans SuperKMeans(iters={ITERATIONS}, no early termination), all points, float32",
            super_kmeans,
            "superkmeans",
            SUPER,
        ),
        Method(INTELEX, "scikit-learn-intelex KMeans(n_init=1)", intelex, "scikit-learn-intelex", INTELEX),
    ]
}


def prepared(names: list[str], threads: int) -> tuple[dict[str, Fit], dict[str, str]]:
    """How to run each method that is installed, and why the others are not available."""
    fits, missing = {}, {}
    for name in names:
        try:
            fits[name] = METHODS[name].prepare(threads)
        except Exception as error:  # a peer that is installed but broken must not end the benchmark
            missing[name] = f"{METHODS[name].package} is not installed, or does not load ({error})"
    return fits, missing


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Limits every thread pool of a library that is loaded by now."""
    with threadpool_limits(limits=threads):
        yield


def installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"

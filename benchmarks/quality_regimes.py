"""The regimes of the quality benchmark: which methods run on which problems, how often, and who judges them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import quality_bar as bar
from quality_bar import Verdict
from quality_generated import (
    groups_problems,
    growth_problems,
    held_out_problems,
    million_problems,
    text_problems,
)
from quality_methods import (
    BKMEANS,
    EFFORTS,
    FAISS,
    FAISS_PLUS_PLUS,
    FAISS_SUPER,
    FLSPP,
    INTELEX,
    KMEANS_1,
    KMEANS_3,
    KMEANS_10,
    KMEANS_30,
    MINIBATCH,
    MINIBATCH_8192,
    MINIBATCH_STREAM,
    OURS,
    OURS_FAST,
    OURS_LONG,
    OURS_RANDOM,
    OURS_STREAM,
    SUPER,
)
from quality_results import Results
from quality_sets import Problem, benchmark_problems, docstring_problems, mnist_problems, proven_problems

MANY_CLUSTERS = (500, 1000, 2000, 4000)
CURVES = ("D31", "pcb3038", "Norm25", "Cloud", "Spam", "gmd8x8", "Birch1")


@dataclass(frozen=True)
class Regime:
    name: str
    title: str
    problems: Callable[[], list[Problem]]
    methods: tuple[str, ...]
    seeds: int
    patience: float  # seconds on a problem after which a method gets no further seed
    judge: Callable[[Results], list[Verdict]] | None = None
    most_seeds: dict[str, int] = field(default_factory=dict)  # of slow methods

    def seeds_of(self, method: str, asked: int | None) -> int:
        seeds = self.seeds if asked is None else asked
        return min(seeds, self.most_seeds.get(method, seeds))

    def verdicts(self, results: Results) -> list[Verdict]:
        claims = [*self.judge(results), bar.enough_seeds(results)] if self.judge else []
        return [*claims, bar.no_failures(results)]


def many_clusters() -> list[Problem]:
    return docstring_problems(*MANY_CLUSTERS) + mnist_problems(*MANY_CLUSTERS)


def problems_of_curves() -> list[Problem]:
    chosen = [problem for problem in benchmark_problems() if problem.data.name in CURVES]
    return chosen + docstring_problems(500) + mnist_problems(100)


PEERS_OF_SMALL = (KMEANS_1, KMEANS_10, MINIBATCH, BKMEANS, FLSPP, FAISS, FAISS_PLUS_PLUS, INTELEX)
PEERS_OF_LARGE = (KMEANS_1, FAISS, FAISS_PLUS_PLUS, FAISS_SUPER, SUPER)
REGIMES = {
    regime.name: regime
    for regime in [
        Regime(
            "optima",
            "Proven optima",
            proven_problems,
            (OURS, OURS_FAST, OURS_LONG, KMEANS_10, BKMEANS, FLSPP),
            seeds=40,
            patience=60,
            judge=bar.optima,
        ),
        Regime(
            "sets",
            "Benchmark sets",
            benchmark_problems,
            (OURS, OURS_FAST, OURS_LONG, OURS_RANDOM, *PEERS_OF_SMALL),
            seeds=10,
            patience=60,
            judge=lambda results: [
                *bar.sets(results),
                *bar.long_effort(results),
                bar.below_the_best_known(results),
                bar.any_start(results),
            ],
        ),
        Regime(
            "mnist",
            "MNIST, K = 10",
            lambda: mnist_problems(10),
            (OURS, OURS_FAST, OURS_LONG, *PEERS_OF_SMALL, SUPER),
            seeds=20,
            patience=300,
            judge=lambda results: [*bar.mnist(results), *bar.sets(results), *bar.long_effort(results)],
            most_seeds={KMEANS_1: 5, KMEANS_10: 2, BKMEANS: 2, FLSPP: 1},
        ),
        Regime(
            "clusters",
            "Many clusters",
            many_clusters,
            (OURS, OURS_FAST, *PEERS_OF_LARGE),
            seeds=5,
            patience=600,
            judge=bar.many_clusters,
            most_seeds={KMEANS_1: 2},
        ),
        Regime(
            "million",
            "A million points",
            million_problems,
            (OURS, OURS_FAST, KMEANS_1, FAISS, FAISS_SUPER, SUPER, MINIBATCH_8192),
            seeds=5,
            patience=600,
            judge=bar.million,
            most_seeds={KMEANS_1: 2},
        ),
        Regime(
            "sparse",
            "Sparse text",
            text_problems,
            (OURS, OURS_FAST, KMEANS_1, MINIBATCH),
            seeds=5,
            patience=300,
            judge=bar.sparse,
        ),
        Regime(
            "stream",
            "Streams: partial_fit in batches of 1000",
            lambda: mnist_problems(10, 100),
            (OURS_STREAM, MINIBATCH_STREAM),
            seeds=5,
            patience=300,
            judge=bar.stream,
        ),
        Regime(
            "heldout",
            "Held-out sets",
            held_out_problems,
            (OURS, OURS_FAST, OURS_LONG, *PEERS_OF_SMALL),
            seeds=10,
            patience=60,
            judge=lambda results: [*bar.sets(results), *bar.long_effort(results)],
        ),
        Regime(
            "groups",
            "Groups far apart in many features",
            groups_problems,
            (OURS, OURS_FAST, KMEANS_1, KMEANS_10, FAISS, SUPER),
            seeds=6,
            patience=60,
            judge=bar.groups,
        ),
        Regime(
            "curves",
            "Objective against time",
            problems_of_curves,
            (*EFFORTS.values(), KMEANS_1, KMEANS_3, KMEANS_10, KMEANS_30, BKMEANS, FLSPP, FAISS, SUPER, MINIBATCH),
            seeds=5,
            patience=60,
        ),
        Regime(
            "growth",
            "Growth of time with K and N",
            growth_problems,
            (OURS, OURS_FAST, KMEANS_1, FAISS, SUPER),
            seeds=3,
            patience=120,
            most_seeds={KMEANS_1: 1},
        ),
    ]
}

"""Points that are generated or come with scikit-learn: many Gaussians, sparse text, held-out sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse
from quality_sets import Data, Problem
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_sample_image,
    load_wine,
    make_blobs,
    make_moons,
)
from sklearn.feature_extraction.text import TfidfTransformer

N_FEATURES = 64  # of the Gaussians
N_TEXTS, N_WORDS, N_TOPICS, WORDS_OF_A_TOPIC = 60_000, 9_000, 300, 40
TOPICAL = 0.55  # probability that a word comes from the text's topic and not from the whole vocabulary


def gaussians(n_points: int, n_gaussians: int) -> Data:
    """Unit Gaussians in 64 dimensions whose means are 0.8·N(0, I)."""

    def load() -> np.ndarray:
        rng = np.random.default_rng(0)
        means = 0.8 * rng.standard_normal((n_gaussians, N_FEATURES), dtype=np.float32)
        points = rng.standard_normal((n_points, N_FEATURES), dtype=np.float32)
        points += means[rng.integers(n_gaussians, size=n_points)]
        return points

    return Data(f"{n_gaussians}-gaussians-{short(n_points)}", load, family=f"{n_gaussians} Gaussians")


def million_problems() -> list[Problem]:
    many = gaussians(1_000_000, 2000)
    return [Problem(gaussians(1_000_000, 400), 64), Problem(many, 256), Problem(many, 1024)]


def groups_problems() -> list[Problem]:
    """Gaussians far apart in many features, as many as clusters are asked for: the optimum is evident."""
    sizes = [  # points, features, groups, and the scale of the groups' means
        (5_000, 20, 30, 2.0),
        (8_000, 100, 100, 1.0),
        (20_000, 50, 50, 2.0),
        (30_000, 300, 30, 1.0),
        (60_000, 64, 40, 2.0),
        (100_000, 32, 100, 1.5),
        (120_000, 24, 25, 2.0),
        (200_000, 16, 60, 2.0),
    ]
    return [Problem(groups(*size), size[2]) for size in sizes]


def groups(n_points: int, n_features: int, n_groups: int, scale: float) -> Data:
    """Unit Gaussians of different weights whose means are scale·N(0, I)."""

    def load() -> np.ndarray:
        rng = np.random.default_rng(0)
        means = scale * rng.standard_normal((n_groups, n_features))
        drawn = rng.choice(n_groups, n_points, p=rng.dirichlet(np.full(n_groups, 3.0)))
        return (means[drawn] + rng.standard_normal((n_points, n_features))).astype(np.float32)

    return Data(f"groups-{short(n_points)}-{n_features}d", load)


def growth_problems() -> list[Problem]:
    """For the growth with K at N = 100,000 and with N at K = 256."""
    hundred_thousand = gaussians(100_000, 2000)
    growing_k = [Problem(hundred_thousand, k) for k in (16, 64, 256, 1024, 4096)]
    growing_n = [Problem(gaussians(n, 2000), 256) for n in (10_000, 30_000, 300_000, 1_000_000)]
    return growing_k + growing_n


def text_problems() -> list[Problem]:
    data = Data("text", text)
    return [Problem(data, 20), Problem(data, 100)]


def text() -> scipy.sparse.csr_matrix:
    """TF-IDF of short generated texts, with rows of length one: about 6 stored values in each of 60,000 rows.

    Every text has a topic. Its words come from the topic's own 40 or from the whole vocabulary. The frequencies of
    topics, of a topic's words and of the vocabulary follow Zipf's law.
    """
    rng = np.random.default_rng(0)
    lengths = 2 + rng.poisson(4.5, N_TEXTS)
    topic_words = np.stack([rng.choice(N_WORDS, WORDS_OF_A_TOPIC, replace=False) for _ in range(N_TOPICS)])
    topics = np.repeat(zipf_draws(rng, N_TOPICS, N_TEXTS), lengths)
    rows = np.repeat(np.arange(N_TEXTS), lengths)
    common = zipf_draws(rng, N_WORDS, len(rows))
    topical = topic_words[topics, zipf_draws(rng, WORDS_OF_A_TOPIC, len(rows))]
    words = np.where(rng.random(len(rows)) < TOPICAL, topical, common)
    counts = scipy.sparse.csr_matrix((np.ones(len(rows)), (rows, words)), shape=(N_TEXTS, N_WORDS))
    return TfidfTransformer().fit_transform(counts).tocsr()


def zipf_draws(rng: np.random.Generator, n_values: int, n_draws: int) -> np.ndarray:
    """Values from 0 to n_values - 1, the i-th with a probability proportional to 1 / (i + 1)."""
    weights = 1 / np.arange(1, n_values + 1)
    return rng.choice(n_values, n_draws, p=weights / weights.sum())


def held_out_problems() -> list[Problem]:
    """Sets on which nothing was tuned when they were added; docs/search.md says what was since."""
    sets: list[tuple[str, Callable[[], np.ndarray], tuple[int, ...]]] = [
        ("digits", lambda: load_digits().data, (10, 100)),
        ("wine", lambda: load_wine().data, (3, 20)),
        ("breast-cancer", lambda: load_breast_cancer().data, (10, 50)),
        ("diabetes", lambda: load_diabetes().data, (10, 50)),
        ("photo", photo, (64,)),
        ("blobs", lambda: blobs(10_000), (60,)),
        ("moons", lambda: make_moons(5_000, noise=0.1, random_state=0)[0], (20,)),
        ("uniform-2d", lambda: uniform(30_000, 2), (60,)),
        ("uniform-2d-small", lambda: uniform(240, 2), (80,)),
        ("uniform-16d", lambda: uniform(20_000, 16), (100,)),
        ("heavy-tails", lambda: heavy_tails(100_000), (100,)),
        ("walk", lambda: walk(15_000), (25,)),
        ("walk-small", lambda: walk(800), (200,)),
        ("lognormal-20d", lambda: np.exp(1.5 * normal(5_000, 20)), (100,)),
        ("lognormal-40d", lambda: np.exp(2.0 * normal(5_000, 40)), (100,)),
        ("student-t-10d", lambda: np.random.default_rng(1).standard_t(2, (8_000, 10)), (80,)),
        ("scales-30d", lambda: normal(4_000, 30) * np.exp(2.0 * normal(1, 30)), (50,)),
        ("unequal-blobs", lambda: unequal_blobs(8_000), (100,)),
        ("rings", lambda: rings(12_000), (40,)),
    ]
    found = []
    for name, load, cluster_numbers in sets:
        data = Data(name, load, held_out=True)
        found += [Problem(data, k) for k in cluster_numbers]
    return found


def photo() -> np.ndarray:
    """The colors of every third pixel of a photograph, 91,094×3."""
    return np.ascontiguousarray(load_sample_image("china.jpg").reshape(-1, 3)[::3], dtype=np.float64)


def blobs(n_points: int) -> np.ndarray:
    """60 Gaussians in 8 dimensions, of different widths and sizes."""
    rng = np.random.default_rng(0)
    sizes = np.bincount(rng.choice(60, n_points, p=rng.dirichlet(np.full(60, 2.0))), minlength=60)
    points, _ = make_blobs(sizes, 8, cluster_std=rng.uniform(0.5, 3.0, 60), random_state=0)
    return points


def unequal_blobs(n_points: int) -> np.ndarray:
    """200 Gaussians in 8 dimensions, of the same width; their sizes follow a power law."""
    rng = np.random.default_rng(1)
    sizes = rng.pareto(1.0, 200)
    means = 5 * rng.standard_normal((200, 8))
    return means[rng.choice(200, n_points, p=sizes / sizes.sum())] + rng.standard_normal((n_points, 8))


def rings(n_points: int) -> np.ndarray:
    """Five rings around each other in the plane, a little blurred."""
    rng = np.random.default_rng(1)
    radii, angles = rng.integers(1, 6, n_points), 2 * np.pi * rng.random(n_points)
    on_rings = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return on_rings + 0.1 * rng.standard_normal((n_points, 2))


def normal(n_points: int, n_features: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((n_points, n_features))


def uniform(n_points: int, n_features: int) -> np.ndarray:
    return np.random.default_rng(0).random((n_points, n_features))


def heavy_tails(n_points: int) -> np.ndarray:
    """Student's t with 3 degrees of freedom in two dimensions."""
    return np.random.default_rng(0).standard_t(3, (n_points, 2))


def walk(n_points: int) -> np.ndarray:
    """A random walk in the plane: dense and empty regions of every size, like places on a map."""
    return np.cumsum(np.random.default_rng(0).standard_normal((n_points, 2)), axis=0)


def short(number: int) -> str:
    return f"{number // 1_000_000}M" if number % 1_000_000 == 0 else f"{number // 1000}k"

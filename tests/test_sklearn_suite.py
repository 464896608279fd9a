"""scikit-learn's own tests of KMeans, run on EulerMeans in its place.

The tests come with scikit-learn. Those of other classes and of private functions are left out; each test of
KMeans that does not apply to EulerMeans is skipped with its reason. Tests that follow the steps of Lloyd's
algorithm run on EulerMeans without the search, which is Lloyd's algorithm.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from unittest import mock

import numpy as np
import pytest
import sklearn.cluster

from eulermeans import EulerMeans, search_budget

# Not about KMeans: other classes, functions, and private helpers of scikit-learn.
OTHERS = re.compile(
    "minibatch|plusplus|k_means_function|euclidean_distance|test_inertia|same_clustering|relocate_empty|"
    "sample_weight_init|sample_weight_zero"  # both call _init_centroids
)
STEPS_OF_LLOYD = {
    "test_kmeans_results",
    "test_kmeans_relocated_clusters",
    "test_k_means_1_iteration",
    "test_kmeans_empty_cluster_relocated",
    "test_relocating_with_duplicates",
}
NOT_APPLICABLE = {
    "test_kmeans_elkan_iter_attribute": "n_iter_ counts the steps of all phases, not those of Lloyd alone",
    "test_score_max_iter": "the search finds the same minimum, whatever the number of passes after it",
    "test_kmeans_verbose": "the lines tell of phases, not of Lloyd's iterations",
    "test_n_init_auto": "asks for the private _n_init; 'auto' is 1 for every init",
    "test_kmeans_init_auto_with_initial_centroids": "asks for the private _n_init",
    "test_warning_elkan_1_cluster": "`algorithm` has no effect, so there is nothing to warn of",
    "test_warning_n_init_precomputed_centers": "the search is random, so restarts from the same centers differ",
}


class Lloyd(EulerMeans):
    """EulerMeans without the search."""

    def __init__(
        self, n_clusters=8, *, init="k-means++", n_init=1, effort=0, max_iter=300, tol=1e-4, algorithm="lloyd"
    ):
        super().__init__(
            n_clusters, init=init, n_init=n_init, effort=effort, max_iter=max_iter, tol=tol, algorithm=algorithm
        )


def suite(kmeans: type[EulerMeans]) -> dict[str, FunctionType]:
    """The tests of scikit-learn's module, with another class in the place of KMeans."""
    spec = find_spec("sklearn.cluster.tests.test_k_means")
    module = ModuleType("test_k_means")
    with mock.patch.object(sklearn.cluster, "KMeans", kmeans):
        exec(compile(Path(spec.origin).read_text(encoding="utf-8"), spec.origin, "exec"), vars(module))
    return {name: test for name, test in vars(module).items() if name.startswith("test_")}


def without_other_classes(mark: pytest.Mark) -> pytest.Mark:
    """A parametrization without the cases of MiniBatchKMeans."""
    if mark.name != "parametrize":
        return mark
    names, values = mark.args
    kept = [
        value for value in values if sklearn.cluster.MiniBatchKMeans not in np.atleast_1d(np.array(value, object))
    ]
    return pytest.mark.parametrize(names, values if len(kept) == len(values) else kept, **mark.kwargs).mark


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture
def global_dtype():
    return np.float64


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    monkeypatch.setattr(search_budget, "SEARCH_WORK", 2e7)


def applicable() -> dict[str, FunctionType]:
    """The tests of KMeans, with the marks that they need here."""
    on_search, on_lloyd = suite(EulerMeans), suite(Lloyd)
    chosen = {name: on_lloyd[name] if name in STEPS_OF_LLOYD else on_search[name] for name in on_search}
    for name, function in chosen.items():
        function.pytestmark = [without_other_classes(mark) for mark in getattr(function, "pytestmark", [])]
        if name in NOT_APPLICABLE:
            function.pytestmark.append(pytest.mark.skip(reason=NOT_APPLICABLE[name]).mark)
    return {name: function for name, function in chosen.items() if not OTHERS.search(name)}


globals().update(applicable())

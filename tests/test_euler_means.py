"""EulerMeans as a whole: what it finds, how it ends, what it tells. Conventions are in `test_estimators.py`."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from eulermeans import EulerMeans, StopReason, driver, search_budget
from eulermeans.estimators.euler_means import SEARCH_POINTS
from eulermeans.fitting import Phases

K = 30


def excess(points, planted, model):
    """Over the objective of the planted groups, as a part of it."""
    best = sum(
        float(((points[planted == j] - points[planted == j].mean(axis=0)) ** 2).sum()) for j in set(planted)
    )
    return model.inertia_ / best - 1


@pytest.fixture(scope="module")
def separated():
    """Fifty groups of 40 in the plane, as in the set A3: they touch; and whose each point is."""
    rng = np.random.default_rng(3)
    means = []
    while len(means) < 50:
        mean = rng.uniform(0, 100, size=2)
        if all(np.linalg.norm(mean - other) > 9 for other in means):
            means.append(mean)
    planted = np.repeat(np.arange(50), 40)
    points = np.array(means)[planted] + 2 * rng.standard_normal((2000, 2))
    order = rng.permutation(2000)
    return points[order], planted[order]


@pytest.fixture(scope="module")
def many():
    """So many points that the search reads a sample: 40000 in 30 overlapping groups of four features."""
    rng = np.random.default_rng(4)
    means = 4 * rng.standard_normal((K, 4))
    points = means[rng.integers(K, size=4 * SEARCH_POINTS)] + rng.standard_normal((4 * SEARCH_POINTS, 4))
    return points.astype(np.float32)


# The promise: the same minimum from everywhere


def test_planted_groups_are_found_from_every_seed(separated):
    points, planted = separated
    ours = [excess(points, planted, EulerMeans(50, random_state=seed).fit(points)) for seed in range(10)]
    theirs = [excess(points, planted, KMeans(50, n_init=1, random_state=seed).fit(points)) for seed in range(5)]
    assert max(ours) < 1e-3
    assert min(theirs) > 0.02  # so it is not easy


@pytest.mark.parametrize("init", ["random", "partition", "mean"])
def test_planted_groups_are_found_from_a_poor_start(separated, init):
    points, planted = separated
    found = [excess(points, planted, EulerMeans(50, init=init, random_state=s).fit(points)) for s in range(4)]
    assert max(found) < 1e-3


def test_planted_groups_are_found_from_a_wicked_start(separated):
    points, planted = separated
    corner = points[np.argsort(points.sum(axis=1))[:50]]
    found = [excess(points, planted, EulerMeans(50, init=corner, random_state=s).fit(points)) for s in range(4)]
    assert max(found) < 1e-3


def test_random_and_careful_seeding_end_alike(plane):
    points = plane[::2]
    means = [
        np.mean([EulerMeans(K, init=init, random_state=seed).fit(points).objective_ for seed in range(8)])
        for init in ("k-means++", "random")
    ]
    assert means[0] == pytest.approx(means[1], rel=0.004)


def test_not_worse_than_the_best_of_ten_runs_of_lloyd(plane, blobs, unbalanced):
    for points, n_clusters in ((plane[::2], K), (blobs, 12), (unbalanced[::2], 20)):
        theirs = KMeans(n_clusters, n_init=10, random_state=0).fit(points).inertia_
        ours = [EulerMeans(n_clusters, random_state=seed).fit(points).inertia_ for seed in range(5)]
        assert np.mean(ours) <= theirs * (1 + 1e-4)


def test_unbalanced_data_do_not_blow_up():
    rng = np.random.default_rng(0)
    groups = [rng.standard_normal((2000, 2)), 1e3 + 0.1 * rng.standard_normal((20, 2)), [[1e5, 1e5], [1e5, -1e5]]]
    points = np.concatenate(groups)
    planted = np.repeat([0, 1, 2, 3], [2000, 20, 1, 1])
    for seed in range(10):
        model = EulerMeans(4, random_state=seed).fit(points)
        assert excess(points, planted, model) < 1e-6
        assert np.abs(model.cluster_centers_).max() <= 1e5


@pytest.mark.parametrize(("name", "n_clusters", "best"), [
    ("A3", 50, 2.89374151e10), ("S2", 15, 1.327910949e13), ("Unbalance", 8, 2.144920628e11),
])  # fmt: skip
def test_benchmark_sets_end_at_the_best_known(data_dir, name, n_clusters, best):
    path = data_dir / "benchmark" / f"{name}.npy"
    if not path.is_file():
        pytest.skip(f"EULERMEANS_DATA has no benchmark/{name}.npy")
    points = np.load(path).astype(np.float64)
    for seed in range(3):
        for init in ("k-means++", "random"):
            model = EulerMeans(n_clusters, init=init, random_state=seed).fit(points)
            assert model.inertia_ == pytest.approx(best, rel=5e-4)


# Finite, whatever the input


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", range(-30, 31, 6))
def test_the_magnitude_of_the_data_does_not_matter(blobs, dtype, exponent):
    scale = 10.0**exponent
    model = EulerMeans(5, random_state=0).fit((scale * blobs).astype(dtype))
    assert np.isfinite(model.cluster_centers_).all()
    assert sorted(np.bincount(model.labels_)) == [120] * 5
    usual = EulerMeans(5, random_state=0).fit(blobs)
    assert model.objective_ / scale**2 == pytest.approx(usual.objective_, rel=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_features_of_very_different_scales_stay_finite(dtype):
    rng = np.random.default_rng(0)
    points = (rng.standard_normal((500, 4)) * [1e-15, 1.0, 1e8, 1e15]).astype(dtype)
    model = EulerMeans(12, random_state=0).fit(points)
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.inertia_)
    assert model.inertia_ < KMeans(12, n_init=1, random_state=0).fit(points.astype(np.float64)).inertia_ * 1.001


@pytest.mark.parametrize("n_points", range(1, 8))
def test_few_points(n_points):
    points = np.random.default_rng(n_points).standard_normal((n_points, 2))
    for n_clusters in range(1, n_points + 1):
        model = EulerMeans(n_clusters, random_state=0).fit(points)
        assert np.isfinite(model.cluster_centers_).all()
        assert len(np.unique(model.labels_)) == n_clusters
    assert model.inertia_ == pytest.approx(0, abs=1e-12)
    one = EulerMeans(1, random_state=0).fit(points)
    np.testing.assert_allclose(one.cluster_centers_[0], points.mean(axis=0), rtol=1e-9, atol=1e-12)


def test_one_more_point_than_clusters():
    points = np.array([[0.0], [10], [20], [30], [40], [40.5]])
    for seed in range(5):
        assert EulerMeans(5, random_state=seed).fit(points).inertia_ == pytest.approx(0.125)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_constant_data(dtype):
    points = np.full((60, 3), 7, dtype=dtype)
    with pytest.warns(ConvergenceWarning, match=r"\(1\).*n_clusters \(4\)"):
        model = EulerMeans(4, random_state=0).fit(points)
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.cluster_centers_, np.full((4, 3), 7))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_constant_data_need_few_passes():
    # The sum of 0.1, many times, is not so many times 0.1; and the tolerance is 0 where the variance is.
    model = EulerMeans(3, random_state=0).fit(np.full((400, 2), 0.1))
    assert model.n_iter_ < 20
    assert model.stop_reason_ is StopReason.CONVERGED


def test_constant_data_with_one_cluster():
    assert EulerMeans(1, random_state=0).fit(np.full((60, 3), 0.1)).inertia_ == pytest.approx(0, abs=1e-20)


def test_duplicates():
    points = np.repeat(np.arange(10.0).reshape(5, 2), [1, 2, 30, 200, 3], axis=0)
    for seed in range(5):
        model = EulerMeans(5, random_state=seed).fit(points)
        assert model.inertia_ == pytest.approx(0, abs=1e-12)
        assert sorted(np.bincount(model.labels_)) == [1, 2, 3, 30, 200]


def test_one_point_far_from_all_others():
    points = np.concatenate([np.random.default_rng(0).standard_normal((300, 2)), [[1e12, 0]]])
    model = EulerMeans(3, random_state=0).fit(points)
    assert np.isfinite(model.cluster_centers_).all()
    assert np.bincount(model.labels_).min() == 1


# Weights


def test_a_heavy_point_gets_its_center(plane):
    points = plane[::10]
    weights = np.ones(len(points))
    weights[11] = 1e8
    model = EulerMeans(6, random_state=0).fit(points, sample_weight=weights)
    apart = np.linalg.norm(model.cluster_centers_ - points[11], axis=1)
    assert apart.min() < 1e-4


def test_weights_in_the_search_on_a_sample(many):
    left = many[:, 0] < np.median(many[:, 0])
    weights = np.where(left, 1.0, 0.0)
    weighted = EulerMeans(10, random_state=0).fit(many, sample_weight=weights)
    alone = EulerMeans(10, random_state=0).fit(many[left])
    assert weighted.inertia_ == pytest.approx(alone.inertia_, rel=0.01)
    assert np.isfinite(weighted.restarts_).all()


# When it ends


STEP = 1e6  # seconds of the clock: so many that no limit passes within a step


class Clock:
    """A clock that stands still but at the end of each step of a fit; it watches the fit."""

    now = 0.0

    def begin(self, phase):
        pass

    def end(self, record, centers):
        self.now += STEP
        return False


def test_a_large_effort_on_a_sample_comes_after_smaller_ones_if_time_is_limited(monkeypatch, many):
    monkeypatch.setattr(search_budget, "WHOLE_OPERATIONS", 0.0)
    efforts, run_once = [], Phases._run_once
    monkeypatch.setattr(
        Phases, "_run_once", lambda self, *rest: efforts.append(self.effort) or run_once(self, *rest)
    )
    default = EulerMeans(K, random_state=0).fit(many)
    assert efforts == [1.0]
    limited = EulerMeans(K, effort=5, max_time=1000, random_state=0).fit(many)
    assert efforts[1:] == [1.0, 4.0, 5.0]
    assert limited.inertia_ <= default.inertia_
    assert limited.stop_reason_ is StopReason.CONVERGED


def test_what_was_found_is_not_lost_when_a_long_search_is_cut(monkeypatch, many):
    monkeypatch.setattr(search_budget, "WHOLE_OPERATIONS", 0.0)
    default = EulerMeans(K, random_state=0).fit(many)
    steps = len(default.history_)
    clock = iter(range(10**9))
    monkeypatch.setattr(driver.time, "perf_counter", lambda: next(clock))
    cut = EulerMeans(K, effort=1e6, max_time=10 * steps, random_state=0).fit(many)
    assert cut.stop_reason_ is StopReason.MAX_TIME
    assert cut.inertia_ <= default.inertia_


def timed_fit(monkeypatch, points, max_time):
    clock = Clock()
    model = EulerMeans(K, max_time=max_time, tol=0, random_state=0)
    model._watcher = clock
    with monkeypatch.context() as patch:
        patch.setattr(driver.time, "perf_counter", lambda: clock.now)
        model.fit(points)
    assert clock.now / STEP == model.n_iter_ == len(model.history_)  # no step was taken and then dropped
    return model


@pytest.mark.parametrize("phase", ["search", "descend", "polish"])
def test_a_time_limit_ends_a_fit_in_any_phase_with_the_best_so_far(many, monkeypatch, phase):
    def steps(model):
        return [(record.phase, record.step, record.objective) for record in model.history_]

    free = timed_fit(monkeypatch, many, None)
    last = [record.phase for record in free.history_].index(phase) + 2
    model = timed_fit(monkeypatch, many, max_time=(last - 0.5) * STEP)
    assert model.stop_reason_ is StopReason.MAX_TIME
    assert steps(model) == steps(free)[:last]
    np.testing.assert_array_equal(model.labels_, model.predict(many))
    untouched = EulerMeans(K, effort=0, polish=False, max_time=1e-9, random_state=0).fit(many)
    assert untouched.n_iter_ == 0
    assert model.objective_ <= untouched.objective_ * 1.02  # judged on the sample
    assert free.objective_ <= model.objective_


def test_a_time_limit_that_is_not_reached_changes_nothing(blobs):
    free, limited = (EulerMeans(7, max_time=t, random_state=0).fit(blobs) for t in (None, 1000.0))
    np.testing.assert_array_equal(free.cluster_centers_, limited.cluster_centers_)
    assert limited.stop_reason_ is free.stop_reason_ is StopReason.CONVERGED


def test_without_polish_no_step_reads_all_data(many):
    model = EulerMeans(K, polish=False, random_state=0).fit(many)
    assert {record.phase for record in model.history_} == {"search", "descend"}
    assert not any(record.exact for record in model.history_)
    polished = EulerMeans(K, random_state=0).fit(many)
    assert polished.objective_ <= model.objective_ * (1 + 1e-9)
    assert model.objective_ <= polished.objective_ * 1.02


def test_without_polish_on_few_points_the_search_is_all(plane):
    model = EulerMeans(6, polish=False, random_state=0).fit(plane)
    assert {record.phase for record in model.history_} == {"search"}
    assert model.stop_reason_ is StopReason.SEARCHED


def test_work_before_the_polish_does_not_grow_with_very_many_points(many, monkeypatch):
    monkeypatch.setattr(search_budget, "WHOLE_OPERATIONS", 0.0)
    monkeypatch.setattr(search_budget, "MOST_STEPS", 100)

    def read(points):
        history = EulerMeans(K, polish=False, random_state=0).fit(points).history_
        return sum(record.points_read for record in history)

    wide = np.hstack([many, many[::-1]])  # not few features: a sample is searched, no summary
    assert read(np.concatenate([wide] * 4)) < 1.5 * read(wide)


@pytest.mark.parametrize("effort", [0, 0.2, 2])
def test_every_effort_ends_at_a_stationary_point(plane, effort):
    points = plane[::4]
    model = EulerMeans(9, effort=effort, tol=0, random_state=0).fit(points)
    means = [points[model.labels_ == j].mean(axis=0) for j in range(9)]
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-9)


def test_effort_pays(plane):
    points = plane[::4]
    found = [
        np.mean([EulerMeans(40, effort=effort, random_state=seed).fit(points).objective_ for seed in range(6)])
        for effort in (0, 1, 4)
    ]
    assert found[1] < 0.99 * found[0]
    assert found[2] < found[1] * 1.001


# What it tells


def phases(model):
    return [phase for phase, _ in groupby(record.phase for record in model.history_)]


def test_history_has_the_phases_in_order(plane, many, monkeypatch):
    monkeypatch.setattr(search_budget, "WHOLE_OPERATIONS", 0.0)
    few, sampled = EulerMeans(6, random_state=0).fit(plane), EulerMeans(6, random_state=0).fit(many)
    wide = EulerMeans(6, random_state=0).fit(np.hstack([many, many[::-1]]))
    assert phases(few) == ["search", "polish"]
    assert phases(sampled) == ["search", "polish"]  # of a summary, which has the minima of all points
    assert phases(wide) == ["search", "descend", "polish"]
    for model in (few, sampled):
        assert model.n_iter_ == len(model.history_)
        seconds = [record.seconds for record in model.history_]
        assert seconds == sorted(seconds)
        assert all(record.points_read > 0 for record in model.history_)
        for phase in phases(model):
            steps = [record.step for record in model.history_ if record.phase == phase]
            assert steps == list(range(1, len(steps) + 1))
        searched = [record.objective for record in model.history_ if record.phase == "search"]
        assert np.all(np.diff(searched) <= 1e-9 * searched[0])
        polished = [record.objective for record in model.history_ if record.phase == "polish"]
        assert np.all(np.diff(polished) <= 1e-9 * polished[0])
        assert model.objective_ <= polished[-1] * (1 + 1e-6)


def test_the_objective_is_half_the_mean_square(many):
    model = EulerMeans(8, random_state=0).fit(many)
    exact = ((many.astype(np.float64) - model.cluster_centers_[model.labels_].astype(np.float64)) ** 2).sum()
    assert model.inertia_ == pytest.approx(exact, rel=1e-5)
    assert model.objective_ == pytest.approx(exact / (2 * len(many)), rel=1e-5)


@pytest.mark.parametrize("kind", ["whole", "sampled"])
def test_restarts(plane, many, kind):
    points = plane[::10] if kind == "whole" else many
    model = EulerMeans(20, n_init=4, effort=0.2, init="random", random_state=0).fit(points)
    assert model.restarts_.shape == (4,)
    assert np.isfinite(model.restarts_).all()
    assert model.objective_ in model.restarts_
    if kind == "whole":
        assert model.objective_ == model.restarts_.min()
    single = EulerMeans(20, n_init=1, effort=0.2, init="random", random_state=0).fit(points)
    assert model.objective_ <= single.objective_ * (1.005 if kind == "whole" else 1.03)  # chosen on a sample
    assert single.restarts_.shape == (1,)
    assert phases(model)[0] == "search"


# Reproducible


@pytest.mark.parametrize("weighted", [False, True])
def test_same_bits_for_any_number_of_threads(many, weighted):
    weights = np.random.default_rng(0).uniform(size=len(many)) if weighted else None
    model = EulerMeans(K, n_init=2, random_state=1)
    one, *others = (clone(model).set_params(n_threads=n).fit(many, sample_weight=weights) for n in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
        np.testing.assert_array_equal(one.labels_, other.labels_)
        np.testing.assert_array_equal(one.restarts_, other.restarts_)
        assert one.inertia_ == other.inertia_
        assert [r.objective for r in one.history_] == [r.objective for r in other.history_]


@pytest.mark.parametrize("kind", ["whole", "sampled", "sparse"])
def test_same_seed_same_bits(plane, many, kind):
    points = {"whole": plane, "sampled": many, "sparse": sparse.csr_matrix(np.where(plane > 3, plane, 0))}[kind]
    model = EulerMeans(8, random_state=3, effort=0.5)
    one, other = (clone(model).fit(points) for _ in range(2))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert one.n_iter_ == other.n_iter_


def test_global_random_state_is_left_alone(blobs):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    EulerMeans(5, random_state=0).fit(blobs)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


# A stream


def test_a_stream_is_learned_after_a_search(separated):
    points, _ = separated
    model = EulerMeans(50, random_state=0).fit(points[:1000])
    for batch in np.array_split(points[1000:], 4):
        model.partial_fit(batch)
    assert np.isfinite(model.cluster_centers_).all()
    assert -model.score(points) < 1.3 * 8 * len(points)  # the planted groups: a variance of 4 in two features


@pytest.mark.parametrize("size", [5, 6, 20])
def test_a_stream_of_small_batches_stays_finite(unbalanced, size):
    model = EulerMeans(5, random_state=0)
    for first in range(0, 60 * size, size):
        model.partial_fit(unbalanced[first : first + size])
        assert np.isfinite(model.cluster_centers_).all()
    assert np.abs(model.cluster_centers_).max() <= 60

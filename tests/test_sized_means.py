"""SizedMeans: the bounds hold to the point, whatever the data, and the cost is as low as can be."""

from __future__ import annotations

import numpy as np
import pytest
from naive_placement import cost_of, naive_place
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import eulermeans
from eulermeans import EulerMeans, SizedMeans, StopReason
from eulermeans.oracles import memory_oracle
from eulermeans.solvers.balanced_start import balanced_start


@pytest.fixture(scope="module")
def uneven():
    """Three groups of 240, 40 and 20 points."""
    rng = np.random.default_rng(0)
    groups = [(240, [0, 0]), (40, [9, 0]), (20, [0, 9])]
    return np.concatenate([rng.standard_normal((n, 2)) + center for n, center in groups])


def sizes(model):
    return np.bincount(model.labels_, minlength=model.n_clusters)


def check_bounds(model, lowest, highest):
    counts = sizes(model)
    assert lowest <= counts.min()
    assert counts.max() <= highest
    assert np.array_equal(counts, model.cluster_weights_)


# Fewer distinct points than clusters are no failure.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(60))
def test_bounds_hold_and_the_placement_is_optimal_on_random_problems(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    k = int(rng.integers(1, min(n, 8) + 1))
    points = rng.integers(0, 5, (n, 2)).astype(float) if seed % 3 == 0 else rng.standard_normal((n, 3))
    lowest = int(rng.integers(0, n // k + 1))
    highest = int(rng.integers(-(-n // k), n + 1))
    options = {"size_min": lowest, "size_max": highest, "effort": 0.1, "random_state": seed}
    model = SizedMeans(k, **options).fit(points)
    check_bounds(model, lowest, highest)
    costs = cdist(points, model.cluster_centers_, "sqeuclidean")
    assert model.inertia_ == pytest.approx(cost_of(costs, model.labels_), abs=1e-9)
    best = cost_of(costs, naive_place(costs, lowest, highest))
    assert model.inertia_ <= (1 + 1e-4) * best + 1e-9


def test_perfect_balance_and_its_cost(uneven):
    model = SizedMeans(3, size_min=100, size_max=100, random_state=0).fit(uneven)
    assert np.array_equal(sizes(model), [100, 100, 100])
    free = EulerMeans(3, random_state=0).fit(uneven)
    assert model.unbounded_objective_ == pytest.approx(free.objective_)
    assert model.objective_ > 2 * free.objective_
    assert np.isfinite(model.prices_).all()


def test_bounds_that_do_not_bind_cost_nothing(uneven):
    free = EulerMeans(3, random_state=0).fit(uneven)
    model = SizedMeans(3, size_min=1, size_max=299, random_state=0).fit(uneven)
    assert model.objective_ == pytest.approx(free.objective_)
    assert np.array_equal(model.prices_, np.zeros(3))


def test_prices_say_which_bounds_bind(uneven):
    model = SizedMeans(3, size_min=30, size_max=200, random_state=0).fit(uneven)
    counts = sizes(model)
    assert np.all((model.prices_ <= 1e-9) | (counts == 200))
    assert np.all((model.prices_ >= -1e-9) | (counts == 30))
    assert np.any(model.prices_ != 0)


def test_clusters_are_numbered_by_size_unless_centers_are_given(uneven):
    model = SizedMeans(3, size_min=30, size_max=200, random_state=0).fit(uneven)
    assert np.all(np.diff(sizes(model)) <= 0)
    given = uneven[[290, 250, 0]]
    kept = SizedMeans(3, size_min=30, size_max=200, init=given, effort=0).fit(uneven)
    assert np.array_equal(cdist(kept.cluster_centers_, given).argmin(axis=1), [0, 1, 2])
    for fitted in (model, kept):
        costs = cdist(uneven, fitted.cluster_centers_, "sqeuclidean")
        assert fitted.inertia_ == pytest.approx(cost_of(costs, fitted.labels_))
        assert np.mean(fitted.predict(uneven) == fitted.labels_) > 0.98


def test_one_point_for_each_cluster():
    points = np.random.default_rng(0).random((20, 2))
    model = SizedMeans(20, size_min=1, size_max=1, random_state=0).fit(points)
    assert sorted(model.labels_) == list(range(20))
    assert model.inertia_ == pytest.approx(0, abs=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equal_points_are_divided():
    points = np.ones((12, 2))
    model = SizedMeans(4, size_min=3, size_max=3, random_state=0).fit(points)
    assert np.array_equal(sizes(model), [3, 3, 3, 3])
    assert model.inertia_ == 0


def test_fractions_are_of_all_points(uneven):
    model = SizedMeans(3, size_min=0.2, size_max=0.5, random_state=0).fit(uneven)
    check_bounds(model, 60, 150)
    assert np.array_equal(model.size_bounds_, [60, 150])


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"size_min": 101}, "3 clusters of at least 101 need 303 samples, but there are 300; give at most 100"),
        ({"size_max": 99}, "3 clusters of at most 99 hold 297 samples, but there are 300; give at least 100"),
        ({"size_min": 50, "size_max": 40}, "size_min=50 is above size_max=40"),
        ({"size_min": -1}, "size_min"),
        ({"size_max": -0.5}, "size_max"),
        ({"size_min": 0.34}, r"size_min=0.34 \(102\) is too large: 3 clusters"),
        ({"size_max": 1.5}, "size_max"),
        (
            {"size_min": 0.333, "size_max": 0.333},
            r"size_min=0.333 \(100\) is above size_max=0.333 \(99\); give numbers of samples, such as "
            "size_min=100 "
            "and size_max=100 for equal sizes",
        ),
    ],
)
def test_impossible_bounds_are_errors_that_show_the_sum(uneven, bounds, message):
    with pytest.raises(ValueError, match=message):
        SizedMeans(3, **bounds).fit(uneven)


def test_weights_are_bounded_approximately(uneven):
    weights = np.random.default_rng(0).random(300)
    target = weights.sum() / 3
    model = SizedMeans(3, size_min=0.3, size_max=0.36, random_state=0).fit(uneven, sample_weight=weights)
    loads = np.bincount(model.labels_, weights)
    assert np.allclose(loads, model.cluster_weights_)
    assert np.all(loads > 0.9 * target - 1)
    assert np.all(loads < 1.08 * target + 1)


def test_impossible_weights_are_errors(uneven):
    with pytest.raises(ValueError, match="need 900 weight, but there are 600"):
        SizedMeans(3, size_min=300).fit(uneven, sample_weight=np.full(300, 2.0))


def test_predict_follows_prices_or_the_nearest_center(uneven):
    model = SizedMeans(3, size_min=90, size_max=110, random_state=0).fit(uneven)
    costs = cdist(uneven, model.cluster_centers_, "sqeuclidean")
    priced = costs + model.prices_
    chosen = model.predict(uneven)
    assert np.allclose(priced[np.arange(300), chosen], priced.min(axis=1))
    assert np.mean(chosen == model.labels_) > 0.98
    assert np.array_equal(model.predict(uneven, bounded=False), costs.argmin(axis=1))
    assert model.score(uneven) == pytest.approx(-cost_of(costs, chosen))
    assert np.allclose(model.transform(uneven), np.sqrt(costs))


def test_sparse_and_dense_points_agree(uneven):
    dense = SizedMeans(3, size_min=80, size_max=120, effort=0, init=uneven[[0, 250, 290]]).fit(uneven)
    sparse = SizedMeans(3, size_min=80, size_max=120, effort=0, init=uneven[[0, 250, 290]]).fit(csr_array(uneven))
    check_bounds(sparse, 80, 120)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-6)
    assert np.mean(sparse.predict(csr_array(uneven)) == sparse.labels_) > 0.98


def test_cosine(uneven):
    model = SizedMeans(4, size_min=70, size_max=80, metric="cosine", random_state=0).fit(uneven + 0.01)
    check_bounds(model, 70, 80)
    assert np.allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
    unit = (uneven + 0.01) / np.linalg.norm(uneven + 0.01, axis=1, keepdims=True)
    assert model.inertia_ == pytest.approx(np.sum((unit - model.cluster_centers_[model.labels_]) ** 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8])
def test_other_types_of_numbers(dtype):
    points = (np.random.default_rng(0).random((400, 70)) * 200).astype(dtype)
    model = SizedMeans(5, size_min=78, size_max=82, random_state=0).fit(points)
    check_bounds(model, 78, 82)


def test_more_threads_give_the_same_bits():
    points = np.random.default_rng(0).standard_normal((3000, 8))
    options = {"size_min": 140, "size_max": 160, "effort": 0.3, "random_state": 0}
    one, two = (SizedMeans(20, **options, n_threads=n).fit(points) for n in (1, 3))
    assert np.array_equal(one.cluster_centers_, two.cluster_centers_)
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.prices_, two.prices_)


def test_data_that_is_searched_in_a_sample(monkeypatch):
    """Passes over all points follow a search on a sample; sizes are exact even so."""
    monkeypatch.setattr("eulermeans.sized_fitting.WHOLE_DISTANCES", 0)
    rng = np.random.default_rng(0)
    points = rng.standard_normal((30_000, 4)) * np.array([3, 1, 1, 1])
    model = SizedMeans(6, size_min=4900, size_max=5100, effort=0.2, random_state=0).fit(points)
    check_bounds(model, 4900, 5100)
    assert {record.phase for record in model.history_} == {"search", "polish"}


def test_a_stream_is_placed_like_an_array(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((40_000, 4)).astype(np.float32)
    np.save(tmp_path / "points.npy", points)
    options = {"size_min": 7900, "size_max": 8100, "effort": 0.1, "random_state": 0}
    model = SizedMeans(5, **options, memory_limit="1MiB").fit(str(tmp_path / "points.npy"))
    assert isinstance(model.labels_, np.ndarray)
    check_bounds(model, 7900, 8100)
    costs = cdist(points, model.cluster_centers_, "sqeuclidean")
    assert model.inertia_ == pytest.approx(cost_of(costs, model.labels_), rel=1e-5)
    assert model.score(points) == pytest.approx(-model.inertia_, rel=1e-3)


def test_bounds_hold_even_without_time(uneven):
    model = SizedMeans(3, size_min=100, size_max=100, max_time=1e-9, random_state=0).fit(uneven)
    assert np.array_equal(sizes(model), [100, 100, 100])
    assert model.stop_reason_ is StopReason.MAX_TIME


def test_the_first_steps_within_the_bounds_are_kept_one_by_one():
    """The first steps within the bounds count one by one, so that little time is better than none."""
    points = np.random.default_rng(0).standard_exponential((400, 2))
    options = {"size_min": 40, "size_max": 40, "init": points[:10], "effort": 0, "max_iter": 1, "random_state": 0}
    model = SizedMeans(10, **options).fit(points)
    objectives = [record.objective for record in model.history_ if record.phase == "search"]
    assert len(objectives) > 3  # each step has its own record
    assert np.all(np.diff(objectives) <= 1e-12)


def test_more_restarts_are_no_worse():
    points = np.random.default_rng(1).random((300, 2))
    options = {"size_min": 20, "size_max": 30, "init": "random", "effort": 0, "random_state": 0}
    several = SizedMeans(12, **options, n_init=5).fit(points)
    assert len(several.restarts_) == 5
    assert several.objective_ == several.restarts_.min()


def test_the_search_is_no_worse_than_settling():
    points = np.random.default_rng(1).random((600, 2))
    options = {"size_min": 20, "size_max": 20, "random_state": 0}
    searched, settled = (SizedMeans(30, **options, effort=effort).fit(points) for effort in (1, 0))
    assert searched.objective_ < settled.objective_
    objectives = [record.objective for record in searched.history_]
    assert np.all(np.diff(objectives) <= 1e-12)


def test_a_model_file_keeps_prices_and_bounds(uneven, tmp_path):
    model = SizedMeans(3, size_min=90, size_max=0.4, random_state=0).fit(uneven)
    model.save(tmp_path / "model.eulermeans")
    loaded = eulermeans.load(tmp_path / "model.eulermeans")
    assert type(loaded) is SizedMeans
    assert np.array_equal(loaded.prices_, model.prices_)
    assert np.array_equal(loaded.size_bounds_, model.size_bounds_)
    assert loaded.unbounded_objective_ == model.unbounded_objective_
    assert (loaded.size_min, loaded.size_max) == (90, 0.4)
    assert np.array_equal(loaded.predict(uneven), model.predict(uneven))


def test_a_notebook_shows_what_the_bounds_cost(uneven):
    model = SizedMeans(3, size_min=90, size_max=110, random_state=0).fit(uneven)
    assert "sizes from 90 to 110" in model._repr_html_()
    assert "% above unbounded" in model._repr_html_()


def test_a_sample_heavier_than_the_bound_is_an_error(uneven):
    weights = np.ones(300)
    weights[7] = 150
    with pytest.raises(ValueError, match=r"149\.667\) is too small: a sample has a weight of 150"):
        SizedMeans(3, size_max=449 / 3 / 449).fit(uneven, sample_weight=weights)
    SizedMeans(3, size_max=150, effort=0, random_state=0).fit(uneven, sample_weight=weights)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_narrow_bounds_do_not_depend_on_the_start_without_bounds(n_threads):
    """Most points are in one small group, which has few centers without bounds."""
    rng = np.random.default_rng(0)
    groups = [rng.standard_normal((n, 2)) * width + center for n, width, center in [(900, 0.1, 0), (300, 3.0, 20)]]
    points = np.concatenate(groups)
    costs = [
        SizedMeans(12, size_min=100, size_max=100, random_state=seed, n_threads=n_threads).fit(points).inertia_
        for seed in range(3)
    ]
    assert max(costs) < 1.02 * min(costs)
    free = EulerMeans(12, random_state=0).fit(points)
    given = SizedMeans(12, size_min=100, size_max=100, init=free.cluster_centers_, effort=0).fit(points)
    assert min(costs) < given.inertia_


def test_balanced_starts_are_means_of_parts_with_equal_weight():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((90, 3))
    centers = balanced_start(memory_oracle(points), 9, rng)
    assert centers.shape == (9, 3)
    assert np.allclose(centers.mean(axis=0), points.mean(axis=0))  # parts are equal
    weights = rng.integers(0, 4, 90).astype(float)
    heavy = balanced_start(memory_oracle(points, weights), 9, rng)
    assert np.isfinite(heavy).all()
    assert np.array_equal(np.sort(balanced_start(memory_oracle(points), 90, rng), axis=0), np.sort(points, axis=0))


def test_balanced_starts_take_equal_points_sparse_rows_and_rows_without_weight():
    rng = np.random.default_rng(0)
    same = np.ones((12, 2))
    assert np.array_equal(balanced_start(memory_oracle(same), 5, rng), np.ones((5, 2)))
    weights = np.zeros(12)
    weights[:2] = 1
    assert np.array_equal(balanced_start(memory_oracle(same, weights), 5, rng), np.ones((5, 2)))
    sparse = balanced_start(memory_oracle(csr_array(np.eye(12))), 4, rng)
    assert np.allclose(sparse.sum(axis=1), 1)
    assert np.allclose(sparse[sparse > 0], 1 / 3)


@pytest.mark.parametrize("name", ["size_min", "size_max", "n_init", "max_iter"])
def test_true_is_no_number(uneven, name):
    with pytest.raises(ValueError, match=name):
        SizedMeans(3, **{name: True}).fit(uneven)

"""The estimators on data that are not arrays: files, tables and streams."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eulermeans import EulerMeans, StochasticBackwardEuler, StopReason

both = pytest.mark.parametrize("Estimator", [EulerMeans, StochasticBackwardEuler])
LIMIT = 1 << 20


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    """5 MB in 30 groups, sorted by group."""
    rng = np.random.default_rng(0)
    means = 4 * rng.standard_normal((30, 20))
    return (np.repeat(means, 2200, axis=0) + rng.standard_normal((66_000, 20))).astype(np.float32)


@pytest.fixture(scope="module")
def parquet(points, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("data") / "points.parquet"
    table = pa.table({f"x{j}": points[:, j] for j in range(points.shape[1])})
    pq.write_table(table, path, row_group_size=5000)
    return str(path)


def test_a_sorted_file_that_does_not_fit_is_clustered_as_well_as_in_memory(points, parquet):
    inside = EulerMeans(30, random_state=0).fit(points)
    outside = EulerMeans(30, random_state=0, memory_limit=LIMIT).fit(parquet)
    assert outside.inertia_ < 1.001 * inside.inertia_
    assert {record.phase for record in outside.history_} >= {"search", "descend", "polish"}


def test_the_last_pass_of_the_finish_measures_the_result(points):
    """Data are read once for the pool and once for each pass of the finish, but not again for the inertia."""
    passes = []

    def batches():
        passes.append(1)
        return iter(np.array_split(points, 10))

    model = EulerMeans(30, random_state=0, memory_limit=LIMIT, effort=0).fit(batches)
    finish = [record for record in model.history_ if record.phase == "finish"]
    assert model.stop_reason_ is StopReason.CONVERGED
    assert len(passes) == 2 + len(finish)  # as_source looks at the first batch for the number of features
    assert model.inertia_ == pytest.approx(2 * len(points) * finish[-1].objective, rel=1e-12)
    assert model.inertia_ == -model.score(batches)


def test_mnist_sorted_by_digit_and_larger_than_the_limit(mnist, data_dir, tmp_path):
    from conftest import read_idx

    digits = read_idx(data_dir / "mnist" / "train-labels-idx1-ubyte.gz")
    points = mnist[np.argsort(digits, kind="stable")]
    np.save(tmp_path / "mnist.npy", points)
    inside = EulerMeans(10, random_state=0).fit(points)
    outside = EulerMeans(10, random_state=0, memory_limit="16MiB").fit(tmp_path / "mnist.npy")
    assert outside.inertia_ < 1.001 * inside.inertia_


def test_a_file_that_fits_in_memory_is_clustered_as_well_as_an_array(points, parquet):
    """Reading takes random numbers, so the seeds differ and only the quality is the same."""
    inside, outside = EulerMeans(30, random_state=0).fit(points), EulerMeans(30, random_state=0).fit(parquet)
    assert outside.inertia_ == pytest.approx(inside.inertia_, rel=1e-3)
    assert isinstance(outside.labels_, np.ndarray)


def test_results_are_blocks(points, parquet):
    model = EulerMeans(5, random_state=0, memory_limit=LIMIT).fit(points[::10])
    blocks = list(model.predict(parquet))
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate(blocks), model.predict(points))
    np.testing.assert_allclose(np.asarray(model.transform(parquet)), model.transform(points), rtol=1e-5)
    assert model.score(parquet) == pytest.approx(model.score(points), rel=1e-9)


def test_labels_of_a_stream_are_those_of_predict(points, parquet):
    model = EulerMeans(5, random_state=0, memory_limit=LIMIT).fit(parquet)
    np.testing.assert_array_equal(np.asarray(model.labels_), np.asarray(model.predict(parquet)))
    assert model.inertia_ == -model.score(parquet)
    assert model.cluster_weights_.sum() == len(points)


@both
@pytest.mark.parametrize("init", ["k-means++", "random", "partition", "mean", "callable"])
def test_every_init_works_on_a_stream(parquet, Estimator, init):
    if init == "callable":

        def init(X, n_clusters, random_state):
            return X[random_state.permutation(len(X))[:n_clusters]]

    options = {"memory_limit": LIMIT} if Estimator is EulerMeans else {}
    model = Estimator(4, init=init, random_state=0, **options).fit(parquet)
    assert np.isfinite(model.cluster_centers_).all()
    assert model.cluster_centers_.dtype == np.float32


def test_a_callable_init_gets_all_rows_in_memory(points):
    seen = []

    def start(X, n_clusters, random_state):
        seen.append(len(X))
        return X[:n_clusters]

    EulerMeans(4, init=start, random_state=0).fit(points)
    assert seen == [len(points)]


def test_a_stream_is_reproducible_for_any_number_of_threads(parquet):
    one, other = (
        EulerMeans(8, random_state=0, memory_limit=LIMIT, n_threads=n_threads).fit(parquet) for n_threads in (1, 3)
    )
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


def test_a_checkpoint_of_a_stream(parquet, tmp_path):
    path = tmp_path / "fit.checkpoint"
    whole = EulerMeans(8, random_state=0, memory_limit=LIMIT).fit(parquet)
    stopped = EulerMeans(8, random_state=0, memory_limit=LIMIT, max_time=1e-9).fit(parquet, checkpoint=path)
    assert stopped.n_iter_ < whole.n_iter_
    resumed = EulerMeans(8, random_state=0, memory_limit=LIMIT).fit(parquet, checkpoint=path)
    np.testing.assert_array_equal(resumed.cluster_centers_, whole.cluster_centers_)


def test_weights_of_a_stream(points, parquet):
    """Zero weights on one half leave the clusters of the other half."""
    weights = np.repeat([1.0, 0.0], 33_000)
    model = EulerMeans(15, random_state=0, memory_limit=LIMIT).fit(parquet, sample_weight=weights)
    half = EulerMeans(15, random_state=0).fit(points[:33_000])
    assert model.inertia_ == pytest.approx(half.inertia_, rel=1e-2)
    assert model.cluster_weights_.sum() == 33_000


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(10), "sample_weight has 10 elements"),
        (np.zeros(66_000), "zero for every sample"),
        (-np.ones(66_000), "[Nn]egative"),
        (np.ones((66_000, 2)), "2 dimensions"),
    ],
)
def test_bad_weights_of_a_stream(parquet, weights, message):
    with pytest.raises(ValueError, match=message):
        EulerMeans(3, memory_limit=LIMIT).fit(parquet, sample_weight=weights)


def test_no_labels(points):
    model = EulerMeans(30, random_state=0, compute_labels=False).fit(points)
    labelled = EulerMeans(30, random_state=0).fit(points)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")
    assert model.cluster_weights_.sum() == pytest.approx(len(points))
    # The same centers. Their sizes are those of a sample, so clusters of about the same size may change numbers.
    np.testing.assert_array_equal(
        model.cluster_centers_[model.fit_predict(points)], labelled.cluster_centers_[labelled.labels_]
    )


def test_labels_of_an_earlier_fit_are_removed(points):
    model = EulerMeans(3, random_state=0).fit(points[:500])
    model.set_params(compute_labels=False).fit(points[:500])
    assert not hasattr(model, "labels_")


def test_names_of_features(parquet, tmp_path):
    model = EulerMeans(3, random_state=0).fit(parquet)
    assert list(model.feature_names_in_) == [f"x{j}" for j in range(20)]
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({f"x{j}": np.zeros(5, np.float32) for j in reversed(range(20))}), other)
    with pytest.raises(ValueError, match=r"it has 'x19' instead of 'x0'"):
        model.predict(other)
    pq.write_table(pa.table({"x0": np.zeros(5, np.float32)}), other)
    with pytest.raises(ValueError, match=r"has 1 features, but EulerMeans is expecting 20"):
        model.predict(other)


def test_too_few_rows(tmp_path):
    np.save(tmp_path / "few.npy", np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"n_samples=3.*n_clusters=4"):
        EulerMeans(4).fit(tmp_path / "few.npy")


def test_a_missing_file():
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npy"):
        EulerMeans(2).fit("nowhere.npy")


@pytest.mark.parametrize("limit", ["much", 0, -5, "5 parsecs", 10])
def test_bad_limits(parquet, limit):
    with pytest.raises(ValueError, match="memory"):
        EulerMeans(2, memory_limit=limit).fit(parquet)

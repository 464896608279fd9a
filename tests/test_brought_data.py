"""Data as people have them: Arrow streams, lazy frames, xarray arrays, tensors, frames with text and dates."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import eulermeans
from eulermeans import EulerMeans, SourceError, StochasticBackwardEuler, as_source

ESTIMATORS = pytest.mark.parametrize(
    "make",
    [
        lambda **options: EulerMeans(3, effort=0.05, random_state=0, **options),
        lambda **options: StochasticBackwardEuler(3, n_outer=10, init="k-means++", random_state=0, **options),
    ],
    ids=["EulerMeans", "StochasticBackwardEuler"],
)


def model(**options):
    return EulerMeans(3, effort=0.05, random_state=0, **options)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return np.concatenate([m + rng.standard_normal((n, 2)) for m, n in ((0, 300), (8, 200), (16, 100))])


@pytest.fixture(scope="module")
def mixed(points):
    """Two numeric columns, one of text and one of dates."""
    return pd.DataFrame(
        {
            "age": points[:, 0],
            "city": ["Ulm", "Bonn"] * 300,
            "income": points[:, 1],
            "joined": pd.date_range("2020-01-01", periods=600),
        }
    )


# Arrow streams


class Streamed:
    """Offers Arrow's PyCapsule interface and nothing else."""

    def __init__(self, table, batch_rows=128):
        self._table, self._batch_rows = table, batch_rows

    def __arrow_c_stream__(self, requested_schema=None):
        batches = self._table.to_batches(self._batch_rows)
        reader = pa.RecordBatchReader.from_batches(self._table.schema, batches)
        return reader.__arrow_c_stream__(requested_schema)


@ESTIMATORS
def test_anything_with_an_arrow_stream(make, points):
    data = Streamed(pa.table({"x": points[:, 0], "y": points[:, 1]}))
    expected = make().fit(as_source(points))
    found = make().fit(data)
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    assert list(found.feature_names_in_) == ["x", "y"]
    np.testing.assert_array_equal(np.asarray(found.predict(data)), expected.labels_)


def test_a_hugging_face_dataset(points):
    """Not installed for the tests: tried by hand with datasets 5.2."""
    datasets = pytest.importorskip("datasets", reason="it takes several packages")
    data = datasets.Dataset.from_dict({"x": points[:, 0], "y": points[:, 1], "name": ["row"] * len(points)})
    expected = model().fit(as_source(points))
    found = model().fit(data, columns=["x", "y"])
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(np.asarray(found.predict(data)), expected.labels_)
    order = np.random.default_rng(0).permutation(len(points))
    np.testing.assert_array_equal(np.asarray(found.predict(data.select(order))), expected.labels_[order])
    vectors = datasets.Dataset.from_dict({"v": points.tolist()})
    np.testing.assert_array_equal(model().fit(vectors).cluster_centers_, expected.cluster_centers_)
    with pytest.raises(ValueError, match="name"):
        model().fit(data)
    for wrong, advice in [
        (datasets.DatasetDict(train=data), "pass one"),
        (data.to_iterable_dataset(), "a Dataset"),
    ]:
        with pytest.raises(TypeError, match=advice):
            model().fit(wrong)


def test_a_lance_dataset(points, tmp_path):
    """Not installed for the tests: tried by hand with pylance 14."""
    lance = pytest.importorskip("lance", reason="it takes several packages")
    data = lance.write_dataset(pa.table({"x": points[:, 0], "y": points[:, 1]}), tmp_path / "x.lance")
    expected = model().fit(as_source(points))
    found = model().fit(data)
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(np.asarray(found.predict(data)), expected.labels_)
    with pytest.raises(TypeError, match=r"to_table\(\)"):
        model().fit(data.scanner())


def test_an_arrow_stream_of_lists_and_weights(points):
    lists = pa.array(points.tolist(), pa.list_(pa.float64()))
    table = pa.table({"embedding": lists, "times": np.arange(600) % 3 + 1})
    source = as_source(Streamed(table), columns=["embedding"], weights="times")
    assert source.feature_names == ["embedding[0]", "embedding[1]"]
    expected = model().fit(points, sample_weight=np.arange(600) % 3 + 1)
    np.testing.assert_array_equal(model().fit(source).cluster_centers_, expected.cluster_centers_)


def test_an_arrow_stream_that_is_larger_than_memory(points):
    large = np.concatenate([points] * 20)
    found = model(memory_limit="64KiB").fit(Streamed(pa.table({"x": large[:, 0], "y": large[:, 1]}), 1000))
    assert found.inertia_ == pytest.approx(20 * model().fit(points).inertia_, rel=0.02)


def test_arrow_streams_that_can_not_be_read():
    with pytest.raises(SourceError, match="Streamed is empty"):
        model().fit(Streamed(pa.table({"x": pa.array([], pa.float64())})))
    with pytest.raises(SourceError, match=r"non-numeric columns: name \(string\); .* columns=, such as \['x'\]"):
        model().fit(Streamed(pa.table({"x": [1.0, 2], "name": ["a", "b"]})))
    once = pa.table({"x": [1.0, 2]}).to_reader()
    with pytest.raises(TypeError, match=r"read only once.*read_all"):
        model().fit(once)


def test_a_duckdb_relation(points):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("points", pa.table({"x": points[:, 0], "y": points[:, 1], "name": ["a"] * 600}))
    expected = model().fit(points)
    found = model().fit(connection.sql("SELECT x, y FROM points"))
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    chosen = model().fit(connection.sql("FROM points"), columns=["x", "y"])
    np.testing.assert_array_equal(np.asarray(chosen.predict(connection.sql("FROM points"))), expected.labels_)


def test_a_lazy_frame_is_collected(points, mixed):
    lazy = pl.LazyFrame({"x": points[:, 0], "y": points[:, 1]}).filter(pl.col("x") > -100)
    expected = model().fit(points)
    found = model().fit(lazy)
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(found.predict(lazy), expected.labels_)
    numeric = model().fit(pl.LazyFrame(mixed), columns=["age", "income"])
    np.testing.assert_array_equal(numeric.labels_, expected.labels_)
    with pytest.raises(SourceError, match="no column years; it has age, city, income, joined"):
        model().fit(pl.LazyFrame(mixed), columns=["years"])


# Columns


@ESTIMATORS
@pytest.mark.parametrize("as_data", [lambda frame: frame, pl.DataFrame, pa.Table.from_pandas])
def test_columns_choose_features_of_a_frame(make, as_data, mixed):
    data, numbers = as_data(mixed), as_data(mixed[["age", "income"]])
    expected = make().fit(numbers)
    found = make().fit(data, columns=["age", "income"])
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(found.predict(data), expected.labels_)
    np.testing.assert_array_equal(found.predict(numbers), expected.labels_)
    np.testing.assert_array_equal(make().fit_predict(data, columns=["age", "income"]), expected.labels_)
    assert found.score(data) == -expected.inertia_
    assert found.transform(data).shape == (600, 3)
    assert list(found.feature_names_in_) == ["age", "income"]


@ESTIMATORS
def test_columns_are_remembered_by_partial_fit(make, mixed):
    numbers = mixed[["age", "income"]]
    expected = make().fit(numbers).partial_fit(numbers)
    found = make().fit(mixed, columns=["age", "income"]).partial_fit(mixed)
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)


def test_columns_are_remembered_in_a_model_file(mixed, tmp_path):
    fitted = model().fit(mixed, columns=["income", "age"])
    fitted.save(tmp_path / "model")
    loaded = eulermeans.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(mixed), fitted.labels_)


def test_columns_of_a_file(mixed, tmp_path):
    mixed.to_parquet(tmp_path / "people.parquet")
    fitted = model().fit(tmp_path / "people.parquet", columns=["age", "income"])
    np.testing.assert_array_equal(np.asarray(fitted.predict(tmp_path / "people.parquet")), fitted.labels_)


def test_columns_are_forgotten_by_the_next_fit(mixed, points):
    fitted = model().fit(mixed, columns=["age"]).fit(points)
    np.testing.assert_array_equal(fitted.predict(points), fitted.labels_)
    with pytest.raises(ValueError, match="no column names"):
        model().fit(points, columns=["age"])
    with pytest.raises(TypeError, match="expected a list of column names"):
        model().fit(mixed, columns="age")


@pytest.mark.parametrize("entrance", ["fit", "partial_fit", "fit_predict", "fit_transform"])
@pytest.mark.parametrize("as_data", [lambda frame: frame, pl.DataFrame, pa.Table.from_pandas])
def test_text_and_dates_are_named(entrance, as_data, mixed):
    with pytest.raises(SourceError, match=r"city \(.*\), joined \(.*\); .* columns=, such as \['age', 'income'\]"):
        getattr(model(), entrance)(as_data(mixed))


@pytest.mark.parametrize("entrance", ["predict", "transform", "score"])
def test_text_is_named_after_the_fit(entrance, points):
    frame = pd.DataFrame(points, columns=["age", "income"])
    fitted = model().fit(frame)
    with pytest.raises(SourceError, match=r"income \("):
        getattr(fitted, entrance)(
            frame.astype({"income": str}).replace({"income": {"8": "eight"}}).assign(income="x")
        )


def test_dates_alone_are_refused_with_what_to_call(mixed):
    for dates in (mixed[["joined"]], mixed[["joined"]].to_numpy(), mixed[["joined"]] - mixed["joined"][0]):
        with pytest.raises(ValueError, match="astype"):
            model().fit(dates)


def test_numbers_in_a_column_of_objects_are_taken(points):
    frame = pd.DataFrame(points, columns=["a", "b"])
    found = model().fit(frame.astype({"a": object}))
    np.testing.assert_array_equal(found.labels_, model().fit(frame).labels_)


# xarray


@ESTIMATORS
def test_xarray_arrays(make, points):
    xarray = pytest.importorskip("xarray")
    expected = make().fit(points)
    rows = xarray.DataArray(points, dims=("row", "feature"))
    found = make().fit(rows, sample_weight=xarray.DataArray(np.ones(600), dims="row"))
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(found.predict(rows), expected.labels_)
    make().partial_fit(rows)
    start = xarray.DataArray(expected.cluster_centers_, dims=("cluster", "feature"))
    make().set_params(init=start).fit(rows)


def test_xarray_arrays_of_dask(points):
    xarray = pytest.importorskip("xarray")
    rows = xarray.DataArray(points, dims=("row", "feature")).chunk({"row": 100})
    found = model().fit(rows)
    assert isinstance(found.labels_, da.Array)
    np.testing.assert_array_equal(found.cluster_centers_, model().fit(points).cluster_centers_)


def test_other_objects_of_xarray_are_refused_with_what_to_call(points):
    xarray = pytest.importorskip("xarray")
    cube = xarray.DataArray(np.zeros((2, 3, 4)), dims=("time", "place", "band"))
    with pytest.raises(SourceError, match=r"X.stack\(row=\['time', 'place'\]\).transpose\('row', 'band'\)"):
        model().fit(cube)
    with pytest.raises(TypeError, match=r"X\['heat'\].*to_dataframe"):
        model().fit(cube.to_dataset(name="heat"))
    stacked = cube.stack(row=["time", "place"]).transpose("row", "band")
    EulerMeans(1, random_state=0).fit(stacked)


# torch: not in the test group


@ESTIMATORS
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "uint8"])
def test_tensors(make, dtype, points):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(points).abs().to(getattr(torch, dtype))
    as_array = as_source(tensor.float().numpy()) if dtype == "bfloat16" else tensor.numpy()
    tensor = tensor.requires_grad_() if dtype != "uint8" else tensor
    expected = make().fit(as_array)
    found = make().fit(tensor, sample_weight=torch.ones(600, dtype=torch.bfloat16))
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(found.predict(tensor), expected.labels_)
    make().partial_fit(tensor)
    make().set_params(init=torch.from_numpy(expected.cluster_centers_).to(torch.bfloat16)).fit(tensor)


def test_tensors_that_are_refused(points):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="to_dense"):
        model().fit(torch.from_numpy(points).to_sparse())
    with pytest.raises(TypeError, match=r"X\.abs"):
        model().fit(torch.zeros((9, 2), dtype=torch.complex64))

"""How columns become features: in chunks of bounded size, and kept in model files, which are checked when read."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eulermeans
from eulermeans.features import ColumnKind, Missing, Preparation, PreparedColumn
from eulermeans.sources import (
    BlockCursor,
    FilledSource,
    PreparedTable,
    TableFiles,
    TableRows,
    count_missing,
    fill_values,
    parse_filter,
)
from eulermeans.storage import container
from eulermeans.storage.model_summary import read_summary
from eulermeans.storage.models import ModelFileError, read_model, save

FORMAT_2 = Path(__file__).parent / "fixtures" / "format-2.eulermeans"
COLUMNS = (
    PreparedColumn("age"),
    PreparedColumn("city", ColumnKind.CATEGORY, ("Köln", "Rom")),
    PreparedColumn("since", ColumnKind.DATE, date_format="%d.%m.%Y"),
)


def values_of(source) -> np.ndarray:
    return np.concatenate([chunk.points for chunk in source.chunks()])


@pytest.fixture
def files(tmp_path) -> TableFiles:
    n = 5000
    columns = {
        "x": [None if i % 7 == 0 else float(i) for i in range(n)],
        "v": [[float(i), -float(i)] for i in range(n)],
        "kind": ["a" if i % 2 else "b" for i in range(n)],
        "day": [datetime.datetime(2024, 1, 1, 12) + datetime.timedelta(days=i) for i in range(n)],
        "w": np.arange(n) % 3,
    }
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=5000)
    return TableFiles(str(tmp_path / "t.parquet"))


ALL = (
    PreparedColumn("x"),
    PreparedColumn("v", width=2),
    PreparedColumn("kind", ColumnKind.CATEGORY, ("a", "c")),
    PreparedColumn("day", ColumnKind.DATE),
)


def test_features_of_every_kind(files):
    source = PreparedTable(TableRows(files), ALL, "w")
    assert source.feature_names == ["x", "v[0]", "v[1]", "kind=a", "kind=c", "day"]
    points = values_of(source)
    assert points.shape == (5000, 6)
    assert np.isnan(points[::7, 0]).all()
    np.testing.assert_array_equal(points[8], [8, 8, -8, 0, 0, 19723.5 + 8])
    np.testing.assert_array_equal(points[9], [9, 9, -9, 1, 0, 19723.5 + 9])
    assert np.concatenate([chunk.weights for chunk in source.chunks()]).sum() == (np.arange(5000) % 3).sum()


@pytest.mark.parametrize("most_bytes", [1000, 30_000])
@pytest.mark.parametrize("fill", [None, np.zeros(6)])
def test_chunks_are_within_their_limit(files, most_bytes, fill):
    source = PreparedTable(TableRows(files, parse_filter("x > 100 or x is null")), ALL)
    for each in (source, FilledSource(source, fill)):
        assert max(chunk.points.nbytes for chunk in each.chunks(most_bytes)) <= most_bytes
        np.testing.assert_array_equal(
            np.concatenate([chunk.points for chunk in each.chunks(most_bytes)]), values_of(each)
        )


def test_missing_values_are_counted_and_filled(files):
    source = PreparedTable(TableRows(files), ALL)
    counts = count_missing(source)
    assert counts.by_feature.tolist() == [715, 0, 0, 0, 0, 0]
    assert (counts.n_rows, counts.total) == (715, 5000)
    points = values_of(source)
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(fill_values(source, Missing.MEAN, rng), np.nanmean(points, axis=0))
    np.testing.assert_allclose(fill_values(source, Missing.MEDIAN, rng), np.nanmedian(points, axis=0))
    assert values_of(FilledSource(source, None)).shape == (5000 - 715, 6)
    kept = np.concatenate(list(FilledSource(source, None).kept()))
    np.testing.assert_array_equal(kept, np.arange(5000) % 7 != 0)


def test_limits_stop_reading(files):
    rows = TableRows(files, parse_filter("x >= 10"), 100)
    expected = [i for i in range(10, 5000) if i % 7][:100]
    assert values_of(PreparedTable(rows, ALL[:1]))[:, 0].tolist() == expected


@pytest.mark.parametrize("lengths", [[1, 2, 3], [10], [0, 4, 0, 6]])
def test_a_cursor_takes_pieces_of_other_lengths(lengths):
    cursor = BlockCursor(np.array_split(np.arange(10), 4))
    taken = [cursor.take(length).tolist() for length in lengths]
    assert [len(each) for each in taken] == lengths
    assert [value for each in taken for value in each] == list(range(sum(lengths)))
    assert cursor.take(100).tolist() == list(range(sum(lengths), 10))
    assert len(cursor.take(3)) == 0


# Model files


def model_with_names(names: list[str], scaled: bool):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50, len(names)))
    import pandas as pd

    estimator = eulermeans.EulerMeans(2, random_state=0)
    model = make_pipeline(StandardScaler(), estimator) if scaled else estimator
    return model.fit(pd.DataFrame(points, columns=names))


def preparation(missing: Missing | None = Missing.MEAN) -> Preparation:
    fill = np.array([40.5, 0.5, 0.5, 19000.0]) if missing in (Missing.MEAN, Missing.MEDIAN) else None
    return Preparation(COLUMNS, missing, fill)


NAMES = [feature for column in COLUMNS for feature in column.features]


@pytest.mark.parametrize("missing", [None, *Missing])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_preparation_is_kept(missing, scaled, tmp_path):
    path, prepared = tmp_path / "m.eulermeans", preparation(missing)
    save(model_with_names(NAMES, scaled), path, preparation=prepared)
    for found in (read_model(path).preparation, read_summary(path).preparation):
        assert found.columns == prepared.columns
        assert found.missing is missing
        np.testing.assert_array_equal(found.fill, prepared.fill)
    assert path.read_bytes()[8] == 2  # an older eulermeans must not read it as if nothing were to be prepared


def test_a_model_without_one_has_the_older_format(tmp_path):
    path = tmp_path / "m.eulermeans"
    save(model_with_names(NAMES, False), path)
    assert path.read_bytes()[8] == 1
    assert read_model(path).preparation is None


def test_many_plain_columns_take_no_room_in_the_header(tmp_path):
    names = [f"a name of {'very ' * 15} many letters, number {i}" for i in range(6000)]
    plain = Preparation(tuple(map(PreparedColumn, names)), Missing.DROP)
    save(model_with_names(names, False), tmp_path / "m.eulermeans", preparation=plain)
    assert read_model(tmp_path / "m.eulermeans").preparation == plain


def test_format_2_is_read():
    found = read_model(FORMAT_2)
    assert found.preparation.columns == COLUMNS
    assert found.preparation.missing is Missing.MEAN
    assert found.preparation.fill.tolist() == [40.5, 0.5, 0.5, 19000.0]
    assert found.feature_names == NAMES
    assert read_summary(FORMAT_2).n_clusters == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda described, arrays: described.update(missing="guess"),
        lambda described, arrays: described.update(missing=7),
        lambda described, arrays: described.update(missing="drop"),  # and values to fill in
        lambda described, arrays: described.update(other=1),
        lambda described, arrays: described.update(columns="age"),
        lambda described, arrays: described["columns"].pop(),
        lambda described, arrays: described["columns"].append({"name": "x"}),
        lambda described, arrays: described["columns"][0].update(kind="magic"),
        lambda described, arrays: described["columns"][0].update(width=3),
        lambda described, arrays: described["columns"][0].update(width=2**31 - 1),  # would take 100 GB
        lambda described, arrays: described["columns"][0].update(width=True),
        lambda described, arrays: described["columns"][0].update(name=3),
        lambda described, arrays: described["columns"][0].update(date_format="%Y"),
        lambda described, arrays: described["columns"][1].update(categories=[]),
        lambda described, arrays: described["columns"][1].update(categories=["Köln", 3]),
        lambda described, arrays: described["columns"][1].update(name="age"),
        lambda described, arrays: arrays.pop("preparation/fill"),
        lambda described, arrays: arrays.update({"preparation/fill": np.ones(3)}),
        lambda described, arrays: arrays.update({"preparation/fill": np.full(4, np.nan)}),
        lambda described, arrays: arrays.update({"preparation/fill": np.ones(4, np.float32)}),
        lambda described, arrays: arrays.update({"preparation/more": np.ones(4)}),
    ],
)
def test_a_preparation_that_does_not_fit_is_refused(change, tmp_path):
    contents = container.read(FORMAT_2)
    header, arrays = dict(contents.header), dict(contents.arrays)
    change(header["preparation"], arrays)
    container.write(tmp_path / "m.eulermeans", container.Contents(header, arrays), 2)
    with pytest.raises(ModelFileError, match=r"m\.eulermeans (holds|has|prepares|fills)"):
        read_model(tmp_path / "m.eulermeans")

"""Tables as people have them: missing values, categories, dates, identifiers, chosen rows."""

from __future__ import annotations

import csv
import datetime
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from cli_running import run, run_program

import eulermeans
from eulermeans.storage.models import read_model

N = 1200
CITIES = ["Köln", "Paris", "Rom"]


def table(n: int = N) -> dict[str, list]:
    """Customers of three kinds; every 10th has no age, every 25th no city."""
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 3
    age = np.round(np.array([20, 40, 60])[kind] + rng.normal(size=n), 2)
    visits = np.array([10, 50, 90])[kind] + rng.integers(-3, 4, n)
    first = datetime.date(2020, 1, 1)
    return {
        "customer": [f"{9000 + i}" for i in range(n)],
        "age": [None if i % 10 == 3 else float(value) for i, value in enumerate(age)],
        "visits": [int(value) for value in visits],
        "city": [None if i % 25 == 7 else CITIES[k] for i, k in enumerate(kind)],
        "since": [first + datetime.timedelta(days=int(day)) for day in rng.integers(0, 900, n)],
    }


def write(folder: Path, name: str, columns: dict[str, list]) -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(pa.table(columns), path, row_group_size=500)
    elif name.endswith(".arrow"):
        pyarrow.feather.write_feather(pa.table(columns), path, chunksize=500)
    else:
        opened = gzip.open if name.endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=";")
            writer.writerow(columns)
            for row in zip(*columns.values(), strict=True):
                cells = ("" if v is None else str(v).replace(".", ",") if isinstance(v, float) else v for v in row)
                writer.writerow(cells)
    return path


@pytest.fixture(params=["t.csv", "t.csv.gz", "t.parquet", "t.arrow"])
def data(request, tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(write(tmp_path, request.param, table()).name)


@pytest.fixture
def parquet(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(write(tmp_path, "t.parquet", table()).name)


def fitted(capsys, *arguments) -> dict:
    ended = run(capsys, "fit", *arguments, "--json", "-q")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


# What keeps data from being clustered, in one message


def test_the_first_run_says_all_that_is_wrong(data, capsys):
    ended = run(capsys, "fit", data, "-k", 3, "-q")
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert f"{data} has columns that are not numeric: city (" in ended.err
    assert "drop it with --drop city, make each category a feature with --one-hot city" in ended.err
    assert f"{data} also has missing values: age in 120 of 1,200 rows" in ended.err
    assert "--missing drop, mean or median" in ended.err


@pytest.mark.parametrize("memory", ["1GiB", "100kB"])
def test_missing_values_are_counted_for_every_column(memory, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns = {name: list(np.arange(900.0)) for name in "abc"}
    columns["a"][5] = columns["a"][6] = columns["c"][6] = None
    write(tmp_path, "t.parquet", columns)
    ended = run(capsys, "fit", "t.parquet", "-k", 2, "-q", "--memory", memory)
    assert ended.code == 2
    expected = "t.parquet has missing values: a in 2, c in 1 of 900 rows; 2 rows have one or more"
    assert f"{expected}; --missing drop leaves out these rows, --missing mean or median fills them in" in ended.err


def test_missing_values_of_a_matrix(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    points = np.arange(40.0, dtype=np.float32).reshape(20, 2)
    points[3, 1] = np.nan
    np.save("t.npy", points)
    assert "column 1 in 1 of 20 rows" in run(capsys, "fit", "t.npy", "-k", 2, "-q").err
    found = fitted(capsys, "t.npy", "-k", 1, "--missing", "mean")
    assert found["centers"][0] == pytest.approx(np.nanmean(points, axis=0))
    dropped = fitted(capsys, "t.npy", "-k", 2, "--missing", "drop", "--labels", "l.npy", "--limit", 10)
    assert (dropped["n_rows"], np.flatnonzero(np.load("l.npy") == -1).tolist()) == (9, [3])
    (tmp_path / "new.csv").write_text("a;b\n0,5;\n38;39\n")  # the rule of a matrix holds for a table, too
    assert run(capsys, "predict", "t.eulermeans", "new.csv", "-q", "-o", "new.npy").code == 0
    assert np.load("new.npy")[0] == -1
    np.save("all.npy", np.full((20, 2), np.nan))
    assert (
        "column 0 of all.npy has no values at all"
        in run(capsys, "fit", "all.npy", "-k", 2, "-q", "--missing", "median").err
    )


# What --missing does


def expected_rows(how: str) -> np.ndarray:
    """Age and visits after the rule, computed by hand."""
    columns = table()
    age = np.array([np.nan if value is None else value for value in columns["age"]])
    points = np.column_stack([age, columns["visits"]])
    if how == "drop":
        return points[~np.isnan(age)]
    points[np.isnan(age), 0] = np.nanmean(age) if how == "mean" else np.nanmedian(age)
    return points


@pytest.mark.parametrize(
    ("how", "memory"), [("drop", "1GiB"), ("mean", "60kB"), ("median", "1GiB"), ("drop", "60kB")]
)
def test_missing_values(how, memory, data, capsys):
    options = ["--drop", "city,since", "--missing", how, "--memory", memory, "--labels", "labels.npy"]
    found = fitted(capsys, data, "-k", 3, *options)
    points = expected_rows(how)
    assert found["n_rows"] == len(points)
    assert found["feature_names"] == ["age", "visits"]
    assert found["missing"] == how
    assert found["rows_left_out"] == (120 if how == "drop" else 0)
    expected = eulermeans.EulerMeans(3, random_state=0).fit(points)
    assert found["inertia"] == pytest.approx(expected.inertia_, rel=1e-6)
    labels = np.load("labels.npy")
    assert len(labels) == N
    assert np.count_nonzero(labels == -1) == (120 if how == "drop" else 0)
    assert np.bincount(labels[labels >= 0]).tolist() == found["sizes"]
    # It holds at predict, score and report, also for data of another format.
    write(Path(), "new.parquet", table())
    ended = run(capsys, "predict", "t.eulermeans", "new.parquet", "-q", "-o", "new.npy")
    assert ended.code == 0, ended.err
    assert ("note: 120 rows have missing values; their cluster is -1" in ended.err) == (how == "drop")
    assert np.array_equal(np.load("new.npy"), labels)
    scored = json.loads(run(capsys, "score", "t.eulermeans", "new.parquet", "--json", "-q").out)
    assert scored["inertia"] == pytest.approx(found["inertia"])
    assert scored["n_rows"] == len(points)


def test_the_rule_uses_values_of_the_training_data(parquet, capsys):
    fitted(capsys, parquet, "-k", 3, "-c", "age,visits", "--missing", "mean")
    model = read_model("t.eulermeans")
    assert model.preparation.fill == pytest.approx(expected_rows("mean").mean(axis=0))
    write(Path(), "new.parquet", {"age": [None, 20.0], "visits": [90, 10]})
    predicted = run(capsys, "predict", "t.eulermeans", "new.parquet", "-q").out.split()[1:]
    filled = [[model.preparation.fill[0], 90.0], [20.0, 10.0]]
    vars(model.estimator).pop("feature_names_in_")
    assert list(map(int, predicted)) == model.estimator.predict(filled).tolist()


def test_data_whose_columns_are_not_those_of_the_model(parquet, capsys):
    fitted(capsys, parquet, "-k", 3, "-c", "age,visits", "--missing", "mean")
    for columns, message in (
        ({"age": ["young", "old"], "visits": [1, 2]}, "but the model needs numbers: age (string)"),
        ({"visits": [1, 2]}, "new.parquet has no column age, which the model needs"),
    ):
        write(Path(), "new.parquet", columns)
        ended = run(capsys, "predict", "t.eulermeans", "new.parquet", "-q")
        assert ended.code == 2
        assert message in ended.err
    ended = run(capsys, "predict", "t.eulermeans", parquet, "-q", "-c", "visits")
    assert "--columns and --drop can't be used: the model knows which columns it prepares" in ended.err


def test_missing_values_and_weights_and_scaling(parquet, capsys):
    columns = table()
    columns["w"] = [1.0 + i % 2 for i in range(N)]
    write(Path(), "w.parquet", columns)
    options = ["-c", "age,visits", "--missing", "mean", "--weights", "w", "--scale", "standard"]
    found = fitted(capsys, "w.parquet", "-k", 3, *options)
    age = np.array([np.nan if value is None else value for value in columns["age"]])
    weights = np.array(columns["w"])
    kept = ~np.isnan(age)
    assert read_model("w.eulermeans").preparation.fill[0] == pytest.approx(
        np.average(age[kept], weights=weights[kept])
    )
    assert sum(found["sizes"]) == pytest.approx(weights.sum())


def test_an_infinite_value_is_still_named(parquet, capsys):
    columns = {"a": [1.0, None, float("inf"), 4.0], "b": [1.0, 2.0, 3.0, 4.0]}
    write(Path(), "inf.parquet", columns)
    ended = run(capsys, "fit", "inf.parquet", "-k", 2, "-q", "--missing", "drop")
    assert ended.code == 2
    assert "row 2 (from 0) of inf.parquet has an infinite value in column 'a'" in ended.err


def test_a_model_without_a_rule_says_what_to_do(parquet, capsys):
    write(Path(), "whole.parquet", {"age": list(np.arange(50.0)), "visits": list(np.arange(50.0) ** 2)})
    assert run(capsys, "fit", "whole.parquet", "-k", 2, "-q").code == 0
    ended = run(capsys, "predict", "whole.eulermeans", parquet, "-q")
    assert ended.code == 2
    assert "age in 120 of 1,200 rows; fit the model with --missing mean, median or drop" in ended.err


# Categories and dates


def test_categories(data, capsys):
    options = ["--one-hot", "city", "-c", "visits", "--missing", "mean", "--memory", "80kB"]
    found = fitted(capsys, data, "-k", 3, *options)
    assert found["feature_names"] == ["visits", "city=Köln", "city=Paris", "city=Rom"]
    share = sum(city == "Köln" for city in table()["city"]) / sum(city is not None for city in table()["city"])
    assert read_model("t.eulermeans").preparation.fill[1] == pytest.approx(share)
    new = {"visits": [10, 90], "city": ["Atlantis", "Rom"]}  # a city that the model has not seen
    write(Path(), "new.parquet", new)
    predicted = run(capsys, "predict", "t.eulermeans", "new.parquet", "-q").out.split()[1:]
    model = read_model("t.eulermeans").estimator
    vars(model).pop("feature_names_in_")
    assert list(map(int, predicted)) == model.predict([[10.0, 0, 0, 0], [90, 0, 0, 1]]).tolist()


def test_a_row_without_a_category_is_dropped_or_an_error(parquet, capsys):
    ended = run(capsys, "fit", parquet, "-k", 3, "-c", "visits", "--one-hot", "city", "-q")
    assert ended.code == 2
    assert "has missing values: city in 48 of 1,200 rows; --missing drop" in ended.err
    found = fitted(capsys, parquet, "-k", 3, "-c", "visits", "--one-hot", "city", "--missing", "drop")
    assert found["n_rows"] == N - 48


def test_numbers_and_dictionaries_can_be_categories(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    columns = {"code": [1, 2, 10] * 20, "x": list(np.arange(60.0)), "kind": pa.array(["a", "b"] * 30)}
    columns["kind"] = columns["kind"].dictionary_encode()
    write(tmp_path, "t.parquet", columns)
    found = fitted(capsys, "t.parquet", "-k", 2, "--one-hot", "code,kind")
    assert found["feature_names"] == ["code=1", "code=10", "code=2", "x", "kind=a", "kind=b"]


def test_too_many_categories(parquet, capsys):
    ended = run(capsys, "fit", parquet, "-k", 3, "--one-hot", "customer", "-c", "visits", "-q")
    assert ended.code == 2
    assert "customer of t.parquet has more than 100 different values, such as 9000" in ended.err


def test_dates(data, capsys):
    found = fitted(capsys, data, "-k", 2, "-c", "visits", "--dates", "since")
    assert found["feature_names"] == ["visits", "since"]
    days = [(day - datetime.date(1970, 1, 1)).days for day in table()["since"]]
    expected = eulermeans.EulerMeans(2, random_state=0).fit(np.column_stack([table()["visits"], days]))
    assert found["inertia"] == pytest.approx(expected.inertia_)


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        (["12/31/2024", "1/2/2025"], [20088, 20090]),
        (["31/12/2024", "02/01/2025"], [20088, 20090]),
        (["31.12.2024", "2.1.2025"], [20088, 20090]),
        (["31.12.24", "02.01.25"], [20088, 20090]),
        (["12/31/24", "01/02/25"], [20088, 20090]),
    ],
    ids=lambda value: value[0] if isinstance(value[0], str) else "",
)
def test_dates_with_day_month_and_year_in_any_order(dates, days, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(
        "x,day\n" + "".join(f"{i},{day}\n" for i, day in enumerate([*dates, ""])), encoding="utf-8"
    )
    found = fitted(capsys, "t.csv", "-k", 2, "--dates", "day", "--missing", "drop")
    assert sorted(center[1] for center in found["centers"]) == days


def test_dates_that_fit_two_orders_are_read_month_first_with_a_word(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,day\n0,01/02/2024\n1,01/03/2024\n", encoding="utf-8")
    ended = run(capsys, "fit", "t.csv", "-k", 1, "--dates", "day", "-q")
    assert ended.code == 0, ended.err
    assert "note: the dates in day are read as month/day/year: no day is above 12" in ended.err
    Path("new.csv").write_text("x,day\n0,31/12/2024\n", encoding="utf-8")  # the model reads months first
    ended = run(capsys, "predict", "t.eulermeans", "new.csv", "-q")
    assert ended.code == 2
    assert "'31/12/2024' in column 'day', which is not a date like %m/%d/%Y" in ended.err


def test_dates_are_left_out_with_a_word(data, capsys):
    ended = run(capsys, "fit", data, "-k", 2, "--drop", "city,age,customer", "-q", "--json")
    assert ended.code == 0, ended.err
    assert "note: left out since, which is a date; --dates since clusters by days since 1970" in ended.err
    assert json.loads(ended.out)["left_out"] == ["since"]
    assert json.loads(ended.out)["feature_names"] == ["visits"]


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y %H:%M:%S"])
def test_dates_that_are_written_in_other_ways(form, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    days = [datetime.datetime(2024, 1, 1) + datetime.timedelta(days=i) for i in range(40)]
    write(tmp_path, "t.csv", {"x": [str(i % 2) for i in range(40)], "day": [f"{day:{form}}" for day in days]})
    found = fitted(capsys, "t.csv", "-k", 1, "--dates", "day")
    mean = (datetime.date(2024, 1, 1) - datetime.date(1970, 1, 1)).days + 19.5
    assert found["centers"][0][1] == pytest.approx(mean)
    write(tmp_path, "new.parquet", {"x": [1.0], "day": [datetime.date(2024, 1, 9)]})  # stored as dates
    assert run(capsys, "predict", "t.eulermeans", "new.parquet", "-q").code == 0


def test_a_table_of_dates_alone(parquet, capsys):
    ended = run(capsys, "fit", parquet, "-k", 2, "-c", "since", "-q")
    assert ended.code == 2
    assert "drop it with --drop since, or use dates as numbers with --dates since" in ended.err
    assert fitted(capsys, parquet, "-k", 2, "-c", "since", "--dates", "since")["feature_names"] == ["since"]


def test_what_is_not_a_date(parquet, capsys):
    ended = run(capsys, "fit", parquet, "-k", 2, "--dates", "city", "-q")
    assert ended.code == 2
    assert "--dates city: the values of this column are not dates, such as 'Köln'" in ended.err
    assert (
        "--one-hot and --dates both name the column city"
        in run(capsys, "fit", parquet, "-k", 2, "--dates", "city", "--one-hot", "city").err
    )


# Identifiers


@pytest.mark.parametrize(
    ("name", "values", "left_out"),
    [
        ("customer_id", [17, 5, 99, 4], True),
        ("customerId", [17, 5, 99, 4], True),
        ("id", [17, 5, 99, 5], False),  # not unique
        ("income", [17, 5, 99, 4], False),
        ("", [0, 1, 2, 3], True),  # as pandas writes its index
        ("n", list(range(7, 107)), True),  # numbered one after the other
        ("n", list(range(7, 80)), False),
        ("n", list(range(0, 200, 2)), False),
        ("n", [i * i for i in range(1500)], True),  # so many measured values would repeat
        ("word", [f"w{i}" for i in range(30)], True),
        ("x", [0.5 + i for i in range(2000)], False),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_identifiers(name, values, left_out, suffix, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    others = {"a": [float(i % 7) for i in range(len(values))]}
    write(tmp_path, f"t.{suffix}", {name: values, **others})
    ended = run(capsys, "fit", f"t.{suffix}", "-k", 2, "-q", "--json")
    assert ended.code == 0, ended.err
    assert ("it looks like an identifier; --columns brings it back" in ended.err) == left_out
    assert json.loads(ended.out)["feature_names"] == ["a"] if left_out else [name, "a"]
    if left_out and name and name != "word":
        found = fitted(capsys, f"t.{suffix}", "-k", 2, "-c", f"{name},a")
        assert found["feature_names"] == [name, "a"]


def test_an_identifier_stays_if_nothing_else_is_left(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "t.csv", {"id": [17, 5, 99, 4]})
    assert fitted(capsys, "t.csv", "-k", 2)["feature_names"] == ["id"]


# Scales


def test_a_line_suggests_to_scale(parquet, capsys):
    rng = np.random.default_rng(0)
    columns = {"age": list(rng.normal(40, 10, 500)), "income": list(rng.normal(40_000, 9000, 500))}
    write(Path(), "s.parquet", columns)
    ended = run(capsys, "fit", "s.parquet", "-k", 2, "-q")
    said = "income has 99.9% of the variance, so the other feature hardly matters; --scale standard gives all"
    assert said in ended.out
    assert said in run(capsys, "sweep", "s.parquet", "-k", "2:3", "-q").out
    for options in (["--scale", "standard"], ["--metric", "cosine"], ["-c", "age"]):
        assert "of the variance" not in run(capsys, "fit", "s.parquet", "-k", 2, "-q", *options).out


# Rows


def test_where_and_limit(data, capsys):
    condition = "visits > 30 and city in ('Paris', 'Rom') and age is not null"
    options = ["-c", "age,visits", "--where", condition]
    found = fitted(capsys, data, "-k", 2, *options, "--labels", "l.csv", "--append")
    columns = table()
    expected = [
        i
        for i in range(N)
        if columns["visits"][i] > 30 and columns["city"][i] in ("Paris", "Rom") and columns["age"][i] is not None
    ]
    assert found["n_rows"] == len(expected)
    with open("l.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["customer"] for row in rows] == [columns["customer"][i] for i in expected]
    assert fitted(capsys, data, "-k", 2, *options, "--limit", 30)["n_rows"] == 30
    ended = run(
        capsys, "predict", "t.eulermeans", data, "--where", condition, "--limit", 4, "--id", "customer", "-q"
    )
    assert [line.split(",")[0] for line in ended.out.split()[1:]] == [columns["customer"][i] for i in expected[:4]]


def test_where_on_a_column_that_is_also_written_or_a_category(parquet, capsys):
    write(Path(), "t.csv", table())
    options = ["--one-hot", "visits", "--where", "visits > 85 and city is not null", "-c", "visits"]
    found = fitted(capsys, "t.csv", "-k", 2, *options, "--labels", "l.csv", "--append")
    assert found["feature_names"] == [f"visits={i}" for i in range(87, 94)]
    with open("l.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == found["n_rows"]
    assert all(int(row["visits"]) > 85 and row["city"] for row in rows)


def test_an_error_in_filtered_rows_says_so(parquet, capsys):
    columns = {"a": [1.0, 2.0, float("inf"), 4.0], "b": [1.0, 2.0, 3.0, 4.0]}
    write(Path(), "inf.parquet", columns)
    ended = run(capsys, "fit", "inf.parquet", "-k", 2, "-q", "--where", "b > 1")
    assert "row 1 (from 0) of inf.parquet where b > 1 has an infinite value in column 'a'" in ended.err
    assert run(capsys, "fit", "inf.parquet", "-k", 2, "-q", "--where", "b <> 3").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--where", "height > 3"],
            "t.parquet has no column height, which --where asks for; it has customer, age",
        ),
        (["--where", "visits >"], "can't read the condition 'visits >'"),
        (["--where", "visits > 1000", "-c", "visits"], "is empty"),
        (["--where", "city = 3"], "the column city has type string"),
        (["--one-hot", "town"], "has no column town"),
        (["--delimiter", ";;"], "--delimiter ';;' is not one character"),
        (["--image-shape", "5"], "--image-shape 5 is not a shape"),
        (["--image-shape", "5x5", "-c", "visits"], "--image-shape 5x5 has 25 pixels; the rows have 1"),
        (["--append"], "--append needs --labels"),
        (["--append", "--labels", "l.npy"], "can't append labels to rows in l.npy"),
        (["--centers", "c.txt"], "can't write centers to c.txt: the suffix must be one of .csv"),
        (["--centers", "t.parquet"], "--centers t.parquet is also DATA"),
    ],
)
def test_wrong_choices(arguments, message, parquet, capsys):
    ended = run(capsys, "fit", parquet, "-k", 2, "-q", *arguments)
    assert ended.code == 2
    assert message in ended.err


# Outputs


@pytest.mark.parametrize(("ending", "memory"), [("csv", "60kB"), ("parquet", "1GiB")])
def test_append(ending, memory, data, capsys):
    options = ["-c", "age,visits", "--missing", "drop", "--memory", memory]
    fitted(capsys, data, "-k", 3, *options, "--labels", f"out.{ending}", "--append")
    assert run(capsys, "predict", "t.eulermeans", data, "--append", "-o", f"again.{ending}", "-q").code == 0
    assert Path(f"out.{ending}").read_bytes() == Path(f"again.{ending}").read_bytes()
    if ending in ("csv", "tsv"):
        with open(f"out.{ending}", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="," if ending == "csv" else "\t"))
    else:
        read = pyarrow.parquet.read_table if ending == "parquet" else pyarrow.feather.read_table
        rows = read(f"out.{ending}").to_pylist()
    assert list(rows[0]) == ["customer", "age", "visits", "city", "since", "cluster"]
    assert [str(row["customer"]).split(".")[0] for row in rows] == table()["customer"]
    assert [i for i, row in enumerate(rows) if int(row["cluster"]) == -1] == list(range(3, N, 10))
    assert [float(row["visits"]) for row in rows] == table()["visits"]


def test_appended_rows_of_text_are_as_they_were(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text('key;x;cluster;note\n007;1,50;a;"a;""b"""\n008;1.000,25;b;\n009;3;a;NA\n')
    ended = run(capsys, "fit", "t.csv", "-k", 2, "-c", "x", "--labels", "l.csv", "--append", "-q")
    assert ended.code == 0, ended.err
    with open("l.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["key", "x", "cluster", "note", "cluster_"]
    assert [row[:4] for row in rows[1:]] == [
        ["007", "1,50", "a", 'a;"b"'],
        ["008", "1.000,25", "b", ""],
        ["009", "3", "a", "NA"],
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_centers(ending, parquet, capsys):
    found = fitted(capsys, parquet, "-k", 3, "-c", "visits", "--scale", "standard", "--centers", f"c.{ending}")

    if ending == "npy":
        centers = np.load("c.npy")
    else:
        read = pyarrow.csv.read_csv if ending == "csv" else pyarrow.parquet.read_table
        written = read(f"c.{ending}")
        assert written.column_names == ["cluster", "size", "visits"]
        assert written["cluster"].to_pylist() == [0, 1, 2]
        assert written["size"].to_pylist() == found["sizes"]
        centers = written["visits"].to_numpy()[:, None]
    assert centers == pytest.approx(np.array(found["centers"]))


def test_ids_of_a_report_are_those_of_the_rows_that_are_clustered(parquet, capsys):
    options = ["-c", "age,visits", "--missing", "drop", "--id", "customer", "--report", "r.html"]
    assert run(capsys, "fit", parquet, "-k", 3, "-q", *options).code == 0
    page = Path("r.html").read_text()
    shown = [i for i in range(N) if f">{9000 + i}<" in page.replace("\n", "").replace(" ", "")]
    assert shown
    assert all(i % 10 != 3 for i in shown)  # those were left out


# K


def test_k_is_chosen(parquet, capsys):
    found = fitted(capsys, parquet, "-k", "2:5", "-c", "visits")
    assert found["n_clusters"] == 3
    assert found["chosen"]["tried"] == [2, 3, 4, 5]
    assert "K = 3" in found["chosen"]["reason"]
    assert found == {**found, **{"model": "t.eulermeans", "n_rows": N}}
    ended = run(capsys, "fit", parquet, "-k", "2,3", "-c", "visits", "-q")
    assert "K = 3 is the largest K" in ended.out


def test_k_is_chosen_for_few_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("t.npy", np.repeat([[0.0, 0], [9, 9]], 5, axis=0) + np.arange(10)[:, None] % 5 / 9)
    found = fitted(capsys, "t.npy", "-k", "auto")
    assert found["chosen"]["tried"] == [2, 3, 4, 5]


@pytest.mark.parametrize("given", ["0", "-1", "two", "2:", "1.5", "auto2", ""])
def test_wrong_numbers_of_clusters(given, parquet, capsys):
    ended = run(capsys, "fit", parquet, "-k", given, "-q")
    assert ended.code == 2
    assert "is not a number of clusters; give one such as 5" in ended.err
    assert "'--clusters' / '-k'" in ended.err


# Other ways in


def test_compressed_text_from_a_pipe(tmp_path):
    content = "a\tb\n" + "".join(f"{i % 7},5\t{i % 3}\n" for i in range(100))
    arguments = ["fit", "-", "-k", 2, "--json", "-q", "--delimiter", "\\t"]
    ended = run_program(*arguments, folder=tmp_path, stdin=gzip.compress(content.encode()))
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert (found["n_rows"], found["feature_names"]) == (100, ["a", "b"])
    assert np.mean([center[0] % 1 for center in found["centers"]]) > 0  # the comma is a decimal sign


def test_excel(tmp_path, monkeypatch, capsys):
    pytest.importorskip("python_calamine")
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    book = openpyxl.Workbook()
    columns = table(60)
    book.active.append(list(columns))
    for row in zip(*columns.values(), strict=True):
        book.active.append(row)
    book.save("t.xlsx")
    found = fitted(capsys, "t.xlsx", "-k", 3, "--missing", "median", "--one-hot", "city", "--dates", "since")
    assert found["feature_names"] == ["age", "visits", "city=Köln", "city=Paris", "city=Rom", "since"]
    ended = run(capsys, "predict", "t.eulermeans", "t.xlsx", "--append", "-q", "-o", "l.csv")
    assert ended.code == 0, ended.err
    with open("l.csv", newline="", encoding="utf-8") as file:
        assert [row["customer"] for row in csv.DictReader(file)] == columns["customer"]


def test_ctrl_c_while_the_data_are_prepared(parquet, capsys, monkeypatch):
    from eulermeans.cli import errors

    def pressed(interrupt):
        raise errors.Interrupted

    monkeypatch.setattr(errors.Interrupt, "check", pressed)
    for options in (["--missing", "mean", "-c", "age"], ["--one-hot", "city", "-c", "visits"]):
        ended = run(capsys, "fit", parquet, "-k", 2, "-q", *options)
        assert ended.code == 130
        assert "stopped by Ctrl-C; no file was written" in ended.err
        assert not Path("t.eulermeans").exists()

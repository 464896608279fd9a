"""From a data file to a model, labels and a report, for every file format."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from cli_running import run, run_program
from sklearn.datasets import load_iris
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import eulermeans
from eulermeans.cli import input_data, selection

POINTS = np.tile(load_iris().data, (10, 1))  # (1500, 4): more than fits into 80 kB
WORDS = ["setosa", "versicolor", "virginica"]
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
OBJECTIVE = pytest.approx(0.262838, abs=1e-4)  # of the best three clusters


def as_text(delimiter: str = ",", *, header: bool = True, beside: bool = False) -> str:
    """Iris as text; if `beside`, with a key that has leading zeros and a column of words."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    if header:
        writer.writerow(["flower", *NAMES, "species"] if beside else NAMES)
    for number, row in enumerate(POINTS):
        writer.writerow([f"{number:04}", *row, WORDS[number % 3]] if beside else row)
    return file.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "iris.csv").write_text(as_text(beside=True))
    monkeypatch.chdir(tmp_path)
    return tmp_path


# As programs


def test_first_steps_of_a_new_user(folder):
    refused = run_program("fit", "iris.csv", "-k", 3, folder=folder)
    assert refused.code == 2
    assert "not numeric: species (string); drop it with --drop species" in refused.err

    choice = ["--drop", "species,flower", "--report", "iris.html"]
    fitted = run_program("fit", "iris.csv", "-k", 3, *choice, folder=folder)
    assert fitted.code == 0, fitted.err
    assert "1,500 rows, 4 features, 3 clusters: objective 0.262838" in fitted.out
    assert "Model: iris.eulermeans" in fitted.out

    assert "<svg" in (folder / "iris.html").read_text()

    told = run_program("info", "iris.eulermeans", folder=folder)
    assert told.code == 0
    assert "Command: eulermeans fit iris.csv -k 3 --drop species,flower --report iris.html" in told.out

    predicted = run_program("predict", "iris.eulermeans", "iris.csv", "--id", "flower", folder=folder)
    assert predicted.code == 0, predicted.err
    heading, *rows = csv.reader(io.StringIO(predicted.out))
    assert heading == ["flower", "cluster"]
    labels = nameless(folder / "iris.eulermeans").predict(POINTS)
    assert rows == [[f"{number:04}", str(label)] for number, label in enumerate(labels)]


def test_data_from_a_pipe(folder):
    arguments = ["fit", "-", "-k", 3, "-c", ",".join(NAMES), "--json", "--scale", "standard"]
    ended = run_program(*arguments, folder=folder, stdin=as_text(beside=True).encode())
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert result["model"] == "stdin.eulermeans"
    assert result["n_rows"] == 1500
    assert result["feature_names"] == NAMES
    assert isinstance(eulermeans.load(folder / "stdin.eulermeans"), Pipeline)


# File formats


def write_csv(folder):
    (folder / "data.csv").write_text(as_text())


def write_csv_with_windows_line_ends_and_a_mark(folder):
    (folder / "data.csv").write_bytes(b"\xef\xbb\xbf" + as_text().replace("\n", "\r\n").encode())


def write_tsv(folder):
    (folder / "data.tsv").write_text(as_text("\t"))


def write_headless_csv(folder):
    (folder / "data.csv").write_text(as_text(header=False))


def table() -> pa.Table:
    return pa.table(dict(zip(NAMES, POINTS.T, strict=True)))


def write_parquet(folder):
    pyarrow.parquet.write_table(table(), folder / "data.parquet", row_group_size=400)


def write_arrow(folder):
    pyarrow.feather.write_feather(table(), folder / "data.arrow")


def write_lists(folder):
    pyarrow.parquet.write_table(pa.table({"v": POINTS.tolist()}), folder / "data.parquet")


def write_npy(folder):
    np.save(folder / "data.npy", POINTS)


def write_npz(folder):
    np.savez(folder / "data.npz", points=POINTS, other=np.arange(3))


def write_zarr(folder):
    zarr = pytest.importorskip("zarr")
    zarr.save_array(str(folder / "data.zarr"), POINTS)


def write_several(folder):
    for number in range(3):
        part = table().slice(500 * number, 500)
        pyarrow.parquet.write_table(part, folder / f"data-{number}.parquet")


WRITERS = [value for name, value in list(globals().items()) if name.startswith("write_")]


@pytest.mark.parametrize("memory", ["1GiB", "80kB"])  # 80 kB: read from disk on each pass
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__.removeprefix("write_"))
def test_every_file_format(write, memory, folder, capsys):
    write(folder)
    (folder / "iris.csv").unlink()
    found = sorted(path.name for path in folder.glob("data*"))
    data = found[0] if len(found) == 1 else "data-*.parquet"
    fitted = run(capsys, "fit", data, "-k", 3, "--json", "--labels", "labels.npy", "--memory", memory)
    assert fitted.code == 0, fitted.err
    result = json.loads(fitted.out)
    assert result["n_rows"] == 1500
    assert result["objective"] == OBJECTIVE
    assert sum(result["sizes"]) == 1500
    assert result["model"] == "data.eulermeans"
    labels = np.load("labels.npy")
    assert np.array_equal(labels, nameless("data.eulermeans").predict(POINTS))
    again = run(capsys, "predict", "data.eulermeans", data, "-o", "again.csv")
    assert again.code == 0, again.err
    assert np.array_equal(np.loadtxt("again.csv", skiprows=1, dtype=int), labels)
    scored = run(capsys, "score", "data.eulermeans", data, "--json")
    assert json.loads(scored.out)["objective"] == OBJECTIVE
    assert json.loads(scored.out)["n_rows"] == 1500


def nameless(path):
    """The model without feature names, so that it takes arrays without a warning."""
    model = eulermeans.load(path)
    for step in [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]:
        vars(step).pop("feature_names_in_", None)
    return model


# Opening files


@pytest.mark.parametrize(("files", "data"), [(["x.csv"], "x.csv"), (["x1.csv", "x2.csv"], "x*.csv")])
@pytest.mark.parametrize("command", [["fit", "DATA", "-k", 3], ["predict", "x.eulermeans", "DATA", "-q"]])
def test_each_csv_file_is_opened_once_before_the_first_pass(command, files, data, tmp_path, monkeypatch, capsys):
    """Counts what Python opens and what pyarrow opens, up to the first pass over the data."""
    for name in files:
        (tmp_path / name).write_text(as_text())
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "fit", data, "-k", 3, "-q", "-o", "x.eulermeans").code == 0
    opened: list[str] = []
    passes: list[int] = []  # the number of opened files when each pass began

    def count_python_open(event: str, arguments: tuple) -> None:
        if counting and event == "open" and Path(str(arguments[0])).suffix == ".csv":
            opened.append(Path(arguments[0]).name)

    def count_arrow_open(file, *others, **options):
        if isinstance(file, str):  # not a buffer in memory
            opened.append(Path(file).name)
        return open_csv(file, *others, **options)

    def count_passes(source, *others):
        passes.append(len(opened))
        return chunks(source, *others)

    open_csv, chunks = pyarrow.csv.open_csv, input_data.InputData.chunks
    monkeypatch.setattr(pyarrow.csv, "open_csv", count_arrow_open)
    monkeypatch.setattr(input_data.InputData, "chunks", count_passes)
    counting = True
    sys.addaudithook(count_python_open)  # can't be removed, only switched off
    try:
        ended = run(capsys, *(data if argument == "DATA" else argument for argument in command))
    finally:
        counting = False
    assert ended.code == 0, ended.err
    assert opened[: passes[0]] == files
    assert len(opened) > passes[0]  # the hooks see the opens of the passes too


# Number of clusters


def test_a_sweep_recommends_a_number(folder, capsys, plane):
    np.save("flowers.npy", load_iris().data)
    ended = run(capsys, "sweep", "flowers.npy", "-k", "2:6", "--json", "-o", "best.eulermeans")
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert result["recommended"] in (2, 3)
    assert [row["n_clusters"] for row in result["rows"]] == [2, 3, 4, 5, 6]
    assert eulermeans.load("best.eulermeans").n_clusters == result["recommended"]
    np.save("plane.npy", plane)
    ended = run(capsys, "sweep", "plane.npy", "-k", "2:6", "--scale", "standard", "--plot", "sweep.svg")
    assert ended.code == 0, ended.err
    assert re.search(r"^4 \*", ended.out, re.M), ended.out
    assert "K = 4" in ended.out
    assert "<svg" in (folder / "sweep.svg").read_text()


def test_a_sweep_that_runs_out_of_time(folder, capsys):
    ended = run(capsys, "sweep", "iris.csv", "-k", "2:4", "--drop", "species,flower", "--max-time", 0.001)
    assert ended.code == 0, ended.err
    assert "Not tried (out of time): K = 3, 4." in ended.out


# Options


def test_columns_are_found_by_name_in_any_order(folder, capsys):
    assert run(capsys, "fit", "iris.csv", "-k", 3, "-c", "petal width,sepal length", "-q").code == 0
    assert list(eulermeans.load("iris.eulermeans").feature_names_in_) == ["petal width", "sepal length"]
    pyarrow.parquet.write_table(table(), folder / "other.parquet")  # another order, and more columns
    ended = run(capsys, "predict", "iris.eulermeans", "other.parquet", "-q")
    assert ended.code == 0, ended.err
    expected = nameless("iris.eulermeans").predict(POINTS[:, [3, 0]])
    assert ended.out == "cluster\n" + "".join(f"{label}\n" for label in expected)


def test_a_column_name_may_contain_a_comma(folder, capsys):
    (folder / "comma.csv").write_text('"a, b",c,d\n1,2,x\n3,4,y\n5,6,z\n')
    ended = run(capsys, "fit", "comma.csv", "-k", 2, "-c", "a, b", "-c", "c", "--json")
    assert json.loads(ended.out)["feature_names"] == ["a, b", "c"]


@pytest.mark.parametrize(("scale", "kind"), [("standard", StandardScaler), ("minmax", MinMaxScaler)])
@pytest.mark.parametrize("memory", ["1GiB", "80kB"])
def test_the_model_keeps_the_scaling_and_centers_are_in_units_of_the_data(scale, kind, memory, folder, capsys):
    points = np.column_stack([POINTS * [1, 10, 100, 1000], np.full(1500, 7.0)])  # and a constant feature
    np.save("points.npy", points)
    ended = run(capsys, "fit", "points.npy", "-k", 3, "--scale", scale, "--json", "--memory", memory)
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    model = eulermeans.load("points.eulermeans")
    expected = kind().fit(points)
    assert type(model[0]) is kind
    assert np.allclose(model[0].scale_, expected.scale_)
    labels = model.predict(points)
    means = np.array([points[labels == cluster].mean(axis=0) for cluster in range(3)])
    assert np.allclose(result["centers"], means)
    scored = json.loads(run(capsys, "score", "points.eulermeans", "points.npy", "--json").out)
    assert scored["inertia"] == pytest.approx(-model.score(points))
    told = json.loads(run(capsys, "info", "points.eulermeans", "--json").out)
    assert told["scale"] == kind.__name__
    assert told["centers"] == result["centers"]


@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
def test_weights_are_used(scale, folder, capsys):
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(200, 2)), rng.integers(0, 4, size=200)
    columns = {"x": points[:, 0], "y": points[:, 1], "w": weights}
    pyarrow.parquet.write_table(pa.table(columns), "weighted.parquet")
    ended = run(capsys, "fit", "weighted.parquet", "-k", 4, "--weights", "w", "--scale", scale, "--json")
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert result["feature_names"] == ["x", "y"]
    assert sum(result["sizes"]) == weights.sum()
    labels = nameless("weighted.eulermeans").predict(points)
    for cluster, center in enumerate(result["centers"]):
        own = labels == cluster
        assert np.allclose(center, np.average(points[own], axis=0, weights=weights[own]), atol=1e-6)
    scored = json.loads(
        run(capsys, "score", "weighted.eulermeans", "weighted.parquet", "--weights", "w", "--json").out
    )
    assert scored["objective"] == pytest.approx(result["objective"])


def test_cosine(folder, capsys):
    ended = run(capsys, "fit", "iris.csv", "-k", 3, "--drop", "species,flower", "--metric", "cosine", "--json")
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    assert result["metric"] == "cosine"
    assert np.allclose(np.linalg.norm(result["centers"], axis=1), 1)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
@pytest.mark.parametrize("memory", ["1GiB", "80kB"])
def test_labels_with_an_id_in_every_format(ending, memory, folder, capsys):
    arguments = ["fit", "iris.csv", "-k", 3, "--drop", "species", "--id", "flower", "--labels", f"out.{ending}"]
    ended = run(capsys, *arguments, "--memory", memory)
    assert ended.code == 0, ended.err
    assert f"Labels: out.{ending}" in ended.out
    if ending in ("csv", "tsv"):
        with open(f"out.{ending}", newline="") as file:
            (*headings,), *rows = csv.reader(file, delimiter="," if ending == "csv" else "\t")
        ids, labels = zip(*rows, strict=True)
    else:
        read = pyarrow.parquet.read_table if ending == "parquet" else pyarrow.feather.read_table
        written = read(f"out.{ending}")
        headings, (ids, labels) = written.column_names, (column.to_pylist() for column in written.columns)
    assert headings == ["flower", "cluster"]
    assert list(ids) == [f"{number:04}" for number in range(1500)]
    assert list(map(int, labels)) == nameless("iris.eulermeans").predict(POINTS).tolist()


def test_an_id_column_may_be_numeric_and_called_cluster(folder, capsys):
    columns = {"cluster": np.arange(1500) * 7, "x": POINTS[:, 0]}
    pyarrow.parquet.write_table(pa.table(columns), "keyed.parquet", row_group_size=110)
    ended = run(capsys, "fit", "keyed.parquet", "-k", 2, "--id", "cluster", "--labels", "out.parquet")
    assert ended.code == 0, ended.err
    written = pyarrow.parquet.read_table("out.parquet")
    assert written.column_names == ["cluster", "cluster_"]
    assert written["cluster"].to_pylist() == columns["cluster"].tolist()


def test_a_report_on_a_model_and_data(folder, capsys):
    fitted = run(capsys, "fit", "iris.csv", "-k", 3, "--drop", "species,flower", "--scale", "standard", "-q")
    assert fitted.code == 0, fitted.err
    ended = run(capsys, "report", "iris.eulermeans", "iris.csv", "--id", "flower", "-o", "report.html")
    assert ended.code == 0, ended.err
    assert ended.out == "Report: report.html\n"
    page = (folder / "report.html").read_text()
    assert "eulermeans fit iris.csv -k 3 --drop species,flower --scale standard -q" in page
    assert "iris.csv" in page
    assert re.search(r">\s*0\d\d\d\s*<", page)  # the id of a row near a center


def test_the_same_seed_gives_the_same_model(folder, capsys):
    np.save("noise.npy", np.random.default_rng(0).normal(size=(2000, 3)))
    centers = []
    for number, seed in enumerate([1, 1, 2]):
        ended = run(capsys, "fit", "noise.npy", "-k", 30, "--seed", seed, "--json", "-o", f"{number}.eulermeans")
        centers.append(json.loads(ended.out)["centers"])
    assert centers[0] == centers[1] != centers[2]


def test_json_has_everything_and_nothing_else_is_on_stdout(folder, capsys):
    ended = run(capsys, "fit", "iris.csv", "-k", 3, "--drop", "species,flower", "--json", "--labels", "l.csv")
    result = json.loads(ended.out)
    assert result["labels"] == "l.csv"
    assert result["command"] == "eulermeans fit iris.csv -k 3 --drop species,flower --json --labels l.csv"
    assert result["stop_reason"].startswith("converged")
    assert result["interrupted"] is False
    assert result["inertia"] == pytest.approx(2 * 1500 * result["objective"])
    counted = json.loads(run(capsys, "predict", "iris.eulermeans", "iris.csv", "--json").out)
    counts = {"n_rows": 1500, "sizes": result["sizes"], "left_out": 0}
    assert counted == {"model": "iris.eulermeans", "labels": None, **counts}


@pytest.mark.parametrize(
    ("data", "stem"),
    [
        ("iris.csv", "iris"),
        ("-", "stdin"),
        ("a/my.data.csv", "my.data"),
        ("a/my.data.csv.gz", "my.data"),
        ("a/part-*.parquet", "part"),
        ("sales/*.parquet", "sales"),
        ("*.csv", "model"),
        ("grid.zarr/", "grid"),
    ],
)
def test_a_model_is_named_after_its_data(data, stem):
    assert selection.Selection(data).stem == stem


def test_an_id_over_several_files(folder, capsys):
    for number in range(3):
        keys = [f"{number}-{i}" for i in range(500)]
        part = table().slice(500 * number, 500).append_column("key", [keys])
        pyarrow.parquet.write_table(part, f"part-{number}.parquet")
    ended = run(capsys, "fit", "part-*.parquet", "-k", 3, "--id", "key", "--labels", "l.csv", "--memory", "80kB")
    assert ended.code == 0, ended.err
    rows = (folder / "l.csv").read_text().split()
    assert [row.split(",")[0] for row in rows[1:]] == [f"{n}-{i}" for n in range(3) for i in range(500)]


def test_column_names_are_not_parsed_as_markup(folder, capsys):
    (folder / "marked.csv").write_text("[bold]a,[/b]\n1,2\n3,4\n5,6\n")
    ended = run(capsys, "fit", "marked.csv", "-k", 2)
    assert ended.code == 0, ended.err
    assert "[bold]a" in ended.out
    assert "[/b]" in ended.out


def test_info_reads_an_old_model(capsys, request):
    path = request.path.parent / "fixtures" / "format-1-scaled.eulermeans"
    ended = run(capsys, "info", path)
    assert ended.code == 0
    assert "StochasticBackwardEuler, written by eulermeans 0.1.0" in ended.out
    assert "Scaled by: StandardScaler" in ended.out
    assert "About: Iris, scaled" in ended.out
    assert json.loads(run(capsys, "info", path, "--json").out)["class"] == "StochasticBackwardEuler"


# Bounds on sizes


def test_sizes_are_bounded_and_the_cost_is_said(folder, capsys):
    options = ["--drop", "species,flower", "--size-min", "30%", "--size-max", "520", "--labels", "labels.npy"]
    fitted = run(capsys, "fit", "iris.csv", "-k", 3, *options, "--report", "iris.html", "--effort", "0.1")
    assert fitted.code == 0, fitted.err
    assert re.search(r"Sizes from 450 to 520: [\d.]+ % above unbounded\.", fitted.out)
    counts = np.bincount(np.load(folder / "labels.npy"), minlength=3)
    assert counts.min() >= 450
    assert counts.max() <= 520
    page = (folder / "iris.html").read_text(encoding="utf-8")
    assert "above unbounded" in page
    assert "what sizes from 450 to 520 cost" in page
    shown = json.loads(run(capsys, "info", "iris.eulermeans", "--json").out)
    assert shown["size_bounds"] == [450, 520]
    assert len(shown["prices"]) == 3


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--size-min=600", "3 clusters of at least 600 need 1800 samples"),
        ("--size-max=x", "is not a size"),
    ],
)
def test_sizes_that_cannot_be_are_refused(folder, capsys, option, message):
    refused = run(capsys, "fit", "iris.csv", "-k", 3, "--drop", "species,flower", option)
    assert refused.code == 2
    assert message in refused.err
    assert not (folder / "iris.eulermeans").exists()


def test_numbers_of_clusters_are_chosen_among_those_that_the_bounds_allow(folder, capsys):
    """1500 rows in clusters of 20 to 25 %: 4 or 5. The report compares both with the clusters of the model."""
    options = ["--drop", "species,flower", "--effort", "0.1", "--labels", "labels.npy", "--report", "iris.html"]
    fitted = run(capsys, "fit", "iris.csv", "-k", "auto", "--size-min", "20%", "--size-max", "25%", *options)
    assert fitted.code == 0, fitted.err
    assert "note: the bounds on sizes allow 4 to 5 clusters; tries 4 to 5" in fitted.err
    counts = np.bincount(np.load(folder / "labels.npy"))
    assert len(counts) in (4, 5)
    assert counts.min() >= 300
    assert counts.max() <= 375
    assert (folder / "iris.html").exists()


@pytest.mark.parametrize(
    ("numbers", "bounds", "message"),
    [
        ("2:3", ["--size-min=300", "--size-max=375"], "allow 4 to 5 clusters for 1,500 rows; -k tries 2 to 3"),
        ("auto", ["--size-min=745", "--size-max=749"], "allow no number of clusters for 1,500 rows"),
    ],
)
def test_bounds_that_no_number_of_clusters_keeps_are_refused(folder, capsys, numbers, bounds, message):
    refused = run(capsys, "fit", "iris.csv", "-k", numbers, "--drop", "species,flower", *bounds)
    assert refused.code == 2
    assert message in refused.err


def test_bounds_may_allow_numbers_of_clusters_that_auto_does_not_try(folder, capsys):
    options = ["--drop", "species,flower", "--effort", "0", "--json"]
    single = run(capsys, "fit", "iris.csv", "-k", "auto", "--size-min", "60%", *options)
    assert single.code == 0, single.err
    assert json.loads(single.out)["n_clusters"] == 1

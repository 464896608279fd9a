"""Model files: what is saved comes back, what is damaged is refused, and format 1 stays readable."""

from __future__ import annotations

import json
import os
import pickle
import struct
import tracemalloc
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from container_bytes import header_of, sealed, with_header
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import eulermeans
from eulermeans import EulerMeans, ModelFileError, Record, StochasticBackwardEuler
from eulermeans.storage import container, replacing
from eulermeans.storage.history_arrays import HISTORY
from eulermeans.storage.model_summary import read_summary
from eulermeans.storage.models import read_model

FORMAT_1 = Path(__file__).parent / "fixtures" / "format-1.eulermeans"
FORMAT_2 = Path(__file__).parent / "fixtures" / "format-2.eulermeans"
SCALED_1 = Path(__file__).parent / "fixtures" / "format-1-scaled.eulermeans"

ESTIMATORS = [
    EulerMeans(5, random_state=0),
    EulerMeans(5, n_init=2, max_time=60.0, tol=0.5, random_state=np.int64(1)),
    EulerMeans(5, init=np.array([[0, 0, 0], [20, 0, 0], [0, 20, 0], [0, 0, 20], [20, 20, 20]])),
    StochasticBackwardEuler(5, random_state=0),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("models") / "model.eulermeans"


def same_parameters(one, other):
    first, second = one.get_params(), other.get_params()
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_what_is_saved_comes_back(estimator, dtype, blobs, path):
    points = blobs.astype(dtype)
    model = estimator.fit(points)
    model.save(path)
    loaded = eulermeans.load(path)
    assert type(loaded) is type(model)
    same_parameters(model, loaded)
    assert loaded.cluster_centers_.dtype == dtype
    for name, value in vars(model).items():
        if name.endswith("_") and name != "labels_":
            assert np.array_equal(getattr(loaded, name), value), name
    assert not hasattr(loaded, "labels_")
    assert loaded.stop_reason_ is model.stop_reason_
    assert loaded.history_ == model.history_
    assert np.array_equal(loaded.predict(points), model.labels_)
    assert loaded.score(points) == model.score(points)


@pytest.mark.parametrize("kind", [EulerMeans, StochasticBackwardEuler])
def test_a_loaded_model_goes_on_learning(kind, blobs, path):
    model = kind(5, init="k-means++", random_state=0).partial_fit(blobs[:300])
    model.save(path)
    loaded = eulermeans.load(path).partial_fit(blobs[300:])
    assert loaded.n_iter_ == 2
    assert len(loaded.history_) == 2
    assert loaded.history_[1].step_size == model.partial_fit(blobs[300:]).history_[1].step_size


def test_names_of_features_come_back(blobs, path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(blobs, columns=["a", "ä", "c"])
    EulerMeans(5, random_state=0).fit(frame).save(path)
    loaded = eulermeans.load(path)
    assert list(loaded.feature_names_in_) == ["a", "ä", "c"]
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["ä", "a", "c"]])


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MinMaxScaler((-1, 1), clip=True),
]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_a_scaler_comes_back(scaler, named, blobs, path):
    points = blobs * [1, 100, 0]  # a constant feature too
    if named:
        points = pytest.importorskip("pandas").DataFrame(points, columns=["a", "b", "c"])
    model = make_pipeline(scaler, EulerMeans(5, random_state=0)).fit(points)
    eulermeans.save(model, path)
    loaded = eulermeans.load(path)
    assert type(loaded[0]) is type(scaler)
    same_parameters(loaded[0], scaler)
    for name, value in vars(scaler).items():
        assert np.array_equal(getattr(loaded[0], name), value), name
    assert np.array_equal(loaded.predict(points), model.predict(points))
    assert np.allclose(read_model(path).centers, scaler.inverse_transform(model[-1].cluster_centers_))


def test_a_pipeline_of_one_step_is_its_estimator(blobs, path):
    eulermeans.save(make_pipeline(EulerMeans(5, random_state=0)).fit(blobs), path)
    assert isinstance(eulermeans.load(path), EulerMeans)


def test_notes_come_back(blobs, path):
    notes = {"command": "eulermeans fit a.csv -k 5", "rows": 600}
    eulermeans.save(EulerMeans(5, random_state=0).fit(blobs), path, notes=notes)
    saved = read_model(path)
    assert saved.notes == notes
    assert saved.written_by == f"eulermeans {eulermeans.__version__}"


def test_the_history_has_a_column_for_every_field():
    assert list(HISTORY) == [field.name for field in fields(Record)]


# What can't be saved


@pytest.mark.parametrize("model", [KMeans(3), make_pipeline(RobustScaler(), EulerMeans()), "model", None], ids=str)
def test_other_models_are_refused(model, path):
    with pytest.raises(TypeError, match="a model file holds EulerMeans or SizedMeans or StochasticBackwardEuler"):
        eulermeans.save(model, path)


def test_an_unfitted_model_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        EulerMeans().save(tmp_path / "model.eulermeans")
    with pytest.raises(NotFittedError):
        eulermeans.save(make_pipeline(StandardScaler(), EulerMeans()), tmp_path / "model.eulermeans")
    assert not list(tmp_path.iterdir())


def test_what_is_code_is_left_out_and_said(blobs, path):
    model = EulerMeans(5, init=lambda X, n_clusters, random_state: X[:n_clusters]).fit(blobs)
    with pytest.warns(UserWarning, match="init=.*default"):
        model.save(path)
    assert eulermeans.load(path).init == "k-means++"


def test_a_write_that_fails_leaves_what_was_there(blobs, tmp_path):
    model = EulerMeans(5, random_state=0).fit(blobs)
    path = tmp_path / "model.eulermeans"
    model.save(path)
    before = path.read_bytes()
    with pytest.raises(FileNotFoundError, match="no folder"):
        model.save(tmp_path / "nowhere" / "model.eulermeans")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.save(tmp_path)
    with suppress(ZeroDivisionError), replacing(path) as partial:
        partial.write_bytes(b"half")
        raise ZeroDivisionError
    model.cluster_centers_ = model.cluster_centers_.astype(complex)
    with pytest.raises(ValueError, match="complex"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# What can't be loaded


def refused(path: Path, content: bytes, words: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=words) as caught:
        eulermeans.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def good() -> bytes:
    return FORMAT_1.read_bytes()


def test_a_change_of_any_byte_is_seen(good, path):
    for place in [*range(64), *range(64, len(good), 5), *range(len(good) - 32, len(good))]:
        changed = bytearray(good)
        changed[place] ^= 0x10
        refused(path, bytes(changed), "is not an eulermeans|format|header of|truncated|damaged")


def test_every_cut_is_seen(good, path):
    for length in range(0, len(good), 7):
        refused(path, good[:length], "is empty|truncated|is not an eulermeans model file|damaged")
    refused(path, good + b"\0", "damaged")


def test_what_is_no_model_is_named(path, good):
    refused(path, b"", "is empty")
    refused(path, b"a,b\n1,2\n", "is not an eulermeans model file")
    refused(path, pickle.dumps({"a": 1}), "looks like a pickle")
    refused(path, good[:8] + struct.pack("<II", 3, 100), "has format 3.*upgrade")
    refused(path, good[:8] + struct.pack("<II", 0, 100), "has format 0")
    refused(path, good[:8] + struct.pack("<II", 1, 2**32 - 1), "has a header of 4294967295 bytes")
    refused(path, good[:8] + struct.pack("<II", 1, 2**20), "is truncated")
    refused(path, sealed(good[:-32] + bytes(64)), "is longer than its header says")


def test_the_checksum_is_no_proof_of_sense(path, good):
    refused(path, with_header(good, b"{"), "not JSON")
    refused(path, with_header(good, b"[" * 200_000), "not JSON")
    refused(path, with_header(good, b'{"a": NaN}'), "not JSON")
    refused(path, with_header(good, b"[]"), "not a JSON object")


def test_a_header_is_small(path, good):
    """JSON takes about twenty times its length in memory: the length is limited before anything is parsed."""
    bomb = b'{"notes": [' + b"[]," * (container.LARGEST_HEADER // 3) + b"[]]}"
    refused(path, with_header(good, bomb), r"has a header of \d+ bytes; at most 1048576 are allowed")


def peak_while_loading(path: Path) -> int:
    tracemalloc.start()
    try:
        with suppress(ModelFileError):
            eulermeans.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_largest_header_takes_little_memory(path, good):
    bomb = b'{"notes": [' + b"[]," * ((container.LARGEST_HEADER - 40) // 3) + b"[]]}"
    path.write_bytes(with_header(good, bomb))
    assert peak_while_loading(path) < 64 << 20


def test_a_file_is_held_in_memory_once(path, blobs):
    model = EulerMeans(5, random_state=0).fit(blobs)
    model.cluster_centers_ = np.zeros((5, 1_000_000))
    model.n_features_in_ = 1_000_000
    model.save(path)
    eulermeans.load(path)  # imports
    assert peak_while_loading(path) < 1.2 * path.stat().st_size


def test_a_long_history_takes_little_memory(path):
    """Objects for records and names are larger than what is stored of them."""
    contents, length = container.read(FORMAT_1), 100_000
    arrays = {name: np.ones(length, kind) for name, kind in HISTORY.items()}
    history = {
        f"history/{name}": array for name, array in (arrays | {"phase": np.zeros(length, np.uint8)}).items()
    }
    container.write(path, container.Contents(contents.header, {**contents.arrays, **history}))
    assert len(eulermeans.load(path).history_) == length
    assert peak_while_loading(path) < 10 * path.stat().st_size


@pytest.mark.parametrize("n_features", [3, 40_000])
def test_any_number_of_names_can_be_saved(n_features, path):
    names = np.array([f"a column of the table, number {i}: ä\n\udc80[{i}]" for i in range(n_features)], object)
    model = EulerMeans(2, random_state=0).fit(np.arange(4 * n_features).reshape(4, n_features))
    model.feature_names_in_ = names
    model.save(path)
    assert list(eulermeans.load(path).feature_names_in_) == list(names)


def test_many_names_behind_a_scaler(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(4, 40_000), columns=[f"column number {i}" for i in range(40_000)])
    eulermeans.save(make_pipeline(StandardScaler(), EulerMeans(2, random_state=0)).fit(frame), path)
    assert list(eulermeans.load(path)[0].feature_names_in_) == list(frame.columns)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (np.zeros(9, np.uint8), np.array([3, 6, 9, 9, 9])),
        (np.zeros(9, np.uint8), np.array([9, 6, 3, 9])),
        (np.zeros(9, np.uint8), np.array([3, 6, 9, 2**62])),
        (np.zeros(9, np.uint8), np.array([[3, 6], [9, 9]])),
        (np.zeros(9, np.uint8), np.array([], np.int64)),
        (np.zeros(9), np.array([3, 6, 9, 9])),
        (np.full(9, 255, np.uint8), np.array([3, 6, 9, 9])),
        (np.zeros(9, np.uint8), None),
        (None, np.array([3, 6, 9, 9])),
    ],
)
def test_names_in_arrays_are_checked(text, ends, path):
    contents = container.read(FORMAT_1)
    names = {"feature_names/text": text, "feature_names/ends": ends}
    arrays = contents.arrays | {name: array for name, array in names.items() if array is not None}
    container.write(path, container.Contents({**contents.header, "feature_names": None}, arrays))
    refused(path, path.read_bytes(), "names? (of features|for each)")


@pytest.mark.skipif(os.name != "posix", reason="pipes are POSIX's")
def test_a_pipe_is_refused_at_once(tmp_path):
    """Opening one waits until somebody writes to it."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", os.devnull):
        with pytest.raises(ModelFileError, match="is a pipe or a device"):
            eulermeans.load(path)


def changes(header: dict):
    def other(**changed):
        return {**header, **changed}

    arrays, parameters, fitted = header["arrays"], header["parameters"], header["fitted"]
    huge = [{**arrays[0], "shape": [2**30, 2**30]}, *arrays[1:]]
    yield other(**{"class": "Popen"}), "class 'Popen'"
    yield other(parameters={**parameters, "magic": 1}), "magic"
    yield other(parameters={**parameters, "n_clusters": -1}), "n_clusters"
    yield other(parameters={**parameters, "n_clusters": 7}), "centers of shape"
    yield other(parameters={**parameters, "init": {"function": "os.system"}}), "of an unknown kind"
    yield other(parameters=None), "no parameters"
    yield other(fitted={**fitted, "shadow_": 1}), "shadow_"
    yield other(fitted={**fitted, "n_iter_": "many"}), "n_iter_"
    yield other(fitted={**fitted, "n_features_in_": 2.5}), "n_features_in_"
    yield other(fitted={}), "centers of shape"
    yield other(fitted={"n_features_in_": fitted["n_features_in_"]}), "does not hold"
    yield other(stop_reason="BOREDOM"), "BOREDOM"
    yield other(phases=[]), "phases in its history that it does not name"
    yield other(phases=[1]), "incomplete history"
    yield other(feature_names=["only one"]), "a name for each"
    yield other(feature_names=[1, 2, 3, 4]), "a name for each"
    yield other(scaling={"class": "FunctionTransformer"}), "unknown scaler"
    yield other(scaling={"class": "StandardScaler", "parameters": {}, "n_samples_seen": 1}), "scaler"
    yield other(parameters={**parameters, "n_threads": 2**31}), "n_threads"
    yield other(parameters={**parameters, "max_iter": 2**64}), "'max_iter' of an unknown kind"
    yield other(parameters={**parameters, "memory_limit": "lots"}), "memory_limit"
    yield other(fitted={**fitted, "inertia_": -1.0}), "inertia_"
    yield other(fitted={**fitted, "n_iter_": -1}), "n_iter_"
    yield other(arrays=None), "invalid description of an array"
    yield other(arrays=huge), "shorter than its header says"
    yield other(arrays=[{**arrays[0], "dtype": "|O"}, *arrays[1:]]), "invalid description of an array"
    yield other(arrays=[{**arrays[0], "shape": [-1]}, *arrays[1:]]), "invalid description of an array"
    yield other(arrays=[*arrays, arrays[0]]), "two arrays with the same name"
    yield other(arrays=[{**arrays[0], "name": "labels"}, *arrays[1:]]), "'labels'"


@pytest.mark.parametrize("number", range(len(list(changes(header_of(FORMAT_1.read_bytes()))))))
def test_only_what_is_known_is_loaded(number, path, good):
    header, words = list(changes(header_of(good)))[number]
    refused(path, with_header(good, header), words)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + 400 * "0", "1" + 5000 * "0"])
@pytest.mark.parametrize("name", ["inertia_", "n_iter_", "objective_"])
def test_numbers_that_no_float_holds_are_refused(number, name, path, good):
    header = header_of(good)
    header["fitted"][name] = "HERE"
    text = json.dumps(header).replace('"HERE"', number).encode()
    refused(path, with_header(good, text), "numbers that are too large")


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("parameters/init", np.zeros((3, 5)), "initial centers of shape"),
        ("parameters/init", np.zeros(12), "initial centers of shape"),
        ("parameters/init", np.zeros((3, 4), np.int32), "initial centers that are not finite"),
        ("parameters/init", np.full((3, 4), np.nan), "initial centers that are not finite"),
        ("parameters/tol", np.zeros(3), "unknown array 'parameters/tol'"),
        ("cluster_centers_", np.zeros((3, 4), np.int32), "no centers, or centers"),
        ("cluster_centers_", np.full((3, 4), np.inf), "no centers, or centers"),
        ("cluster_centers_", np.zeros(12), "centers of shape"),
        ("cluster_weights_", np.zeros((3, 1)), "weights of shape"),
        ("cluster_weights_", np.array([1.0, np.nan, 1.0]), "weights that are not finite"),
        ("cluster_weights_", np.array([1.0, -1.0, 1.0]), "weights that are not finite"),
        ("cluster_weights_", np.ones(3, np.uint8), "weights that are not finite"),
        ("restarts_", np.zeros((2, 2)), "restarts of shape"),
        ("restarts_", np.zeros(0), "restarts of shape"),
        ("restarts_", np.array([np.inf]), "restarts that are not finite"),
        ("history/objective", np.zeros((2, 2)), "incomplete history"),
        ("history/seconds", np.zeros(1, np.int64), "incomplete history"),
    ],
)
def test_arrays_are_checked(name, array, words, path):
    contents = container.read(FORMAT_1)
    container.write(path, container.Contents(contents.header, {**contents.arrays, name: array}))
    refused(path, path.read_bytes(), words)


def test_a_history_of_impossible_numbers_is_refused(path):
    contents = container.read(FORMAT_1)
    for name in ("step", "objective", "seconds", "points_read", "n_distances"):
        changed = contents.arrays[f"history/{name}"].copy()
        changed[0] = -1
        arrays = {**contents.arrays, f"history/{name}": changed}
        container.write(path, container.Contents(contents.header, arrays))
        refused(path, path.read_bytes(), "numbers that are not >= 0")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scaling": None}, "but no scaler"),
        ({"scaling": {"class": "MinMaxScaler", "parameters": {}, "n_samples_seen": 1}}, "unknown scaler"),
    ],
)
def test_a_scaler_must_be_whole(change, words, path):
    good = SCALED_1.read_bytes()
    refused(path, with_header(good, {**header_of(good), **change}), words)


def test_a_scaler_that_divides_by_zero_is_refused(path):
    contents = container.read(SCALED_1)
    arrays = {**contents.arrays, "scaling/scale_": np.zeros(4)}
    container.write(path, container.Contents(contents.header, arrays))
    refused(path, path.read_bytes(), "scale that is not positive")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_no_header_breaks_the_reader(data, path):
    good = (FORMAT_1, SCALED_1, FORMAT_2)[data.draw(st.integers(0, 2))].read_bytes()
    header = header_of(good)
    places = [header, header["parameters"], header["fitted"], header["arrays"][0]]
    if "preparation" in header:
        places += [header["preparation"], *header["preparation"]["columns"]]
    inside = data.draw(st.sampled_from(places))
    inside[data.draw(st.sampled_from(sorted(inside)))] = data.draw(json_values)
    path.write_bytes(with_header(good, header))
    for read in (eulermeans.load, read_summary):
        with suppress(ModelFileError):
            read(path)


# Format 1, as it was first written: these files are never written again.


def test_format_1_is_read():
    model = eulermeans.load(FORMAT_1)
    assert isinstance(model, EulerMeans)
    assert model.get_params()["n_clusters"] == 3
    assert model.random_state == 7
    assert list(model.feature_names_in_) == ["sepal length", "sepal width", "petal length", "petal width"]
    assert model.objective_ == pytest.approx(0.26284, abs=1e-5)
    assert {record.phase for record in model.history_} == {"search", "polish"}
    assert read_model(FORMAT_1).notes == {"about": "Iris, 3 clusters"}


def test_format_1_with_a_scaler_is_read():
    iris = pytest.importorskip("sklearn.datasets").load_iris().data
    model = eulermeans.load(SCALED_1)
    assert isinstance(model[-1], StochasticBackwardEuler)
    assert np.array_equal(model[0].transform(iris), StandardScaler().fit_transform(iris))
    assert -model.score(iris) == pytest.approx(model[-1].inertia_)


# Export


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [EulerMeans, StochasticBackwardEuler])
def test_a_sklearn_kmeans_with_the_same_centers(kind, dtype, blobs):
    points = blobs.astype(dtype)
    model = kind(5, random_state=0).fit(points)
    exported = model.to_sklearn()
    assert type(exported) is KMeans
    assert np.array_equal(exported.predict(points), model.labels_)
    assert exported.score(points) == pytest.approx(model.score(points), rel=1e-5)
    assert np.allclose(exported.transform(points), model.transform(points), rtol=1e-4)
    assert exported.inertia_ == model.inertia_
    assert list(exported.get_feature_names_out()) == [f"kmeans{number}" for number in range(5)]
    refitted = exported.fit(points)
    assert refitted.inertia_ <= model.inertia_ * (1 + 1e-6)
    assert refitted.cluster_centers_ is not model.cluster_centers_


def test_by_the_cosine_kmeans_predicts_the_same(blobs):
    """Centers of unit length are as near as they point the same way, for rows of any length."""
    model = EulerMeans(5, metric="cosine", random_state=0).fit(blobs)
    assert np.array_equal(model.to_sklearn().predict(blobs), model.labels_)


def test_an_unfitted_model_has_nothing_to_export():
    with pytest.raises(NotFittedError):
        EulerMeans().to_sklearn()


@pytest.mark.filterwarnings("default")  # of skl2onnx and onnx, about themselves
def test_onnx_predicts_the_same(blobs):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    points = blobs.astype(np.float32)
    model = make_pipeline(StandardScaler(), EulerMeans(5, random_state=0)).fit(points)
    exported = make_pipeline(model[0], model[-1].to_sklearn())
    graph = skl2onnx.to_onnx(exported, points[:1])
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    labels, distances = session.run(None, {session.get_inputs()[0].name: points})
    assert np.array_equal(labels, model.predict(points))
    assert np.allclose(distances, model.transform(points), atol=1e-4)

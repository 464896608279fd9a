"""A checkpoint with a valid checksum may hold anything: what does not fit is refused before it is used."""

from __future__ import annotations

import os

import numpy as np
import pytest
from conftest import search_a_sample
from scipy.sparse import csr_array
from test_checkpoint import Killed, KillsAt

from eulermeans import EulerMeans, StochasticBackwardEuler, StopReason
from eulermeans.oracles import memory_oracle
from eulermeans.storage import checkpoint, container
from eulermeans.storage.checkpoint import Checkpoint
from eulermeans.storage.snapshots import MEMORIES, PHASES, REASONS

K, D, N = 6, 3, 14_000


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, D))  # without clusters: the polish takes many steps


ESTIMATORS = {
    "EulerMeans": EulerMeans(K, random_state=0, effort=0.3, n_init=2, tol=0),
    "StochasticBackwardEuler": StochasticBackwardEuler(K, random_state=0, n_outer=10),
}


def contents_of(fits, folder):
    """The contents of the checkpoints of fits, by estimator, phase and the arrays of the memory."""
    found = {}
    for name, model, data in fits:

        def keep(path, contents, name=name):
            kind = frozenset(key.removeprefix("memory/") for key in contents.arrays if key.startswith("memory/"))
            ended = contents.arrays["ended"][-1]
            found[name, "ended" if ended else PHASES[contents.arrays["phase"][-1]], kind] = contents

        with pytest.MonkeyPatch.context() as patch:
            search_a_sample(patch)  # so that there is a descent
            patch.setattr(checkpoint, "SECONDS", 0.0)
            patch.setattr(checkpoint, "PATIENCE", 0.0)
            patch.setattr(checkpoint, "write", keep)
            model.fit(data, checkpoint=folder / "fit.checkpoint")
    return found


@pytest.fixture(scope="module")
def stored(points, tmp_path_factory):
    fits = [("EulerMeans", ESTIMATORS["EulerMeans"], csr_array(points))]  # has another search
    fits += [(name, model, points) for name, model in ESTIMATORS.items()]
    return contents_of(fits, tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture(scope="module")
def annealed(tmp_path_factory):
    """Of a search with lists, which anneals."""
    many_features = np.random.default_rng(1).standard_normal((1000, 40))
    fits = [("EulerMeans", EulerMeans(80, random_state=0), many_features)]
    return contents_of(fits, tmp_path_factory.mktemp("checkpoints"))


def test_every_memory_that_is_known_is_stored_by_a_fit(stored, annealed):
    known = {(name, phase, frozenset(each)) for (name, phase), all_ in MEMORIES.items() for each in all_}
    of_other_data = {each for each in known if each[1] == "finish"}  # of streams
    assert known - set(stored) - set(annealed) == of_other_data
    assert {phase for _, phase, _ in stored} == {"search", "descend", "polish", "ended"}


def test_every_stop_reason_can_be_stored():
    assert set(REASONS) == {reason.name for reason in StopReason}


def load(path, estimator):
    return Checkpoint(path, estimator, np.random.default_rng(0))


def test_what_was_stored_is_read(stored, tmp_path):
    for (name, phase, _), contents in stored.items():
        container.write(tmp_path / "a", contents)
        first = load(tmp_path / "a", ESTIMATORS[name]).resumed("search")
        assert first.centers.shape == (K, D)
        assert phase == "ended" or not first.ended or len(contents.arrays["phase"]) > 1


def shapes(array):
    yield array[:-1] if array.ndim else array[None]
    yield np.concatenate([array, array]) if array.ndim else np.stack([array, array])
    yield array[None] if array.ndim < 2 else array.T
    yield array[..., None] if array.ndim == 1 else array.reshape(-1)
    yield array[:0] if array.ndim else np.empty(0, array.dtype)


def dtypes(array):
    for dtype in {"f8", "f4", "i8", "i4", "u1"} - {array.dtype.str[1:]}:
        yield array.astype(dtype)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("mutations", [shapes, dtypes])
def test_arrays_of_another_shape_or_dtype_are_refused(stored, tmp_path, mutations):
    path, tried = tmp_path / "a", 0
    for (name, _, _), contents in stored.items():
        for key, array in contents.arrays.items():
            for other in mutations(array):
                if other.shape == array.shape and other.dtype == array.dtype:
                    continue  # the transpose of a square, or a copy
                if key == "memory/centers" and other.shape == array.shape and other.dtype == np.float32:
                    continue  # of data in single precision
                if key == "memory/state.labels" and other.ndim == 1 and other.dtype == array.dtype:
                    continue  # how many points were searched is not stored
                container.write(path, container.Contents(contents.header, {**contents.arrays, key: other}))
                with pytest.raises(ValueError, match="is not a checkpoint, or it is damaged: it "):
                    load(path, ESTIMATORS[name])
                tried += 1
    assert tried > 500


@pytest.mark.parametrize("value", [np.nan, -1.0, np.inf, -np.inf])
def test_impossible_values_are_refused(stored, tmp_path, value):
    path, tried = tmp_path / "a", 0
    any_sign = {"centers", "memory/centers", "memory/sums", "memory/counts", "memory/best.centers"}
    any_sign |= {"memory/best.sums", "memory/state.centers", "memory/state.sums", "records/step_size"}
    any_sign |= {
        "memory/best.utilities",
        "memory/state.utilities",
        "memory/measured",
        "memory/rates",
        "memory/upper",
    }
    any_size = {"memory/upper", "memory/lower", "memory/best.utilities", "memory/state.utilities"}
    any_size |= {"memory/second", "memory/rates", "records/objective", "records/seconds", "records/step_size"}
    for (name, _, _), contents in stored.items():
        for key, array in contents.arrays.items():
            infinite = np.isinf(value) and key in any_size
            if array.dtype.kind != "f" or array.size == 0 or (value == -1.0 and key in any_sign):
                continue
            if (infinite and (value > 0 or key in any_sign)) or (np.isnan(value) and key == "records/step_size"):
                continue
            changed = array.copy()
            changed[(-1,) * array.ndim] = value
            container.write(path, container.Contents(contents.header, {**contents.arrays, key: changed}))
            with pytest.raises(ValueError, match="is not a checkpoint, or it is damaged: it "):
                load(path, ESTIMATORS[name])
            tried += 1
    assert tried > 20


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("phase", 4),
        ("phase", 255),
        ("ended", len(REASONS) + 1),
        ("step", -1),
        ("step", 2**62 + 1),
        ("n_records", -1),
        ("n_records", 2**62),
        ("rng", 0),
        ("first_rng", 2),
        ("memory/labels", -1),
        ("memory/labels", K),
        ("memory/breath", -1),
        ("memory/order", 0),
        ("memory/order", N),
        ("memory/starts", 1),
        ("memory/neighbours", K),
        ("memory/neighbours", -1),
    ],
)
def test_impossible_integers_are_refused(stored, tmp_path, key, value):
    path, tried = tmp_path / "a", 0
    for (name, _, _), contents in stored.items():
        if key not in contents.arrays:
            continue
        changed = contents.arrays[key].copy()
        changed[...] = value
        container.write(path, container.Contents(contents.header, {**contents.arrays, key: changed}))
        with pytest.raises(ValueError, match="is not a checkpoint, or it is damaged: it "):
            load(path, ESTIMATORS[name])
        tried += 1
    assert tried


def test_arrays_that_are_missing_or_not_known_are_refused(stored, tmp_path):
    path = tmp_path / "a"
    for (name, _, _), contents in stored.items():
        variants = [{**contents.arrays, "memory/more": np.zeros(3)}, {**contents.arrays, "more": np.zeros(3)}]
        for key in contents.arrays:
            if key == "memory/labels" and "memory/upper" not in contents.arrays:
                continue  # then nothing is remembered, as with sparse data
            if key == "memory/state.labels":
                continue  # without labels it is a search by passes
            variants.append({other: array for other, array in contents.arrays.items() if other != key})
        for arrays in variants:
            container.write(path, container.Contents(contents.header, arrays))
            with pytest.raises(ValueError, match="is not a checkpoint, or it is damaged: it "):
                load(path, ESTIMATORS[name])


@pytest.mark.parametrize(
    "change",
    [
        {"fit": None},
        {"fit": {}},
        {"fit": []},
        {"fit": {"estimator": "EulerMeans", "n_clusters": "6"}},
    ],
)
def test_a_header_without_the_fit_is_refused(stored, tmp_path, change):
    (name, _, _), contents = next(iter(stored.items()))
    container.write(tmp_path / "a", container.Contents({**contents.header, **change}, contents.arrays))
    with pytest.raises(ValueError, match="does not say which fit it belongs to"):
        load(tmp_path / "a", ESTIMATORS[name])


def test_sizes_that_are_not_those_of_the_fit_are_refused(points, stored, tmp_path):
    """The sizes in the header and the arrays agree, but the data are others."""
    for (name, _, kind), contents in stored.items():
        if "labels" not in kind:
            continue
        fit = dict(contents.header["fit"])
        rows = next(key for key in fit if key.startswith("number of rows in memory"))
        fit[rows] = 10
        arrays = dict(contents.arrays)
        for key in ("labels", "upper", "lower"):
            if f"memory/{key}" in arrays:
                arrays[f"memory/{key}"] = arrays[f"memory/{key}"][:10]
        container.write(tmp_path / "a", container.Contents({**contents.header, "fit": fit}, arrays))
        with pytest.raises(ValueError, match=r"its number of rows in memory, .* is 10, but this fit has 14000"):
            ESTIMATORS[name].fit(points, checkpoint=tmp_path / "a")


def test_a_phase_that_does_not_come_now_is_refused(points, stored, tmp_path):
    """The file has the polish of a fit where this one searches."""
    contents = stored["EulerMeans", "ended", frozenset()]
    arrays = {**contents.arrays, "phase": contents.arrays["phase"][::-1]}
    container.write(tmp_path / "a", container.Contents(contents.header, arrays))
    with pytest.raises(ValueError, match="its next phase is 'polish', but this fit has 'search'"):
        ESTIMATORS["EulerMeans"].fit(points, checkpoint=tmp_path / "a")


def test_centers_whose_squares_overflow_are_refused(points, stored, tmp_path):
    """The data are not to blame, and the error does not say so."""
    digest = "digest of the data"
    dense = {each.header["fit"][digest] for (name, _, _), each in stored.items() if name != "EulerMeans"}
    for (name, _, memory), contents in stored.items():
        data = points if contents.header["fit"][digest] in dense else csr_array(points)
        for key in ["centers", *(f"memory/{each}" for each in memory if each.endswith(("centers", "measured")))]:
            damaged = contents.arrays[key].copy()
            damaged[-1, -1] = 1e200
            arrays = {**contents.arrays, key: damaged}
            container.write(tmp_path / "a", container.Contents(contents.header, arrays))
            with pytest.raises(ValueError, match=r"checkpoint=.* has centers that are too far from the data"):
                ESTIMATORS[name].fit(data, checkpoint=tmp_path / "a")


def test_another_format_is_named(stored, tmp_path):
    (name, _, _), contents = next(iter(stored.items()))
    container.write(tmp_path / "a", container.Contents({**contents.header, "checkpoint": 1}, contents.arrays))
    with pytest.raises(ValueError, match="has format 1 instead of 2; give another path"):
        load(tmp_path / "a", ESTIMATORS[name])


@pytest.mark.skipif(os.name != "posix", reason="pipes are POSIX's")
def test_a_pipe_is_refused_at_once(points, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe or a device"):
        EulerMeans(K).fit(points, checkpoint=tmp_path / "pipe")


def test_any_number_of_phases_fits_into_a_file(points, tmp_path):
    """The header is small, however many restarts there are."""
    path, rng = tmp_path / "a", np.random.default_rng(0)
    EulerMeans(2, random_state=0, effort=0).fit(points[:100], checkpoint=path)
    saved = Checkpoint(path, EulerMeans(2, random_state=0, effort=0), rng)
    saved.check_data(memory_oracle(points[:100]))
    snapshot = saved.resumed("search")
    saved._ended = [snapshot] * 5000
    saved.save(snapshot)
    assert len(load(path, EulerMeans(2, random_state=0, effort=0))._saved) == 5001


def test_a_bound_for_each_center_is_read_too(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "PATIENCE", 0.0)
    points = np.random.default_rng(0).standard_normal((14_000, 256), dtype=np.float32)
    options = {"effort": 0, "random_state": 0, "tol": 0, "max_iter": 25}
    whole = EulerMeans(32, **options).fit(points)
    model = EulerMeans(32, **options)
    model._watcher = KillsAt(whole.n_iter_ - 1)
    with pytest.raises(Killed):
        model.fit(points, checkpoint=tmp_path / "a")
    assert container.read(tmp_path / "a").arrays["memory/lower"].shape == (14_000, 32)
    resumed = EulerMeans(32, **options).fit(points, checkpoint=tmp_path / "a")
    np.testing.assert_array_equal(resumed.cluster_centers_, whole.cluster_centers_)


@pytest.mark.parametrize("name", ["lists", "kept.lists", "kept.order", "kept.neighbours"])
def test_impossible_lists_are_refused(annealed, tmp_path, name):
    contents = next(each for (_, _, kind), each in annealed.items() if name in kind)
    wrong = contents.arrays[f"memory/{name}"].copy()
    wrong.flat[0] = 1000
    container.write(
        tmp_path / "a", container.Contents(contents.header, {**contents.arrays, f"memory/{name}": wrong})
    )
    many_features = np.random.default_rng(1).standard_normal((1000, 40))
    with pytest.raises(ValueError, match=r"has neighbours that do not exist|has points that are in no cluster"):
        EulerMeans(80, random_state=0).fit(many_features, checkpoint=tmp_path / "a")

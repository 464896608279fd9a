"""Checkpoints: a killed fit goes on and ends with the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from eulermeans import EulerMeans, StochasticBackwardEuler, StopReason
from eulermeans.storage import checkpoint


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    rng = np.random.default_rng(0)
    means = 4 * rng.standard_normal((40, 6))
    return (means[rng.integers(40, size=20_000)] + rng.standard_normal((20_000, 6))).astype(np.float32)


@pytest.fixture
def always(monkeypatch):
    """A snapshot at every step that allows one."""
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "PATIENCE", 0.0)


class Killed(Exception):
    """What ends the fit of a test in the middle."""


class KillsAt:
    """Ends a fit at a step, counted over all phases."""

    def __init__(self, step):
        self.left = step

    def begin(self, phase):
        self.left -= 1
        if self.left < 0:
            raise Killed

    def end(self, record, centers):
        return False


def killed_at(step, model, points, path, **options):
    model._watcher = KillsAt(step)
    with pytest.raises(Killed):
        model.fit(points, checkpoint=path, **options)


def same(one, other):
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.n_iter_ == other.n_iter_
    assert one.stop_reason_ is other.stop_reason_
    for mine, yours in zip(one.history_, other.history_, strict=True):
        assert (mine.phase, mine.step, mine.objective) == (yours.phase, yours.step, yours.objective)


@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.8, 0.97])
def test_a_fit_goes_on_to_the_same_bits(points, tmp_path, always, sampled, part):
    path = tmp_path / "fit.checkpoint"
    whole = EulerMeans(12, random_state=3).fit(points)
    step = int(part * whole.n_iter_)
    killed_at(step, EulerMeans(12, random_state=3), points, path)
    resumed = EulerMeans(12, random_state=3).fit(points, checkpoint=path)
    same(resumed, whole)
    np.testing.assert_array_equal(resumed.restarts_, whole.restarts_)


def test_every_phase_of_that_fit_is_there(points, sampled):
    """What the test before relies on: it is killed in each."""
    phases = [record.phase for record in EulerMeans(12, random_state=3).fit(points).history_]
    assert list(dict.fromkeys(phases)) == ["search", "descend", "polish"]


@pytest.mark.parametrize("kind", ["summary", "annealing", "sparse"])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
def test_other_searches_go_on_to_the_same_bits(points, tmp_path, always, kind, part):
    data = {
        "summary": points[:, :2],
        "annealing": np.random.default_rng(1).standard_normal((1500, 40)),
        "sparse": sparse.random_array((1500, 300), density=0.03, format="csr", rng=np.random.default_rng(2)),
    }[kind]
    path, model = tmp_path / "fit.checkpoint", EulerMeans(60, random_state=3, effort=0.5)
    whole = clone(model).fit(data)
    killed_at(int(part * whole.n_iter_), clone(model), data, path)
    same(clone(model).fit(data, checkpoint=path), whole)


@pytest.mark.parametrize("part", [0.1, 0.6, 0.9, 1.4, 2.0])
def test_searches_from_several_starts_go_on_to_the_same_bits(points, tmp_path, always, part):
    """Steps of the starts that are not the best do not count in `n_iter_`, so more are made than that."""
    few, path, model = points[:400], tmp_path / "fit.checkpoint", EulerMeans(30, random_state=3, effort=8)
    whole = clone(model).fit(few)
    killed_at(int(part * whole.n_iter_), clone(model), few, path)
    same(clone(model).fit(few, checkpoint=path), whole)


def test_a_fit_is_killed_twice_and_in_its_second_restart(points, tmp_path, always):
    path, options = tmp_path / "fit.checkpoint", {"n_init": 3, "random_state": 0}
    few = points[:3000]
    whole = EulerMeans(8, **options).fit(few)
    steps = 2 * whole.n_iter_
    killed_at(steps // 3, EulerMeans(8, **options), few, path)
    killed_at(steps // 3, EulerMeans(8, **options), few, path)
    same(EulerMeans(8, **options).fit(few, checkpoint=path), whole)


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_and_chance_are_resumed_too(points, tmp_path, always, sampled, weighted):
    """Without a random_state: what was drawn is in the file."""
    path = tmp_path / "fit.checkpoint"
    weights = np.linspace(0, 2, len(points)) if weighted else None
    model = EulerMeans(10)
    killed_at(12, model, points, path, sample_weight=weights)
    kept = tmp_path / "copy.checkpoint"
    kept.write_bytes(path.read_bytes())
    one = EulerMeans(10).fit(points, checkpoint=path, sample_weight=weights)
    other = EulerMeans(10).fit(points, checkpoint=kept, sample_weight=weights)
    same(one, other)


def test_the_papers_algorithm_is_resumed(points, tmp_path, always):
    path = tmp_path / "fit.checkpoint"
    whole = StochasticBackwardEuler(5, random_state=0).fit(points)
    killed_at(60, StochasticBackwardEuler(5, random_state=0), points, path)
    same(StochasticBackwardEuler(5, random_state=0).fit(points, checkpoint=path), whole)


def test_a_checkpoint_changes_nothing(points, tmp_path, always):
    one = EulerMeans(10, random_state=0).fit(points)
    same(one, EulerMeans(10, random_state=0).fit(points, checkpoint=tmp_path / "fit.checkpoint"))


def test_the_file_of_a_fit_that_has_ended_gives_its_result_again(points, tmp_path):
    path = tmp_path / "fit.checkpoint"
    one = EulerMeans(10, random_state=0).fit(points, checkpoint=path)
    model = EulerMeans(10, random_state=0)
    model._watcher = KillsAt(0)  # not a single step is taken
    same(one, model.fit(points, checkpoint=path))


def test_a_fit_that_ran_out_of_time_goes_on_with_more(points, tmp_path):
    path = tmp_path / "fit.checkpoint"
    whole = EulerMeans(25, random_state=1).fit(points)
    stopped = EulerMeans(25, random_state=1, max_time=1e-9).fit(points, checkpoint=path)
    assert stopped.stop_reason_ is StopReason.MAX_TIME
    same(EulerMeans(25, random_state=1).fit(points, checkpoint=path), whole)


SCRIPT = """
import sys
import numpy as np
from eulermeans import EulerMeans
from eulermeans.storage import checkpoint
checkpoint.SECONDS = checkpoint.PATIENCE = 0.0
rng = np.random.default_rng(0)
means = 4 * rng.standard_normal((40, 6))
points = (means[rng.integers(40, size=20_000)] + rng.standard_normal((20_000, 6))).astype(np.float32)
model = EulerMeans(25, effort=float(sys.argv[3]), random_state=3).fit(points, checkpoint=sys.argv[1])
np.save(sys.argv[2], model.cluster_centers_)
"""


def test_a_process_that_is_killed_resumes(points, tmp_path):
    path, centers, effort = tmp_path / "fit.checkpoint", tmp_path / "centers.npy", "8"
    command = [sys.executable, "-c", SCRIPT, str(path), str(centers), effort]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 120
    while not path.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert path.exists()
    assert not centers.exists()  # it was killed in the middle
    subprocess.run(command, check=True)
    whole = EulerMeans(25, effort=float(effort), random_state=3).fit(points)
    np.testing.assert_array_equal(np.load(centers), whole.cluster_centers_)


# Files that can't be resumed


def saved(points, path: Path) -> Path:
    EulerMeans(4, random_state=0).fit(points[:500], checkpoint=path)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 5}, r"its n_clusters is 4, but this fit has 5"),
        ({"random_state": 1}, r"its random_state is 0, but this fit has 1"),
        ({"tol": 0.5}, r"its tol is 0.0001, but this fit has 0.5"),
        ({"init": np.zeros((4, 6))}, r"its init is 'k-means\+\+', but this fit has 'float64"),
    ],
)
def test_another_fit(points, tmp_path, change, message):
    path = saved(points, tmp_path / "a")
    model = EulerMeans(**{"n_clusters": 4, "random_state": 0} | change)
    with pytest.raises(ValueError, match=message):
        model.fit(points[:500], checkpoint=path)


def test_other_data(points, tmp_path):
    path = saved(points, tmp_path / "a")
    with pytest.raises(ValueError, match=r"its number of rows is 500, but this fit has 501"):
        EulerMeans(4, random_state=0).fit(points[:501], checkpoint=path)
    with pytest.raises(ValueError, match=r"its digest of the data is"):
        EulerMeans(4, random_state=0).fit(points[500:1000], checkpoint=path)


def other_rows_of_the_same_mean(points):
    other = points.copy()
    other[0, 0] += 1
    other[1, 0] -= 1
    return other


@pytest.mark.parametrize(
    "change",
    [
        lambda points: np.random.default_rng(0).permutation(points),
        other_rows_of_the_same_mean,
        lambda points: points[:, ::-1],
        lambda points: -points,
    ],
    ids=["shuffled", "same mean", "columns", "signs"],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_data_are_known_by_their_content(tmp_path, change, form):
    """Rows of integers whose mean is zero: sums of them are exact, whatever their order."""
    half = np.random.default_rng(0).integers(-50, 50, size=(200, 6)).astype(np.float64)
    points = np.concatenate([half, -half])
    path = tmp_path / "a"
    fitted = EulerMeans(4, random_state=0).fit(form(points), checkpoint=path)
    np.testing.assert_array_equal(points.mean(axis=0), change(points).mean(axis=0))
    with pytest.raises(ValueError, match=r"its digest of the data is '\w+', but this fit has '\w+'"):
        EulerMeans(4, random_state=0).fit(form(change(points)), checkpoint=path)
    same(fitted, EulerMeans(4, random_state=0).fit(form(points.copy()), checkpoint=path))


def test_weights_belong_to_the_data(points, tmp_path):
    few, path = points[:500], tmp_path / "a"
    weights = np.linspace(1, 2, len(few))
    EulerMeans(4, random_state=0).fit(few, sample_weight=weights, checkpoint=path)
    EulerMeans(4, random_state=0).fit(few, sample_weight=weights.copy(), checkpoint=path)
    for other in (weights[::-1], None):
        with pytest.raises(ValueError, match="its digest of the data"):
            EulerMeans(4, random_state=0).fit(few, sample_weight=other, checkpoint=path)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_same_rows_in_another_order_of_memory_are_the_same_data(points, tmp_path, order):
    path = saved(points, tmp_path / "a")
    same_rows = np.array(points[:500], order=order)
    EulerMeans(4, random_state=0).fit(same_rows, checkpoint=path)
    EulerMeans(4, random_state=0).fit(np.concatenate([same_rows, same_rows])[:500], checkpoint=path)


LIMIT = 1 << 19  # bytes, about the size of the file


@pytest.fixture
def file(points, tmp_path) -> Path:
    path = tmp_path / "points.npy"
    np.save(path, points)
    return path


def test_a_file_is_known_by_its_content(points, file, tmp_path):
    path, options = tmp_path / "a", {"random_state": 0, "memory_limit": LIMIT, "effort": 0.1}
    fitted = EulerMeans(4, **options).fit(file, checkpoint=path)
    resumed = EulerMeans(4, **options).fit(file, checkpoint=path)
    np.testing.assert_array_equal(fitted.cluster_centers_, resumed.cluster_centers_)
    np.save(file, points[::-1])
    with pytest.raises(ValueError, match="its digest of the data"):
        EulerMeans(4, **options).fit(file, checkpoint=path)


def test_a_memory_limit_that_changes_the_sample_is_another_fit(file, tmp_path):
    path, options = tmp_path / "a", {"random_state": 0, "effort": 0.1}
    EulerMeans(4, **options, memory_limit=LIMIT).fit(file, checkpoint=path)
    with pytest.raises(ValueError, match=r"its number of rows in memory, which depends on memory_limit, is"):
        EulerMeans(4, **options, memory_limit=2 * LIMIT).fit(file, checkpoint=path)


def test_a_memory_limit_that_changes_nothing_may_change(file, tmp_path):
    path, options = tmp_path / "a", {"random_state": 0, "effort": 0.1}
    EulerMeans(4, **options, memory_limit="1GB").fit(file, checkpoint=path)
    EulerMeans(4, **options, memory_limit="2GB").fit(file, checkpoint=path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"n_clusters": 3}, {"n_clusters": np.int64(3)}),
        ({"n_clusters": np.int32(3)}, {"n_clusters": 3}),
        ({"tol": 0.5}, {"tol": np.float32(0.5)}),
        ({"polish": True}, {"polish": np.bool_(True)}),
        ({"init": [[0] * 6, [1] * 6, [2] * 6]}, {"init": np.arange(3.0)[:, None] * np.ones(6)}),
    ],
)
def test_the_same_number_in_another_type_is_the_same_parameter(points, tmp_path, one, other):
    path, options = tmp_path / "a", {"n_clusters": 3, "random_state": 0}
    fitted = EulerMeans(**options | one).fit(points[:500], checkpoint=path)
    same(fitted, EulerMeans(**options | other).fit(points[:500], checkpoint=path))


def test_another_estimator(points, tmp_path):
    with pytest.raises(ValueError, match="its estimator is 'EulerMeans', but this fit has 'Stoch"):
        StochasticBackwardEuler(4, random_state=0).fit(points[:500], checkpoint=saved(points, tmp_path / "a"))


@pytest.mark.parametrize(
    "damage", [lambda old: b"", lambda old: b"hello", lambda old: old[:-9], lambda old: old[9:]]
)
def test_a_damaged_file(points, tmp_path, damage):
    path = saved(points, tmp_path / "a")
    content = damage(path.read_bytes())
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a checkpoint, or it is damaged"):
        EulerMeans(4, random_state=0).fit(points[:500], checkpoint=path)
    assert path.read_bytes() == content


def test_a_model_is_no_checkpoint(points, tmp_path):
    path = tmp_path / "model"
    EulerMeans(4, random_state=0).fit(points[:500]).save(path)
    with pytest.raises(ValueError, match="is not a checkpoint; give another path"):
        EulerMeans(4, random_state=0).fit(points[:500], checkpoint=path)


def test_a_folder_that_does_not_exist(points, tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        EulerMeans(4).fit(points[:500], checkpoint=tmp_path / "no" / "a")


def test_nothing_but_the_file_is_left(points, tmp_path, always):
    saved(points, tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]

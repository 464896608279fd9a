"""The paper's experiments: their definitions, one run, many runs, and each experiment in miniature."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from eulermeans.datasets import paper_gaussians
from eulermeans.oracles import memory_oracle
from eulermeans.paper import experiment_data, experiment_runs, reproduction
from eulermeans.paper.experiment_data import ExperimentData, load_data
from eulermeans.paper.experiment_runs import RunRecord, Task, Trace, perform, run_tasks
from eulermeans.paper.experiments import load_experiments, settings_key
from eulermeans.paper.run_records import RecordFile


def patterns(n_features, seed=0):
    """500 points around ten patterns."""
    rng = np.random.default_rng(seed)
    means = rng.random((10, n_features))
    points = np.repeat(means, 50, axis=0) + 0.1 * rng.standard_normal((500, n_features))
    return means[:8].astype(np.float32), points.astype(np.float32)


@pytest.fixture
def small_data(monkeypatch):
    """Replaces the data sets by small ones of the same kind."""
    originals, images = patterns(784)
    for name, loaded in {
        "mnist": ExperimentData(images),
        "gaussian_mnist": ExperimentData(images, originals, "Ten patterns."),
        "lenet_features": ExperimentData(patterns(64)[1]),
        "paper_gaussians": ExperimentData(paper_gaussians(0, per_cluster=100)),
    }.items():
        monkeypatch.setitem(experiment_data.LOADERS, name, lambda seed, loaded=loaded: loaded)


def miniature(name):
    """The experiment with at most five steps in each run."""
    experiment = load_experiments()[name]
    short = [replace(row.settings, steps=min(5, row.settings.steps)) for row in experiment.rows]
    rows = [replace(row, settings=settings) for row, settings in zip(experiment.rows, short, strict=True)]
    return replace(experiment, rows=tuple(rows))


# The experiments


def test_every_experiment_of_the_paper_is_there():
    names = ["gaussians", "iris", "table1", "table2", "table3", "escape", "timing", "landscape", "sensitivity"]
    assert list(load_experiments()) == names


@pytest.mark.parametrize("name", ["table1", "table2", "table3"])
def test_tables_have_all_published_values(name):
    rows = load_experiments()[name].rows
    assert [row.settings.method for row in rows] == ["EM", "SBE", "mb-EM", "SBE", "mb-EM", "SBE", "mb-EM", "SBE"]
    for row in rows:
        published = row.published
        assert None not in (published.min, published.max, published.mean, published.variance)
        assert published.min <= published.mean <= published.max


def test_a_row_states_our_choices():
    row = load_experiments()["table1"].rows[1]
    assert row.settings.iterations == "(150,10)"
    assert row.settings.choices == "partition, decay 1/1.02"
    assert row.settings.decay_factor == pytest.approx(1 / 1.02)
    choices = load_experiments()["iris"].rows[1].settings.choices
    assert choices == "random, batch means, empty centers: reseed"


def test_the_sensitivity_grid_is_complete():
    grid = {
        (row.settings.init, row.settings.decay, row.settings.averaging)
        for row in load_experiments()["sensitivity"].rows
        if row.settings.method == "SBE"
    }
    assert len(grid) == 4 * 4 * 4


def test_a_key_tells_settings_and_data_apart():
    settings = [row.settings for experiment in load_experiments().values() for row in experiment.rows]
    distinct = {repr(one) for one in settings}
    assert len({settings_key(one, 0, None) for one in settings}) == len(distinct)
    keys = [settings_key(settings[0], *where) for where in ((0, None), (1, None), (0, 5000))]
    assert len(set(keys)) == 3
    assert settings_key(settings[0], 0, None) == keys[0]


# One run


@pytest.mark.parametrize("name", ["gaussians", "iris"])
def test_a_run_is_repeatable_and_its_objective_exact(name):
    experiment = load_experiments()[name]
    oracle = memory_oracle(load_data(experiment.dataset, 0).points, n_threads=1)
    for row in experiment.rows:
        settings = replace(row.settings, steps=8)
        first, again, other = (perform(Task(settings, 0, run), oracle) for run in (1, 1, 2))
        np.testing.assert_array_equal(first.centers, again.centers)
        assert first.record.objective == oracle.full(first.centers).objective
        if settings.method != "EM":
            assert not np.array_equal(first.centers, other.centers)
            assert first.record.points_read == 8 * settings.batch_size * (settings.inner or 1)


def test_em_stops_when_no_center_moves():
    experiment = load_experiments()["gaussians"]
    oracle = memory_oracle(paper_gaussians(0), n_threads=1)
    ended = perform(Task(experiment.rows[0].settings, 0, 0), oracle)
    assert ended.record.steps < 100
    np.testing.assert_array_equal(oracle.full(ended.centers).means(ended.centers), ended.centers)


def test_sbe_starts_where_em_is_stuck():
    em, _, sbe = (row.settings for row in load_experiments()["gaussians"].rows)
    oracle = memory_oracle(paper_gaussians(0), n_threads=1)
    stuck, out = (perform(Task(settings, 0, 0), oracle).record for settings in (em, sbe))
    assert out.trace.objectives[0] == stuck.objective == pytest.approx(1.34, abs=0.02)
    assert out.objective == pytest.approx(0.9, abs=0.02)


def test_a_trace_has_an_entry_for_every_step():
    settings = replace(load_experiments()["gaussians"].rows[2].settings, steps=7)
    ended = perform(Task(settings, 0, 0), memory_oracle(paper_gaussians(0), n_threads=1)).record
    trace = ended.trace
    assert len(trace.objectives) == len(trace.seconds) == len(trace.points_read) == 8
    assert trace.objectives[-1] == ended.objective
    assert trace.points_read[-1] == ended.points_read
    assert trace.seconds == sorted(trace.seconds)
    assert trace.seconds[-1] <= ended.seconds


# Many runs


def a_record(run, key="k"):
    return RunRecord(key, run, 1.5, 0.1, 100, 3, False, Trace([2.0, 1.5], [0.0, 0.1], [0, 100]))


def test_records_survive_on_the_disk(tmp_path):
    store = RecordFile(tmp_path / "records.jsonl")
    for run in (1, 0):
        store.add(a_record(run))
    store.add(a_record(0, key="other"))
    again = RecordFile(tmp_path / "records.jsonl")
    assert again.runs_of("k", 5) == [a_record(0), a_record(1)]
    assert again.runs_of("k", 1) == [a_record(0)]
    assert ("k", 1) in again
    assert ("k", 2) not in again


def test_an_incomplete_last_line_is_dropped(tmp_path):
    path = tmp_path / "records.jsonl"
    RecordFile(path).add(a_record(0))
    with path.open("a") as file:
        file.write(a_record(1).to_json()[:20])
    store = RecordFile(path)
    store.add(a_record(2))
    assert RecordFile(path).runs_of("k", 5) == [a_record(0), a_record(2)]


def test_fresh_starts_over(tmp_path):
    RecordFile(tmp_path / "records.jsonl").add(a_record(0))
    assert ("k", 0) not in RecordFile(tmp_path / "records.jsonl", fresh=True)


def test_processes_give_the_same_records():
    points = paper_gaussians(0, per_cluster=50)
    settings = replace(load_experiments()["gaussians"].rows[2].settings, steps=3, batch_size=50)
    tasks = [Task(settings, 0, run, "k") for run in range(3)]
    by_jobs = []
    for jobs in (1, 2):
        records = []
        run_tasks(tasks, points, jobs=jobs, on_done=records.append)
        by_jobs.append({record.run: record.objective for record in records})
    assert by_jobs[0] == by_jobs[1]
    assert len(by_jobs[0]) == 3


def test_an_interrupt_loses_no_finished_run(tmp_path, small_data, monkeypatch):
    options = reproduction.Options(tmp_path, runs=3)
    begun = []

    def interrupted(*arguments):
        begun.append(arguments)
        if len(begun) == 5:
            raise KeyboardInterrupt
        return perform(*arguments)

    monkeypatch.setattr(experiment_runs, "perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduction.reproduce(miniature("iris"), options)
    assert len((tmp_path / "iris" / "records.jsonl").read_text().splitlines()) == 4
    reproduction.reproduce(miniature("iris"), options)
    assert len(begun) == 5 + 5  # 9 runs in total, one of which was interrupted and repeated
    reproduction.reproduce(miniature("iris"), options)
    assert len(begun) == 10
    reproduction.reproduce(miniature("iris"), replace(options, fresh=True))
    assert len(begun) == 19
    reproduction.reproduce(miniature("iris"), replace(options, seed=1))
    assert len(begun) == 28


def test_an_interrupt_in_the_pool_keeps_the_runs_in_progress():
    points = paper_gaussians(0, per_cluster=50)
    settings = replace(load_experiments()["gaussians"].rows[2].settings, steps=3, batch_size=50)
    tasks = [Task(settings, 0, run, "k") for run in range(40)]
    records = []

    def stop(record):
        records.append(record)
        if len(records) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks(tasks, points, jobs=2, on_done=stop)
    assert len({record.run for record in records}) == len(records) < 40


# Experiments in miniature


@pytest.mark.parametrize("name", load_experiments())
def test_every_experiment_runs_in_miniature(name, tmp_path, small_data):
    told = []
    options = reproduction.Options(tmp_path, runs=2)
    report = reproduction.reproduce(miniature(name), options, lambda *state: told.append(state))
    assert told
    assert report.verdicts
    assert report.pictures
    folder = tmp_path / name
    for picture in report.pictures:
        assert (folder / f"{picture.name}.svg").read_text().lstrip().startswith("<?xml")
        assert (folder / f"{picture.name}.png").stat().st_size > 1000
    if name != "landscape":
        assert (folder / "table.md").read_text().startswith("| K | method")
        assert len((folder / "table.csv").read_text().splitlines()) == len(report.table.rows) + 1
        runs = Counter()  # two rows may need the same run
        for row in report.experiment.rows:
            share = report.experiment.share_of_runs if row.share_of_runs is None else row.share_of_runs
            runs |= Counter({(row.settings, row.data_seed or 0): max(1, round(options.runs * share))})
        total = runs.total()
        assert (name, total, total) in told
        assert len((folder / "records.jsonl").read_text().splitlines()) == total
    page = (tmp_path / "index.html").read_text()
    assert report.experiment.title.replace("'", "&#x27;") in page
    assert report.command in page
    assert "data:image/svg+xml;base64," in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_the_page_shows_all_experiments_in_order(tmp_path, small_data):
    for name in ("iris", "gaussians"):
        reproduction.reproduce(miniature(name), reproduction.Options(tmp_path, runs=1))
    page = (tmp_path / "index.html").read_text()
    assert page.index("Four Gaussian") < page.index("<td>Iris</td>")


def test_a_row_has_its_own_data_and_share_of_the_runs(tmp_path, small_data, monkeypatch):
    loaded = []
    whole = experiment_data.LOADERS["iris"]
    monkeypatch.setitem(experiment_data.LOADERS, "iris", lambda seed: loaded.append(seed) or whole(seed))
    experiment = miniature("iris")
    em = experiment.rows[0]
    rows = (*experiment.rows, *(replace(em, data_seed=seed, share_of_runs=0.25) for seed in (0, 3, 5)))
    report = reproduction.reproduce(replace(experiment, rows=rows), reproduction.Options(tmp_path, runs=8))
    assert loaded == [3, 5, 0]
    assert report.n_runs == [2, 8]
    assert report.runs == "2 or 8 runs"
    records = [
        RunRecord.from_json(line) for line in (tmp_path / "iris" / "records.jsonl").read_text().splitlines()
    ]
    by_key = {settings_key(em.settings, seed, None): seed for seed in (0, 3, 5)}
    runs = [(by_key[record.key], record.run) for record in records if record.key in by_key]
    assert sorted(runs) == [*((0, run) for run in range(8)), (3, 0), (3, 1), (5, 0), (5, 1)]
    assert "digits of seed 5" in (tmp_path / "iris" / "table.md").read_text()


def test_a_sample_of_the_points_can_be_used(small_data):
    assert len(load_data("mnist", 0, 100).points) == 100
    assert len(load_data("mnist", 0, 10**6).points) == 500


def test_a_record_survives_as_json():
    settings = replace(load_experiments()["gaussians"].rows[0].settings, steps=2)
    oracle = memory_oracle(paper_gaussians(0), n_threads=1)
    record = perform(Task(settings, 0, 3, "k"), oracle).record
    assert (record.key, record.run) == ("k", 3)
    assert RunRecord.from_json(record.to_json()) == record


# In full


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussians", "iris", "table1", "table2", "timing"])
def test_the_paper_is_reproduced(name, tmp_path, mnist, data_dir, monkeypatch):
    monkeypatch.setenv("EULERMEANS_DATA", str(data_dir))
    report = reproduction.reproduce(load_experiments()[name], reproduction.Options(tmp_path, runs=20, jobs=2))
    known = {"SBE requires fewer distance evaluations than EM (K = 8)"}  # EM converges before its 50 iterations
    undecided = {  # by this few runs
        "SBE outperforms mini-batch EM with the same batch size: variance",
        "SBE leaves the trap in nearly every run (our own question: the paper shows one run)",
    }
    assert not [v for v in report.verdicts if not v.reproduced and v.claim not in known | undecided]

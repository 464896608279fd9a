"""The paper's experiments: what is in the catalogue, one run, many runs, and each experiment in miniature."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from eulermeans.datasets import paper_gaussians
from eulermeans.oracles import memory_oracle
from eulermeans.paper import data, pool, reproduce
from eulermeans.paper.catalogue import catalogue, key_of, shorten
from eulermeans.paper.data import Data
from eulermeans.paper.running import RunRecord, Trace, perform, record_of
from eulermeans.paper.store import Store


def patterns(n_features, seed=0):
    """500 points about ten patterns."""
    rng = np.random.default_rng(seed)
    means = rng.random((10, n_features))
    points = np.repeat(means, 50, axis=0) + 0.1 * rng.standard_normal((500, n_features))
    return means[:8].astype(np.float32), points.astype(np.float32)


@pytest.fixture
def small_data(monkeypatch):
    """Data sets of the same kind that are quick to make."""
    originals, images = patterns(784)
    for name, loaded in {
        "mnist": Data(images),
        "gaussian_mnist": Data(images, originals, "Ten patterns."),
        "lenet_features": Data(patterns(64)[1]),
        "paper_gaussians": Data(paper_gaussians(0, per_cluster=100)),
    }.items():
        monkeypatch.setitem(data.LOADERS, name, lambda seed, loaded=loaded: loaded)


def miniature(name):
    return shorten(catalogue()[name], steps=5)


# The catalogue


def test_every_experiment_of_the_paper_is_there():
    names = ["gaussians", "iris", "table1", "table2", "table3", "escape", "timing", "landscape", "sensitivity"]
    assert list(catalogue()) == names


@pytest.mark.parametrize("name", ["table1", "table2", "table3"])
def test_tables_have_all_published_values(name):
    rows = catalogue()[name].rows
    assert [row.settings.method for row in rows] == ["EM", "SBE", "mb-EM", "SBE", "mb-EM", "SBE", "mb-EM", "SBE"]
    for row in rows:
        published = row.published
        assert None not in (published.min, published.max, published.mean, published.variance)
        assert published.min <= published.mean <= published.max


def test_a_row_says_what_it_was_chosen_to_be():
    row = catalogue()["table1"].rows[1]
    assert row.settings.iterations == "(150,10)"
    assert row.settings.choices == "partition, decay 1/1.02"
    assert row.settings.decay_factor == pytest.approx(1 / 1.02)
    assert catalogue()["iris"].rows[1].settings.choices == "random, batch means"


def test_the_sensitivity_grid_is_complete():
    grid = {
        (row.settings.init, row.settings.decay, row.settings.averaging)
        for row in catalogue()["sensitivity"].rows
        if row.settings.method == "SBE"
    }
    assert len(grid) == 4 * 4 * 4


def test_a_key_tells_settings_and_data_apart():
    settings = [row.settings for experiment in catalogue().values() for row in experiment.rows]
    distinct = {repr(one) for one in settings}
    assert len({key_of(one, 0, None) for one in settings}) == len(distinct)
    keys = [key_of(settings[0], *where) for where in ((0, None), (1, None), (0, 5000))]
    assert len(set(keys)) == 3
    assert key_of(settings[0], 0, None) == keys[0]


# One run


@pytest.mark.parametrize("name", ["gaussians", "iris"])
def test_a_run_is_repeatable_and_its_objective_exact(name):
    experiment = catalogue()[name]
    oracle = memory_oracle(data.load(experiment.dataset, 0).points, n_threads=1)
    for row in experiment.rows:
        settings = replace(row.settings, steps=8)
        first, again, other = (perform(settings, oracle, (0, run)) for run in (1, 1, 2))
        np.testing.assert_array_equal(first.centers, again.centers)
        assert first.objective == oracle.full(first.centers).objective
        if settings.method != "EM":
            assert not np.array_equal(first.centers, other.centers)
            assert first.points_read == 8 * settings.batch_size * (settings.inner or 1)


def test_em_stops_when_it_stands_still():
    experiment = catalogue()["gaussians"]
    oracle = memory_oracle(paper_gaussians(0), n_threads=1)
    ended = perform(experiment.rows[0].settings, oracle, (0, 0))
    assert ended.steps < 100
    np.testing.assert_array_equal(oracle.full(ended.centers).means(ended.centers), ended.centers)


def test_sbe_starts_where_em_is_stuck():
    em, _, sbe = (row.settings for row in catalogue()["gaussians"].rows)
    oracle = memory_oracle(paper_gaussians(0), n_threads=1)
    stuck, out = perform(em, oracle, (0, 0)), perform(sbe, oracle, (0, 0))
    assert out.trace.objectives[0] == stuck.objective == pytest.approx(1.34, abs=0.02)
    assert out.objective == pytest.approx(0.9, abs=0.02)


def test_a_trace_has_a_place_for_every_step():
    settings = replace(catalogue()["gaussians"].rows[2].settings, steps=7)
    ended = perform(settings, memory_oracle(paper_gaussians(0), n_threads=1), (0, 0))
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
    store = Store(tmp_path / "records.jsonl")
    for run in (1, 0):
        store.add(a_record(run))
    store.add(a_record(0, key="other"))
    again = Store(tmp_path / "records.jsonl")
    assert again.runs_of("k", 5) == [a_record(0), a_record(1)]
    assert again.runs_of("k", 1) == [a_record(0)]
    assert ("k", 1) in again
    assert ("k", 2) not in again


def test_a_line_that_was_cut_off_is_forgotten(tmp_path):
    path = tmp_path / "records.jsonl"
    Store(path).add(a_record(0))
    with path.open("a") as file:
        file.write(json.dumps(a_record(1).as_json())[:20])
    store = Store(path)
    store.add(a_record(2))
    assert Store(path).runs_of("k", 5) == [a_record(0), a_record(2)]


def test_fresh_starts_over(tmp_path):
    Store(tmp_path / "records.jsonl").add(a_record(0))
    assert ("k", 0) not in Store(tmp_path / "records.jsonl", fresh=True)


def test_processes_give_the_same_records():
    points = paper_gaussians(0, per_cluster=50)
    settings = replace(catalogue()["gaussians"].rows[2].settings, steps=3, batch_size=50)
    tasks = [pool.Task(settings, "k", 0, run) for run in range(3)]
    by_jobs = []
    for jobs in (1, 2):
        records = []
        pool.carry_out(tasks, points, jobs=jobs, on_done=records.append)
        by_jobs.append({record.run: record.objective for record in records})
    assert by_jobs[0] == by_jobs[1]
    assert len(by_jobs[0]) == 3


def test_an_interrupt_loses_no_finished_run(tmp_path, small_data, monkeypatch):
    options = reproduce.Options(tmp_path, runs=3)
    begun = []

    def interrupted(*arguments):
        begun.append(arguments)
        if len(begun) == 5:
            raise KeyboardInterrupt
        return perform(*arguments)

    monkeypatch.setattr(pool, "perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce.reproduce(miniature("iris"), options)
    assert len((tmp_path / "iris" / "records.jsonl").read_text().splitlines()) == 4
    reproduce.reproduce(miniature("iris"), options)
    assert len(begun) == 5 + 5  # 9 runs in all, of which one was lost
    reproduce.reproduce(miniature("iris"), options)
    assert len(begun) == 10
    reproduce.reproduce(miniature("iris"), replace(options, fresh=True))
    assert len(begun) == 19
    reproduce.reproduce(miniature("iris"), replace(options, seed=1))
    assert len(begun) == 28


def test_an_interrupt_in_the_pool_keeps_what_was_under_way():
    points = paper_gaussians(0, per_cluster=50)
    settings = replace(catalogue()["gaussians"].rows[2].settings, steps=3, batch_size=50)
    tasks = [pool.Task(settings, "k", 0, run) for run in range(40)]
    records = []

    def stop(record):
        records.append(record)
        if len(records) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.carry_out(tasks, points, jobs=2, on_done=stop)
    assert len({record.run for record in records}) == len(records) < 40


# Experiments in miniature


@pytest.mark.parametrize("name", catalogue())
def test_every_experiment_runs_in_miniature(name, tmp_path, small_data):
    told = []
    options = reproduce.Options(tmp_path, runs=2)
    report = reproduce.reproduce(miniature(name), options, lambda *state: told.append(state))
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
        total = len(report.table.rows) * report.n_runs
        assert (name, total, total) in told
        assert len((folder / "records.jsonl").read_text().splitlines()) == total
    page = (tmp_path / "index.html").read_text()
    assert report.experiment.title.replace("'", "&#x27;") in page
    assert report.command in page
    assert "data:image/svg+xml;base64," in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_the_page_shows_all_that_was_made(tmp_path, small_data):
    for name in ("iris", "gaussians"):
        reproduce.reproduce(miniature(name), reproduce.Options(tmp_path, runs=1))
    page = (tmp_path / "index.html").read_text()
    assert page.index("Four Gaussian") < page.index("<td>Iris</td>")


def test_a_part_of_the_points_can_be_taken(small_data):
    assert len(data.load("mnist", 0, 100).points) == 100
    assert len(data.load("mnist", 0, 10**6).points) == 500


def test_an_outcome_without_its_centers_is_a_record():
    settings = replace(catalogue()["gaussians"].rows[0].settings, steps=2)
    outcome = perform(settings, memory_oracle(paper_gaussians(0), n_threads=1), (0, 0))
    record = record_of(outcome, "k", 0)
    assert RunRecord.from_json(json.loads(json.dumps(record.as_json()))) == record


# In full


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussians", "iris", "table1", "table2", "timing"])
def test_the_paper_is_reproduced(name, tmp_path, mnist, data_dir, monkeypatch):
    monkeypatch.setenv("EULERMEANS_DATA", str(data_dir))
    report = reproduce.reproduce(catalogue()[name], reproduce.Options(tmp_path, runs=20, jobs=2))
    known = {"SBE requires fewer distance evaluations than EM (K = 8)"}  # EM stands still before its 50 iterations
    lucky = {  # few runs do not decide these
        "SBE outperforms mini-batch EM with the same batch size: variance",
        "SBE leaves the trap in nearly every run (our question: the paper shows one run)",
    }
    assert not [v for v in report.verdicts if not v.reproduced and v.claim not in known | lucky]

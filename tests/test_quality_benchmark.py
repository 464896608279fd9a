"""The quality benchmark's own arithmetic: objectives, scores, exponents, the bar. No method is timed here."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import quality_bar as bar
from quality import Store
from quality_curves import at_equal_time
from quality_generated import growth_problems, held_out_problems, million_problems, text
from quality_growth import fitted_exponent, growths
from quality_methods import (
    BKMEANS,
    EFFORTS,
    FAISS,
    FLSPP,
    KMEANS_1,
    KMEANS_10,
    METHODS,
    MINIBATCH_STREAM,
    OURS,
    OURS_FAST,
    OURS_LONG,
    OURS_STREAM,
    SUPER,
)
from quality_regimes import REGIMES
from quality_report import markdown, stored
from quality_results import ProblemFacts, Record, Results, Run, fixed
from quality_run import Runner
from quality_sets import Data, Problem


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def facts(name, n_points=1000, best_known=100.0, proven=False):
    family, n_clusters = name.split("/")
    return ProblemFacts(name, family, n_points, 2, int(n_clusters), best_known, proven, False)


def results(runs, *, problems=None, regime="sets"):
    """Results of runs given as {(problem, method): [(inertia, seconds) for each seed]}."""
    names = dict.fromkeys(problem for problem, _ in runs)
    record = Record(regime, threads=2, problems=problems or {name: facts(name) for name in names})
    for (problem, method), values in runs.items():
        for seed, (inertia, seconds) in enumerate(values):
            record.runs.append(Run(problem, method, seed, inertia, seconds, 2 * seconds))
    return Results(record)


def met(verdicts):
    return [verdict.met for verdict in verdicts]


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_the_inertia_is_the_sum_of_squared_distances_to_the_nearest_centers(rng, kind):
    points, centers = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.5), rng.normal(size=(3, 4))
    problem = Problem(Data("few", lambda: kind(points)), 3)
    expected = np.sum(cdist(points, centers, "sqeuclidean").min(axis=1))
    assert problem.inertia(centers) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="shape"):
        problem.inertia(centers[:2])
    with pytest.raises(ValueError, match="finite"):
        problem.inertia(np.full((3, 4), np.nan))


def test_text_is_like_tf_idf_of_short_texts():
    rows = text()
    assert rows.shape == (60_000, 9_000)
    assert 5.5 < rows.nnz / rows.shape[0] < 6.5
    np.testing.assert_allclose(np.sqrt(rows.multiply(rows).sum(axis=1)), 1)
    documents = np.sort(rows.getnnz(axis=0))[::-1]
    assert documents[0] > 100 * np.median(documents)  # a few words are in very many texts


def test_the_problems_have_names_of_their_own():
    for problems in (held_out_problems(), million_problems(), growth_problems()):
        names = [problem.name for problem in problems]
        assert len(set(names)) == len(names)
    assert all(problem.data.held_out for problem in held_out_problems())


def test_regimes_name_methods_that_exist():
    for regime in REGIMES.values():
        assert set(regime.methods) <= set(METHODS)
        assert len(set(regime.methods)) == len(regime.methods)
        assert set(regime.most_seeds) <= set(regime.methods)


def test_excess_is_over_the_best_known_or_over_the_best_run():
    found = results({("a/3", OURS): [(102.0, 1.0), (104.0, 3.0)], ("b/3", OURS): [(90.0, 1.0), (99.0, 1.0)]})
    assert found.scores["a/3", OURS].excesses == pytest.approx([2, 4])
    assert found.scores["a/3", OURS].mean == pytest.approx(3)
    assert found.scores["a/3", OURS].seconds == 2
    assert found.scores["b/3", OURS].excesses == pytest.approx([0, 10])
    assert found.better_than_known() == {"b/3": 90.0}


def test_a_proven_optimum_stays_the_reference_though_rounded():
    found = results({("a/3", OURS): [(99.9999, 1.0)]}, problems={"a/3": facts("a/3", proven=True)})
    assert found.scores["a/3", OURS].worst == pytest.approx(-1e-4)
    assert found.better_than_known() == {}
    assert fixed(-1e-4, 2) == "0.00"


def test_the_exponent_of_a_power_law():
    sizes = [10, 30, 100, 1000]
    assert fitted_exponent(sizes, [0.2 * size**1.3 for size in sizes]) == pytest.approx(1.3)


def test_growth_compares_only_problems_that_differ_in_one_size():
    problems = {
        f"g/{k}-{n}": ProblemFacts(f"g/{k}-{n}", "g", n, 2, k, None, False, False)
        for n, k in ((1000, 10), (1000, 20), (1000, 40), (2000, 10), (4000, 10))
    }
    runs = {(name, OURS): [(1.0, 1e-6 * of.n_points**2 * of.n_clusters**0.5)] for name, of in problems.items()}
    found = results(runs, problems=problems)
    (with_k,), (with_n,) = growths(found, "K"), growths(found, "N")
    assert (with_k.sizes, with_k.fixed, with_k.exponent) == ([10, 20, 40], 1000, pytest.approx(0.5))
    assert (with_n.sizes, with_n.fixed, with_n.exponent) == ([1000, 2000, 4000], 10, pytest.approx(2))


def test_equal_time_takes_the_best_effort_that_took_no_longer():
    ours = {effort: (110.0 - effort, 0.1 + effort) for effort in EFFORTS}
    runs = {("a/3", name): [ours[effort]] for effort, name in EFFORTS.items()}
    runs |= {("a/3", BKMEANS): [(105.0, 3.5)], ("a/3", FAISS): [(120.0, 0.05)]}
    slow, fast = at_equal_time(results(runs))
    assert (slow.peer, slow.effort, slow.our_excess) == (BKMEANS, 3, pytest.approx(7))
    assert (fast.peer, fast.effort, fast.our_excess) == (FAISS, None, None)


def test_bar_of_proven_optima():
    problems = {name: facts(name, proven=True) for name in ("a/3", "b/3")}
    runs = {("a/3", OURS): [(100.005, 0.05)] * 100, ("b/3", OURS): [(100.0, 0.05)] * 98 + [(100.1, 0.05)] * 2}
    hits, worst, time = bar.optima(results(runs, problems=problems))
    assert hits.figures == {"a/3": 100, "b/3": 98}
    assert met([hits, worst, time]) == [False, True, True]
    runs["a/3", OURS] = [(100.3, 0.2)] * 100
    assert met(bar.optima(results(runs, problems=problems))) == [False, False, False]


def test_bar_of_the_sets():
    peers = {("a/3", BKMEANS): [(101.0, 1.0)], ("a/3", KMEANS_10): [(103.0, 1.0)], ("a/3", FLSPP): [(102.0, 1.0)]}
    good = results({("a/3", OURS): [(100.2, 0.3)], **peers})
    bad = results({("a/3", OURS): [(103.1, 0.5)], **peers})
    assert met(bar.sets(good)) == [True] * 6
    assert met(bar.sets(bad)) == [False] * 6
    assert met(bar.sets(results({("a/3", OURS): [(100.2, 0.3)]}))) == [None, None, None, True, None, None]


def test_bar_of_long_effort():
    peers = {("a/3", BKMEANS): [(101.0, 1.0)], ("a/3", OURS): [(100.2, 0.3)]}
    good, bad = (results({("a/3", OURS_LONG): [run], **peers}) for run in ((99.9, 0.9), (100.3, 1.1)))
    assert met([*bar.long_effort(good), bar.below_the_best_known(good)]) == [True] * 4
    assert met([*bar.long_effort(bad), bar.below_the_best_known(bad)]) == [False] * 4


def test_bar_of_many_clusters():
    before = bar.OBJECTIVE_BEFORE["docstrings/500"]

    def regime(factor, exponent):
        """Ours at `factor` times the earlier objective."""
        problems = {f"docstrings/{k}": facts(f"docstrings/{k}", 500, None) for k in (500, 1000, 2000)}
        runs = {}
        for name, of in problems.items():
            seconds = (of.n_clusters / 500) ** exponent
            runs[name, OURS] = [(1000 * before * factor, seconds)]
            runs[name, FAISS] = [(1000 * before * 1.02, seconds / 1.9)]
            runs[name, KMEANS_1] = [(1000 * before * 1.01, 2.1 * seconds)]
            runs[name, SUPER] = [(1000 * before * 1.03, seconds)]
            runs[name, OURS_FAST] = [(1000 * before * 1.025 * factor, seconds)]
        return results(runs, problems=problems)

    assert met(bar.many_clusters(regime(1.001, 1.1))) == [True] * 7
    assert met(bar.many_clusters(regime(1.011, 1.3))) == [False, False, True, True, False, False, True]


def test_bar_of_the_other_regimes():
    def pair(ours, peer, inertia, seconds, name="a/500"):
        return results({(name, ours): [(inertia, seconds)], (name, peer): [(1000.0, 1.0)]})

    assert met(bar.million(pair(OURS, FAISS, 995.0, 0.9))) == [True] * 3
    assert met(bar.million(pair(OURS, FAISS, 1001.0, 1.1))) == [False] * 3
    assert met(bar.million(pair(OURS, FAISS, 1000.0, 1.0, "a/64"))) == [True, None, True]
    assert met(bar.sparse(pair(OURS, KMEANS_1, 990.0, 1.4))) == [True] * 2
    assert met(bar.sparse(pair(OURS, KMEANS_1, 992.0, 1.6))) == [False] * 2
    assert met(bar.stream(pair(OURS_STREAM, MINIBATCH_STREAM, 992.0, 1.9))) == [True] * 2
    assert met(bar.stream(pair(OURS_STREAM, MINIBATCH_STREAM, 994.0, 2.1))) == [False] * 2
    assert met(bar.mnist(pair(OURS, KMEANS_1, 100.004, 0.09))) == [True] * 3
    assert met(bar.mnist(pair(OURS, KMEANS_1, 100.03, 0.2))) == [False] * 3


def test_results_survive_the_file(tmp_path):
    found = results({("a/3", OURS): [(101.0, 0.5)], ("a/3", BKMEANS): [(102.0, 1.0)]})
    found.record.methods[OURS] = {"what": "EulerMeans()", "version": "1", "date": "2026-01-01"}
    store = Store(tmp_path)
    store.records["sets"] = found.record
    store.save()
    again = Store(tmp_path)
    assert again.records["sets"] == found.record
    assert again.record("sets", threads=2) == found.record
    assert again.record("sets", threads=1).runs == []
    written = json.loads(json.dumps(stored("sets", found)))
    assert [score["mean"] for score in written["scores"]] == pytest.approx([1, 2])
    assert "| a/3 | 1.00 (1.0) | 2.00 (2.0) |" in markdown({"sets": found})


def test_a_record_follows_its_regime():
    record = results(
        {("b/3", OURS): [(101.0, 0.5)], ("a/3", OURS): [(1.0, 1.0)], ("a/3", FAISS): [(1.0, 1.0)]}
    ).record
    record.problems["old/3"] = facts("old/3")
    record.keep(["a/3", "b/3"], [OURS])
    assert list(record.problems) == ["a/3", "b/3"]
    assert [(run.problem, run.method) for run in record.runs] == [("b/3", OURS), ("a/3", OURS)]


def test_a_failing_method_does_not_end_the_others(rng, capsys):
    points = rng.normal(size=(20, 2))
    problem = Problem(Data("few", lambda: points), 2)
    record = Record("sets", threads=1)

    def fails(problem, seed):
        raise RuntimeError("no memory")

    fits = {OURS: lambda problem, seed: points[seed : seed + 2], BKMEANS: fails}
    runner = Runner(REGIMES["sets"], record, fits, 3, 60.0, np.inf, lambda: None)
    for _ in range(2):  # a second time replaces the first
        runner.run(problem)
        assert [(run.method, run.seed) for run in record.runs] == [(OURS, 0), (OURS, 1), (OURS, 2)]
        assert [failure["seed"] for failure in record.failures] == [0, 1, 2]
    assert "RuntimeError: no memory" in capsys.readouterr().err
    assert bar.no_failures(Results(record)).met  # the peer's failures are not ours


def test_no_run_starts_after_the_deadline(rng):
    points = rng.normal(size=(20, 2))
    earlier = Run("few/2", OURS, 0, 1.0, 1.0, 1.0)
    record = Record("sets", threads=1, runs=[earlier])
    runner = Runner(REGIMES["sets"], record, {OURS: lambda p, seed: points[:2]}, 3, 60.0, -np.inf, lambda: None)
    runner.run(Problem(Data("few", lambda: points), 2))
    assert record.runs == [earlier]
    assert "time limit" in record.notes[0]

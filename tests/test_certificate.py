"""`certify`: known optima, anytime results, all kinds of data, and what the certificate says."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from exact_optimum import exact_optimum, exact_spherical_optimum
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eulermeans import EulerMeans, certify
from eulermeans.certificate import methods, parts
from eulermeans.certificate.anticlusters import anticlusters
from eulermeans.certificate.certificate_record import BoundStep, Certificate
from eulermeans.certificate.confidence import checkpoints, from_disjoint_parts, from_independent_samples
from eulermeans.certificate.one_dimension import optimum_on_line
from eulermeans.certificate.random_samples import with_replacement
from eulermeans.oracles import unit_rows


def blobs(n=600, n_features=2, seed=0, n_clusters=3):
    rng = np.random.default_rng(seed)
    places = 8 * rng.standard_normal((n_clusters, n_features))
    return places[rng.integers(n_clusters, size=n)] + rng.standard_normal((n, n_features))


@pytest.fixture(autouse=True)
def little_work(monkeypatch):
    """Stop early: the work ends by its results, not by the clock, and most tests need no small gap."""
    monkeypatch.setattr(parts, "PART_TOLERANCE", 0.05)
    monkeypatch.setattr(methods, "CLOSED", 0.005)
    monkeypatch.setattr(methods, "MOST_SAMPLES", 20)


# Known optima.


@pytest.mark.parametrize(("n_clusters", "gap"), [(4, 0.005), (7, 0.005), (10, 0.01)])
def test_proven_optima_are_met(data_dir, n_clusters, gap):
    points = np.load(data_dir / "certified" / "ruspini.npy").astype(float)
    lines = (data_dir / "certified" / "optima.tsv").read_text(encoding="utf-8").splitlines()
    optimum = next(float(line.split()[1]) for line in lines if line.startswith(f"ruspini/{n_clusters}\t"))
    model = EulerMeans(n_clusters, random_state=0).fit(points)
    found = certify(points, model, max_time=600, random_state=0)
    assert model.inertia_ == pytest.approx(optimum, rel=1e-4)
    assert (1 - gap) * optimum * (1 - 1e-4) <= found.lower_bound <= optimum * (1 + 1e-4)
    assert found.proven
    assert found.gap <= gap


def test_iris_is_proven_optimal():
    points = load_iris().data
    model = EulerMeans(3, random_state=0).fit(points)
    found = certify(points, model, random_state=0)
    assert found.gap < 0.005
    assert found.inertia == pytest.approx(78.8514, rel=1e-5)
    assert found.lower_bound <= found.inertia


def test_a_poor_clustering_has_a_gap():
    points = blobs(120)
    good = KMeans(3, n_init=10, random_state=0).fit(points)
    poor = certify(points, points[:3], random_state=0)
    assert poor.lower_bound <= good.inertia_ * (1 + 1e-9)
    assert poor.gap >= 1 - good.inertia_ / poor.inertia - 1e-9


# Many points.


def test_parts_add_up():
    points = blobs(1000)
    model = KMeans(3, n_init=5, random_state=0).fit(points)
    found = certify(points, model, random_state=0, max_time=600)
    assert found.proven
    assert "sum over 10 parts" in found.method
    assert found.gap < 0.06


def test_the_same_bits_for_any_number_of_threads():
    points = blobs(1000)
    model = KMeans(3, n_init=5, random_state=0).fit(points)
    one, three = (certify(points, model, random_state=0, max_time=600, n_threads=n) for n in (1, 3))
    assert one.lower_bound == three.lower_bound
    assert certify(points, model, random_state=1, max_time=600).lower_bound != one.lower_bound


def test_random_parts_give_a_bound_with_confidence():
    points = blobs(4000)
    model = KMeans(3, n_init=5, random_state=0).fit(points)
    found = certify(points, model, random_state=0, confidence=0.9, max_time=600)
    assert not found.proven
    assert found.confidence == 0.9
    assert "20 of 40 parts" in found.method
    assert found.gap < 0.2
    assert "with 90 % confidence" in str(found)


def test_a_stream_is_sampled(tmp_path):
    points = blobs(60_000)
    np.save(tmp_path / "points.npy", points)
    model = EulerMeans(3, memory_limit="1MB", random_state=0).fit(tmp_path / "points.npy")
    found = certify(tmp_path / "points.npy", model, random_state=0, max_time=600)
    assert (found.proven, found.confidence, found.n_points) == (False, 0.99, 60_000)
    assert "20 samples of 100 points" in found.method
    assert 0.02 < found.gap < 0.5
    with pytest.raises(ValueError, match="weighted data can only be certified in memory"):
        certify(tmp_path / "points.npy", model, sample_weight=np.ones(60_000))


def test_samples_of_large_data(monkeypatch):
    points = blobs(20_000)
    model = KMeans(3, n_init=3, random_state=0).fit(points)
    monkeypatch.setattr(methods, "LARGEST_PARTITION", 100)
    found = certify(points, model, random_state=0, confidence=0.99, max_time=600)
    assert "20 samples of 100 points" in found.method
    assert found.confidence == 0.99
    assert 0.02 < found.gap < 0.5


def test_a_source_that_fits_is_proven(tmp_path):
    points = blobs(200)
    model = KMeans(3, n_init=3, random_state=0).fit(points)
    np.save(tmp_path / "points.npy", points)
    found = certify(tmp_path / "points.npy", model, random_state=0)
    assert found.proven
    assert found.lower_bound == certify(points, model, random_state=0).lower_bound


def test_a_proof_out_of_reach_leaves_principal_components():
    points = blobs(30_000, n_features=6)
    model = KMeans(3, n_init=1, random_state=0).fit(points)
    found = certify(points, model, random_state=0, max_time=0.5)
    assert found.method == "principal components"
    assert found.proven
    assert 0 < found.lower_bound < found.inertia


def test_one_feature_is_exact():
    points = blobs(5000, n_features=1)
    model = KMeans(3, n_init=20, tol=0, random_state=0).fit(points)
    found = certify(points, model, random_state=0)
    assert found.method == "exact, on a line"
    assert found.gap < 1e-5


# Kinds of data.


@pytest.mark.parametrize("convert", [np.float32, sparse.csr_array, np.asfortranarray, lambda x: x.tolist()])
def test_kinds_of_data(convert):
    points = np.round(blobs(80), 2).astype(np.float32).astype(np.float64)
    expected = certify(points, points[:3], random_state=0, max_time=600)
    found = certify(convert(points), points[:3], random_state=0, max_time=600)
    assert found.lower_bound == pytest.approx(expected.lower_bound, rel=0.005)


def test_weights_are_repeats():
    rng = np.random.default_rng(0)
    points, repeats = blobs(60), rng.integers(0, 4, 60)
    model = KMeans(3, n_init=5, random_state=0).fit(points, sample_weight=repeats)
    weighted = certify(points, model, sample_weight=repeats, random_state=0)
    repeated = certify(np.repeat(points, repeats, axis=0), model, random_state=0)
    assert weighted.inertia == pytest.approx(repeated.inertia)
    assert weighted.lower_bound == pytest.approx(repeated.lower_bound, rel=0.005)


def test_duplicates_are_merged():
    points = np.tile(blobs(50), (40, 1))
    model = KMeans(3, n_init=5, random_state=0).fit(points)
    found = certify(points, model, random_state=0)
    assert "semidefinite" in found.method
    assert "part" not in found.method
    assert found.gap < 0.01


@pytest.mark.parametrize("n", [8, 1200])
def test_cosine_is_compared_with_unit_centers(n):
    points = blobs(n, n_features=3, seed=4)
    model = EulerMeans(2, metric="cosine", random_state=0).fit(points)
    found = certify(points, model, random_state=0, max_time=600)
    assert found.inertia == pytest.approx(model.inertia_)
    assert found.lower_bound <= found.inertia * (1 + 1e-12)
    if n == 8:
        optimum = exact_spherical_optimum(unit_rows(points), None, 2)
        assert 0.5 * optimum < found.lower_bound <= optimum * (1 + 1e-12)
    euclidean = certify(unit_rows(points), model.cluster_centers_, random_state=0, max_time=600)
    assert found.lower_bound >= euclidean.lower_bound * (1 - 0.05)


@pytest.mark.parametrize("n_clusters", [1, 7, 8])
def test_extreme_numbers_of_clusters(n_clusters):
    points = blobs(8)
    found = certify(points, points[:n_clusters], random_state=0)
    optimum = exact_optimum(points, None, n_clusters)
    assert found.lower_bound <= optimum
    assert found.lower_bound >= 0.9 * optimum or n_clusters == 7


def test_identical_points():
    found = certify(np.ones((500, 3)), np.ones((2, 3)))
    assert (found.lower_bound, found.inertia, found.gap) == (0, 0, 0)
    assert "0 % above the optimum, proven" in str(found)


# Anytime.


def test_progress_increases():
    seen = []
    found = certify(blobs(150), blobs(150)[:3], random_state=0, max_time=600, on_progress=seen.append)
    assert tuple(seen) == found.history
    bounds = [step.lower_bound for step in seen]
    assert bounds == sorted(bounds)
    assert bounds[-1] == found.lower_bound


@pytest.mark.parametrize("n", [150, 1000])
def test_ctrl_c_returns_the_best_so_far(n):
    points = blobs(n)

    def interrupt(step):
        if step.lower_bound > 0:
            raise KeyboardInterrupt

    found = certify(points, points[:3], random_state=0, on_progress=interrupt)
    assert found.interrupted
    assert 0 < found.lower_bound <= KMeans(3, n_init=5, random_state=0).fit(points).inertia_
    assert "interrupted" in found._repr_html_()


def test_little_time_gives_a_valid_bound():
    found = certify(blobs(150), blobs(150)[:3], max_time=1e-3)
    assert found.proven
    assert 0 <= found.lower_bound <= found.inertia


# Confidence.


def test_disjoint_parts_fail_as_rarely_as_stated():
    """Worst case: a few parts have no cost at all."""
    rng, n_parts, error = np.random.default_rng(0), 40, 0.2
    for n_zero in (1, 2, 4, 8):
        values = np.where(np.arange(n_parts) < n_zero, 0.0, 1.0)
        failed = 0
        for _ in range(2000):
            drawn = rng.permutation(values)[:10]
            failed += from_disjoint_parts(drawn.tolist(), n_parts, error) > values.sum() + 1e-9
        assert failed / 2000 <= error + 0.03


def test_all_parts_are_added_up():
    assert from_disjoint_parts([1.0, 2.0, 3.0], 3, 0.01) == 6


def test_independent_samples_fail_as_rarely_as_stated():
    rng, error = np.random.default_rng(0), 0.2
    for chance in (0.7, 0.9, 0.97):
        failed = 0
        for _ in range(2000):
            drawn = (rng.random(8) < chance).astype(float)
            failed += from_independent_samples(drawn.tolist(), error) > chance
        assert failed / 2000 <= error + 0.03


def test_more_samples_lose_less():
    few, many = (from_independent_samples([1.0] * n, 0.01) for n in (10, 100))
    assert few == pytest.approx(0.01**0.1)
    assert few < many < 1


@pytest.mark.parametrize("n_planned", [1, 2, 20, 101])
def test_checkpoints_share_the_error(n_planned):
    shares = checkpoints(n_planned, 0.01)
    assert sum(shares.values()) <= 0.01
    assert shares[n_planned] >= 0.009


def test_draws_with_replacement_have_the_right_repeats():
    rng = np.random.default_rng(0)
    repeats = Counter()
    for _ in range(4000):
        draws = with_replacement(3, 4, rng)
        assert draws[0] == 0
        repeats[tuple(draws)] += 1
    expected = {(0, 0, 0): 1 / 16, (0, 0, 1): 3 / 16, (0, 1, 0): 3 / 16, (0, 1, 1): 3 / 16, (0, 1, 2): 6 / 16}
    assert set(repeats) == set(expected)
    for draws, chance in expected.items():
        assert repeats[draws] / 4000 == pytest.approx(chance, abs=0.03)


# Anticlusters.


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_anticlusters_are_a_partition(n_parts):
    points = blobs(103)
    labels = KMeans(3, n_init=1, random_state=0).fit_predict(points)
    found = anticlusters(points, labels, n_parts, np.random.default_rng(0))
    assert len(found) == n_parts
    assert sorted(np.concatenate(found).tolist()) == list(range(103))
    sizes = [len(rows) for rows in found]
    assert max(sizes) - min(sizes) <= 1


def test_anticlusters_agree_in_their_means():
    points = blobs(900)
    labels = KMeans(3, n_init=1, random_state=0).fit_predict(points)
    rng = np.random.default_rng(0)

    def loss(found):
        total = 0.0
        for rows in found:
            for label in range(3):
                own = rows[labels[rows] == label]
                total += len(own) * np.sum((points[own].mean(axis=0) - points[labels == label].mean(axis=0)) ** 2)
        return total

    random = np.array_split(rng.permutation(900), 9)
    assert loss(anticlusters(points, labels, 9, rng)) < 0.01 * loss(random)


# The certificate.


def certificate(**changes):
    fields = {
        "lower_bound": 90.0,
        "inertia": 100.0,
        "proven": True,
        "confidence": None,
        "method": "principal components",
        "n_clusters": 3,
        "n_points": 1000,
        "seconds": 1.0,
        "interrupted": False,
        "history": (BoundStep(0.1, 0.0), BoundStep(0.5, 90.0)),
    }
    return Certificate(**{**fields, **changes})


def test_gap_and_excess():
    assert certificate().gap == pytest.approx(0.1)
    assert certificate().excess == pytest.approx(1 / 9)
    assert str(certificate()) == (
        "The inertia 100 is at most 11.2 % above the optimum, proven: no 3 clusters have an inertia below 90."
    )


def test_percentages_are_rounded_up():
    assert "at most 0.0001 % above" in str(certificate(lower_bound=100 * (1 - 1e-9)))
    assert "at most 1.1 % above" in str(certificate(lower_bound=100 / 1.0101))


def test_a_useless_bound_is_said_to_be_useless():
    text = str(certificate(lower_bound=20.0))
    assert text.startswith("No useful bound was found")
    assert "confidence=0.99" in text
    assert "few points per cluster" in str(certificate(lower_bound=0.0, n_clusters=300))
    assert math.isinf(certificate(lower_bound=0.0).excess)


def test_the_notebook_shows_sentence_table_and_picture():
    html = certificate(method="<b>")._repr_html_()
    for part in ("at most 11.2 %", "<svg", "&lt;b&gt;", "lower bound"):
        assert part in html
    assert "nan" not in html


# Wrong use.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_time": 0}, "max_time must be a positive"),
        ({"max_time": "long"}, "max_time must be a positive"),
        ({"confidence": 1.5}, "confidence must be between 0 and 1"),
        ({"n_threads": 0}, "n_threads must be an integer"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        certify(blobs(20), blobs(20)[:2], **options)


@pytest.mark.parametrize(
    ("centers", "error", "message"),
    [
        (np.ones(3), ValueError, "expected"),
        (np.ones((2, 5)), ValueError, "5 features, but X has 2"),
        (np.full((2, 2), np.nan), ValueError, "NaN or infinity"),
        (KMeans(2), NotFittedError, "fit"),
        (make_pipeline(StandardScaler(), KMeans(2)), NotFittedError, "fit"),
    ],
)
def test_wrong_centers(centers, error, message):
    with pytest.raises(error, match=message):
        certify(blobs(20), centers)


def test_a_pipeline_is_refused_with_advice():
    model = make_pipeline(StandardScaler(), KMeans(2, n_init=1)).fit(blobs(20))
    with pytest.raises(TypeError, match="last step of the pipeline"):
        certify(blobs(20), model)


def test_wrong_data():
    with pytest.raises(ValueError, match="NaN"):
        certify([[np.nan, 1.0], [0.0, 1.0]], np.ones((1, 2)))
    with pytest.raises(ValueError, match="n_samples=1 should be >= n_clusters=2"):
        certify([[1.0, 1.0]], np.ones((2, 2)))


def test_a_clock_that_is_stopped_has_no_time_left():
    clock = parts.Clock(100.0)
    assert clock.left > 90
    clock.stop.set()
    assert clock.left == 0


def test_rounding_on_a_line_with_extreme_weights():
    assert optimum_on_line(np.array([[0.0], [1.0], [-1.0]]), np.array([127.0, 1e-14, 1.0]), 2) == 0

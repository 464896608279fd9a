"""Other packages that take an estimator of scikit-learn: oversampling, exchange formats, safe files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eulermeans import EulerMeans, StochasticBackwardEuler

KINDS = {
    "EulerMeans": lambda: EulerMeans(3, effort=0.05, random_state=0),
    "StochasticBackwardEuler": lambda: StochasticBackwardEuler(3, n_outer=20, init="k-means++", random_state=0),
}
both = pytest.mark.parametrize("name", KINDS)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return np.concatenate([m + rng.standard_normal((n, 4)) for m, n in ((0, 300), (8, 200), (16, 100))])


@pytest.fixture(scope="module")
def classes(points):
    return np.r_[np.zeros(500, int), np.ones(100, int)]


def test_imbalanced_learn(points, classes):
    over = pytest.importorskip("imblearn.over_sampling")
    under = pytest.importorskip("imblearn.under_sampling")
    smote = over.KMeansSMOTE(kmeans_estimator=KINDS["EulerMeans"](), random_state=0)
    balanced, labels = smote.fit_resample(points, classes)
    assert len(balanced) >= 990
    assert abs(np.bincount(labels) - 500).max() <= 10
    fewer, labels = under.ClusterCentroids(estimator=EulerMeans(effort=0.05)).fit_resample(points, classes)
    np.testing.assert_array_equal(np.bincount(labels), [100, 100])
    assert np.isfinite(fewer).all()


@both
@pytest.mark.filterwarnings("default")  # of skl2onnx and onnx, about themselves
@pytest.mark.parametrize("scaled", [False, True])
def test_onnx(name, scaled, points):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = make_pipeline(StandardScaler(), KINDS[name]()) if scaled else KINDS[name]()
    model.fit(points)
    rows = points.astype(np.float32)
    graph = skl2onnx.to_onnx(model, rows[:1]).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    labels, distances = session.run(None, {"X": rows})
    np.testing.assert_array_equal(labels, model.predict(points))
    np.testing.assert_allclose(distances, model.transform(points), rtol=1e-3, atol=1e-3)


def test_onnx_refuses_what_it_can_not_say(points):
    skl2onnx = pytest.importorskip("skl2onnx")
    model = EulerMeans(3, metric="cosine", effort=0.05, random_state=0).fit(points)
    with pytest.raises(NotImplementedError, match="to_sklearn"):
        skl2onnx.to_onnx(model, points[:1].astype(np.float32))


@both
def test_skops_trusts_the_estimator_alone(name, points):
    skops = pytest.importorskip("skops.io")
    model = make_pipeline(StandardScaler(), KINDS[name]()).fit(points)
    data = skops.dumps(model)
    kind = type(model[-1])
    assert skops.get_untrusted_types(data=data) == [f"{kind.__module__}.{kind.__qualname__}"]
    loaded = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    np.testing.assert_array_equal(loaded.predict(points), model.predict(points))
    assert loaded[-1].history_ == model[-1].history_
    assert loaded[-1].stop_reason_ is model[-1].stop_reason_

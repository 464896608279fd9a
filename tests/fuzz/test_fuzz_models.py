"""Model files with random changes: they are refused, or the model works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from container_bytes import header_of, sealed, with_header
from mutation import cases, changed_array, changed_bytes, changed_json

import eulermeans
from eulermeans import ModelFileError
from eulermeans.cli.terminal_text import model_as_json
from eulermeans.storage import container
from eulermeans.storage.models import read_model

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("*.eulermeans"))
REGRESSIONS = [1322]
REGRESSIONS += [52889]  # a column of 2**31 - 1 features took all memory


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> list[bytes]:
    """The fixtures, and models with initial centers and with many names."""
    path, points = tmp_path_factory.mktemp("models") / "m", np.random.default_rng(0).standard_normal((40, 4))
    found = [fixture.read_bytes() for fixture in FIXTURES]
    eulermeans.EulerMeans(3, init=points[:3], random_state=0).fit(points).save(path)
    found.append(path.read_bytes())
    contents = container.read(FIXTURES[0])
    names = {"feature_names/text": np.frombuffer(b"abcd", np.uint8), "feature_names/ends": np.arange(1, 5)}
    container.write(path, container.Contents({**contents.header, "feature_names": None}, contents.arrays | names))
    return [*found, path.read_bytes()]


def change(path: Path, content: bytes, rng: np.random.Generator) -> None:
    match rng.integers(4):
        case 0:
            path.write_bytes(sealed(changed_bytes(content[:-32], rng)))
        case 1 | 2:
            path.write_bytes(with_header(content, changed_json(header_of(content), rng)))
        case 3:
            path.write_bytes(content)
            contents = container.read(path)
            name = str(rng.choice(list(contents.arrays)))
            changed = {**contents.arrays, name: changed_array(contents.arrays[name], rng)}
            container.write(path, container.Contents(contents.header, changed))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # scaled values may overflow
def test_changed_models_are_refused_or_work(models, tmp_path):
    path, again, points = tmp_path / "model", tmp_path / "again", np.random.default_rng(0).random((20, 4))
    n_refused = n_loaded = 0
    for case, rng in cases(REGRESSIONS):
        change(path, models[rng.integers(len(models))], rng)
        try:
            saved = read_model(path)
        except ModelFileError as error:
            n_refused += 1
            if "\n" in str(error):
                raise AssertionError(f"case {case}") from error
            continue
        except Exception as error:
            raise AssertionError(f"case {case}") from error
        n_loaded += 1
        if saved.feature_names is not None and len(set(saved.feature_names)) < len(saved.feature_names):
            continue  # no frame has such columns
        try:
            model, estimator = saved.whole, saved.estimator
            n_features, n_clusters = estimator.n_features_in_, estimator.n_clusters
            rows = points[:, :n_features]
            rows = rows if saved.feature_names is None else _frame(rows, saved.feature_names)
            labels = model.predict(rows)
            assert labels.shape == (20,)
            assert ((labels >= 0) & (labels < n_clusters)).all()
            assert model.transform(rows).shape == (20, n_clusters)
            eulermeans.save(model, again, notes=saved.notes)
            np.testing.assert_array_equal(read_model(again).estimator.cluster_centers_, estimator.cluster_centers_)
            model_as_json(saved.summary)
            estimator.to_sklearn()
            repr(model)
        except Exception as error:
            if saved.scaler is None or "too large" not in str(error):  # scaled rows may overflow
                raise AssertionError(f"case {case}") from error
    assert n_refused
    assert n_loaded


def _frame(rows, names):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(rows, columns=pandas.Index(names, dtype=object))

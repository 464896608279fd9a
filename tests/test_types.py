"""What mypy knows of the public API in the code of a user."""

from __future__ import annotations

import re

import pytest

api = pytest.importorskip("mypy.api", reason="no mypy: it comes with the group `test`")

USE = """
import numpy as np
from eulermeans import EulerMeans, StochasticBackwardEuler

X = np.zeros((10, 2))
reveal_type(EulerMeans(3).fit(X))
reveal_type(EulerMeans(3).partial_fit(X))
reveal_type(StochasticBackwardEuler(3).fit(X))
reveal_type(EulerMeans(3).fit(X).predict(X))
reveal_type(EulerMeans(3).fit(X).transform(X))
reveal_type(EulerMeans(3).fit_predict(X))
reveal_type(EulerMeans(3).fit(X).cluster_centers_)
reveal_type(EulerMeans(3).fit(X).inertia_)
EulerMeans(3, init=X[:3])
EulerMeans(3, init=lambda X, n_clusters, random_state: X[:n_clusters])
EulerMeans(3, init="kmeans++")
EulerMeans(3, metric="manhattan")
EulerMeans(3, batch_size="large")
"""


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    (folder / "use.py").write_text(USE)
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    out, err, _ = api.run([str(folder / "use.py"), *options, f"--cache-dir={folder / 'cache'}"])
    assert not err
    return out.splitlines()[:-1]


def test_what_methods_return(messages):
    revealed = [re.search('is "(.*)"$', line)[1] for line in messages if "Revealed type" in line]
    kinds = [re.sub(r"\[.*", "", kind).rpartition(".")[2] for kind in revealed]
    assert kinds == [
        "EulerMeans",
        "EulerMeans",
        "StochasticBackwardEuler",
        *["ndarray"] * 4,
        "float",
    ]
    assert "signedinteger" in revealed[3]  # labels


def test_wrong_words_are_errors(messages):
    found = [int(line.split(":")[1]) for line in messages if "error:" in line]
    wrong = ('init="kmeans++"', 'metric="manhattan"', 'batch_size="large"')
    assert found == [USE.splitlines().index(f"EulerMeans(3, {word})") + 1 for word in wrong]

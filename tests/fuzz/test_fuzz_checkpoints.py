"""Checkpoints with random changes: they are refused, or the fit goes on to finite centers."""

from __future__ import annotations

import numpy as np
import pytest
from container_bytes import header_of, sealed, with_header
from mutation import cases, changed_array, changed_bytes, changed_json

from eulermeans import EulerMeans, StochasticBackwardEuler
from eulermeans.storage import checkpoint, container

REGRESSIONS = [3462]  # centers whose squares overflow: the error blamed the data
N = 14_000  # more than a search reads, so that there is a descent


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, 2))


def estimators():
    yield EulerMeans(3, effort=0.1, max_iter=3, tol=0, random_state=0)
    yield StochasticBackwardEuler(3, n_outer=5, random_state=0)


@pytest.fixture(scope="module")
def stored(points, tmp_path_factory) -> list[tuple[int, bytes]]:
    """Checkpoints of every kind, each with the position of its estimator."""
    path, found = tmp_path_factory.mktemp("checkpoints") / "fit.checkpoint", {}
    write = container.write
    for position, model in enumerate(estimators()):

        def keep(target, contents, position=position):
            write(target, contents)
            kind = frozenset(contents.arrays), contents.arrays["phase"][-1]
            found[position, kind] = (position, path.read_bytes())

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoint, "SECONDS", 0.0)
            patch.setattr(checkpoint, "PATIENCE", 0.0)
            patch.setattr(checkpoint, "write", keep)
            path.unlink(missing_ok=True)
            model.fit(points, checkpoint=path)
    return list(found.values())


def change(path, content: bytes, rng: np.random.Generator) -> None:
    match rng.integers(5):
        case 0:
            path.write_bytes(sealed(changed_bytes(content[:-32], rng)))
        case 1:
            path.write_bytes(with_header(content, changed_json(header_of(content), rng)))
        case _:
            path.write_bytes(content)
            contents = container.read(path)
            arrays = dict(contents.arrays)
            for _ in range(rng.integers(1, 3)):
                name = str(rng.choice(list(arrays)))
                arrays[name] = changed_array(arrays[name], rng)
            container.write(path, container.Contents(contents.header, arrays))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_changed_checkpoints_are_refused_or_resumed(points, stored, tmp_path):
    path, n_refused, n_resumed = tmp_path / "fit.checkpoint", 0, 0
    for case, rng in cases(REGRESSIONS):
        position, content = stored[rng.integers(len(stored))]
        change(path, content, rng)
        model = list(estimators())[position]
        try:
            model.fit(points, checkpoint=path)
        except ValueError as error:
            if "checkpoint=" not in str(error):
                raise AssertionError(f"case {case}") from error
            n_refused += 1
        except Exception as error:
            raise AssertionError(f"case {case}") from error
        else:
            n_resumed += 1
            assert model.cluster_centers_.shape == (3, 2), case
            assert np.isfinite(model.cluster_centers_).all(), case
    assert n_refused
    assert n_resumed

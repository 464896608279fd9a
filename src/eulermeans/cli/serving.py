"""`eulermeans predict` and `score`: a model on data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..arrays import Array
from ..storage.models import read_model
from .data import Wanted, opened
from .interrupts import Interrupt
from .output import check_ending, write_labels
from .progress import Progress
from .scaling import scaled


@dataclass(frozen=True)
class Predicted:
    """What a prediction gave."""

    model: str
    labels: str | None  # the file that they were written to
    n_rows: int
    sizes: list[int]  # rows of each cluster


@dataclass(frozen=True)
class Scored:
    """How well the centers of a model serve the data."""

    model: str
    n_rows: int
    inertia: float  # sum of (weighted) squared distances, in the units of the model
    objective: float  # inertia / (2 · total weight)


def predict(
    model_path: Path,
    wanted: Wanted,
    output: Path | None,
    n_threads: int | None,
    progress: Progress,
    *,
    count: bool,
) -> Predicted:
    """Write the cluster of each row to a file, or to stdout; with `count` and no file only count them."""
    if output is not None:
        check_ending(output, with_id=wanted.id is not None)
    model = read_model(model_path)
    model.estimator.n_threads = n_threads
    interrupt = Interrupt(progress.stop)
    sizes = np.zeros(model.estimator.n_clusters, np.int64)
    with interrupt.heard(), opened(wanted, progress, interrupt, model=model) as data:
        progress.begin(f"labelling {wanted.title}")

        def counted() -> Iterator[Array]:
            for block in model.estimator.predict(scaled(data.source, model.scaler)):
                sizes[:] += np.bincount(block, minlength=len(sizes))
                yield block

        if count and output is None:
            deque(counted(), maxlen=0)
        else:
            write_labels(output, counted(), data.ids(), data.id)
    return Predicted(str(model_path), None if output is None else str(output), int(sizes.sum()), sizes.tolist())


def score(model_path: Path, wanted: Wanted, n_threads: int | None, progress: Progress) -> Scored:
    """Measure the distances of all rows to their centers."""
    model = read_model(model_path)
    model.estimator.n_threads = n_threads
    interrupt = Interrupt(progress.stop)
    with interrupt.heard(), opened(wanted, progress, interrupt, model=model) as data:
        progress.begin(f"scoring {wanted.title}")
        inertia = -model.estimator.score(scaled(data.source, model.scaler))
        n_rows, weight = data.source.counted, data.source.total_weight
    return Scored(str(model_path), n_rows or 0, inertia, inertia / (2 * weight))

"""`eulermeans certify`: how far from the optimum a saved model can be at most."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import INTERRUPTED
from .progress import Progress
from .selection import Selection
from .terminal_text import show_json, show_line

if TYPE_CHECKING:
    from ..certificate import BoundStep, Certificate
    from ..storage.models import SavedModel
    from .input_data import InputData

_SECONDS_BETWEEN_BOUNDS = 1.0  # that the progress shows


def certify(
    model: opt.Model,
    data: opt.Data,
    max_time: Annotated[
        float, typer.Option(min=0.001, metavar="SECONDS", help="Return the best bound after this time.")
    ] = 60.0,
    confidence: Annotated[
        float | None,
        typer.Option(metavar="P", help="If no proof is in reach, use random samples; P such as 0.99."),
    ] = None,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    where: opt.Where = None,
    limit: opt.Limit = None,
    weights: opt.Weights = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    skip_rows: opt.SkipRows = 0,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Prove how far from the optimum the clusters of a model can be at most.

    Computes a lower bound on the inertia of every clustering of the data into as many clusters. Data larger than
    memory are sampled. Ctrl-C returns the best bound so far; the exit code is then 130.

    **Examples**

    `eulermeans certify iris.eulermeans iris.csv`

    `eulermeans certify digits.eulermeans digits.npy --confidence 0.99 --max-time 120`
    """
    selection = Selection(
        data,
        columns,
        drop,
        weights,
        None,
        where,
        limit,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        skip_rows=skip_rows,
    )
    with Progress(opt.reading(data), quiet=quiet).shown() as progress:
        selection.check_exists(model)
        from ..storage.models import read_model
        from .input_data import open_data

        saved = read_model(model)
        with open_data(selection, progress, saved) as opened:
            found = certify_data(saved, opened, max_time, confidence=confidence, seed=seed, threads=threads)
    if json:
        show_json({"model": str(model), **certificate_as_json(found)})
    else:
        show_line(str(found))
        show_line(f"Method: {found.method}, {found.seconds:.1f} s")
    raise typer.Exit(INTERRUPTED if found.interrupted else 0)


def certify_data(
    model: SavedModel,
    data: InputData,
    seconds: float,
    *,
    confidence: float | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Certificate:
    """The certificate of a model on data, with progress; Ctrl-C gives the best one so far."""
    from ..certificate import certify
    from .estimator_fit import scaled

    data.progress.begin("certifying")
    shown = 0.0

    def show(step: BoundStep) -> None:
        nonlocal shown
        if step.seconds < shown + _SECONDS_BETWEEN_BOUNDS:
            return
        shown = step.seconds
        data.progress.begin(f"certifying: lower bound {step.lower_bound:.6g}")

    with _ctrl_c_raises():
        return certify(
            scaled(data, model.scaler),
            model.estimator,
            max_time=seconds,
            confidence=confidence,
            random_state=seed,
            n_threads=threads,
            on_progress=show,
        )


def certificate_as_json(found: Certificate) -> dict[str, object]:
    """The fields of a certificate that can be written as JSON."""
    return {
        "lower_bound": found.lower_bound,
        "inertia": found.inertia,
        "gap": found.gap,
        "proven": found.proven,
        "confidence": found.confidence,
        "method": found.method,
        "sentence": found.sentence,
        "seconds": round(found.seconds, 3),
        "interrupted": found.interrupted,
    }


@contextmanager
def _ctrl_c_raises() -> Iterator[None]:
    """Within the block Ctrl-C raises KeyboardInterrupt at once, which `certify` turns into its best bound."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

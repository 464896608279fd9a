"""The commands that read a model file: `predict`, `score`, `report` and `info`."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .progress import Progress
from .terminal_text import model_as_json, show_json, show_line, show_model

if TYPE_CHECKING:
    from ..arrays import Array


def predict(
    model: opt.Model,
    data: opt.Data,
    output: Annotated[Path | None, opt.output(help="File to write: .csv, .tsv, .parquet, .arrow or .npy.")] = None,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    id: opt.Id = None,
    threads: opt.Threads = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Assign each row to a cluster. Writes labels in row order to a file, or as CSV to stdout.

    Finds columns by the names stored in the model and ignores other columns. With --json and no file, only counts
    the rows of each cluster.

    **Examples**

    `eulermeans predict iris.eulermeans new.csv -o labels.csv`

    `eulermeans predict sales.eulermeans today.parquet --id customer | sort -t, -k2n`
    """
    quiet = quiet or (output is None and not json and sys.stdout.isatty())  # labels are shown there
    with Progress(opt.reading(data), quiet=quiet).shown() as progress:
        import numpy as np

        from ..storage.models import read_model
        from .estimator_fit import scaled
        from .input_data import Selection, open_data
        from .output_files import check_labels_output, write_labels
        from .path_checks import check_distinct

        if output is not None:
            check_labels_output(output, id)
            check_distinct(data, {"--output": output}, model)
        saved = read_model(model)
        saved.estimator.n_threads = threads
        sizes = np.zeros(saved.estimator.n_clusters, np.int64)
        selection = Selection(data, columns, drop, None, id)
        with open_data(selection, progress, saved) as opened:
            progress.begin(f"labeling {selection.title}")

            def counted() -> Iterator[Array]:
                for block in saved.estimator.predict(scaled(opened, saved.scaler)):
                    sizes[:] += np.bincount(block, minlength=len(sizes))
                    yield block

            if json and output is None:
                deque(counted(), maxlen=0)
            else:
                write_labels(output, counted(), opened.ids(), id)
    n_rows, labels = int(sizes.sum()), None if output is None else str(output)
    if json:
        show_json({"model": str(model), "labels": labels, "n_rows": n_rows, "sizes": sizes.tolist()})
    elif output is not None:
        show_line(f"{n_rows:,} rows: {output}")


def score(
    model: opt.Model,
    data: opt.Data,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    weights: opt.Weights = None,
    threads: opt.Threads = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Measure how close rows are to the centers of a model.

    The inertia is the sum of squared distances to the nearest center; the objective is half of their mean. If the
    model scales its input, both are in scaled units.

    **Example**

    `eulermeans score iris.eulermeans new.csv`
    """
    with Progress(opt.reading(data), quiet=quiet).shown() as progress:
        from ..storage.models import read_model
        from .estimator_fit import scaled
        from .input_data import Selection, open_data

        saved = read_model(model)
        saved.estimator.n_threads = threads
        selection = Selection(data, columns, drop, weights)
        with open_data(selection, progress, saved) as opened:
            progress.begin(f"scoring {selection.title}")
            inertia = -saved.estimator.score(scaled(opened, saved.scaler))
            n_rows, objective = opened.n_rows or 0, inertia / (2 * opened.total_weight)
    if json:
        show_json({"model": str(model), "n_rows": n_rows, "inertia": inertia, "objective": objective})
    else:
        show_line(f"{n_rows:,} rows: objective {objective:.6g}, inertia {inertia:.6g}")


def report(
    model: opt.Model,
    data: opt.Data,
    output: Annotated[Path, opt.output(help="HTML file to write.")],
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    weights: opt.Weights = None,
    id: opt.Id = None,
    certify: opt.Certify = None,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Write a report about a model and data: one HTML file with plots and a table of the clusters.

    **Example**

    `eulermeans report iris.eulermeans iris.csv -o iris.html`
    """
    with Progress(opt.reading(data), quiet=quiet).shown() as progress:
        from ..storage.models import read_model
        from .certify_command import certify_data
        from .input_data import Selection, open_data
        from .output_files import check_report_output, write_report
        from .path_checks import check_distinct

        check_report_output(output)
        check_distinct(data, {"--output": output}, model)
        saved = read_model(model)
        saved.estimator.n_threads = threads
        with open_data(Selection(data, columns, drop, weights, id), progress, saved) as opened:
            found = None if certify is None else certify_data(saved, opened, certify, threads=threads)
            write_report(output, saved, opened, found)
    typer.echo(f"Report: {output}")


def info(model: opt.Model, json: opt.Json = False, debug: opt.Debug = False) -> None:
    """Show what a model file contains: clusters, parameters, and the command that wrote it.

    **Example**

    `eulermeans info iris.eulermeans`
    """
    from ..storage.models import read_model

    saved = read_model(model)
    kind = type(saved.estimator).__name__
    parameters = {
        name: value.tolist() if hasattr(value, "tolist") else value  # init may be an array
        for name, value in saved.estimator.get_params(deep=False).items()
    }
    if json:
        about = {"model": str(model), "class": kind, "written_by": saved.written_by}
        show_json({**about, **model_as_json(saved), "parameters": parameters, "notes": dict(saved.notes)})
        return
    show_line(f"{model}: {kind}, written by {saved.written_by}")
    show_model(saved)
    if saved.scaler is not None:
        show_line(f"Scaled by: {type(saved.scaler).__name__}")
    show_line("Parameters: " + ", ".join(f"{name}={value!r}" for name, value in parameters.items()))
    for name, value in saved.notes.items():
        show_line(f"{str(name).capitalize()}: {value}")

"""The commands on models: their options and their help. What they do is done in the rooms beside."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .progress import Progress


def predict(
    model: o.Model,
    data: o.Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where labels go: .csv, .tsv, .parquet, .arrow or .npy."
        ),
    ] = None,
    columns: o.Columns = None,
    drop: o.Drop = None,
    id: o.Id = None,
    threads: o.Threads = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Tell the cluster of each row, in order: to a file, or as CSV to stdout.

    Columns are found by the names that the model knows, wherever they stand; others are left alone.

    **Examples**

    `eulermeans predict iris.eulermeans new.csv -o labels.csv`

    `eulermeans predict sales.eulermeans today.parquet --id customer | sort -t, -k2n`
    """
    progress = Progress(o.reading(data), quiet=quiet or (output is None and not json and sys.stdout.isatty()))
    with progress.shown():
        from .data import Wanted
        from .serving import predict as run

        wanted = Wanted(data, tuple(columns or ()), tuple(drop or ()), None, id)
        predicted = run(model, wanted, output, threads, progress, count=json)
    if json or output is not None:
        from .summary import show_json, show_line

        if json:
            show_json(asdict(predicted))
        else:
            show_line(f"{predicted.n_rows:,} rows: {output}")


def score(
    model: o.Model,
    data: o.Data,
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    threads: o.Threads = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Tell how near the rows lie to the centers of a model.

    The inertia is the sum of the squared distances to the nearest centers; the objective is half their mean. Both
    are in the units that the model was fitted in: scaled, if it scales.

    **Example**

    `eulermeans score iris.eulermeans new.csv`
    """
    progress = Progress(o.reading(data), quiet=quiet)
    with progress.shown():
        from .data import Wanted
        from .serving import score as run

        scored = run(model, Wanted(data, tuple(columns or ()), tuple(drop or ()), weights), threads, progress)
    from .summary import show_json, show_line

    if json:
        show_json(asdict(scored))
    else:
        show_line(f"{scored.n_rows:,} rows: objective {scored.objective:.6g}, inertia {scored.inertia:.6g}")


def report(
    model: o.Model,
    data: o.Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The report: one .html file.")],
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    id: o.Id = None,
    threads: o.Threads = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Write a report on a model and data: one HTML file to look at, with pictures and a table of the clusters.

    **Example**

    `eulermeans report iris.eulermeans iris.csv -o iris.html`
    """
    progress = Progress(o.reading(data), quiet=quiet)
    with progress.shown():
        from .data import Wanted
        from .reporting import report as run

        run(model, Wanted(data, tuple(columns or ()), tuple(drop or ()), weights, id), output, threads, progress)
    typer.echo(f"Report: {output}")


def info(
    model: o.Model,
    json: o.Json = False,
    debug: o.Debug = False,
) -> None:
    """Tell what is in a model file: how it was made, its clusters, its parameters.

    **Example**

    `eulermeans info iris.eulermeans`
    """
    from .describing import show

    show(model, as_json=json)

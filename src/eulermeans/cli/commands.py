"""The commands on data and models: their options and their help. What they do is done in the rooms beside.

Those are imported when a command runs: they import NumPy and scikit-learn, which is too slow for --help.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .errors import INTERRUPTED
from .progress import Progress


def fit(
    context: typer.Context,
    data: o.Data,
    clusters: Annotated[int, typer.Option("--clusters", "-k", min=1, metavar="K", help="How many clusters.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The model; DATA.eulermeans if not given."),
    ] = None,
    labels: o.Labels = None,
    report: o.Report = None,
    columns: o.Columns = None,
    drop: o.Drop = None,
    scale: Annotated[
        o.Scale, typer.Option(help="Scale features first, to unit variance or to 0..1; the model keeps it.")
    ] = o.Scale.none,
    metric: Annotated[
        o.Metric, typer.Option(help="cosine: only the directions of rows count.")
    ] = o.Metric.euclidean,
    weights: o.Weights = None,
    id: o.Id = None,
    seed: o.Seed = 0,
    effort: Annotated[float, typer.Option(min=0.0, help="How long to search for better clusters.")] = 1.0,
    restarts: Annotated[int, typer.Option(min=1, help="Searches from different starts.")] = 1,
    max_time: Annotated[
        float | None, typer.Option(min=0.001, metavar="SECONDS", help="Take the best after this time.")
    ] = None,
    memory: o.Memory = "1GiB",
    threads: o.Threads = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Cluster data, and write a model.

    Ctrl-C ends the search and keeps the best centers so far; the exit code is then 130.

    **Examples**

    `eulermeans fit iris.csv -k 3 --drop species --report iris.html`

    `eulermeans fit 'sales-*.parquet' -k 20 --columns age,income --labels out.csv --id customer`

    `zcat points.csv.gz | eulermeans fit - -k 8 -o points.eulermeans --json`
    """
    progress = Progress(o.reading(data), quiet=quiet, max_time=max_time)
    with progress.shown():
        from .data import Wanted
        from .fitting import FitRequest
        from .fitting import fit as run

        request = FitRequest(
            Wanted(data, tuple(columns or ()), tuple(drop or ()), weights, id),
            command=shlex.join(["eulermeans", *context.obj["arguments"]]),
            output=output,
            labels=labels,
            report=report,
            scale=scale,
            parameters={
                "n_clusters": clusters,
                "metric": metric.value,
                "random_state": seed,
                "effort": effort,
                "n_init": restarts,
                "max_time": max_time,
                "memory_limit": memory,
                "n_threads": threads,
            },
        )
        fitted = run(request, progress)
    fitted.show(as_json=json)
    raise typer.Exit(INTERRUPTED if fitted.interrupted else 0)


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

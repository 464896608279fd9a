"""The commands on data: their options and their help. What they do is done in the rooms beside.

Those are imported when a command runs: they import NumPy and scikit-learn, which is too slow for --help.
"""

from __future__ import annotations

import shlex
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
    scale: o.Scaling = o.Scale.none,
    metric: o.Measure = o.Metric.euclidean,
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


def sweep(
    context: typer.Context,
    data: o.Data,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters", "-k", metavar="RANGE", help="Numbers to try: 2:20, every third as 2:20:3, or 2,4,8."
        ),
    ] = "2:20",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the model of the recommended number."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what speaks for each number: .png, .svg or .pdf.")
    ] = None,
    columns: o.Columns = None,
    drop: o.Drop = None,
    scale: o.Scaling = o.Scale.none,
    metric: o.Measure = o.Metric.euclidean,
    weights: o.Weights = None,
    seed: o.Seed = 0,
    max_time: Annotated[
        float | None, typer.Option(min=0.001, metavar="SECONDS", help="Begin no further number after this time.")
    ] = None,
    memory: o.Memory = "1GiB",
    threads: o.Threads = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Find out how many clusters there are, and why.

    Clusters the data with every number of a range, and recommends the largest one whose clusters come out again on
    other halves of the data and stand apart. Of data that do not fit in memory a large sample is taken.

    **Examples**

    `eulermeans sweep iris.csv -k 2:10 --drop species`

    `eulermeans sweep sales.parquet --scale standard --plot sweep.png -o sales.eulermeans`
    """
    progress = Progress(o.reading(data), quiet=quiet, max_time=max_time)
    with progress.shown():
        from .data import Wanted
        from .sweeping import SweepRequest, run_sweep

        request = SweepRequest(
            Wanted(data, tuple(columns or ()), tuple(drop or ()), weights),
            clusters,
            command=shlex.join(["eulermeans", *context.obj["arguments"]]),
            output=output,
            plot=plot,
            scale=scale,
            seed=seed,
            max_time=max_time,
            parameters={
                "metric": metric.value,
                "memory_limit": memory,
                "n_threads": threads,
                "random_state": seed,
            },
        )
        swept = run_sweep(request, progress)
    swept.show(as_json=json)
    raise typer.Exit(INTERRUPTED if swept.interrupted else 0)

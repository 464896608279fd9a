"""`eulermeans fit`: cluster data, and write a model, labels and a report.

NumPy and scikit-learn take long to import; all commands import them when they run, so that --help is fast.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from . import options as opt
from .errors import INTERRUPTED
from .fit_result import FitResult, check_outputs
from .k_choice import choose_clusters, parse_clusters, within_bounds
from .progress import Progress
from .selection import Selection


def fit(
    context: typer.Context,
    data: opt.Data,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters",
            "-k",
            metavar="K",
            help="Number of clusters, or auto or a range such as 2:12 to choose one.",
        ),
    ],
    output: Annotated[Path | None, opt.output(help="Model file to write. Default: DATA.eulermeans.")] = None,
    labels: opt.Labels = None,
    append: Annotated[
        bool, opt.append(help="Write the rows of DATA with a column `cluster` to --labels.")
    ] = False,
    centers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write centers and sizes: .csv, .tsv, .parquet, .arrow or .npy."),
    ] = None,
    report: Annotated[Path | None, opt.report(help="Write an HTML report on the clusters to this file.")] = None,
    image_shape: opt.ImageShape = None,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    where: opt.Where = None,
    limit: opt.Limit = None,
    missing: opt.Missing = None,
    one_hot: opt.OneHot = None,
    dates: opt.Dates = None,
    scale: opt.Scaling = opt.Scale.none,
    weights: opt.Weights = None,
    id: Annotated[str | None, opt.id_column(help="Column with row ids for --labels and --report.")] = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    skip_rows: opt.SkipRows = 0,
    metric: opt.Distance = opt.Metric.euclidean,
    size_min: opt.SizeMin = None,
    size_max: opt.SizeMax = None,
    seed: opt.Seed = 0,
    effort: Annotated[
        float, typer.Option(min=0.0, metavar="X", help="Search effort: 2 searches twice as long as 1.")
    ] = 1.0,
    restarts: Annotated[int, typer.Option(min=1, metavar="N", help="Number of searches; keeps the best.")] = 1,
    max_time: Annotated[
        float | None,
        typer.Option(
            min=0.001, metavar="SECONDS", help="Stop the search, and the choice of K, after this time each."
        ),
    ] = None,
    certify: opt.Certify = None,
    memory: opt.Memory = "1GiB",
    threads: opt.Threads = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Cluster data and write a model file.

    Ctrl-C stops the search and keeps the best centers so far; the exit code is then 130.

    **Examples**

    `eulermeans fit iris.csv -k 3 --drop species --report iris.html`

    `eulermeans fit customers.csv.gz -k auto --missing median --one-hot country --scale standard`

    `eulermeans fit customers.csv -k 12 --size-min 90 --size-max 110 --labels teams.csv`

    `eulermeans fit 'sales-*.parquet' -k 20 --where "year >= 2020" --labels out.csv --id customer`
    """
    numbers = parse_clusters(clusters)
    selection = Selection(
        data,
        columns,
        drop,
        weights,
        id,
        where,
        limit,
        missing,
        one_hot,
        dates,
        delimiter,
        decimal,
        encoding,
        skip_rows,
    )
    with Progress(opt.reading(data), quiet=quiet, max_time=max_time).shown() as progress:
        selection.check_exists()
        outputs = check_outputs(selection, output, labels, append, centers, report)
        shape = opt.parse_image_shape(image_shape)
        from ..estimators import EulerMeans  # takes a second to import: checks come first
        from .estimator_fit import as_model, bounded, fit_estimator, fit_scaler, save_model, scaled
        from .input_data import open_data
        from .output_files import check_image_shape
        from .scale_advice import scale_advice

        estimator = EulerMeans(
            n_clusters=numbers.tried[-1],
            metric=metric.value,
            random_state=seed,
            effort=effort,
            n_init=restarts,
            max_time=max_time,
            memory_limit=memory,
            n_threads=threads,
        )
        sized = bounded(estimator, opt.size("--size-min", size_min), opt.size("--size-max", size_max))
        with open_data(selection, progress) as opened:
            check_image_shape(shape, opened)
            scaler = fit_scaler(scale, opened)
            source = scaled(opened, scaler)
            chosen = None
            numbers = within_bounds(numbers, sized, opened)
            if numbers.given is None:
                chosen = choose_clusters(numbers, source, opened, estimator, max_time)
                opened.interrupt.check()
                estimator.set_params(n_clusters=chosen.sweep.recommended)
                sized.set_params(n_clusters=chosen.sweep.recommended)
            elif sized.n_clusters != numbers.given:
                sized.set_params(n_clusters=numbers.given)
            began = time.perf_counter()
            fit_estimator(sized, source, opened)
            seconds = time.perf_counter() - began
            notes = {
                "command": context.obj["command"],
                "data": selection.title,
                "rows": opened.n_rows,
                "fitted": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            }
            model = as_model(sized, scaler, notes, opened)
            save_model(outputs.model, model)
            result = FitResult(model, opened.n_rows, seconds, opened.interrupt.requested)
            result.files["model"] = str(outputs.model)
            result.left_out = opened.prepared.left_out
            result.n_left_out = 0 if opened.prepared.filled is None else opened.prepared.filled.n_left_out
            result.sweep = None if chosen is None else chosen.sweep
            result.advice = scale_advice(opened, scale, metric)
            if not result.interrupted:
                result.certify(certify, opened, seed)
                result.write(outputs, opened, shape)
    result.show(as_json=json)
    raise typer.Exit(INTERRUPTED if result.interrupted else 0)

"""`eulermeans sweep`: recommend a number of clusters."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import INTERRUPTED
from .k_choice import ClusterNumbers, choose_clusters
from .progress import Progress
from .selection import Selection
from .terminal_text import show_files, show_json, show_line

if TYPE_CHECKING:
    from ..choosing import Row, Sweep


def sweep(
    context: typer.Context,
    data: opt.Data,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters", "-k", metavar="RANGE", help="Numbers to try: 2:20, 2:20:3 (every third) or 2,4,8."
        ),
    ] = "2:20",
    output: Annotated[Path | None, opt.output(help="Write the model with the recommended number.")] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the criteria for each number: .png, .svg or .pdf.")
    ] = None,
    report: Annotated[
        Path | None, opt.report(help="Write an HTML report on the clusters with the recommended number.")
    ] = None,
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
    id: Annotated[str | None, opt.id_column(help="Column with row ids for --report.")] = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    skip_rows: opt.SkipRows = 0,
    metric: opt.Distance = opt.Metric.euclidean,
    seed: opt.Seed = 0,
    max_time: Annotated[
        float | None, typer.Option(min=0.001, metavar="SECONDS", help="Try no further numbers after this time.")
    ] = None,
    memory: opt.Memory = "1GiB",
    threads: opt.Threads = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Recommend a number of clusters, with the reason.

    Clusters the data with each number in a range. Recommends the largest number whose clusters are found again in
    other halves of the data and are well separated. Uses a large sample of data that does not fit in memory.

    **Examples**

    `eulermeans sweep iris.csv -k 2:10 --drop species`

    `eulermeans sweep sales.parquet --scale standard --plot sweep.png -o sales.eulermeans`
    """
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
        from .output_files import check_image_shape, check_output, check_report_output, write_report
        from .path_checks import check_distinct

        check_distinct(data, {"--output": output, "--plot": plot, "--report": report})
        shape = opt.parse_image_shape(image_shape)
        if output is not None:
            check_output(output, "a model")
        if plot is not None:
            check_output(plot, "a plot", (".png", ".svg", ".pdf"), needs=("matplotlib",))
        if report is not None:
            check_report_output(report)
        elif id is not None:
            raise ValueError("--id needs --report")
        from ..choosing import k_values  # takes a second to import: checks come first
        from ..estimators import EulerMeans
        from ..storage import replacing
        from .estimator_fit import as_model, fit_scaler, save_model, scaled
        from .input_data import open_data
        from .scale_advice import scale_advice

        numbers = ClusterNumbers(tuple(k_values(clusters)))
        estimator = EulerMeans(metric=metric.value, memory_limit=memory, n_threads=threads, random_state=seed)
        with open_data(selection, progress) as opened:
            check_image_shape(shape, opened)
            scaler = fit_scaler(scale, opened)
            chosen = choose_clusters(numbers, scaled(opened, scaler), opened, estimator, max_time)
            advice = scale_advice(opened, scale, metric)
            result = SweepResult(chosen.sweep, opened.n_rows, chosen.interrupted, advice)
            if not result.interrupted:
                notes = {
                    "command": context.obj["command"],
                    "data": selection.title,
                    "rows": chosen.sweep.n_points,
                }
                model = as_model(chosen.sweep.model, scaler, notes, opened)
                if output is not None:
                    save_model(output, model)
                    result.files["model"] = str(output)
                if plot is not None:
                    with replacing(plot) as partial:
                        chosen.sweep.plot().flat[0].figure.savefig(partial)
                    result.files["plot"] = str(plot)
                if report is not None:
                    write_report(report, model, opened, image_shape=shape, sweep=chosen.sweep)
                    result.files["report"] = str(report)
    result.show(as_json=json)
    raise typer.Exit(INTERRUPTED if result.interrupted else 0)


@dataclass(frozen=True)
class SweepResult:
    """The outcome of a sweep."""

    sweep: Sweep
    n_rows: int | None  # None: interrupted before the end of the first pass
    interrupted: bool
    advice: str | None = None  # about the scale of the features
    files: dict[str, str] = field(default_factory=dict)  # kind and path of the files that were written

    def show(self, *, as_json: bool) -> None:
        """Print it as JSON, or as a table and the recommendation."""
        found = self.sweep
        if as_json:
            about = {
                "recommended": found.recommended,
                "confidence": str(found.confidence),
                "reason": found.reason,
                "n_rows": self.n_rows,
                "n_points": found.n_points,
                "rows": [_as_json(row) for row in found.rows],
                "skipped": list(found.skipped),
            }
            show_json({**about, **self.files, "advice": self.advice, "interrupted": self.interrupted})
            return
        print(found)
        if self.n_rows is not None and found.n_points < self.n_rows:
            show_line(f"Used a sample of {found.n_points:,} of {self.n_rows:,} rows.")
        if found.skipped:
            why = "stopped by Ctrl-C" if self.interrupted else "out of time"
            show_line(f"Not tried ({why}): K = {', '.join(map(str, found.skipped))}.")
        if self.advice is not None:
            show_line(self.advice)
        show_files(self.files)


def _as_json(row: Row) -> dict[str, object]:
    """The row with null in place of NaN, which JSON does not have."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(row).items()
    }

"""`eulermeans fit`: cluster data, and write a model, labels and a report.

NumPy and scikit-learn take long to import; all commands import them when they run, so that --help is fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..history import StopReason
from . import options as opt
from .errors import INTERRUPTED, Interrupted
from .progress import Progress
from .terminal_text import duration, model_as_json, show_files, show_json, show_line, show_model

if TYPE_CHECKING:
    from ..certificate import Certificate
    from ..storage.models import SavedModel
    from .input_data import InputData


def fit(
    context: typer.Context,
    data: opt.Data,
    clusters: Annotated[int, typer.Option("--clusters", "-k", min=1, metavar="K", help="Number of clusters.")],
    output: Annotated[Path | None, opt.output(help="Model file to write. Default: DATA.eulermeans.")] = None,
    labels: opt.Labels = None,
    report: opt.Report = None,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    scale: opt.Scaling = opt.Scale.none,
    metric: opt.Distance = opt.Metric.euclidean,
    weights: opt.Weights = None,
    size_min: opt.SizeMin = None,
    size_max: opt.SizeMax = None,
    id: opt.Id = None,
    seed: opt.Seed = 0,
    effort: Annotated[
        float, typer.Option(min=0.0, metavar="X", help="Search effort: 2 searches twice as long as 1.")
    ] = 1.0,
    restarts: Annotated[int, typer.Option(min=1, metavar="N", help="Number of searches; keeps the best.")] = 1,
    max_time: Annotated[
        float | None, typer.Option(min=0.001, metavar="SECONDS", help="Stop the search after this time.")
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

    `eulermeans fit customers.csv -k 12 --size-min 90 --size-max 110 --labels teams.csv`

    `eulermeans fit 'sales-*.parquet' -k 20 --columns age,income --labels out.csv --id customer`

    `zcat points.csv.gz | eulermeans fit - -k 8 -o points.eulermeans --json`
    """
    with Progress(opt.reading(data), quiet=quiet, max_time=max_time).shown() as progress:
        from ..estimators import EulerMeans
        from .estimator_fit import bounded, fit_estimator, fit_scaler, save_model, scaled
        from .input_data import Selection, open_data
        from .output_files import check_labels_output, check_output, check_report_output
        from .path_checks import check_distinct

        selection = Selection(data, columns, drop, weights, id)
        model_file = output or Path(f"{selection.stem}.eulermeans")
        check_output(model_file, "a model")
        if report is not None:
            check_report_output(report)
        if labels is not None:
            check_labels_output(labels, id)
        elif id is not None and report is None:
            raise ValueError("--id needs --labels or --report")
        check_distinct(data, {"--output": model_file, "--labels": labels, "--report": report})
        estimator = EulerMeans(
            n_clusters=clusters,
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
            scaler = fit_scaler(scale, opened)
            fit_estimator(sized, scaled(opened, scaler), opened)
            notes = {
                "command": context.obj["command"],
                "data": selection.title,
                "rows": opened.n_rows,
                "fitted": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            }
            seconds, interrupted = progress.seconds, opened.interrupt.requested
            model = save_model(model_file, sized, scaler, notes)
            result = FitResult(model, opened.n_rows, seconds, interrupted, {"model": str(model_file)})
            if not interrupted:
                result.certify(certify, opened, seed)
                result.write(labels, report, opened)
    result.show(as_json=json)
    raise typer.Exit(INTERRUPTED if result.interrupted else 0)


@dataclass
class FitResult:
    """The outcome of a fit."""

    model: SavedModel
    n_rows: int | None  # None: interrupted before the end of the first pass
    seconds: float
    interrupted: bool
    files: dict[str, str]  # kind and path of the files that were written
    certificate: Certificate | None = None

    def certify(self, seconds: float | None, data: InputData, seed: int) -> None:
        """Find out how far from the optimum the clusters can be, if this was asked for."""
        if seconds is not None:
            from .certify_command import certify_data

            threads = self.model.estimator.n_threads
            self.certificate = certify_data(self.model, data, seconds, seed=seed, threads=threads)

    def write(self, labels: Path | None, report: Path | None, data: InputData) -> None:
        """Write the labels and the report that were asked for, until Ctrl-C is pressed."""
        from .output_files import write_labels, write_report

        try:
            if labels is not None:
                data.progress.begin(f"writing {labels}")
                write_labels(labels, self.model.estimator.labels_, data.ids(), data.selection.id)
                self.files["labels"] = str(labels)
            if report is not None:
                write_report(report, self.model, data, self.certificate)
                self.files["report"] = str(report)
        except Interrupted:
            self.interrupted = True

    def show(self, *, as_json: bool) -> None:
        """Print it as JSON or as a table."""
        if as_json:
            about = {
                "command": self.model.notes["command"],
                "seconds": round(self.seconds, 3),
                "interrupted": self.interrupted,
            }
            if self.certificate is not None:
                from .certify_command import certificate_as_json

                about["certificate"] = certificate_as_json(self.certificate)
            show_json({**self.files, "n_rows": self.n_rows, **model_as_json(self.model), **about})
            return
        stopped = self.model.estimator.stop_reason_ is StopReason.CALLBACK
        show_model(
            self.model,
            before="" if self.n_rows is None else f"{self.n_rows:,} rows, ",
            after=f", {duration(self.seconds)}",
            stop_reason="stopped by Ctrl-C: these are the best centers so far" if stopped else None,
        )
        if self.certificate is not None:
            show_line(str(self.certificate))
        show_files(self.files)
        if self.interrupted:
            show_line("No other files were written; `eulermeans predict` and `report` can use the model.")

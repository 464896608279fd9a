"""`eulermeans fit`: cluster data, and write a model, labels and a report.

NumPy and scikit-learn take long to import; all commands import them when they run, so that --help is fast.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..history import StopReason
from . import options as opt
from .errors import INTERRUPTED, Interrupted
from .k_choice import choose_clusters, parse_clusters
from .progress import Progress
from .selection import Selection
from .terminal_text import duration, model_as_json, show_files, show_json, show_line, show_model

if TYPE_CHECKING:
    from ..certificate import Certificate
    from ..choosing import Sweep
    from ..storage.models import SavedModel
    from .input_data import InputData


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
    metric: opt.Distance = opt.Metric.euclidean,
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

    `eulermeans fit 'sales-*.parquet' -k 20 --where "year >= 2020" --labels out.csv --id customer`
    """
    numbers = parse_clusters(clusters)
    selection = Selection(
        data, columns, drop, weights, id, where, limit, missing, one_hot, dates, delimiter, decimal, encoding
    )
    with Progress(opt.reading(data), quiet=quiet, max_time=max_time).shown() as progress:
        outputs = _checked_outputs(selection, output, labels, append, centers, report)
        shape = opt.parse_image_shape(image_shape)
        from ..estimators import EulerMeans  # takes a second to import: checks come first
        from .estimator_fit import as_model, fit_estimator, fit_scaler, save_model, scaled
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
        with open_data(selection, progress) as opened:
            check_image_shape(shape, opened)
            scaler = fit_scaler(scale, opened)
            source = scaled(opened, scaler)
            chosen = None
            if numbers.given is None:
                chosen = choose_clusters(numbers, source, opened, estimator, max_time)
                opened.interrupt.check()
                estimator.set_params(n_clusters=chosen.sweep.recommended)
            began = time.perf_counter()
            fit_estimator(estimator, source, opened)
            seconds = time.perf_counter() - began
            notes = {
                "command": context.obj["command"],
                "data": selection.title,
                "rows": opened.n_rows,
                "fitted": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            }
            model = as_model(estimator, scaler, notes, opened)
            save_model(outputs.model, model)
            result = FitResult(model, opened.n_rows, seconds, opened.interrupt.requested)
            result.files["model"] = str(outputs.model)
            result.left_out = opened.prepared.left_out
            result.sweep = None if chosen is None else chosen.sweep
            result.advice = scale_advice(opened, scale, metric)
            if not result.interrupted:
                result.certify(certify, opened, seed)
                result.write(outputs, opened, shape)
    result.show(as_json=json)
    raise typer.Exit(INTERRUPTED if result.interrupted else 0)


@dataclass(frozen=True)
class Outputs:
    """The files to write."""

    model: Path
    labels: Path | None
    append: bool  # whether labels are written beside the rows of the data
    centers: Path | None
    report: Path | None


def _checked_outputs(
    selection: Selection,
    output: Path | None,
    labels: Path | None,
    append: bool,
    centers: Path | None,
    report: Path | None,
) -> Outputs:
    """The files to write, once it is known that they can be written, and that the data exist."""
    from .output_files import check_centers_output, check_labels_output, check_output, check_report_output
    from .path_checks import check_distinct

    model = output or Path(f"{selection.stem}.eulermeans")
    check_distinct(
        selection.data, {"--output": model, "--labels": labels, "--centers": centers, "--report": report}
    )
    check_output(model, "a model")
    if centers is not None:
        check_centers_output(centers)
    if labels is not None:
        check_labels_output(labels, selection.id, append)
    elif append:
        raise ValueError("--append needs --labels, the file to write the rows and their clusters to")
    elif selection.id is not None and report is None:
        raise ValueError("--id needs --labels or --report")
    if report is not None:
        check_report_output(report)
    return Outputs(model, labels, append, centers, report)


@dataclass
class FitResult:
    """The outcome of a fit."""

    model: SavedModel
    n_rows: int | None  # None: interrupted before the end of the first pass
    seconds: float  # of the fit, without the imports and what was written
    interrupted: bool
    files: dict[str, str] = field(default_factory=dict)  # kind and path of the files that were written
    certificate: Certificate | None = None
    sweep: Sweep | None = None  # that chose the number of clusters
    advice: str | None = None  # about the scale of the features
    left_out: tuple[str, ...] = ()  # columns

    def certify(self, seconds: float | None, data: InputData, seed: int) -> None:
        """Find out how far from the optimum the clusters can be, if this was asked for."""
        if seconds is not None:
            from .certify_command import certify_data

            threads = self.model.estimator.n_threads
            self.certificate = certify_data(self.model, data, seconds, seed=seed, threads=threads)

    def write(self, outputs: Outputs, data: InputData, image_shape: tuple[int, ...] | None) -> None:
        """Write the other files that were asked for, until Ctrl-C is pressed."""
        import numpy as np

        from .output_files import is_text, write_centers, write_labels, write_report

        try:
            if outputs.centers is not None:
                write_centers(outputs.centers, self.model.summary)
                self.files["centers"] = str(outputs.centers)
            if outputs.labels is not None:
                data.progress.begin(f"writing {outputs.labels}")
                found = self.model.estimator.labels_  # an array, or blocks of it
                blocks = data.all_labels([found] if isinstance(found, np.ndarray) else found)
                beside = data.beside_labels(append=outputs.append, as_text=is_text(outputs.labels))
                write_labels(outputs.labels, blocks, beside)
                self.files["labels"] = str(outputs.labels)
            if outputs.report is not None:
                write_report(
                    outputs.report,
                    self.model,
                    data,
                    self.certificate,
                    image_shape=image_shape,
                    sweep=self.sweep,
                )
                self.files["report"] = str(outputs.report)
        except Interrupted:
            self.interrupted = True

    def show(self, *, as_json: bool) -> None:
        """Print it as JSON or as a table."""
        if as_json:
            show_json(self._as_json())
            return
        if self.sweep is not None:
            show_line(self.sweep.reason)
        stopped = self.model.estimator.stop_reason_ is StopReason.CALLBACK
        show_model(
            self.model.summary,
            before="" if self.n_rows is None else f"{self.n_rows:,} rows, ",
            after=f", {duration(self.seconds)}",
            stop_reason="stopped by Ctrl-C: these are the best centers so far" if stopped else None,
        )
        if self.advice is not None:
            show_line(self.advice)
        if self.certificate is not None:
            show_line(str(self.certificate))
        show_files(self.files)
        if self.interrupted:
            show_line("No other files were written; `eulermeans predict` and `report` can use the model.")

    def _as_json(self) -> dict[str, object]:
        about: dict[str, object] = {
            "command": self.model.notes["command"],
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "left_out": list(self.left_out),
            "advice": self.advice,
        }
        if self.sweep is not None:
            tried = [row.n_clusters for row in self.sweep.rows]
            about["chosen"] = {
                "tried": tried,
                "confidence": str(self.sweep.confidence),
                "reason": self.sweep.reason,
            }
        if self.certificate is not None:
            from .certify_command import certificate_as_json

            about["certificate"] = certificate_as_json(self.certificate)
        return {**self.files, "n_rows": self.n_rows, **model_as_json(self.model.summary), **about}

"""`eulermeans sweep`: recommend a number of clusters."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import INTERRUPTED, Interrupted
from .progress import Progress
from .terminal_text import show_files, show_json, show_line

if TYPE_CHECKING:
    from ..choosing import Row, Sweep
    from ..estimators import EulerMeans
    from ..sources import Source
    from .input_data import InputData


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
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    scale: opt.Scaling = opt.Scale.none,
    metric: opt.Distance = opt.Metric.euclidean,
    weights: opt.Weights = None,
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
    with Progress(opt.reading(data), quiet=quiet, max_time=max_time).shown() as progress:
        from ..choosing import k_values
        from ..estimators import EulerMeans
        from ..storage import replacing
        from .estimator_fit import fit_scaler, save_model, scaled
        from .input_data import Selection, open_data
        from .output_files import check_output
        from .path_checks import check_distinct

        tried = k_values(clusters)
        if output is not None:
            check_output(output, "a model")
        if plot is not None:
            check_output(plot, "a plot", (".png", ".svg", ".pdf"), needs=("matplotlib",))
        check_distinct(data, {"--output": output, "--plot": plot})
        estimator = EulerMeans(metric=metric.value, memory_limit=memory, n_threads=threads, random_state=seed)
        selection = Selection(data, columns, drop, weights)
        with open_data(selection, progress) as opened:
            scaler = fit_scaler(scale, opened)
            result = _sweep(scaled(opened, scaler), opened, tried, estimator, max_time)
            if output is not None and not result.interrupted:
                rows = result.sweep.n_points
                notes = {"command": context.obj["command"], "data": selection.title, "rows": rows}
                save_model(output, result.sweep.model, scaler, notes)
                result.files["model"] = str(output)
            if plot is not None and not result.interrupted:
                with replacing(plot) as partial:
                    result.sweep.plot().flat[0].figure.savefig(partial)
                result.files["plot"] = str(plot)
    result.show(as_json=json)
    raise typer.Exit(INTERRUPTED if result.interrupted else 0)


@dataclass(frozen=True)
class SweepResult:
    """The outcome of a sweep."""

    sweep: Sweep
    n_rows: int | None  # None: interrupted before the end of the first pass
    interrupted: bool
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
            show_json({**about, **self.files, "interrupted": self.interrupted})
            return
        print(found)
        if self.n_rows is not None and found.n_points < self.n_rows:
            show_line(f"Used a sample of {found.n_points:,} of {self.n_rows:,} rows.")
        if found.skipped:
            why = "stopped by Ctrl-C" if self.interrupted else "out of time"
            show_line(f"Not tried ({why}): K = {', '.join(map(str, found.skipped))}.")
        show_files(self.files)


def _sweep(
    source: Source, data: InputData, tried: list[int], estimator: EulerMeans, max_time: float | None
) -> SweepResult:
    """Try each number. After Ctrl-C, recommend one of those that were tried."""
    from ..choosing import Sweep, recommend
    from ..choosing import sweep as sweep_clusters

    rows: list[Row] = []

    def on_result(row: Row) -> None:
        rows.append(row)
        data.progress.begin(f"K = {row.n_clusters}")
        data.progress.step(0, row.objective, 0)
        data.progress.begin(f"K = {tried[len(rows)]}" if len(rows) < len(tried) else "choosing K")
        data.interrupt.check()

    try:
        found = sweep_clusters(
            source,
            tried,
            estimator=estimator,
            random_state=estimator.random_state,
            max_time=max_time,
            on_result=on_result,
        )
    except Interrupted:
        if not rows:
            raise
        advice = recommend(rows)
        found = Sweep(
            rows=tuple(rows),
            recommended=advice.n_clusters,
            confidence=advice.confidence,
            reason=advice.reason,
            models={},
            n_points=data.n_rows or 0,
            skipped=tuple(tried[len(rows) :]),
        )
        return SweepResult(found, data.n_rows, interrupted=True)
    return SweepResult(found, data.n_rows, interrupted=False)


def _as_json(row: Row) -> dict[str, object]:
    """The row with null in place of NaN, which JSON does not have."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(row).items()
    }

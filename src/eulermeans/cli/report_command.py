"""`eulermeans report`, and the report of `eulermeans fit --report`: a model and its data as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .progress import Progress

if TYPE_CHECKING:
    from ..storage.models import SavedModel
    from .input_data import InputData


def report(
    model: opt.Model,
    data: opt.Data,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.")],
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    weights: opt.Weights = None,
    id: opt.Id = None,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Write a report about a model and data: one HTML file with plots and a table of the clusters.

    **Example**

    `eulermeans report iris.eulermeans iris.csv -o iris.html`
    """
    progress = Progress(opt.reading(data), quiet=quiet)
    with progress.shown():
        from ..storage.models import read_model
        from .input_data import Selection, open_data
        from .output_files import check_report_output

        check_report_output(output)
        saved = read_model(model)
        saved.estimator.n_threads = threads
        with open_data(Selection(data, columns, drop, weights, id), progress, saved) as opened:
            write_report(output, saved, opened, progress)
    typer.echo(f"Report: {output}")


def write_report(path: Path, model: SavedModel, data: InputData, progress: Progress) -> None:
    """Read the data once and write the report."""
    from ..report import write

    progress.begin(f"writing {path}")
    title, command = data.selection.title, model.notes.get("command")
    write(model.whole, data.source, path, name=title, ids=data.ids(), command=command)

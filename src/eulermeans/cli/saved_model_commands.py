"""The commands that read a model file: `predict`, `score`, `report` and `info`."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as opt
from .errors import print_line
from .progress import Progress
from .selection import Selection
from .terminal_text import model_as_json, preparation_lines, show_json, show_line, show_model

if TYPE_CHECKING:
    from ..arrays import Array


def predict(
    model: opt.Model,
    data: opt.Data,
    output: Annotated[Path | None, opt.output(help="File to write: .csv, .tsv, .parquet, .arrow or .npy.")] = None,
    append: Annotated[
        bool, opt.append(help="Write the rows of DATA with a column `cluster`, not labels alone.")
    ] = False,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    where: opt.Where = None,
    limit: opt.Limit = None,
    id: Annotated[str | None, opt.id_column(help="Column to write beside the labels.")] = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    skip_rows: opt.SkipRows = 0,
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
    selection = Selection(
        data,
        columns,
        drop,
        None,
        id,
        where,
        limit,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        skip_rows=skip_rows,
    )
    quiet = quiet or (output is None and not json and sys.stdout.isatty())  # labels are shown there
    with Progress(opt.reading(data), quiet=quiet).shown() as progress:
        selection.check_exists(model)
        if append and id is not None:
            raise ValueError("--append writes all columns, so --id is not needed")
        import numpy as np

        from ..storage.models import read_model
        from .estimator_fit import scaled
        from .input_data import LEFT_OUT, open_data
        from .output_files import check_labels_output, is_text, write_labels
        from .path_checks import check_distinct

        if output is not None:
            check_labels_output(output, id, append)
            check_distinct(data, {"--output": output}, model)
        saved = read_model(model)
        saved.estimator.n_threads = threads
        sizes = np.zeros(saved.estimator.n_clusters, np.int64)
        n_left_out = 0
        with open_data(selection, progress, saved) as opened:
            progress.begin(f"labeling {selection.title}")

            def counted() -> Iterator[Array]:
                nonlocal n_left_out
                for block in opened.all_labels(saved.estimator.predict(scaled(opened, saved.scaler))):
                    kept = block[block != LEFT_OUT]
                    sizes[:] += np.bincount(kept, minlength=len(sizes))
                    n_left_out += len(block) - len(kept)
                    yield block

            if json and output is None:
                deque(counted(), maxlen=0)
            else:
                write_labels(output, counted(), opened.beside_labels(append=append, as_text=is_text(output)))
    if n_left_out:
        print_line(f"note: {n_left_out:,} rows have missing values; their cluster is {LEFT_OUT}")
    n_rows, labels = int(sizes.sum()) + n_left_out, None if output is None else str(output)
    if json:
        counts = {"n_rows": n_rows, "sizes": sizes.tolist(), "left_out": n_left_out}
        show_json({"model": str(model), "labels": labels, **counts})
    elif output is not None:
        show_line(f"{n_rows:,} rows: {output}")


def score(
    model: opt.Model,
    data: opt.Data,
    columns: opt.Columns = None,
    drop: opt.Drop = None,
    where: opt.Where = None,
    limit: opt.Limit = None,
    weights: opt.Weights = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    skip_rows: opt.SkipRows = 0,
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
    selection = Selection(
        data,
        columns,
        drop,
        weights,
        None,
        where,
        limit,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        skip_rows=skip_rows,
    )
    with Progress(opt.reading(data), quiet=quiet).shown() as progress:
        selection.check_exists(model)
        from ..storage.models import read_model
        from .estimator_fit import scaled
        from .input_data import open_data

        saved = read_model(model)
        saved.estimator.n_threads = threads
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
    where: opt.Where = None,
    limit: opt.Limit = None,
    weights: opt.Weights = None,
    id: Annotated[
        str | None, opt.id_column(help="Column with the names of the rows that the report shows.")
    ] = None,
    image_shape: opt.ImageShape = None,
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    encoding: opt.Encoding = None,
    skip_rows: opt.SkipRows = 0,
    certify: opt.Certify = None,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Write a report about a model and data: one HTML file with plots and a table of the clusters.

    **Example**

    `eulermeans report iris.eulermeans iris.csv -o iris.html`
    """
    selection = Selection(
        data,
        columns,
        drop,
        weights,
        id,
        where,
        limit,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        skip_rows=skip_rows,
    )
    with Progress(opt.reading(data), quiet=quiet).shown() as progress:
        selection.check_exists(model)
        from .path_checks import check_distinct

        check_distinct(data, {"--output": output}, model)
        from ..storage.models import read_model
        from .certify_command import certify_data
        from .input_data import open_data
        from .output_files import check_image_shape, check_report_output, write_report

        check_report_output(output)
        shape = opt.parse_image_shape(image_shape)
        saved = read_model(model)
        saved.estimator.n_threads = threads
        with open_data(selection, progress, saved) as opened:
            check_image_shape(shape, opened)
            found = None if certify is None else certify_data(saved, opened, certify, threads=threads)
            write_report(output, saved, opened, found, image_shape=shape)
    typer.echo(f"Report: {output}")


def info(model: opt.Model, json: opt.Json = False, debug: opt.Debug = False) -> None:
    """Show what a model file contains: clusters, parameters, and the command that wrote it.

    **Example**

    `eulermeans info iris.eulermeans`
    """
    model.stat()  # no such file: the error comes before anything is imported
    from ..storage.model_summary import read_summary  # without scikit-learn, so that the answer comes at once

    saved = read_summary(model)
    if json:
        about = {"model": str(model), "class": saved.kind, "written_by": saved.written_by}
        parameters, notes = dict(saved.parameters), dict(saved.notes)
        show_json({**about, **model_as_json(saved), "parameters": parameters, "notes": notes})
        return
    show_line(f"{model}: {saved.kind}, written by {saved.written_by}")
    show_model(saved)
    if saved.scaler is not None:
        show_line(f"Scaled by: {saved.scaler}")
    for line in preparation_lines(saved):
        show_line(line)
    show_line("Parameters: " + ", ".join(f"{name}={value!r}" for name, value in saved.parameters.items()))
    for name, value in saved.notes.items():
        show_line(f"{str(name).capitalize()}: {value}")

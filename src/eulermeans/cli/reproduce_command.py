"""`eulermeans demo` and `eulermeans reproduce`: the experiments of the paper."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ..optional import MissingExtra
from ..paper.experiments import load_experiments

if TYPE_CHECKING:
    from ..paper.reproduction import OnProgress, Report

console = Console()


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the figure.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed.")] = 0,
    animate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a moving picture to this file, .gif or .html.")
    ] = None,
) -> None:
    """Show SBE escape from a local minimum in which EM is stuck (Sec. 3.1 of the paper)."""
    from ..paper import escape_animation, escape_demo

    if animate is not None:
        escape_animation.check_animation_path(animate)

    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("EM, mb-EM, SBE", total=escape_demo.total_steps())
        result = escape_demo.escape(seed, on_step=lambda: progress.advance(task))
    table = Table(title="Four Gaussian clusters, 4 centers")
    for heading in ("method", "starts at", "objective at the start", "objective at the end"):
        table.add_column(heading, justify="right" if heading.startswith("objective") else "left")
    for walk in result.paths:
        table.add_row(walk.method, walk.start, f"{walk.objectives[0]:.4f}", f"{walk.objectives[-1]:.4f}")
    console.print(table)
    output.mkdir(parents=True, exist_ok=True)
    figure = output / "escape.png"
    escape_demo.draw_escape(result, figure)
    console.print(f"Figure: {figure}", soft_wrap=True)
    if animate is not None:
        with console.status(f"drawing {animate}"):
            escape_animation.save_animation(escape_animation.record_escape(seed), animate)
        console.print(f"Animation: {animate}", soft_wrap=True)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help=f"Experiments: {', '.join(load_experiments())}. Default: all."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Number of runs for each row of a table.")] = 100,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Parallel runs. Default: all cores.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the results.")
    ] = Path("reproduction"),
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed.")] = 0,
    fresh: Annotated[bool, typer.Option("--fresh", metavar="", help="Repeat runs that are already done.")] = False,
    points: Annotated[
        int | None, typer.Option(min=1000, metavar="N", help="Use only this many points, for a quick test.")
    ] = None,
) -> None:
    """Run the paper's experiments and check its claims. Finished runs are kept and not repeated."""
    from ..paper.reproduction import Options
    from ..paper.reproduction import reproduce as reproduce_experiment

    known = load_experiments()
    chosen = list(known) if not names or "all" in names else list(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise typer.BadParameter(f"unknown experiment {name!r}; choose from {', '.join(known)} and all.")
    options = Options(
        output=output, runs=runs, jobs=jobs or os.cpu_count() or 1, seed=seed, fresh=fresh, n_points=points
    )
    failed = []
    for name in chosen:
        try:
            with Progress(*_COLUMNS, console=console, transient=True) as progress:
                report = reproduce_experiment(known[name], options, _show_on(progress))
        except (MissingExtra, OSError) as error:
            if len(chosen) == 1 and isinstance(error, MissingExtra):
                raise
            console.print(f"[red]{name}: {escape(str(error))}", soft_wrap=True)
            failed.append(name)
        else:
            _show(report)
    console.print(f"All results on one page: {output / 'index.html'}", soft_wrap=True)
    if failed:
        raise typer.Exit(1)


_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


def _show_on(progress: Progress) -> OnProgress:
    """A callback that shows the progress of an experiment as a bar."""
    task = progress.add_task("")
    return lambda what, done, total: progress.update(task, description=what, completed=done, total=total or None)


def _show(report: Report) -> None:
    """Print the table and the verdicts."""
    for summary in report.summaries:
        title = f"{report.experiment.title} ({report.experiment.section}), {report.runs}"
        show_lines = any("\n" in cell for row in summary.rows for cell in row)
        table = Table(*summary.headings, title=title, show_lines=show_lines)
        for row in summary.rows:
            table.add_row(*row)
        console.print(table)
    for verdict in report.verdicts:
        mark = "[green]reproduced    [/]" if verdict.reproduced else "[red]not reproduced[/]"
        console.print(f"{mark} {escape(verdict.claim)}: {escape(verdict.figure)}", soft_wrap=True, highlight=False)
    console.print(f"Tables and figures: {report.folder}", soft_wrap=True)

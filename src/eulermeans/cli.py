"""The `eulermeans` command. Knows the terminal; leaves all else to the library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from .paper import gaussians

app = typer.Typer(
    help="k-means clustering by Stochastic Backward Euler.", no_args_is_help=True, pretty_exceptions_enable=False
)
console = Console()


@app.callback()
def _commands() -> None:
    """Keep `demo` a subcommand while it is the only one."""


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and of the batches.")] = 0,
) -> None:
    """Watch SBE leave a local minimum that EM is stuck in (Sec. 3.1 of the paper)."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("EM, mb-EM, SBE", total=gaussians.total_steps())
        result = gaussians.escape(seed, on_step=lambda: progress.advance(task))
    table = Table(title="Four Gaussian clusters, 4 centers")
    for heading in ("method", "starts at", "objective at the start", "objective at the end"):
        table.add_column(heading, justify="right" if heading.startswith("objective") else "left")
    for walk in result.paths:
        table.add_row(walk.method, walk.start, f"{walk.objectives[0]:.4f}", f"{walk.objectives[-1]:.4f}")
    console.print(table)
    output.mkdir(parents=True, exist_ok=True)
    figure = output / "escape.png"
    gaussians.draw_escape(result, figure)
    console.print(f"Figure: {figure}", soft_wrap=True)

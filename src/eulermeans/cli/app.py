"""The command's root: which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import commands, model_commands, paper
from .errors import Commands

app = typer.Typer(
    cls=Commands,
    help="k-means clustering by Stochastic Backward Euler: from a file of data to clusters you can look at.",
    epilog="Exit codes: 0 all went well, 1 it failed, 2 wrong usage or data that can't be clustered, 130 Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def show_version(wanted: bool) -> None:
    """And no more."""
    if wanted:
        typer.echo(f"eulermeans {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """What holds for every command."""


for command in (
    commands.fit,
    commands.sweep,
    model_commands.predict,
    model_commands.score,
    model_commands.report,
    model_commands.info,
    paper.demo,
    paper.reproduce,
):
    app.command()(command)

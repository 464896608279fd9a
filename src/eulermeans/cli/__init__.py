"""The `eulermeans` command: options, files, progress and results on the terminal. The library does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from .certify_command import certify
from .errors import Command, Commands
from .fit_command import fit
from .reproduce_command import demo, reproduce
from .saved_model_commands import info, predict, report, score
from .sweep_command import sweep

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    help="k-means clustering by Stochastic Backward Euler: from a data file to clusters and a report.",
    epilog="Exit codes: 0 success, 1 failure, 2 wrong usage or unusable data, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        from .. import __version__

        typer.echo(f"eulermeans {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of the root command."""


for _command in (fit, sweep, predict, score, certify, report, info, demo, reproduce):
    app.command(cls=Command)(_command)

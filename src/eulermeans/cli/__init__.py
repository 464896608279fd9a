"""The `eulermeans` command: options, files, progress and results on the terminal. The library does the work."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from .errors import Command, Commands

__all__ = ["COMMANDS", "make_app"]

# The module of each command, in the order of the help. Imported only for the command that is called.
COMMANDS = {
    "fit": "fit_command",
    "sweep": "sweep_command",
    "predict": "saved_model_commands",
    "score": "saved_model_commands",
    "certify": "certify_command",
    "report": "saved_model_commands",
    "info": "saved_model_commands",
    "demo": "reproduce_command",
    "reproduce": "reproduce_command",
}


def make_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The program with these commands."""
    app = typer.Typer(
        cls=Commands,
        help="k-means clustering by Stochastic Backward Euler: from a data file to clusters and a report.",
        epilog="Exit codes: 0 success, 1 failure, 2 wrong usage or unusable data, 130 stopped by Ctrl-C.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_root)
    for name in names:
        app.command(cls=Command)(getattr(import_module(f".{COMMANDS[name]}", __name__), name))
    return app


def _show_version(requested: bool) -> None:
    if requested:
        from .. import __version__

        typer.echo(f"eulermeans {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of the root command."""

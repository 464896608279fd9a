"""`python -m eulermeans`, and where the `eulermeans` script begins."""

from __future__ import annotations

import sys

from .optional import MissingExtra, optional


def main() -> None:
    """Run the command, or say in one line which extra it lacks."""
    try:
        optional("typer", "cli")
        optional("rich", "cli")
        from .cli import app

        app(prog_name="eulermeans")
    except MissingExtra as missing:
        sys.exit(f"eulermeans: {missing}")


if __name__ == "__main__":
    main()

"""Entry point of `python -m eulermeans` and of the `eulermeans` script."""

from __future__ import annotations

import sys

from .optional import MissingExtra, optional


def main() -> None:
    """Run the command. If its packages are missing, print one line that names the extra to install."""
    try:
        optional("typer", "cli")
        optional("rich", "cli")
        from .cli import COMMANDS, make_app

        called = sys.argv[1:2]
        app = make_app(called if called and called[0] in COMMANDS else COMMANDS)
        app(prog_name="eulermeans")
    except MissingExtra as missing:
        sys.exit(f"eulermeans: {missing}")


if __name__ == "__main__":
    main()

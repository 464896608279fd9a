"""Install a wheel in an empty environment and try it as a user does.

    python tools/try_wheel.py dist/eulermeans-0.1.0-cp311-cp311-linux_x86_64.whl [--python python3.12 ...]

The library alone first; then the command, which names the packages that it misses: they are installed as it says.
Then the extra, in another environment.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SMOKE_TEST = Path(__file__).with_name("smoke_test.py")
ROWS = "\n".join(["height,weight", *(f"{150 + i % 50},{50 + i % 7 + 30 * (i % 2)}" for i in range(200))])


class Environment:
    """An empty virtual environment, in a folder of its own."""

    def __init__(self, python: str, folder: Path) -> None:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        self.folder, self.bin = folder, folder / ("Scripts" if os.name == "nt" else "bin")

    def run(self, *command: str, fails: bool = False) -> str:
        """Run a command of the environment outside of the project's folder; return what it printed."""
        words = [str(self.bin / command[0]), *command[1:]]
        ended = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        if (ended.returncode != 0) != fails:
            sys.exit(f"{shlex.join(command)}: exit code {ended.returncode}\n{ended.stdout}{ended.stderr}")
        return ended.stdout + ended.stderr

    def install(self, *what: str) -> None:
        """Install with pip."""
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)


def use_command(environment: Environment) -> str:
    """Fit a table by the command, and return what it says of the model."""
    (environment.folder / "people.csv").write_text(ROWS)
    files = ["-o", "people.eulermeans", "--report", "people.html"]
    environment.run("eulermeans", "fit", "people.csv", "-k", "2", *files)
    return environment.run("eulermeans", "info", "people.eulermeans")


def try_wheel(wheel: Path, python: str, folder: Path) -> None:
    """All steps for one Python."""
    plain = Environment(python, folder / "plain")
    plain.install(str(wheel))
    print(plain.run("python", str(SMOKE_TEST)), end="", flush=True)
    advice = plain.run("eulermeans", "--version", fails=True)
    packages = re.search(r"pip install (.*) \(the extra", advice)
    if packages is None:
        sys.exit(f"the command without its packages does not say what to install: {advice}")
    plain.install(*shlex.split(packages[1]))
    said = use_command(plain)
    print(f"after pip install {packages[1]}: {said.splitlines()[0]}", flush=True)
    extra = Environment(python, folder / "extra")
    extra.install(f"{wheel}[cli]")
    print(f"after pip install WHEEL[cli]: {use_command(extra).splitlines()[0]}", flush=True)


def main() -> None:
    """Try the wheel with each Python."""
    parser = argparse.ArgumentParser(description="Try a wheel in empty environments.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    arguments = parser.parse_args()
    for python in arguments.python:
        with tempfile.TemporaryDirectory() as folder:
            try_wheel(arguments.wheel.resolve(), python, Path(folder))
    size = arguments.wheel.stat().st_size / 2**20
    print(f"{arguments.wheel.name}: {size:.1f} MiB, works in an empty environment")


if __name__ == "__main__":
    main()

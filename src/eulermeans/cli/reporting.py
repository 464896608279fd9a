"""`eulermeans report`, and what `fit --report` shares with it: a model and data as one HTML file."""

from __future__ import annotations

from pathlib import Path

from ..optional import optional
from ..storage.models import SavedModel, read_model
from .data import Opened, Wanted, opened
from .interrupts import Interrupt
from .progress import Progress


def check_report(path: Path) -> None:
    """Refuse what can't be written before work is spent on it."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"can't write a report to {path}: the ending must be .html")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"can't write {path}: there is no folder {path.parent}")
    optional("jinja2", "plot")
    optional("matplotlib", "plot")


def write_report(path: Path, model: SavedModel, data: Opened, title: str, progress: Progress) -> None:
    """Read the data once, and write what they and the model have to show."""
    from ..report import write

    progress.begin(f"writing {path}")
    write(model.whole, data.source, path, name=title, ids=data.ids(), command=model.notes.get("command"))


def report(model_path: Path, wanted: Wanted, output: Path, n_threads: int | None, progress: Progress) -> None:
    """Write a report on a model and data."""
    check_report(output)
    model = read_model(model_path)
    model.estimator.n_threads = n_threads
    interrupt = Interrupt(progress.stop)
    with interrupt.heard(), opened(wanted, progress, interrupt, model=model) as data:
        write_report(output, model, data, wanted.title, progress)

"""`eulermeans info`: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..storage.models import SavedModel, read_model
from .summary import described, show_json, show_line, show_model


def show(path: Path, *, as_json: bool) -> None:
    """Everything for a program, or what a person wants to know."""
    model = read_model(path)
    parameters = _parameters(model)
    if as_json:
        about = {"model": str(path), "class": type(model.estimator).__name__, "written_by": model.written_by}
        show_json({**about, **described(model), "parameters": parameters, "notes": dict(model.notes)})
        return
    show_line(f"{path}: {type(model.estimator).__name__}, written by {model.written_by}")
    show_model(model)
    if model.scaler is not None:
        show_line(f"Scaled by: {type(model.scaler).__name__}")
    show_line("Parameters: " + ", ".join(f"{name}={value!r}" for name, value in parameters.items()))
    for name, value in model.notes.items():
        show_line(f"{str(name).capitalize()}: {value}")


def _parameters(model: SavedModel) -> dict[str, Any]:
    """Of the constructor; an array of centers to start with as lists."""
    parameters = model.estimator.get_params(deep=False)
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in parameters.items()}

"""`eulermeans info`: the contents of a model file."""

from __future__ import annotations

from . import options as opt


def info(model: opt.Model, json: opt.Json = False, debug: opt.Debug = False) -> None:
    """Show what a model file contains: clusters, parameters, and the command that wrote it.

    **Example**

    `eulermeans info iris.eulermeans`
    """
    from ..storage.models import read_model
    from .summary import model_as_json, show_json, show_line, show_model

    saved = read_model(model)
    kind = type(saved.estimator).__name__
    parameters = {
        name: value.tolist() if hasattr(value, "tolist") else value  # init may be an array
        for name, value in saved.estimator.get_params(deep=False).items()
    }
    if json:
        about = {"model": str(model), "class": kind, "written_by": saved.written_by}
        show_json({**about, **model_as_json(saved), "parameters": parameters, "notes": dict(saved.notes)})
        return
    show_line(f"{model}: {kind}, written by {saved.written_by}")
    show_model(saved)
    if saved.scaler is not None:
        show_line(f"Scaled by: {type(saved.scaler).__name__}")
    show_line("Parameters: " + ", ".join(f"{name}={value!r}" for name, value in parameters.items()))
    for name, value in saved.notes.items():
        show_line(f"{str(name).capitalize()}: {value}")

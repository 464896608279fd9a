"""How to fit the model of a report again: Python code, parameters and versions."""

from __future__ import annotations

import inspect
from itertools import takewhile

import numpy as np
from sklearn.base import BaseEstimator

from ..plot.fitted_model import FittedModel
from ..plot.style import format_count, format_number
from ..versions import versions
from .report_records import Description

LONGEST_VALUE = 200  # characters of a parameter's value


def python_code(model: FittedModel) -> str:
    """The lines that make the model and fit it to X."""
    parts = [*model.scalers, model.estimator]
    imports = {f"from {_public_module(part)} import {type(part).__name__}" for part in parts}
    calls = [_constructor_call(part) for part in parts]
    call = calls[0]
    if len(parts) > 1:
        imports.add("from sklearn.pipeline import make_pipeline")
        call = f"make_pipeline({', '.join(calls)})"
    return "\n".join([*sorted(imports), "", f"model = {call}", "model.fit(X)"])


def details(description: Description) -> dict[str, str]:
    """Data, parameters and versions, by name."""
    model = description.model
    found = {
        "data": description.source,
        "rows": format_number(description.n_rows, 12),
        "features": format_number(description.n_features, 12),
        "metric": model.metric,
        "rows in the plots": format_number(description.sample.points.shape[0], 12),
    }
    if description.weighted:
        found["total weight"] = format_number(description.total_weight, 12)
    if model.scalers:
        found["scaling"] = ", ".join(map(str, model.scalers))
    if hasattr(model.estimator, "stop_reason_"):
        found["stop reason"] = str(model.estimator.stop_reason_)
    if getattr(model.estimator, "history_", None):
        steps = format_count(len(model.estimator.history_), "step")
        found["fit"] = f"{steps} in {format_number(model.estimator.history_[-1].seconds, 3)} seconds"
    for name, (value, is_default) in _parameters(model.estimator).items():
        found[name] = f"{value} (default)" if is_default else value
    return {**found, **versions()}


def _constructor_call(part: BaseEstimator) -> str:
    """The call with `n_clusters` and all parameters that are not defaults."""
    arguments = [
        f"{name}={value}"
        for name, (value, is_default) in _parameters(part).items()
        if name == "n_clusters" or not is_default
    ]
    return f"{type(part).__name__}({', '.join(arguments)})"


def _public_module(part: BaseEstimator) -> str:
    """The module to import from: `eulermeans`, or the path up to the first name with an underscore."""
    names = type(part).__module__.split(".")
    if names[0] == "eulermeans":
        return "eulermeans"
    return ".".join(takewhile(lambda name: not name.startswith("_"), names))


def _parameters(part: BaseEstimator) -> dict[str, tuple[str, bool]]:
    """The value of each parameter as text, and whether it is the default."""
    if not hasattr(part, "get_params"):
        return {}
    signature, found = inspect.signature(type(part).__init__).parameters, {}
    for name, value in part.get_params(deep=False).items():
        default = signature[name].default if name in signature else inspect.Parameter.empty
        found[name] = (_short_repr(value), _is_same(value, default))
    return found


def _is_same(value: object, default: object) -> bool:
    """Whether a parameter has its default; NaN, which is not equal to itself, is the same as NaN."""
    if isinstance(value, float) and isinstance(default, float) and np.isnan(value):
        return bool(np.isnan(default))
    return type(value) is type(default) and not isinstance(value, np.ndarray) and bool(value == default)


def _short_repr(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"<array of shape {value.shape}>"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"

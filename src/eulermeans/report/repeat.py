"""How to make the same clusters again, in Python, and what the parameters were."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ..plot.fitted import Fitted

LONGEST = 200  # letters of a parameter's value


def python(model: Fitted) -> str:
    """The lines that make and fit the model again."""
    parts = [*model.scalers, model.estimator]
    imports = sorted({f"from {_module(part)} import {type(part).__name__}" for part in parts})
    written = [_constructor(part) for part in parts]
    made = written[0] if len(parts) == 1 else f"make_pipeline({', '.join(written)})"
    if len(parts) > 1:
        imports = sorted([*imports, "from sklearn.pipeline import make_pipeline"])
    return "\n".join([*imports, "", f"model = {made}", "model.fit(X)"])


def parameters(model: Fitted) -> list[tuple[str, str, bool]]:
    """The estimator's parameters: name, value, and whether it is the default."""
    defaults = _defaults(model.estimator)
    given = model.estimator.get_params(deep=False) if hasattr(model.estimator, "get_params") else {}
    return [(name, _short(value), _same(value, defaults.get(name))) for name, value in given.items()]


def is_repeatable(model: Fitted) -> bool:
    """Whether a repetition makes the same clusters: the seed is a number."""
    return isinstance(getattr(model.estimator, "random_state", None), (int, np.integer))


def _constructor(part: Any) -> str:
    if not hasattr(part, "get_params"):
        return f"{type(part).__name__}()"
    defaults = _defaults(part)
    changed = {
        name: value
        for name, value in part.get_params(deep=False).items()
        if not _same(value, defaults.get(name, inspect.Parameter.empty)) or name == "n_clusters"
    }
    arguments = ", ".join(f"{name}={_short(value)}" for name, value in changed.items())
    return f"{type(part).__name__}({arguments})"


def _module(part: Any) -> str:
    """The public module: the name up to what begins with an underscore; ours is one."""
    names = type(part).__module__.split(".")
    if names[0] == "eulermeans":
        return "eulermeans"
    public = []
    for name in names:
        if name.startswith("_"):
            break
        public.append(name)
    return ".".join(public)


def _defaults(part: Any) -> dict[str, Any]:
    signature = inspect.signature(type(part).__init__)
    return {name: parameter.default for name, parameter in signature.parameters.items()}


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and not isinstance(value, np.ndarray) and bool(value == default)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<array of shape {value.shape}>"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

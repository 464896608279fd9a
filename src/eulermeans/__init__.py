"""k-means clustering by Stochastic Backward Euler."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import plot
    from .certificate import Certificate, certify
    from .choosing import Sweep, sweep
    from .estimators import DivergenceWarning, EulerMeans, SizedMeans, StochasticBackwardEuler
    from .history import Record, StopReason
    from .report import report
    from .sources import SourceError, as_source
    from .storage.models import ModelFileError, load, save
    from .versions import show_versions

    __version__: str

__all__ = [
    "Certificate",
    "DivergenceWarning",
    "EulerMeans",
    "ModelFileError",
    "Record",
    "SizedMeans",
    "SourceError",
    "StochasticBackwardEuler",
    "StopReason",
    "Sweep",
    "__version__",
    "as_source",
    "certify",
    "load",
    "plot",
    "report",
    "save",
    "show_versions",
    "sweep",
]

# Where each name is at home. Imported when it is first asked for: scikit-learn takes a second to import, and the
# command must answer before that, to Tab and to --help.
_HOMES = {
    "Certificate": "certificate",
    "DivergenceWarning": "estimators",
    "EulerMeans": "estimators",
    "ModelFileError": "storage.models",
    "Record": "history",
    "SizedMeans": "estimators",
    "SourceError": "sources",
    "StochasticBackwardEuler": "estimators",
    "StopReason": "history",
    "Sweep": "choosing",
    "as_source": "sources",
    "certify": "certificate",
    "load": "storage.models",
    "plot": "",
    "report": "report",
    "save": "storage.models",
    "show_versions": "versions",
    "sweep": "choosing",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # takes longer than the rest of this module

        return version("eulermeans")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    value = getattr(import_module(f".{home}", __name__), name) if home else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """This package, in which `report` is a function: importing the room of that name would put a module there."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "report" and isinstance(value, ModuleType):
            value = value.report
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

"""k-means clustering by Stochastic Backward Euler."""

from importlib.metadata import version

from . import plot
from .driver import Record, StopReason
from .estimators import DivergenceWarning, EulerMeans, StochasticBackwardEuler
from .persistence import ModelFileError, load, save
from .versions import show_versions

__version__ = version("eulermeans")

__all__ = [
    "DivergenceWarning",
    "EulerMeans",
    "ModelFileError",
    "Record",
    "StochasticBackwardEuler",
    "StopReason",
    "__version__",
    "load",
    "plot",
    "save",
    "show_versions",
]

"""The estimators: the solvers behind scikit-learn's API."""

from .euler_means import EulerMeans
from .sized_means import SizedMeans
from .stochastic_backward_euler import DivergenceWarning, StochasticBackwardEuler

__all__ = ["DivergenceWarning", "EulerMeans", "SizedMeans", "StochasticBackwardEuler"]

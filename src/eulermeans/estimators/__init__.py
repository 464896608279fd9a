"""The estimators: the solvers behind scikit-learn's API."""

from .euler_means import EulerMeans
from .stochastic_backward_euler import DivergenceWarning, StochasticBackwardEuler

__all__ = ["DivergenceWarning", "EulerMeans", "StochasticBackwardEuler"]

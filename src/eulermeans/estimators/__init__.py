"""The estimators: scikit-learn's face of the solvers."""

from .euler_means import EulerMeans
from .stochastic_backward_euler import StochasticBackwardEuler
from .warnings import DivergenceWarning

__all__ = ["DivergenceWarning", "EulerMeans", "StochasticBackwardEuler"]

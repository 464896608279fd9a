"""The data sets of the paper: generated from a seed, or fetched once and kept in a cache.

Knows where the data come from. Does not know what they are used for.
"""

from .lenet import lenet_features
from .paper_data import GAUSSIAN_START, gaussian_mnist, iris, mnist, paper_gaussians

__all__ = ["GAUSSIAN_START", "gaussian_mnist", "iris", "lenet_features", "mnist", "paper_gaussians"]

"""The data sets of the paper: generated from a seed, or fetched once and kept in a cache.

Knows how data come to be. Does not know what is done with them.
"""

from .cache import cache_folder
from .features import Features, lenet_features
from .gaussians import GAUSSIAN_START, paper_gaussians
from .images import Images, NoisyImages, gaussian_mnist, mnist
from .iris import iris

__all__ = [
    "GAUSSIAN_START",
    "Features",
    "Images",
    "NoisyImages",
    "cache_folder",
    "gaussian_mnist",
    "iris",
    "lenet_features",
    "mnist",
    "paper_gaussians",
]

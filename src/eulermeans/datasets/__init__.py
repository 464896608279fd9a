"""The data sets of the paper: generated from a seed, or fetched once and kept in a cache.

Knows where the data come from. Does not know what they are used for.
"""

from .cache import cache_folder
from .lenet import Features, lenet_features
from .low_dimensional import GAUSSIAN_START, iris, paper_gaussians
from .mnist_images import Images, NoisyImages, gaussian_mnist, mnist

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

"""Sec. 3.2: the 150 flowers of Iris, which come with scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from ..arrays import FloatArray


def iris() -> FloatArray:
    """Sepal and petal lengths and widths in centimetres, (150, 4)."""
    return np.ascontiguousarray(load_iris().data, dtype=np.float64)

"""Says if a few features have nearly all of the variance, so that the others hardly matter."""

from __future__ import annotations

import math

import numpy as np

from .input_data import InputData
from .options import Metric, Scale

_FEW_FEATURES, _MOST_VARIANCE = 0.05, 0.9  # this share of the features has more than this share of the variance


def scale_advice(data: InputData, scale: Scale, metric: Metric) -> str | None:
    """A sentence that suggests to scale the features; None if there is no need."""
    if scale is not Scale.none or metric is Metric.cosine or data.n_features < 2 or data.n_rows is None:
        return None
    variance = data.variance.variance
    total = float(variance.sum())
    if not total > 0 or not math.isfinite(total):
        return None
    few = max(1, int(_FEW_FEATURES * data.n_features))
    order = np.argsort(-variance)
    share = float(variance[order[:few]].sum()) / total
    if share <= _MOST_VARIANCE + (1 - _MOST_VARIANCE) / data.n_features:
        return None
    names = data.feature_names or [f"feature {place}" for place in range(data.n_features)]
    which = f"{names[order[0]]} has" if few == 1 else f"{few} of {data.n_features} features have"
    percent = math.floor(1000 * share) / 10
    rest = "the other feature hardly matters" if data.n_features - few == 1 else "the other features hardly matter"
    return f"{which} {percent:g}% of the variance, so {rest}; --scale standard gives all the same influence."

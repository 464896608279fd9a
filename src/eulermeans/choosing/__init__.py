"""Choosing K: cluster the same data with every K of a range, measure each result, recommend one.

Knows the estimators and how to judge their results. Does not know where the data come from.
"""

from .k_sweep import k_values, sweep
from .recommendation import recommend
from .sweep_result import Confidence, Row, Sweep

__all__ = ["Confidence", "Row", "Sweep", "k_values", "recommend", "sweep"]

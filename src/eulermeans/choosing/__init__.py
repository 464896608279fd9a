"""Choosing K: the same data clustered with every K of a range, what speaks for each, and which to take.

Knows the estimators and how to judge what they find. Does not know where the data come from.
"""

from .records import Confidence, Row, Sweep
from .sweeping import sweep

__all__ = ["Confidence", "Row", "Sweep", "sweep"]

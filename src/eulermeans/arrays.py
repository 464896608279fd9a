"""The array types that signatures name, and the precision that arithmetic on a dtype needs.

Knows NumPy and nothing of k-means, so any module may import it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]  # of any real dtype
FloatArray: TypeAlias = NDArray[np.float64]
DType: TypeAlias = np.dtype[Any]


def aligned(array: Array) -> Array:
    """The array, contiguous and aligned to its elements, as the kernels read it; a copy only if it is not."""
    return np.require(array, requirements=["C", "A"])


def arithmetic_dtype(dtype: DType) -> DType:
    """float32 where it holds every value of `dtype` (small integers, half and single precision), else float64."""
    return np.dtype(np.float32 if np.can_cast(dtype, np.float32) else np.float64)

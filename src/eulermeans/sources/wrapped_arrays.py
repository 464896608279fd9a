"""Masked arrays, arrays of xarray and tensors of torch: what they hold, as an array that the library knows.

xarray and torch are not imported here: data of theirs exist only if the caller has imported them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from ..arrays import Array
from .source import CHUNK_BYTES, Chunk, MatrixSource, SourceError

if TYPE_CHECKING:
    import torch
    import xarray


def unwrapped(data: object, ndim: int = 2) -> object:
    """The NumPy or Dask array in an xarray array, a tensor as an array or a source; other data as they are.

    `ndim`: how many dimensions the data should have; xarray's names help to say what to do about others. Masked
    values are an error: all that follows would read what is behind the mask.
    """
    if isinstance(data, np.ma.MaskedArray):
        return unmasked(data)
    if _is_data_array(data):
        if data.ndim != ndim:
            raise SourceError(_dimensions_advice(data, ndim))
        return data.data
    if _is_dataset(data):
        raise TypeError(_dataset_advice(data))
    return _from_tensor(data) if _is_tensor(data) else data


def unmasked(array: Array) -> Array:
    """The array without its mask, which must not hide anything."""
    n_masked = np.count_nonzero(np.ma.getmaskarray(array))
    if n_masked:
        raise ValueError(
            f"the array has {n_masked} masked values, which are missing; fill them with X.filled(value), or leave "
            "their rows out."
        )
    return np.asarray(array)


def is_instance(data: object, module: str, name: str) -> bool:
    """Whether data are of a class of a module, which is not imported for that."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(data, getattr(loaded, name, ()))


class TensorSource(MatrixSource):
    """The rows of a tensor whose numbers NumPy does not know, such as bfloat16: as float32, a chunk at a time."""

    at_hand = True

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__("the tensor", tuple(tensor.shape), np.dtype(np.float32))
        self._tensor = tensor

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        step = self.rows_per_chunk(most_bytes)
        for first in range(0, self.n_points, step):
            rows = self._tensor[first : first + step].float().numpy()
            yield Chunk((rows,), self.dtype, self.name, first)


def _is_data_array(data: object) -> TypeGuard[xarray.DataArray]:
    return is_instance(data, "xarray", "DataArray")


def _is_dataset(data: object) -> TypeGuard[xarray.Dataset]:
    return is_instance(data, "xarray", "Dataset")


def _is_tensor(data: object) -> TypeGuard[torch.Tensor]:
    return is_instance(data, "torch", "Tensor")


def _from_tensor(tensor: torch.Tensor) -> object:
    """Without gradients and on the CPU; a copy only if the tensor is on another device."""
    if str(tensor.layout) != "torch.strided":
        raise TypeError(
            f"can't read a tensor with layout {tensor.layout}: pass X.to_dense(), or a SciPy sparse matrix."
        )
    if tensor.dtype.is_complex:
        raise TypeError(f"can't cluster a tensor of {tensor.dtype}: pass real numbers, such as X.abs() or X.real.")
    plain = tensor.detach().cpu().resolve_neg()
    try:
        return plain.numpy()
    except TypeError:  # NumPy has no such dtype
        if not plain.dtype.is_floating_point:
            raise TypeError(f"can't read a tensor of {plain.dtype}: pass X.dequantize() or X.float().") from None
    return TensorSource(plain) if plain.ndim == 2 else plain.float().numpy()


def _dimensions_advice(array: xarray.DataArray, ndim: int) -> str:
    found = f"the xarray array has the dimensions {array.dims}"
    if ndim != 2 or array.ndim < 3:
        return f"{found}; expected {ndim} of them."
    *rows, features = array.dims
    return (
        f"{found}; expected rows and features. If the last one has the features, pass "
        f"X.stack(row={rows}).transpose('row', {features!r})."
    )


def _dataset_advice(dataset: xarray.Dataset) -> str:
    names = list(dataset.data_vars)
    first = repr(names[0]) if names else "name"
    return (
        f"can't read an xarray Dataset, which has {len(names)} variables: pass one of them, X[{first}], or their "
        "rows, X.to_dataframe()."
    )

"""One file that holds a JSON header and arrays, and can tell whether it is whole.

Knows bytes; does not know what a model is. docs/model-format.md describes the format. Nothing in such a file is
ever run, and no length in it is believed before it was compared with the length of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .arrays import Array, DType
from .files import replacing

MAGIC = b"\x89EULER\r\n"  # a byte above 127 and a line end, so that a transfer as text shows
FORMAT = 1
ALIGNMENT = 64  # bytes
LARGEST_HEADER = 64 << 20  # bytes
DTYPES = ("<f8", "<f4", "<i8", "<i4", "|u1")
_START = struct.Struct("<8sII")  # magic, format, length of the header
_DIGEST = hashlib.sha256().digest_size


class ModelFileError(ValueError):
    """A file that is no model, or is damaged, or is newer than this program; the message names it."""


@dataclass(frozen=True)
class Contents:
    """What such a file holds."""

    header: dict[str, Any]  # JSON: strings, numbers, booleans, null, lists and objects of them
    arrays: Mapping[str, Array] = field(default_factory=dict)  # of one of DTYPES


def write(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write the file whole or not at all."""
    arrays = {name: np.ascontiguousarray(array, _stored(array.dtype)) for name, array in contents.arrays.items()}
    described = [
        {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)} for name, array in arrays.items()
    ]
    header = json.dumps({**contents.header, "arrays": described}, allow_nan=False).encode()
    if len(header) > LARGEST_HEADER:
        raise ValueError(
            f"the model's header would take {len(header)} bytes; at most {LARGEST_HEADER} are allowed."
        )
    digest = hashlib.sha256()
    with replacing(path) as partial, partial.open("wb") as file:
        blocks = [memoryview(_START.pack(MAGIC, FORMAT, len(header)) + header)]
        blocks += [array.reshape(-1).view(np.uint8).data for array in arrays.values()]
        for block in blocks:
            for part in (block, memoryview(bytes(-len(block) % ALIGNMENT))):
                digest.update(part)
                file.write(part)
        file.write(digest.digest())


def read(path: str | os.PathLike[str]) -> Contents:
    """The header and the arrays, copied out of the file; raises ModelFileError if anything about it is wrong."""
    size = os.stat(path).st_size
    with Path(path).open("rb") as file:
        header_size = _checked_start(path, file.read(_START.size), size)
        file.seek(0)
        data = memoryview(file.read())
    body, digest = data[: len(data) - _DIGEST], data[len(data) - _DIGEST :]
    if hashlib.sha256(body).digest() != digest:
        _refuse(path, "is damaged: it was cut short or changed after it was written (its checksum is wrong)")
    header = _parsed(path, bytes(body[_START.size : _START.size + header_size]))
    arrays = {}
    place = _START.size + header_size
    for described in _described(path, header.pop("arrays", None)):
        place += -place % ALIGNMENT
        if described.size > len(body) - place:
            _refuse(path, f"says that it holds more of {described.name} than it does")
        flat = np.frombuffer(body[place : place + described.size], described.dtype)
        arrays[described.name] = flat.reshape(described.shape).astype(described.dtype.newbyteorder("="))
        place += described.size
    if place + -place % ALIGNMENT != len(body):
        _refuse(path, "holds more than it says")
    return Contents(header, arrays)


def _stored(dtype: DType) -> DType:
    """As it is stored: little-endian."""
    stored: DType = dtype.newbyteorder("<")
    if stored.str not in DTYPES:
        raise ValueError(f"a model file can't hold an array of {dtype}; it holds {', '.join(DTYPES)}.")
    return stored


def _checked_start(path: str | os.PathLike[str], start: bytes, size: int) -> int:
    """The length of the header, after a look at the first bytes and before any other is read."""
    if not start.startswith(MAGIC):
        if size == 0:
            _refuse(path, "is empty")
        if start[:1] == b"\x80":
            _refuse(
                path, "looks like a pickle, which may run code when it is opened; model.save() writes model files"
            )
        _refuse(path, "is no eulermeans model; `eulermeans fit` and model.save() write them")
    if len(start) < _START.size:
        _refuse(path, "is cut short")
    _, version, header_size = _START.unpack(start)
    if version > FORMAT:
        _refuse(
            path, f"has format {version}, and this eulermeans reads formats up to {FORMAT}; upgrade eulermeans"
        )
    if version < 1:
        _refuse(path, f"has format {version}, which does not exist")
    if header_size > LARGEST_HEADER:
        _refuse(path, f"has a header of {header_size} bytes; at most {LARGEST_HEADER} are allowed")
    if _START.size + header_size + _DIGEST > size:
        _refuse(path, "is cut short")
    return int(header_size)


def _parsed(path: str | os.PathLike[str], text: bytes) -> dict[str, Any]:
    def no_number(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no number of JSON")

    try:
        header = json.loads(text.decode(), parse_constant=no_number)
    except (ValueError, RecursionError):
        _refuse(path, "has a header that is not JSON")
    if not isinstance(header, dict):
        _refuse(path, "has a header that is no JSON object")
    return header


@dataclass(frozen=True)
class _Described:
    name: str
    dtype: DType
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """In bytes; a Python number, which can't overflow."""
        return self.dtype.itemsize * math.prod(self.shape)


def _described(path: str | os.PathLike[str], arrays: Any) -> list[_Described]:
    found: list[_Described] = []
    for entry in arrays if isinstance(arrays, list) else [None]:
        match entry:
            case {"name": str(name), "dtype": str(dtype), "shape": list(shape)} if (
                dtype in DTYPES and len(shape) <= 2 and all(type(n) is int and 0 <= n < 2**31 for n in shape)
            ):
                found.append(_Described(name, np.dtype(dtype), tuple(shape)))
            case _:
                _refuse(path, f"describes an array in a way that is not known: {str(entry)[:80]}")
    if len({described.name for described in found}) < len(found):
        _refuse(path, "holds two arrays of one name")
    return found


def _refuse(path: str | os.PathLike[str], why: str) -> NoReturn:
    raise ModelFileError(f"{os.fspath(path)} {why}.")

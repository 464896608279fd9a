"""The bytes of model files and checkpoints: a JSON header, arrays, and a checksum.

Does not know what a model is. docs/model-format.md describes the format. Reading a file never executes anything in
it, and every length in it is checked against the length of the file before it is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeAlias

import numpy as np

from ..arrays import Array, DType
from .atomic_file import replacing

MAGIC = b"\x89EULER\r\n"  # a byte above 127 and a line ending: a transfer in text mode damages it visibly
FORMAT = 1
ALIGNMENT = 64  # bytes
LARGEST_HEADER = 64 << 20  # bytes
DTYPES = ("<f8", "<f4", "<i8", "<i4", "|u1")
_START = struct.Struct("<8sII")  # magic, format, length of the header
_DIGEST = hashlib.sha256().digest_size

Header: TypeAlias = dict[str, object]  # a JSON object


class InvalidContents(ValueError):
    """The contents of a file are not valid. The message continues a sentence that begins with the file's name."""


@dataclass(frozen=True)
class Contents:
    """What a file holds."""

    header: Header
    arrays: Mapping[str, Array]  # with a dtype of DTYPES


def write(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write the file atomically."""
    arrays = {name: np.ascontiguousarray(array, _stored(array.dtype)) for name, array in contents.arrays.items()}
    descriptions = [
        {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)} for name, array in arrays.items()
    ]
    header = json.dumps({**contents.header, "arrays": descriptions}, allow_nan=False).encode()
    if len(header) > LARGEST_HEADER:
        raise ValueError(f"the model's header has {len(header)} bytes; at most {LARGEST_HEADER} are allowed.")
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
    """The header and copies of the arrays; raises InvalidContents if the file is not valid."""
    size = os.stat(path).st_size
    with Path(path).open("rb") as file:
        header_size = _header_size(file.read(_START.size), size)
        file.seek(0)
        return _parsed(memoryview(file.read()), header_size)


def _stored(dtype: DType) -> DType:
    """The little-endian dtype that is written."""
    stored: DType = dtype.newbyteorder("<")
    if stored.str not in DTYPES:
        raise ValueError(f"a model file can't hold an array of {dtype}; it can hold {', '.join(DTYPES)}.")
    return stored


def _header_size(start: bytes, size: int) -> int:
    """The length of the header, from the first bytes of a file of this size."""
    if not start.startswith(MAGIC):
        if size == 0:
            raise InvalidContents("is empty")
        if start[:1] == b"\x80":
            raise InvalidContents(
                "looks like a pickle, which can run code when it is loaded; model.save() writes model files"
            )
        raise InvalidContents("is not an eulermeans model file; `eulermeans fit` and model.save() write them")
    if len(start) < _START.size:
        raise InvalidContents("is truncated")
    _, version, header_size = _START.unpack(start)
    if version > FORMAT:
        raise InvalidContents(f"has format {version}; this eulermeans reads formats up to {FORMAT}: upgrade it")
    if version < 1:
        raise InvalidContents(f"has format {version}, which does not exist")
    if header_size > LARGEST_HEADER:
        raise InvalidContents(f"has a header of {header_size} bytes; at most {LARGEST_HEADER} are allowed")
    if _START.size + header_size + _DIGEST > size:
        raise InvalidContents("is truncated")
    return int(header_size)


def _parsed(data: memoryview, header_size: int) -> Contents:
    body, digest = data[: len(data) - _DIGEST], data[len(data) - _DIGEST :]
    if hashlib.sha256(body).digest() != digest:
        raise InvalidContents("is damaged: its checksum is wrong, so it was truncated or changed")
    place = _START.size + header_size
    header = _parsed_header(bytes(body[_START.size : place]))
    described = header.pop("arrays", None)
    arrays: dict[str, Array] = {}
    for entry in described if isinstance(described, list) else [None]:
        match entry:
            case {"name": str(name), "dtype": str(kind), "shape": list(shape)} if (
                kind in DTYPES and len(shape) <= 2 and all(type(n) is int and 0 <= n < 2**31 for n in shape)
            ):
                dtype = np.dtype(kind)
            case _:
                raise InvalidContents(f"has an invalid description of an array: {str(entry)[:80]}")
        if name in arrays:
            raise InvalidContents("has two arrays with the same name")
        place += -place % ALIGNMENT
        size = dtype.itemsize * math.prod(shape)  # in Python integers, which can't overflow
        if size > len(body) - place:
            raise InvalidContents(f"is shorter than its header says: the array {name} does not fit")
        flat = np.frombuffer(body[place : place + size], dtype)
        arrays[name] = flat.reshape(shape).astype(dtype.newbyteorder("="))
        place += size
    if place + -place % ALIGNMENT != len(body):
        raise InvalidContents("is longer than its header says")
    return Contents(header, arrays)


def _parsed_header(text: bytes) -> Header:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        header = json.loads(text.decode(), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise InvalidContents("has a header that is not JSON") from None
    if not isinstance(header, dict):
        raise InvalidContents("has a header that is not a JSON object")
    return header

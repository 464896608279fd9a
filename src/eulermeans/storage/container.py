"""The bytes of model files and checkpoints: a JSON header, arrays, and a checksum.

Does not know what a model is. docs/model-format.md describes the format. Reading a file never executes anything in
it, and every length in it is checked against the length of the file before it is used. Headers are small, because
JSON takes twenty times its length in memory: what may be long is stored in arrays.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import NoReturn, TypeAlias

import numpy as np

from ..arrays import Array, DType
from .atomic_file import replacing

MAGIC = b"\x89EULER\r\n"  # a byte above 127 and a line ending: a transfer in text mode damages it visibly
FORMAT = 2  # the newest that is read; 2 is for models that prepare their data
ALIGNMENT = 64  # bytes
LARGEST_HEADER = 1 << 20  # bytes
LARGEST_INTEGER = 2**128  # that a header may hold: the state of a random generator has so many bits
DTYPES = ("<f8", "<f4", "<i8", "<i4", "|u1")
_START = struct.Struct("<8sII")  # magic, format, length of the header
_DIGEST = hashlib.sha256().digest_size
_BLOCK_BYTES = 1 << 20  # of a file that are hashed together

Header: TypeAlias = dict[str, object]  # a JSON object


class InvalidContents(ValueError):
    """The contents of a file are not valid. The message continues a sentence that begins with the file's name."""


@dataclass(frozen=True)
class Contents:
    """What a file holds."""

    header: Header
    arrays: Mapping[str, Array]  # with a dtype of DTYPES


def write(path: str | os.PathLike[str], contents: Contents, version: int = 1) -> None:
    """Write the file atomically, in the oldest format that says all of it."""
    arrays = {name: np.asarray(array, _stored(array.dtype), order="C") for name, array in contents.arrays.items()}
    descriptions = [
        {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)} for name, array in arrays.items()
    ]
    header = json.dumps({**contents.header, "arrays": descriptions}, allow_nan=False).encode()
    if len(header) > LARGEST_HEADER:
        raise ValueError(f"the model's header has {len(header)} bytes; at most {LARGEST_HEADER} are allowed.")
    digest = hashlib.sha256()
    with replacing(path) as partial, partial.open("wb") as file:
        blocks = [memoryview(_START.pack(MAGIC, version, len(header)) + header)]
        blocks += [array.reshape(-1).view(np.uint8).data for array in arrays.values()]
        for block in blocks:
            for part in (block, memoryview(bytes(-len(block) % ALIGNMENT))):
                digest.update(part)
                file.write(part)
        file.write(digest.digest())


def read(path: str | os.PathLike[str]) -> Contents:
    """The header and the arrays; raises InvalidContents if the file is not valid."""
    if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(
        path
    ):  # a pipe may never have anything to read
        raise InvalidContents("is a pipe or a device, but only a file can be read")
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        header_size = _header_size(file.read(_START.size), size)
        _check_digest(file, size - _DIGEST)
        file.seek(_START.size)
        header = _parsed_header(file.read(header_size))
        described = header.pop("arrays", None)
        return Contents(header, _read_arrays(file, described, size - _DIGEST))


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


def _check_digest(file: BufferedReader, end: int) -> None:
    """Compare the bytes before `end` with the digest that follows them."""
    file.seek(0)
    digest = hashlib.sha256()
    for first in range(0, end, _BLOCK_BYTES):
        digest.update(file.read(min(_BLOCK_BYTES, end - first)))
    if digest.digest() != file.read():
        raise InvalidContents("is damaged: its checksum is wrong, so it was truncated or changed")


def _read_arrays(file: BufferedReader, described: object, end: int) -> dict[str, Array]:
    """The arrays that the header describes, from behind the header up to `end`."""
    place = file.tell()
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
        if size > end - place:
            raise InvalidContents(f"is shorter than its header says: the array {name[:80]} does not fit")
        stored = np.empty(shape, dtype)
        file.seek(place)
        if file.readinto(stored.reshape(-1).view(np.uint8).data) != size:
            raise InvalidContents("was changed while it was read")
        arrays[name] = stored.astype(dtype.newbyteorder("="), copy=False)
        place += size
    if place + -place % ALIGNMENT != end:
        raise InvalidContents("is longer than its header says")
    return arrays


def _parsed_header(text: bytes) -> Header:
    try:
        header = json.loads(text.decode(), parse_constant=_refuse, parse_float=_number, parse_int=_integer)
    except (ValueError, RecursionError):
        raise InvalidContents("has a header that is not JSON, or has numbers that are too large") from None
    if not isinstance(header, dict):
        raise InvalidContents("has a header that is not a JSON object")
    return header


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _number(text: str) -> float:
    """A finite number: 1e999 would be infinite."""
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _integer(text: str) -> int:
    """An integer that is not too large to be converted to a float."""
    number = int(text)
    return number if abs(number) < LARGEST_INTEGER else _refuse(text[:40])

"""Files of models and checkpoints as bytes: their header, and the checksum that seals a changed one."""

from __future__ import annotations

import hashlib
import json
import struct


def sealed(content: bytes) -> bytes:
    """With the checksum that belongs to it."""
    return content + hashlib.sha256(content).digest()


def header_of(content: bytes) -> dict:
    size = struct.unpack("<I", content[12:16])[0]
    return json.loads(content[16 : 16 + size])


def with_header(content: bytes, header: object) -> bytes:
    """The same arrays behind another header, sealed as if it had been written so."""
    size = struct.unpack("<I", content[12:16])[0]
    first = 16 + size + -(16 + size) % 64
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    start = content[:12] + struct.pack("<I", len(text)) + text
    return sealed(start + bytes(-len(start) % 64) + content[first:-32])

"""Records: a message's length, a checksum of that, the message and a checksum of it.

The checksum is CRC-32C, rotated and shifted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, Final

from hybridnet.base.errors import FormatError

_MASK: Final = 0xFFFFFFFF
#: What the checksum of a record is shifted by, so that one of a checksum is no fixed point.
_DELTA: Final = 0xA282EAD8
_LARGEST: Final = 1 << 30  # bytes of a record that is read: more is taken for damage


def _table() -> list[int]:
    made = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        made.append(value)
    return made


_CRC: Final = _table()


def _checksum(data: bytes) -> int:
    crc = _MASK
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= _MASK
    return ((crc >> 15 | crc << 17) + _DELTA) & _MASK


def record(message: bytes) -> bytes:
    """Returns a message as a record."""
    length = struct.pack("<Q", len(message))
    head = length + struct.pack("<I", _checksum(length))
    return head + message + struct.pack("<I", _checksum(message))


def read_records(file: BinaryIO, path: str, whole: bool = False) -> Iterator[bytes]:
    """Yields the records of an open file.

    Args:
        file: the file.
        path: of it, for messages.
        whole: whether a record that is cut off at the end is an error; else it ends the file.

    Raises:
        FormatError: a record is damaged.
    """
    while True:
        head = file.read(12)
        if len(head) < 12:
            if head and whole:
                raise FormatError(f"{path}: truncated record")
            return
        length, check = struct.unpack("<QI", head)
        if check != _checksum(head[:8]) or length > _LARGEST:
            raise FormatError(f"{path}: a record's length does not agree with its checksum")
        message, tail = file.read(length), file.read(4)
        if len(message) < length or len(tail) < 4:
            if whole:
                raise FormatError(f"{path}: truncated record")
            return
        if struct.unpack("<I", tail)[0] != _checksum(message):
            raise FormatError(f"{path}: a record does not agree with its checksum")
        yield message

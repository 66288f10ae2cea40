"""The record of what a server has committed of a part, in two places of mapped memory.

The place that is valid and was written last counts. A commit writes into the other one, so a
process that dies in the middle leaves the older record, which is valid: a record says its serial
number twice, once complemented, and has a checksum.

Until then the other place has the record before: it says what the other arrays are. Whoever begins
to write these voids it first.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, final

from hybridnet.kvstore.protocol.words import PartRecord

_FORM: Final = "<4sIQQI36x"  # magic, crc, serial, its complement, ranks: 64 bytes
_HEAD: Final = struct.Struct(_FORM)
_CRC: Final = struct.Struct("<I")
_MAGIC: Final = b"HNrc"
_ALL_BITS: Final = 2**64 - 1


def body_size(ranks: int) -> int:
    """Returns how many bytes `pack_body` gives."""
    return 8 * (4 + ranks)


def pack_body(record: PartRecord) -> bytes:
    """Returns a record as bytes."""
    pushes = record.pushes
    own = (record.round, record.since, record.ahead, record.restored)
    return _body(len(pushes)).pack(*own, *pushes)


@lru_cache
def _body(ranks: int) -> struct.Struct:
    return struct.Struct(f"<QqqQ{ranks}Q")


@lru_cache
def _whole(ranks: int) -> struct.Struct:
    return struct.Struct(f"{_FORM}QqqQ{ranks}Q")


def unpack_body(body: bytes) -> PartRecord:
    """Reads what `pack_body` gave."""
    turn, since, ahead, restored, *pushes = _body(len(body) // 8 - 4).unpack(body)
    return PartRecord(turn, tuple(pushes), since, ahead, restored)


def record_size(ranks: int) -> int:
    """Returns how many bytes a record takes, a multiple of 64."""
    return _HEAD.size + -(-body_size(ranks) // 64) * 64


def _unpack(data: memoryview, ranks: int) -> tuple[int, PartRecord] | None:
    """Returns the serial number and the record; None if it is torn or was never written."""
    magic, crc, serial, complement, count = _HEAD.unpack_from(data)
    if magic != _MAGIC or serial ^ complement != _ALL_BITS or count != ranks:
        return None
    body = bytes(data[_HEAD.size : _HEAD.size + body_size(ranks)])
    if zlib.crc32(_HEAD.pack(magic, 0, serial, complement, count) + body) != crc:
        return None
    return serial, unpack_body(body)


@final
class Records:
    """Two records in mapped memory.

    Args:
        places: two pieces of writable memory, `record_size(ranks)` bytes each.
        ranks: how many workers there are.

    Attributes:
        current: the one that counts; None if neither is valid.
        before: the one in the other place; None if that is not valid.
        place: 0 or 1, where the one that counts is.
    """

    def __init__(self, places: Sequence[memoryview], ranks: int) -> None:
        self._places = tuple(places)
        found = [_unpack(place, ranks) for place in places]
        serials = [0 if one is None else one[0] for one in found]
        self.place = 0 if serials[0] >= serials[1] else 1
        best, other = found[self.place], found[1 - self.place]
        self.current: PartRecord | None = None if best is None else best[1]
        self.before: PartRecord | None = None if other is None else other[1]
        self._serial = serials[self.place]
        self._form = _whole(ranks)
        self._data = bytearray(self._form.size)

    def write(self, record: PartRecord) -> None:
        """Writes a record into the other place, which counts from then on."""
        other, data, pushes = 1 - self.place, self._data, record.pushes
        self._serial = serial = self._serial + 1
        self._form.pack_into(
            data, 0, _MAGIC, 0, serial, serial ^ _ALL_BITS, len(pushes),
            record.round, record.since, record.ahead, record.restored, *pushes,
        )  # fmt: skip
        _CRC.pack_into(data, 4, zlib.crc32(data))
        self._places[other][: len(data)] = data
        self.place, self.before, self.current = other, self.current, record

    def void(self) -> None:
        """Says that nothing is known any more of the other arrays, which are being written."""
        self.before = None
        self._places[1 - self.place][: len(_MAGIC)] = bytes(len(_MAGIC))

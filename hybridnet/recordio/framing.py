"""The layout of records in a file.

A record is one frame, or several where the magic number is inside its data. A frame is, in
little-endian order::

    uint32 0xced7230a
    uint32 kind << 29 | size     kind 0: all of a record; 1, 2, 3: its first, middle, last part
    the part's bytes, then zeros up to a multiple of 4

A magic number at a multiple of 4 bytes of the data is left out and ends a part, so that it stands
in a file at the beginning of frames only: whoever starts in the middle, or behind damage, finds the
next record by it. Files come from strangers, and nothing is believed that the file does not hold.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, NamedTuple

from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.remote import open_binary, size_of

__all__ = ["Entry", "encode", "find_record", "read_record", "scan"]

_MAGIC: Final = 0xCED7230A
_MAGIC_BYTES: Final = struct.pack("<I", _MAGIC)
_HEAD: Final = struct.Struct("<II")
_SIZE_BITS: Final = 29
_SIZE_MASK: Final = (1 << _SIZE_BITS) - 1
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)
_CHUNK: Final = 1 << 20  # bytes; what is longer is looked up in the file's size before it is read
_DAMAGED: Final = (
    "the file is damaged or is no record file; `hybridnet rec check` lists all damage, and "
    "MXRecordIO(..., skip_damaged=True) reads what is whole"
)


class Entry(NamedTuple):
    """A record and where it is.

    Attributes:
        offset: of its first frame, bytes.
        data: the record.
    """

    offset: int
    data: bytes


def encode(data: bytes | bytearray | memoryview) -> bytes:
    """Returns the frames of a record.

    Raises:
        ParameterError: it is no bytes, or 2**29 of them or more.
    """
    try:
        buffer = bytes(data) if not isinstance(data, str) else None
    except TypeError:
        buffer = None
    if buffer is None or isinstance(data, int):
        raise ParameterError(
            f"recordio: a record must be bytes, got {type(data).__name__}; str.encode() makes them"
        )
    if len(buffer) > _SIZE_MASK:
        raise ParameterError(
            f"recordio: a record must have fewer than 2**{_SIZE_BITS} bytes, got {len(buffer)}"
        )
    pieces = []
    begin = 0
    for end in _magic_places(buffer):
        part = buffer[begin:end]
        pieces += [_head(_MIDDLE if begin else _FIRST, len(part)), part]
        begin = end + 4
    rest = buffer[begin:] if begin else buffer
    pieces += [_head(_LAST if begin else _WHOLE, len(rest)), rest, bytes(-len(rest) % 4)]
    return b"".join(pieces)


def _head(kind: int, size: int) -> bytes:
    return _HEAD.pack(_MAGIC, kind << _SIZE_BITS | size)


def _magic_places(data: bytes) -> Iterator[int]:
    place = data.find(_MAGIC_BYTES)
    while place >= 0:
        if place % 4 == 0:
            yield place
        place = data.find(_MAGIC_BYTES, place + (1 if place % 4 else 4))


def read_record(
    file: BinaryIO, name: str, offset: int, careful: bool = False
) -> tuple[bytes | None, int]:
    """Reads the record that a file is at.

    Args:
        file: open for reading.
        name: of the file, for messages.
        offset: where the file is, bytes.
        careful: refuse a record that has lost bytes and in their place has the beginning of the
            next one; the file must be a buffered one.

    Returns:
        The record, and where the next one begins; None at the end of the file.

    Raises:
        FormatError: no whole record begins there.
    """
    head = file.read(8)
    if not head:
        return None, offset
    kind, size = _parse_head(head, name, offset, offset, first=True)
    data = _read_part(file, name, offset, offset, size)
    here = offset + 8 + size + -size % 4
    if kind == _WHOLE:
        if careful:
            _refuse_swallowed(file, name, offset, here, 1)
        return data, here
    parts = [data]
    while kind != _LAST:
        kind, size = _parse_head(file.read(8), name, offset, here, first=False)
        parts.append(_read_part(file, name, offset, here, size))
        here += 8 + size + -size % 4
    if careful:
        _refuse_swallowed(file, name, offset, here, len(parts))
    return _MAGIC_BYTES.join(parts), here


def _refuse_swallowed(file: BinaryIO, name: str, record: int, end: int, frames: int) -> None:
    """Raises where no frame follows a record, and one more than it has begins inside of it."""
    follows: bytes = file.peek(4)[:4]  # type: ignore[attr-defined]
    if _MAGIC_BYTES.startswith(follows):
        return
    file.seek(record)
    begun = file.read(end - record + 3).count(_MAGIC_BYTES)
    file.seek(end)
    if begun > frames:
        need = f"a frame or the end of the file must follow at byte {end}"
        raise _damage(name, record, record, need, f"{follows.hex(' ')}, and another frame inside")


def _parse_head(
    head: bytes, name: str, record: int, offset: int, *, first: bool
) -> tuple[int, int]:
    if len(head) < 8:
        raise _damage(name, record, offset, "8 bytes of frame header are needed", f"{len(head)}")
    magic, word = _HEAD.unpack(head)
    if magic != _MAGIC:
        need = f"a frame must begin with {_MAGIC:#010x}"
        raise _damage(name, record, offset, need, f"{magic:#010x}")
    kind = word >> _SIZE_BITS
    if kind not in ((_WHOLE, _FIRST) if first else (_MIDDLE, _LAST)):
        need = "the frame must begin a record" if first else "the frame must go on with the record"
        raise _damage(name, record, offset, need, f"one of kind {kind}")
    return kind, word & _SIZE_MASK


def _read_part(file: BinaryIO, name: str, record: int, offset: int, size: int) -> bytes:
    if size > _CHUNK:
        # A header can promise half a gigabyte in a file of ten bytes.
        whole = size_of(file)
        if whole is not None and whole - offset - 8 < size:
            left = whole - offset - 8
            raise _damage(name, record, offset, f"{size} bytes of data are needed", f"{left}")
    data = file.read(size)
    if len(data) < size:
        raise _damage(name, record, offset, f"{size} bytes of data are needed", f"{len(data)}")
    if size % 4:
        padding = -size % 4
        got = len(file.read(padding))
        if got < padding:
            raise _damage(name, record, offset, f"{padding} bytes of padding are needed", f"{got}")
    return data


def _damage(name: str, record: int, offset: int, requirement: str, got: str) -> FormatError:
    inside = f", its frame at byte {offset}" if offset != record else ""
    return FormatError(
        f"{name}: record at byte {record}{inside}: {requirement}, got {got}; {_DAMAGED}"
    )


def find_record(file: BinaryIO, offset: int, near: int) -> int | None:
    """Returns where a file has the next record at or behind `offset`; None: nowhere.

    Args:
        file: open for reading, with a position that can be moved; it is moved.
        offset: where to begin, bytes.
        near: where a record was expected. What stands at a multiple of 4 from there is believed at
            once; after lost bytes records are elsewhere, and there another one must follow.
    """
    size = size_of(file) or 0
    while offset + 8 <= size:
        file.seek(offset)
        chunk = file.read(_CHUNK)
        place = chunk.find(_MAGIC_BYTES)
        if place < 0:
            if len(chunk) < _CHUNK:
                return None
            offset += len(chunk) - 3
            continue
        offset += place
        end = _end_of_frame(file, offset, size)
        if end is not None and ((offset - near) % 4 == 0 or _begins_frame(file, end, size)):
            return offset
        offset += 1
    return None


def _end_of_frame(file: BinaryIO, offset: int, size: int) -> int | None:
    file.seek(offset)
    head = file.read(8)
    if len(head) < 8:
        return None
    word = _HEAD.unpack(head)[1]
    length = word & _SIZE_MASK
    end = offset + 8 + length + -length % 4
    return end if word >> _SIZE_BITS in (_WHOLE, _FIRST) and end <= size else None


def _begins_frame(file: BinaryIO, offset: int, size: int) -> bool:
    file.seek(offset)
    return offset == size or file.read(4) == _MAGIC_BYTES


def scan(
    path: str | os.PathLike[str], on_damage: Callable[[FormatError], None] | None = None
) -> Iterator[Entry]:
    """Yields all records of a file, and where they are.

    Args:
        path: the file.
        on_damage: what to call for each damaged place, which is then skipped; None: it is raised.

    Raises:
        FormatError: the file is damaged, and `on_damage` is None.
        OSError: the file cannot be read.
    """
    name = os.fspath(path)
    with open_binary(path, "rb", _CHUNK) as file:
        offset = 0
        while True:
            try:
                data, end = read_record(file, name, offset, careful=on_damage is not None)
            except FormatError as error:
                if on_damage is None:
                    raise
                on_damage(error)
                found = find_record(file, offset + 1, offset)
                if found is None:
                    return
                offset = found
                file.seek(offset)
                continue
            if data is None:
                return
            yield Entry(offset, data)
            offset = end

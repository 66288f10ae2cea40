"""Messages in the wire format of protocol buffers: fields with a number and a kind, in any order.

A kind is a varint, eight bytes, four bytes, or counted bytes; here they are an int, a float (of
either size), and bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hybridnet.base.errors import FormatError

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
#: Number of a field -> its name, the type of what is read, and what makes its value of that.
Fields = Mapping[int, tuple[str, type, Callable[[Any], Any]]]


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def field(number: int, value: float | str | bytes) -> bytes:
    """Returns a field: a varint of an int, eight bytes of a float, and else counted bytes."""
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | _DOUBLE) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def single(number: int, value: float) -> bytes:
    """Returns a field of four bytes."""
    return _varint(number << 3 | _FLOAT) + struct.pack("<f", value)


def doubles(values: Sequence[float]) -> bytes:
    """Returns several numbers, of eight bytes each."""
    return struct.pack(f"<{len(values)}d", *values)


def read_doubles(data: bytes) -> list[float]:
    """Returns the numbers that `doubles` made bytes of; a last one that is cut off is left out."""
    count = len(data) // 8
    return list(struct.unpack(f"<{count}d", data[: count * 8]))


def read(message: bytes, known: Fields) -> dict[str, Any]:
    """Returns the fields of a message by their names; those of another number or kind are left out.

    Raises:
        FormatError: it is damaged.
    """
    found = {}
    for number, content in fields(message):
        name, kind, made = known.get(number, ("", object, bytes))
        if type(content) is kind:
            found[name] = made(content)
    return found


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yields number and content of each field of a message.

    Raises:
        FormatError: it is damaged.
    """
    position = 0
    try:
        while position < len(message):
            key, position = _read_varint(message, position)
            kind = key & 7
            content: Any
            if kind == _VARINT:
                content, position = _read_varint(message, position)
            elif kind in (_DOUBLE, _FLOAT):
                size, form = (8, "<d") if kind == _DOUBLE else (4, "<f")
                (content,) = struct.unpack(form, message[position : position + size])
                position += size
            elif kind == _BYTES:
                length, position = _read_varint(message, position)
                if length > len(message) - position:
                    raise FormatError("a field of a message is longer than the message")
                content = message[position : position + length]
                position += length
            else:
                raise FormatError(f"a message has a field of the unknown kind {kind}")
            yield key >> 3, content
    except (IndexError, struct.error) as error:
        raise FormatError("a message is cut off") from error


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise FormatError("a number of a message is too long")

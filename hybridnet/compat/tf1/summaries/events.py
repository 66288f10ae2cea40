"""Event files, as TensorBoard reads them: records with checksums, each an Event message.

A record is its length, a checksum of that, the message and a checksum of it; the checksum is
CRC-32C, rotated and shifted. Messages are in the wire format of protocol buffers: fields with a
number and a kind (a varint, eight bytes, four bytes, or counted bytes), in any order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, final

from hybridnet.base.errors import FormatError

__all__ = [
    "Event",
    "Histogram",
    "Image",
    "Summary",
    "Value",
    "graph_bytes",
    "read_records",
    "record",
    "summary_iterator",
]

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
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
    """Returns a message as a record of an event file."""
    length = struct.pack("<Q", len(message))
    head = length + struct.pack("<I", _checksum(length))
    return head + message + struct.pack("<I", _checksum(message))


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _counted(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | _DOUBLE) + struct.pack("<d", value)


def _doubles(number: int, values: Sequence[float]) -> bytes:
    return _counted(number, struct.pack(f"<{len(values)}d", *values))


@final
@dataclass(frozen=True)
class Histogram:
    """How many values lie where.

    Attributes:
        min: the smallest.
        max: the largest.
        num: how many there are.
        sum: of them.
        sum_squares: of their squares.
        bucket_limit: where each bucket ends; it begins where the one before ends.
        bucket: how many are in it.
    """

    min: float = 0.0
    max: float = 0.0
    num: float = 0.0
    sum: float = 0.0
    sum_squares: float = 0.0
    bucket_limit: Sequence[float] = ()
    bucket: Sequence[float] = ()

    def message(self) -> bytes:
        """Returns the message."""
        numbers = (self.min, self.max, self.num, self.sum, self.sum_squares)
        made = b"".join(_double(index, one) for index, one in enumerate(numbers, 1))
        return made + _doubles(6, self.bucket_limit) + _doubles(7, self.bucket)


@final
@dataclass(frozen=True)
class Image:
    """An image.

    Attributes:
        height: of it.
        width: of it.
        colorspace: how many channels it has.
        encoded_image_string: a PNG file.
    """

    height: int = 0
    width: int = 0
    colorspace: int = 0
    encoded_image_string: bytes = b""

    def message(self) -> bytes:
        """Returns the message."""
        numbers = (self.height, self.width, self.colorspace)
        made = b"".join(
            _varint(n << 3 | _VARINT) + _varint(one) for n, one in enumerate(numbers, 1)
        )
        return made + _counted(4, self.encoded_image_string)


@final
@dataclass
class Value:
    """One value of a summary.

    Attributes:
        tag: its name.
        simple_value: a number.
        histo: a histogram, or None.
        image: an image, or None.
    """

    tag: str = ""
    simple_value: float = 0.0
    histo: Histogram | None = None
    image: Image | None = None

    def message(self) -> bytes:
        """Returns the message."""
        name = _counted(1, self.tag.encode())
        if self.histo is not None:
            return name + _counted(5, self.histo.message())
        if self.image is not None:
            return name + _counted(4, self.image.message())
        return name + _varint(2 << 3 | _FLOAT) + struct.pack("<f", self.simple_value)


@final
@dataclass
class Summary:
    """Values of one step.

    Attributes:
        value: the values.
    """

    value: list[Value] = field(default_factory=list)

    Value = Value

    def SerializeToString(self) -> bytes:
        """Returns the message."""
        return b"".join(_counted(1, one.message()) for one in self.value)

    @classmethod
    def FromString(cls, message: bytes) -> Summary:
        """Reads a message.

        Raises:
            FormatError: it is damaged.
        """
        found = _fields(message)
        return cls([_value(data) for number, data in found if number == 1 and type(data) is bytes])

    def ParseFromString(self, message: bytes) -> int:
        """Takes the values of a message; returns its length."""
        self.value = self.FromString(message).value
        return len(message)


@final
@dataclass
class Event:
    """What is written at one moment.

    Attributes:
        wall_time: when, in seconds since 1970.
        step: at which step.
        file_version: the version, in a file's first event.
        summary: values, or None.
        graph_def: a graph, as a message.
    """

    wall_time: float = 0.0
    step: int = 0
    file_version: str = ""
    summary: Summary | None = None
    graph_def: bytes = b""

    def SerializeToString(self) -> bytes:
        """Returns the message."""
        made = _double(1, self.wall_time)
        if self.step:
            made += _varint(2 << 3 | _VARINT) + _varint(self.step)
        if self.file_version:
            made += _counted(3, self.file_version.encode())
        if self.graph_def:
            made += _counted(4, self.graph_def)
        if self.summary is not None:
            made += _counted(5, self.summary.SerializeToString())
        return made


def graph_bytes(graph: Any) -> bytes:
    """Returns a graph as the message that TensorBoard draws."""
    nodes = []
    for op in graph.as_graph_def().node:
        parts = _counted(1, op.name.encode()) + _counted(2, op.op.encode())
        parts += b"".join(_counted(3, one.encode()) for one in op.input)
        nodes.append(_counted(1, parts + _counted(4, op.device.encode())))
    return b"".join(nodes)


def summary_iterator(path: Any) -> Iterator[Event]:
    """Yields the events of a file.

    Raises:
        FormatError: a record is damaged; one that is cut off at the end ends the file.
    """
    with Path(path).open("rb") as file:
        for message in read_records(file, str(path)):
            yield _event(message)


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


def _event(message: bytes) -> Event:
    made = Event()
    for number, data in _fields(message):
        if number == 1 and isinstance(data, float):
            made.wall_time = data
        elif number == 2 and isinstance(data, int):
            made.step = data if data < 1 << 63 else data - (1 << 64)
        elif number == 3 and isinstance(data, bytes):
            made.file_version = data.decode(errors="replace")
        elif number == 4 and isinstance(data, bytes):
            made.graph_def = data
        elif number == 5 and isinstance(data, bytes):
            made.summary = Summary.FromString(data)
    return made


def _value(message: bytes) -> Value:
    made = Value()
    for number, data in _fields(message):
        if number == 1 and isinstance(data, bytes):
            made.tag = data.decode(errors="replace")
        elif number == 2 and isinstance(data, float):
            made.simple_value = data
        elif number == 5 and isinstance(data, bytes):
            made.histo = _histogram(data)
        elif number == 4 and isinstance(data, bytes):
            made.image = _image(data)
    return made


def _image(message: bytes) -> Image:
    names = {1: "height", 2: "width", 3: "colorspace"}
    found: dict[str, Any] = {}
    for number, data in _fields(message):
        if number in names and isinstance(data, int):
            found[names[number]] = data
        elif number == 4 and isinstance(data, bytes):
            found["encoded_image_string"] = data
    return Image(**found)


def _histogram(message: bytes) -> Histogram:
    names = {1: "min", 2: "max", 3: "num", 4: "sum", 5: "sum_squares"}
    found: dict[str, Any] = {}
    for number, data in _fields(message):
        if number in names and isinstance(data, float):
            found[names[number]] = data
        elif number in (6, 7) and isinstance(data, bytes):
            values = list(struct.unpack(f"<{len(data) // 8}d", data[: len(data) // 8 * 8]))
            found["bucket_limit" if number == 6 else "bucket"] = values
    return Histogram(**found)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yields number and content of each field of a message."""
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

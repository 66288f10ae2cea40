"""The messages in an event file: events, the summaries in them, and the values of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as made_by
from pathlib import Path
from typing import Any, Final, final

from . import wire
from .records import read_records
from .wire import field


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
        made = b"".join(field(number, float(one)) for number, one in enumerate(numbers, 1))
        lists = (self.bucket_limit, self.bucket)
        return made + b"".join(field(n, wire.doubles(one)) for n, one in enumerate(lists, 6))


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
        sizes = (self.height, self.width, self.colorspace)
        made = b"".join(field(number, int(one)) for number, one in enumerate(sizes, 1))
        return made + field(4, self.encoded_image_string)


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
        name = field(1, self.tag)
        if self.histo is not None:
            return name + field(5, self.histo.message())
        if self.image is not None:
            return name + field(4, self.image.message())
        return name + wire.single(2, self.simple_value)


@final
@dataclass
class Summary:
    """Values of one step.

    Attributes:
        value: the values.
    """

    value: list[Value] = made_by(default_factory=list)

    Value = Value

    def SerializeToString(self) -> bytes:
        """Returns the message."""
        return b"".join(field(1, one.message()) for one in self.value)

    @classmethod
    def FromString(cls, message: bytes) -> Summary:
        """Reads a message.

        Raises:
            FormatError: it is damaged.
        """
        found = wire.fields(message)
        parts = (data for number, data in found if number == 1 and type(data) is bytes)
        return cls([Value(**wire.read(one, _VALUE)) for one in parts])

    def ParseFromString(self, message: bytes) -> int:
        """Takes the values of a message; returns its length."""
        self.value = self.FromString(message).value
        return len(message)


@final
@dataclass
class Event:
    """An entry of an event file, written at one moment.

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
        made = field(1, float(self.wall_time))
        if self.step:
            made += field(2, int(self.step))
        if self.file_version:
            made += field(3, self.file_version)
        if self.graph_def:
            made += field(4, self.graph_def)
        if self.summary is not None:
            made += field(5, self.summary.SerializeToString())
        return made


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


_NUMBERS: Final = ("min", "max", "num", "sum", "sum_squares")
_HISTOGRAM: Final[wire.Fields] = {
    **{number: (name, float, float) for number, name in enumerate(_NUMBERS, 1)},
    6: ("bucket_limit", bytes, wire.read_doubles),
    7: ("bucket", bytes, wire.read_doubles),
}
_IMAGE: Final[wire.Fields] = {
    1: ("height", int, int),
    2: ("width", int, int),
    3: ("colorspace", int, int),
    4: ("encoded_image_string", bytes, bytes),
}
_VALUE: Final[wire.Fields] = {
    1: ("tag", bytes, _text),
    2: ("simple_value", float, float),
    4: ("image", bytes, lambda data: Image(**wire.read(data, _IMAGE))),
    5: ("histo", bytes, lambda data: Histogram(**wire.read(data, _HISTOGRAM))),
}
_EVENT: Final[wire.Fields] = {
    1: ("wall_time", float, float),
    2: ("step", int, lambda number: number if number < 1 << 63 else number - (1 << 64)),
    3: ("file_version", bytes, _text),
    4: ("graph_def", bytes, bytes),
    5: ("summary", bytes, Summary.FromString),
}


def summary_iterator(path: Any) -> Iterator[Event]:
    """Yields the events of a file.

    Raises:
        FormatError: a record is damaged; one that is cut off at the end ends the file.
    """
    with Path(path).open("rb") as file:
        for message in read_records(file, str(path)):
            yield Event(**wire.read(message, _EVENT))

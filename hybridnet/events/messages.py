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

# What says that a tensor is shown by TensorBoard's plugin for text: SummaryMetadata.plugin_data.
_FOR_TEXT: Final = field(1, field(1, "text"))
_STRING: Final = 7  # the dtype of strings, as TensorProto has it


def _strings(text: str) -> bytes:
    """Returns a tensor of shape (1,) with a text, as a TensorProto."""
    return field(1, _STRING) + field(2, field(2, field(1, 1))) + field(8, text)


def _string_of(tensor: bytes) -> str | None:
    """Returns the first text of a TensorProto; None: it has none."""
    found = (data for number, data in wire.fields(tensor) if number == 8 and type(data) is bytes)
    first = next(found, None)
    return None if first is None else _text(first)


@final
@dataclass(frozen=True)
class Histogram:
    """The numbers of values by where they lie.

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
@dataclass(frozen=True)
class Audio:
    """A sound.

    Attributes:
        sample_rate: samples a second.
        num_channels: how many are played at once.
        length_frames: samples of a channel.
        encoded_audio_string: a WAV file.
        content_type: what kind of file it is.
    """

    sample_rate: float = 0.0
    num_channels: int = 0
    length_frames: int = 0
    encoded_audio_string: bytes = b""
    content_type: str = "audio/wav"

    def message(self) -> bytes:
        """Returns the message."""
        made = wire.single(1, self.sample_rate) + field(2, int(self.num_channels))
        made += field(3, int(self.length_frames)) + field(4, self.encoded_audio_string)
        return made + field(5, self.content_type)


@final
@dataclass
class Value:
    """One value of a summary.

    Attributes:
        tag: its name.
        simple_value: a number.
        histo: a histogram, or None.
        image: an image, or None.
        audio: a sound, or None.
        text: words, which TensorBoard reads as Markdown, or None.
    """

    tag: str = ""
    simple_value: float = 0.0
    histo: Histogram | None = None
    image: Image | None = None
    audio: Audio | None = None
    text: str | None = None

    def message(self) -> bytes:
        """Returns the message."""
        name = field(1, self.tag)
        if self.histo is not None:
            return name + field(5, self.histo.message())
        if self.image is not None:
            return name + field(4, self.image.message())
        if self.audio is not None:
            return name + field(6, self.audio.message())
        if self.text is not None:
            return name + field(8, _strings(self.text)) + field(9, _FOR_TEXT)
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
_AUDIO: Final[wire.Fields] = {
    1: ("sample_rate", float, float),
    2: ("num_channels", int, int),
    3: ("length_frames", int, int),
    4: ("encoded_audio_string", bytes, bytes),
    5: ("content_type", bytes, _text),
}
_VALUE: Final[wire.Fields] = {
    1: ("tag", bytes, _text),
    2: ("simple_value", float, float),
    4: ("image", bytes, lambda data: Image(**wire.read(data, _IMAGE))),
    5: ("histo", bytes, lambda data: Histogram(**wire.read(data, _HISTOGRAM))),
    6: ("audio", bytes, lambda data: Audio(**wire.read(data, _AUDIO))),
    8: ("text", bytes, _string_of),
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

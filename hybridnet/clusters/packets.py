"""Messages between tasks as frames of bytes and back; every bound is checked.

A message is a head of 16 bytes, JSON, and tensors, one after the other. What is short is joined,
and what is longer than a frame may be goes in several: where frames end means nothing.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base.errors import FormatError
from hybridnet.kvstore.transport.wire import SMALL, Buffer
from hybridnet.ndarray.copies import aligned
from hybridnet.runtime.between_tasks import (
    Cancel,
    Have,
    Key,
    Made,
    Message,
    Tensors,
    TravellingTensor,
)

from .lanes import LentAt

_HEAD: Final = struct.Struct("<4sI8x")
_MAGIC: Final = b"HNTK"
#: Bytes of JSON at most, of one frame at most, and tensors of one message at most.
_JSON: Final = 64 << 20
_FRAME: Final = 16 << 20
_TENSORS: Final = 1 << 16
#: Short parts that are joined at most.
_TOGETHER: Final = 64
_AXES: Final = 32
_INTEGERS: Final = frozenset({int})
#: `json.dumps` and `json.loads` of bytes would look at more than there is to see.
_WRITTEN: Final = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
_READ: Final = json.JSONDecoder().raw_decode


class Packet(NamedTuple):
    """A message.

    Attributes:
        words: its JSON, an object; ``kind`` says what it is, ``from`` whose.
        tensors: what travels with it.
        places: of tensors by number, where they are instead.
    """

    words: Mapping[str, Any]
    tensors: Sequence[TravellingTensor] = ()
    places: Mapping[int, LentAt] = {}


def pack(packet: Packet) -> list[Buffer]:
    """Returns a message as frames: what is short is in one, what is long in frames of its own.

    Raises:
        FormatError: its JSON is too long.
    """
    words, payloads = packet.words, []
    if packet.tensors:
        kinds = []
        for number, one in enumerate(packet.tensors):
            place = packet.places.get(number)
            kinds.append([one.dtype, one.shape, one.nbytes if place is None else place])
            if place is None:
                payloads.append(one.payload)
        words = {**words, "tensors": kinds}
    text = _WRITTEN(words).encode()
    if len(text) > _JSON:
        raise FormatError(f"a part of a graph has {len(text)} bytes; {_JSON} can be sent")
    head = _HEAD.pack(_MAGIC, len(text))
    if not payloads and len(text) <= SMALL:
        return [head + text]
    frames: list[Buffer] = []
    short: list[Buffer] = [head]
    for piece in (text, *payloads):
        if len(piece) <= SMALL:
            short.append(piece)
            if len(short) < _TOGETHER:
                continue
        if short:
            frames.append(b"".join(short))
            short = []
        if len(piece) > SMALL:
            view = memoryview(piece)
            frames += [view[start : start + _FRAME] for start in range(0, len(view), _FRAME)]
    if short:
        frames.append(b"".join(short))
    return frames


def unpack(frames: Sequence[Buffer]) -> list[Packet]:
    """Returns the messages that `pack` wrote: short ones may follow one another.

    Raises:
        FormatError: these are none.
    """
    rest = _Bytes(frames)
    found = [_packet(rest)]
    while not rest.is_empty:
        found.append(_packet(rest))
    return found


def _packet(rest: _Bytes) -> Packet:
    magic, size = _HEAD.unpack(rest.take(_HEAD.size))
    if magic != _MAGIC or size > _JSON:
        raise FormatError("a message of another program, or too long")
    try:
        text = str(rest.take(size), "utf-8")
        words, end = _READ(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"a message between tasks is no JSON: {error}") from error
    if type(words) is not dict or end != len(text):
        raise FormatError("a message between tasks must be an object")
    kinds = words.get("tensors")
    if kinds is None:
        return Packet(words)
    if not isinstance(kinds, list) or len(kinds) > _TENSORS:
        raise FormatError(f"a message has a list of {_TENSORS} tensors at most")
    tensors, places = [], {}
    for number, kind in enumerate(kinds):
        if not isinstance(kind, list) or len(kind) != 3:
            raise FormatError("a tensor has a dtype, a shape, and a size or a place")
        code, shape, size = kind
        if type(size) is list:
            places[number], size = _place(size), 0
        tensors.append(_tensor(code, shape, size, rest))
    return Packet(words, tensors, places)


def _place(words: list[Any]) -> LentAt:
    if len(words) != len(LentAt._fields) or not all(type(one) is int for one in words):
        raise FormatError("where a tensor is, is said by numbers")
    return LentAt(*words)


class _Bytes:
    """A reader of the bytes in frames, from the beginning to the end."""

    def __init__(self, frames: Sequence[Buffer]) -> None:
        self._left = sum(map(len, frames))
        self._frames = iter(frames)
        self._now = memoryview(b"")

    @property
    def is_empty(self) -> bool:
        """Whether all was read."""
        return self._left == 0

    def take(self, size: Any) -> Buffer:
        """Returns the next bytes; those that are in one frame without a copy."""
        if type(size) is not int or not 0 <= size <= self._left:
            raise FormatError("a message between tasks is not as long as it says")
        self._left -= size
        now = self._now
        if len(now) == 0 < size:
            now = memoryview(next(self._frames))
        if size <= len(now):
            self._now = now[size:]
            return now[:size]
        self._now = now
        # Where XLA would have it, so that it need not be copied once more.
        whole = aligned((size,), np.dtype(np.uint8))
        done = 0
        while done < size:
            if len(self._now) == 0:
                self._now = memoryview(next(self._frames))
            count = min(size - done, len(self._now))
            whole[done : done + count] = np.frombuffer(self._now[:count], np.uint8)
            self._now, done = self._now[count:], done + count
        return whole.data


def _tensor(code: Any, shape: Any, size: Any, rest: _Bytes) -> TravellingTensor:
    if not isinstance(shape, list) or len(shape) > _AXES:
        raise FormatError("a tensor has a shape")
    if type(code) is not int or not _INTEGERS.issuperset(map(type, shape)):
        raise FormatError("a tensor's dtype and shape are numbers")
    return TravellingTensor(code, tuple(shape), memoryview(rest.take(size)))


def write_message(message: Message) -> Packet:
    """Returns what one rendezvous says to another as a packet."""
    match message:
        case Tensors(step, number, made):
            tensors = [one.tensor for one in made if one.tensor is not None]
            keys = [[*one.key, one.dead, one.tensor is not None] for one in made]
            return Packet(
                {"kind": "tensors", "step": step, "number": number, "keys": keys}, tensors
            )
        case Have(step, below, beyond, again):
            words = {"kind": "have", "step": step, "number": below, "beyond": list(beyond)}
            return Packet({**words, "again": again})
        case Cancel(step, why):
            return Packet({"kind": "abort", "step": step, "why": why[:4096]})


def read_message(packet: Packet) -> Message | None:
    """Returns what `write_message` wrote; None for packets of other kinds.

    Raises:
        FormatError: it is of such a kind, and not as it must be.
    """
    words = packet.words
    kind = words.get("kind")
    if kind not in ("tensors", "have", "abort"):
        return None
    step, number = words.get("step"), words.get("number", 0)
    if type(step) is not int or type(number) is not int or not 0 <= number < 1 << 62:
        raise FormatError("steps and messages have numbers")
    if kind == "abort":
        return Cancel(step, str(words.get("why")))
    if kind == "have":
        beyond = words.get("beyond")
        if not isinstance(beyond, list) or not all(type(one) is int for one in beyond):
            raise FormatError("what has come is said by numbers")
        return Have(step, number, tuple(beyond), words.get("again") is True)
    keys = words.get("keys")
    if not isinstance(keys, list) or not all(map(_is_key, keys)):
        raise FormatError("tensors have keys")
    if sum(one[6] for one in keys) != len(packet.tensors):
        raise FormatError("of each tensor it is said whether it is there")
    tensors = iter(packet.tensors)
    made = [Made(Key(*one[:5]), one[5], next(tensors) if one[6] else None) for one in keys]
    return Tensors(step, number, tuple(made))


#: What a key is made of, and whether it is dead, and there.
_KEY: Final = (str, str, str, str, int, bool, bool)


def _is_key(words: Any) -> bool:
    return isinstance(words, list) and tuple(map(type, words)) == _KEY

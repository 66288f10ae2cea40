"""Messages between tasks as frames of bytes and back; every bound is checked.

A message is a head of 16 bytes, JSON, and tensors. What is longer than a frame may be goes in
several.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from hybridnet.base.errors import FormatError
from hybridnet.kvstore.transport.wire import Buffer
from hybridnet.runtime.executor.rendezvous import Key
from hybridnet.runtime.executor.task_messages import (
    Answer,
    Ask,
    Cancel,
    Got,
    Message,
    TravellingTensor,
)

__all__ = ["Packet", "pack", "read_message", "unpack", "write_message"]

_HEAD: Final = struct.Struct("<4sI8s")
_MAGIC: Final = b"HNTK"
#: Bytes of JSON at most, of one frame at most, and tensors of one message at most.
_JSON: Final = 64 << 20
_FRAME: Final = 16 << 20
_TENSORS: Final = 1 << 16
_AXES: Final = 32


class Packet(NamedTuple):
    """A message.

    Attributes:
        words: its JSON, an object; ``kind`` says what it is, ``from`` whose.
        tensors: what travels with it.
    """

    words: Mapping[str, Any]
    tensors: Sequence[TravellingTensor] = ()


def pack(packet: Packet) -> list[Buffer]:
    """Returns a message as frames.

    Raises:
        FormatError: its JSON is too long.
    """
    tensors = [[one.dtype, list(one.shape)] for one in packet.tensors]
    sizes = [len(one.payload) for one in packet.tensors]
    text = json.dumps({**packet.words, "tensors": tensors, "sizes": sizes}).encode()
    if len(text) > _JSON:
        raise FormatError(f"a part of a graph has {len(text)} bytes; {_JSON} can be sent")
    frames: list[Buffer] = [_HEAD.pack(_MAGIC, len(text), bytes(8))]
    for one in (text, *(tensor.payload for tensor in packet.tensors)):
        view = memoryview(one)
        frames += [view[start : start + _FRAME] for start in range(0, len(view), _FRAME)]
    return frames


def unpack(frames: Sequence[Buffer]) -> Packet:
    """Returns the message that `pack` wrote.

    Raises:
        FormatError: it is none.
    """
    if not frames or len(frames[0]) != _HEAD.size:
        raise FormatError("a message between tasks begins with its head")
    magic, size, _ = _HEAD.unpack(frames[0])
    if magic != _MAGIC or size > _JSON:
        raise FormatError("a message of another program, or too long")
    rest = _Frames(frames[1:])
    try:
        words = json.loads(bytes(rest.take(size)))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"a message between tasks is no JSON: {error}") from error
    if not isinstance(words, dict):
        raise FormatError("a message between tasks must be an object")
    kinds, sizes = words.get("tensors"), words.get("sizes")
    if not isinstance(kinds, list) or not isinstance(sizes, list) or len(kinds) != len(sizes):
        raise FormatError("a message says what tensors it has")
    if len(kinds) > _TENSORS:
        raise FormatError(f"a message has {_TENSORS} tensors at most")
    return Packet(words, [_tensor(*one, rest) for one in zip(kinds, sizes, strict=True)])


class _Frames:
    """Frames, read one after the other."""

    def __init__(self, frames: Sequence[Buffer]) -> None:
        self._frames = iter(frames)

    def take(self, size: Any) -> Buffer:
        """Returns the next bytes; those of one frame without a copy."""
        if type(size) is not int or size < 0:
            raise FormatError("sizes must be numbers")
        if size == 0:
            return b""
        found: list[Buffer] = []
        left = size
        while left > 0:
            frame = next(self._frames, None)
            if frame is None or not 0 < len(frame) <= left:
                raise FormatError("a message is not as long as it says")
            found.append(frame)
            left -= len(frame)
        return found[0] if len(found) == 1 else b"".join(found)


def _tensor(kind: Any, size: Any, frames: _Frames) -> TravellingTensor:
    if not isinstance(kind, list) or len(kind) != 2 or not isinstance(kind[1], list):
        raise FormatError("a tensor has a dtype and a shape")
    code, shape = kind
    if len(shape) > _AXES or not all(type(one) is int for one in (code, *shape)):
        raise FormatError("a tensor's dtype and shape are numbers")
    payload = frames.take(size)
    return TravellingTensor(code, tuple(shape), memoryview(payload))


def write_message(message: Message) -> Packet:
    """Returns what one rendezvous says to another as a packet."""
    match message:
        case Ask(step, number, key):
            return Packet({"kind": "ask", "step": step, "number": number, "key": list(key)})
        case Answer(step, number, dead, tensor):
            words = {"kind": "answer", "step": step, "number": number, "dead": dead}
            return Packet(words, () if tensor is None else (tensor,))
        case Got(step, number):
            return Packet({"kind": "got", "step": step, "number": number})
        case Cancel(step, why):
            return Packet({"kind": "abort", "step": step, "why": why[:4096]})


def read_message(packet: Packet) -> Message | None:
    """Returns what `write_message` wrote; None for packets of other kinds.

    Raises:
        FormatError: it is of such a kind, and not as it must be.
    """
    words = packet.words
    kind = words.get("kind")
    if kind not in ("ask", "answer", "got", "abort"):
        return None
    step, number = words.get("step"), words.get("number", 0)
    if type(step) is not int or type(number) is not int or not 0 <= number < 1 << 62:
        raise FormatError("steps and requests have numbers")
    if kind == "got":
        return Got(step, number)
    if kind == "abort":
        return Cancel(step, str(words.get("why")))
    if kind == "answer":
        return Answer(
            step, number, words.get("dead") is True, packet.tensors[0] if packet.tensors else None
        )
    key = words.get("key")
    if not isinstance(key, list) or len(key) != 5 or type(key[4]) is not int:
        raise FormatError("a tensor is asked for by its key")
    return Ask(step, number, Key(str(key[0]), str(key[1]), str(key[2]), str(key[3]), key[4]))

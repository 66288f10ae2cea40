"""Messages as frames of bytes and back. Every bound is checked before anything is made of a byte.

A message is a header of 64 bytes and, as its flags say, JSON, row numbers and a payload, each in a
frame of its own; a small payload that is all there is follows the header in its frame, and small
messages may follow one another in one frame. What the hot messages say is in the header
alone. All numbers are little-endian.

What comes from outside is checked here for its form: lengths, known kinds, flags that the kind
has, numbers in their ranges. Whether a payload fits its part is the driver's business, which knows
the parts (`pushed.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, final

from hybridnet.kvstore.protocol import words as w
from hybridnet.kvstore.transport.json_words import WireError, read_word, write_word

__all__ = [
    "LARGEST_FRAME",
    "LARGEST_JSON",
    "LARGEST_PART",
    "MOST_TOGETHER",
    "SMALL",
    "Buffer",
    "Frames",
    "Payload",
    "WireError",
    "decode",
    "encode",
]

Buffer = bytes | bytearray | memoryview
Frames = Sequence[Buffer]

#: Bytes of one frame at most: a part of rows has 16 MiB. ZeroMQ drops who sends more.
LARGEST_FRAME: Final = (16 << 20) + 4096
#: Bytes of JSON at most; of a view, which names every process, more.
LARGEST_JSON: Final = 64 << 10
_LARGEST_VIEW: Final = 1 << 20
#: Bytes of a payload up to which it travels in the header's frame: copying it is quicker.
SMALL: Final = 16 << 10
#: Messages in one frame at most.
MOST_TOGETHER: Final = 256
#: Bytes: where messages begin that follow one another in a frame, and so their payloads.
_ALIGNED: Final = 8
#: Bytes of each frame of a part that is larger than a frame may be: what travels fastest.
_PIECE: Final = 4 << 20
#: Frames of a message at most: a full copy has one for the value and one for each state, or, of a
#: part that is whole however large it is, several.
_MOST_FRAMES: Final = 4096
#: Bytes of a part at most.
LARGEST_PART: Final = (_MOST_FRAMES // 8) * _PIECE

_HEADER: Final = struct.Struct("<4sBBHQHBBIIIQiB3xQII")
assert _HEADER.size == 64
_MAGIC: Final = b"HNKV"
_MOST_COUNTED: Final = 1 << 62  # as `words.Count` has it
_VERSION: Final = 1

_ROLES: Final[tuple[w.Role, ...]] = ("worker", "server", "scheduler", "supervisor")
_ROLE_NUMBERS: Final = {role: number for number, role in enumerate(_ROLES)}
_NO_RANK: Final = 0xFFFF
#: By how many bytes the last unit has: what fills it.
_FILL: Final = [bytes(-size % _ALIGNED) for size in range(_ALIGNED)]

# Flags.
_JSON, _ROWS, _PAYLOAD, _VALUE, _RECEIPT, _BELOW = (1 << n for n in range(6))


@final
class Payload:
    """Bytes that travel with a message.

    Attributes:
        frames: the bytes; several frames of a full copy, and of what one cannot hold.
        codec: 0: as they are; 1: 2-bit compression.
        lane: 0: the bytes are in `frames`; else the frame says where they are in a mapped file of
            the sender's with this number (`mapped_lane.py`).
        size: how many bytes the frames have.
        shared: how many bytes are in the file.
    """

    __slots__ = ("codec", "frames", "lane", "shared", "size")

    def __init__(
        self, frames: tuple[Buffer, ...], codec: int = 0, lane: int = 0, shared: int = 0
    ) -> None:
        self.frames = frames
        self.codec = codec
        self.lane = lane
        self.shared = shared
        self.size = len(frames[0]) if len(frames) == 1 else sum(map(len, frames))

    @classmethod
    def of(cls, *buffers: Buffer, codec: int = 0) -> Payload:
        """Returns a payload of these bytes; what is larger than a frame may be is cut."""
        if len(buffers) == 1 and len(buffers[0]) <= LARGEST_FRAME:
            return cls(buffers, codec)
        return cls(tuple(piece for one in buffers for piece in _pieces(one)), codec)

    def joined(self) -> Buffer:
        """Returns the bytes as one piece."""
        return self.frames[0] if len(self.frames) == 1 else b"".join(self.frames)


def _pieces(buffer: Buffer) -> list[Buffer]:
    view = memoryview(buffer)
    if view.nbytes <= LARGEST_FRAME:
        return [buffer]
    return [view[first : first + _PIECE] for first in range(0, view.nbytes, _PIECE)]


@dataclass(frozen=True, slots=True)
class _Form:
    """The way in which a kind of message travels.

    Attributes:
        kind: its class.
        json: whether its fields are in JSON; else they are in the header.
        flags: that it may have.
    """

    kind: type
    json: bool = False
    flags: int = 0


#: A message's number on the wire is its place here. Add at the end; change nothing.
_FORMS: Final = (
    _Form(w.Hello, json=True),
    _Form(w.Welcome, json=True),
    _Form(w.WhoAreYou),
    _Form(w.Peers, json=True),
    _Form(w.Gone, json=True),
    _Form(w.Configure, json=True),
    _Form(w.Configured),
    _Form(w.Barrier, json=True),
    _Form(w.BarrierDone, json=True),
    _Form(w.StandbyReady, json=True),
    _Form(w.Left),
    _Form(w.Stop, json=True),
    _Form(w.Join),
    _Form(w.Joined, flags=_BELOW),
    _Form(w.InitPart, json=True, flags=_PAYLOAD),
    _Form(w.Initialized),
    _Form(w.PushPart, flags=_PAYLOAD | _ROWS | _VALUE | _RECEIPT),
    _Form(w.AskPart),
    _Form(w.Kept),
    _Form(w.Missing),
    _Form(w.Applied, flags=_PAYLOAD),
    _Form(w.PullPart, flags=_ROWS),
    _Form(w.PartValue, flags=_PAYLOAD | _ROWS),
    _Form(w.Command, json=True),
    _Form(w.CommandDone, json=True),
    _Form(w.Refused, json=True),
    _Form(w.Copy, json=True, flags=_PAYLOAD | _ROWS),
    _Form(w.Copied, json=True),
    _Form(w.AskCopy, json=True),
    _Form(w.Seen),
    _Form(w.PullStates),
    _Form(w.PartStates, flags=_PAYLOAD),
    _Form(w.PutStates, json=True, flags=_PAYLOAD),
    _Form(w.StatesPut),
)
_NO_PART: Final = (0, 0)
#: Kinds whose fields are in the header -> (ticket, part, number, priority, flags) of a message.
#: Written out, since every push and every answer comes by here, and by `_MADE`.
_SAID: Final[dict[type, Callable[[Any], tuple[int, w.PartId, int, int, int]]]] = {
    w.WhoAreYou: lambda m: (0, _NO_PART, 0, 0, 0),
    w.Configured: lambda m: (m.store, _NO_PART, m.number, 0, 0),
    w.Left: lambda m: (0, _NO_PART, int(m.waits), 0, 0),
    w.Join: lambda m: (m.ticket, _NO_PART, m.shard, 0, 0),
    w.Joined: lambda m: (m.ticket, _NO_PART, m.high, 0, _BELOW if m.below else 0),
    w.Initialized: lambda m: (m.ticket, m.part, m.number, 0, 0),
    w.PushPart: lambda m: (
        m.ticket, m.part, m.number, m.priority,
        (_VALUE if m.wants_value else 0) | (_RECEIPT if m.receipt else 0),
    ),
    w.AskPart: lambda m: (m.ticket, m.part, m.number, 0, 0),
    w.Kept: lambda m: (m.ticket, m.part, m.number, 0, 0),
    w.Missing: lambda m: (m.ticket, m.part, m.number, 0, 0),
    w.Applied: lambda m: (m.ticket, m.part, m.number, 0, 0),
    w.PullPart: lambda m: (m.ticket, m.part, m.least, m.priority, 0),
    w.PartValue: lambda m: (m.ticket, m.part, m.round, 0, 0),
    w.Seen: lambda m: (0, _NO_PART, m.number, 0, 0),
    w.PullStates: lambda m: (m.ticket, m.part, m.least, 0, 0),
    w.PartStates: lambda m: (m.ticket, m.part, m.updates, 0, 0),
    w.StatesPut: lambda m: (m.ticket, m.part, 0, 0, 0),
}  # fmt: skip
#: The same kinds -> a message made of (ticket, part, number, priority, flags, payload, rows).
_MADE: Final[dict[type, Callable[..., Any]]] = {
    w.WhoAreYou: lambda t, p, n, y, f, d, r: w.WhoAreYou(),
    w.Configured: lambda t, p, n, y, f, d, r: w.Configured(t, n),
    w.Left: lambda t, p, n, y, f, d, r: w.Left(bool(n)),
    w.Join: lambda t, p, n, y, f, d, r: w.Join(t, n),
    w.Joined: lambda t, p, n, y, f, d, r: w.Joined(t, n, bool(f & _BELOW)),
    w.Initialized: lambda t, p, n, y, f, d, r: w.Initialized(t, p, n),
    w.PushPart: lambda t, p, n, y, f, d, r: w.PushPart(
        t, p, n, d, r, bool(f & _VALUE), bool(f & _RECEIPT), y
    ),
    w.AskPart: lambda t, p, n, y, f, d, r: w.AskPart(t, p, n),
    w.Kept: lambda t, p, n, y, f, d, r: w.Kept(t, p, n),
    w.Missing: lambda t, p, n, y, f, d, r: w.Missing(t, p, n),
    w.Applied: lambda t, p, n, y, f, d, r: w.Applied(t, p, n, d),
    w.PullPart: lambda t, p, n, y, f, d, r: w.PullPart(t, p, n, r, y),
    w.PartValue: lambda t, p, n, y, f, d, r: w.PartValue(t, p, n, d, r),
    w.Seen: lambda t, p, n, y, f, d, r: w.Seen(n),
    w.PullStates: lambda t, p, n, y, f, d, r: w.PullStates(t, p, n),
    w.PartStates: lambda t, p, n, y, f, d, r: w.PartStates(t, p, n, d),
    w.StatesPut: lambda t, p, n, y, f, d, r: w.StatesPut(t, p),
}
#: By a message's number: the flags that it may have, and what makes it; None: JSON.
_ALLOWED: Final = [form.flags | (_JSON if form.json else 0) for form in _FORMS]
_BUILD: Final = [_MADE.get(form.kind) for form in _FORMS]
_NUMBERS: Final = {form.kind: number for number, form in enumerate(_FORMS)}
_VIEWS: Final = (w.Hello, w.Welcome, w.Peers)
#: Kinds whose payload is all arrays of a part.
_OF_ALL: Final = (w.Copy, w.PartStates, w.PutStates)


def encode(
    message: w.Message,
    sender: w.Peer,
    generation: int,
    run: int,
    *,
    payload: Payload | None = None,
    rows: Buffer | None = None,
) -> list[Buffer]:
    """Returns the frames of a message.

    Args:
        message: which; its `payload` and `rows` are not looked at.
        sender: this process.
        generation: of this process.
        run: the run's number.
        payload: what travels as the message's `payload`.
        rows: int64 row numbers that travel as its `rows`.

    Raises:
        WireError: it is too long.
    """
    kind = type(message)
    number = _NUMBERS[kind]
    said = _SAID.get(kind)
    ticket, part, count, priority, flags = said(message) if said else (0, _NO_PART, 0, 0, _JSON)
    frames: list[Buffer] = [b""]
    if said is None:
        text = write_word(message)
        if len(text) > _longest(kind):
            raise WireError(f"a {kind.__name__} may have {_longest(kind)} bytes of JSON, "
                            f"got {len(text)}")  # fmt: skip
        frames.append(text)
    if rows is not None:
        flags |= _ROWS
        frames.append(rows)
    size = codec = lane = 0
    inline: Buffer = b""
    if payload is not None:
        flags |= _PAYLOAD
        size, codec, lane = payload.size, payload.codec, payload.lane
        if size <= SMALL and len(payload.frames) == len(frames) == 1:
            inline = payload.frames[0]
        else:
            frames.extend(payload.frames)
    key, index = part
    frames[0] = _HEADER.pack(
        _MAGIC, _VERSION, number, flags, run, sender.rank & _NO_RANK, _ROLE_NUMBERS[sender.role],
        codec, generation, key, index, count, priority, 0, size, lane, ticket,
    )  # fmt: skip
    if inline:
        frames[0] = b"".join((frames[0], inline, _FILL[size % _ALIGNED]))
    return frames


def _longest(kind: type) -> int:
    return _LARGEST_VIEW if kind in _VIEWS else LARGEST_JSON


def decode(frames: Frames) -> list[w.Arrived]:
    """Returns the messages in what came together: one of several frames, or those of one frame.

    `payload` is a `Payload` (or None), `rows` a buffer of whole int64 numbers (or None); both are
    views of the frames.

    Raises:
        WireError: they are no messages, or break their bounds.
    """
    return _decode_frame(frames[0]) if len(frames) == 1 else [_decode_frames(frames)]


def _decode_frame(frame: Buffer) -> list[w.Arrived]:
    """Messages that follow one another, each a header and, if it has one, a small payload."""
    view = memoryview(frame)
    length = view.nbytes
    found: list[w.Arrived] = []
    at = 0
    while at < length or not found:
        if len(found) == MOST_TOGETHER:
            raise WireError(f"{MOST_TOGETHER} messages may come together, got more")
        (number, flags, run, peer, codec, generation, part, count, priority, size, lane,
         ticket) = _header(view, at)  # fmt: skip
        make = _BUILD[number]
        if make is None or flags & _ROWS:
            raise WireError(f"a {_FORMS[number].kind.__name__} has frames of its own, got one")
        begin = at + _HEADER.size
        end = begin + size
        if size > SMALL or end > length:
            raise WireError(f"a payload of {size} bytes is announced, got {length - begin}")
        payload = None
        if flags & _PAYLOAD:
            if codec > 1:
                raise WireError(f"a payload of an unknown codec {codec}")
            payload = Payload((view[begin:end],), codec, lane)
        elif size or codec or lane:
            raise WireError(f"a message of kind {number} announces no payload and has one")
        message = make(ticket, part, count, priority, flags, payload, None)
        found.append(w.Arrived(peer, generation, run, message))
        at = end + -end % _ALIGNED
    return found


def _header(view: memoryview, at: int) -> tuple[Any, ...]:
    """The checked fields of a header: all that it says but what it begins with."""
    if view.nbytes - at < _HEADER.size:
        raise WireError(f"a message's header has {_HEADER.size} bytes, got {view.nbytes - at}")
    (magic, version, number, flags, run, rank, role, codec, generation, key, index, count,
     priority, _, size, lane, ticket) = _HEADER.unpack_from(view, at)  # fmt: skip
    if magic != _MAGIC or version != _VERSION:
        raise WireError(
            f"a message begins with {_MAGIC!r} and version {_VERSION}, got {bytes(magic)!r} and "
            f"{version}: is this process of another version of hybridnet?"
        )
    if number >= len(_FORMS) or role >= len(_ROLES):
        raise WireError(f"a message of an unknown kind {number} or role {role}")
    if count > _MOST_COUNTED:
        raise WireError(f"a message counts up to {_MOST_COUNTED}, got {count}")
    allowed = _ALLOWED[number]
    if flags & ~allowed or (flags ^ allowed) & _JSON:
        raise WireError(f"a {_FORMS[number].kind.__name__} has no flags {flags:#x}")
    return (number, flags, run, _peer(role, rank), codec, generation, (key, index), count,
            priority, size, lane, ticket)  # fmt: skip


@lru_cache(maxsize=1024)
def _peer(role: int, rank: int) -> w.Peer:
    return w.Peer(_ROLES[role], -1 if rank == _NO_RANK else rank)


def _decode_frames(frames: Frames) -> w.Arrived:
    """A message whose JSON, row numbers and payload have frames of their own."""
    if not 1 <= len(frames) <= _MOST_FRAMES:
        raise WireError(f"a message has 1 to {_MOST_FRAMES} frames, got {len(frames)}")
    first = memoryview(frames[0])
    if first.nbytes != _HEADER.size:
        raise WireError(f"a message's header has {_HEADER.size} bytes, got {first.nbytes}")
    (number, flags, run, peer, codec, generation, part, count, priority, size, lane,
     ticket) = _header(first, 0)  # fmt: skip
    form = _FORMS[number]
    rest = [memoryview(one) for one in frames[1:]]
    text = _take(rest, "JSON") if form.json else memoryview(b"")
    if text.nbytes > _longest(form.kind):
        raise WireError(f"a {form.kind.__name__} may have {_longest(form.kind)} bytes of JSON, "
                        f"got {text.nbytes}")  # fmt: skip
    rows = _take(rest, "rows") if flags & _ROWS else None
    if rows is not None and rows.nbytes % 8:
        raise WireError(f"row numbers have 8 bytes each, got {rows.nbytes} bytes")
    payload = _payload(form, flags, rest, size, codec, lane)
    make = _BUILD[number]
    message: Any
    if make is not None:
        message = make(ticket, part, count, priority, flags, payload, rows)
    else:
        message = read_word(form.kind, text)
        if rows is not None:
            message.rows = rows
        if payload is not None:
            message.payload = payload
    return w.Arrived(peer, generation, run, message)


def _take(rest: list[memoryview], what: str) -> memoryview:
    if not rest:
        raise WireError(f"a message announces {what} and has none")
    return rest.pop(0)


def _payload(
    form: _Form, flags: int, rest: list[memoryview], size: int, codec: int, lane: int
) -> Payload | None:
    if not flags & _PAYLOAD:
        if rest or size or codec or lane:
            raise WireError(f"a {form.kind.__name__} announces no payload and has one")
        return None
    found = sum(one.nbytes for one in rest)
    if not rest or found != size:
        raise WireError(f"a payload of {size} bytes is announced, got {found}")
    if any(one.nbytes > LARGEST_FRAME for one in rest):
        raise WireError(f"a frame may have {LARGEST_FRAME} bytes")
    if len(rest) > 1 and form.kind not in _OF_ALL and any(one.nbytes > _PIECE for one in rest):
        raise WireError(f"of a payload of {len(rest)} frames each has {_PIECE} bytes at most")
    if codec > 1 or (lane and len(rest) > 1):
        raise WireError(f"a payload of an unknown codec {codec} or lane {lane}")
    return Payload(tuple(rest), codec, lane)

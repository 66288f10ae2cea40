"""Messages as frames of bytes and back. Every bound is checked before anything is made of a byte.

A message is a header of 64 bytes and, as its flags say, JSON, row numbers and a payload, each in a
frame of its own; a small payload that is all there is follows the header in its frame, and small
messages may follow one another in one frame (`split`). What the hot messages say is in the header
alone. All numbers are little-endian.

What comes from outside is checked here for its form: lengths, known kinds, flags that the kind
has, numbers in their ranges. Whether a payload fits its part is the driver's business, which knows
the parts (`pushed.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

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
    "split",
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
_SIZE: Final = struct.Struct("<Q")  # of the payload, and where it stands
_SIZE_AT: Final = 48
_MAGIC: Final = b"HNKV"
_VERSION: Final = 1

_ROLES: Final[tuple[w.Role, ...]] = ("worker", "server", "scheduler", "supervisor")
_NO_RANK: Final = 0xFFFF

# Flags.
_JSON, _ROWS, _PAYLOAD, _VALUE, _RECEIPT, _BELOW = (1 << n for n in range(6))
_ALL_FLAGS: Final = (1 << 6) - 1


@dataclass(frozen=True, slots=True)
class Payload:
    """Bytes that travel with a message.

    Attributes:
        frames: the bytes; several frames of a full copy, and of what one cannot hold.
        codec: 0: as they are; 1: 2-bit compression.
        lane: 0: the bytes are in `frames`; else the frame says where they are in a mapped file of
            the sender's with this number (`mapped_lane.py`).
    """

    frames: tuple[Buffer, ...]
    codec: int = 0
    lane: int = 0

    @classmethod
    def of(cls, *buffers: Buffer, codec: int = 0) -> Payload:
        """Returns a payload of these bytes; what is larger than a frame may be is cut."""
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
    """How a kind of message travels.

    Attributes:
        kind: its class.
        fields: those that are in the header, as (name, place in the header).
        json: whether the rest is JSON.
        flags: that it may have.
    """

    kind: type
    fields: tuple[tuple[str, str], ...] = ()
    json: bool = False
    flags: int = 0


_TICKET = ("ticket", "ticket")
_NUMBER = ("number", "number")
_PART = ("part", "part")
_PRIORITY = ("priority", "priority")

#: A message's number on the wire is its place here. Add at the end; change nothing.
_FORMS: Final = (
    _Form(w.Hello, json=True),
    _Form(w.Welcome, json=True),
    _Form(w.WhoAreYou),
    _Form(w.Peers, json=True),
    _Form(w.Gone, json=True),
    _Form(w.Configure, json=True),
    _Form(w.Configured, (_NUMBER,)),
    _Form(w.Barrier, json=True),
    _Form(w.BarrierDone, json=True),
    _Form(w.StandbyReady, json=True),
    _Form(w.Left),
    _Form(w.Stop, json=True),
    _Form(w.Join, (_TICKET,)),
    _Form(w.Joined, (_TICKET, ("high", "number"), ("below", "below")), flags=_BELOW),
    _Form(w.InitPart, json=True, flags=_PAYLOAD),
    _Form(w.Initialized, (_TICKET, _PART, _NUMBER)),
    _Form(
        w.PushPart,
        (_TICKET, _PART, _NUMBER, _PRIORITY, ("wants_value", "value"), ("receipt", "receipt")),
        flags=_PAYLOAD | _ROWS | _VALUE | _RECEIPT,
    ),
    _Form(w.AskPart, (_TICKET, _PART, _NUMBER)),
    _Form(w.Kept, (_TICKET, _PART, _NUMBER)),
    _Form(w.Missing, (_TICKET, _PART, _NUMBER)),
    _Form(w.Applied, (_TICKET, _PART, _NUMBER), flags=_PAYLOAD),
    _Form(w.PullPart, (_TICKET, _PART, ("least", "number"), _PRIORITY), flags=_ROWS),
    _Form(w.PartValue, (_TICKET, _PART, ("round", "number")), flags=_PAYLOAD | _ROWS),
    _Form(w.Command, json=True),
    _Form(w.CommandDone, json=True),
    _Form(w.Refused, json=True),
    _Form(w.Copy, json=True, flags=_PAYLOAD | _ROWS),
    _Form(w.Copied, json=True),
    _Form(w.AskCopy, json=True),
    _Form(w.Seen, (_NUMBER,)),
    _Form(w.PullStates, (_TICKET, _PART, ("least", "number"))),
    _Form(w.PartStates, (_TICKET, _PART, ("updates", "number")), flags=_PAYLOAD),
    _Form(w.PutStates, json=True, flags=_PAYLOAD),
    _Form(w.StatesPut, (_TICKET, _PART)),
)
#: Kinds whose fields are all in the header -> a message made of (ticket, part, number, priority,
#: flags, payload, rows). Written out, since every push and every answer is made here.
_MADE: Final[dict[type, Callable[..., Any]]] = {
    w.WhoAreYou: lambda t, p, n, y, f, d, r: w.WhoAreYou(),
    w.Configured: lambda t, p, n, y, f, d, r: w.Configured(n),
    w.Left: lambda t, p, n, y, f, d, r: w.Left(),
    w.Join: lambda t, p, n, y, f, d, r: w.Join(t),
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
_BUILD: Final = [_MADE.get(form.kind, form.kind) for form in _FORMS]
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
    number = _NUMBERS[type(message)]
    form = _FORMS[number]
    at: dict[str, Any] = {"ticket": 0, "number": 0, "priority": 0, "part": (0, 0)}
    flags = 0
    for name, place in form.fields:
        value = getattr(message, name)
        if place in _FLAG_OF:
            flags |= _FLAG_OF[place] if value else 0
        else:
            at[place] = value
    frames: list[Buffer] = [b""]
    if form.json:
        text = write_word(message)
        if len(text) > _longest(form.kind):
            raise WireError(f"a {form.kind.__name__} may have {_longest(form.kind)} bytes of JSON, "
                            f"got {len(text)}")  # fmt: skip
        flags |= _JSON
        frames.append(text)
    if rows is not None:
        flags |= _ROWS
        frames.append(rows)
    size = 0
    inline: Buffer = b""
    if payload is not None:
        flags |= _PAYLOAD
        size = sum(memoryview(one).nbytes for one in payload.frames)
        if size <= SMALL and len(payload.frames) == len(frames) == 1:
            inline = payload.frames[0]
        else:
            frames.extend(payload.frames)
    key, index = at["part"]
    frames[0] = _HEADER.pack(
        _MAGIC, _VERSION, number, flags, run,
        sender.rank & _NO_RANK, _ROLES.index(sender.role), payload.codec if payload else 0,
        generation, key, index, at["number"], at["priority"], 0, size,
        payload.lane if payload else 0, at["ticket"],
    )  # fmt: skip
    if inline:
        frames[0] = b"".join((frames[0], inline, bytes(-size % _ALIGNED)))
    return frames


_FLAG_OF: Final = {"value": _VALUE, "receipt": _RECEIPT, "below": _BELOW}


def _longest(kind: type) -> int:
    return _LARGEST_VIEW if kind in _VIEWS else LARGEST_JSON


def split(frame: Buffer) -> list[memoryview]:
    """Returns the messages that follow one another in a frame that came alone.

    Each is a header and, if it has one, a small payload: `decode` takes it as its only frame.

    Raises:
        WireError: they do not fill the frame.
    """
    rest = memoryview(frame)
    found: list[memoryview] = []
    while rest.nbytes > _HEADER.size:
        if len(found) == MOST_TOGETHER:
            raise WireError(f"{MOST_TOGETHER} messages may come together, got more")
        if bytes(rest[:4]) != _MAGIC:
            raise WireError(f"a message begins with {_MAGIC!r}, got {bytes(rest[:4])!r}")
        (size,) = _SIZE.unpack_from(rest, _SIZE_AT)
        end = _HEADER.size + size
        if size > SMALL or end > rest.nbytes:
            raise WireError(f"a payload of {size} bytes is announced, got {rest.nbytes}")
        found.append(rest[:end])
        rest = rest[min(rest.nbytes, end + -end % _ALIGNED) :]
    if rest.nbytes or not found:
        found.append(rest)
    return found


def decode(frames: Frames) -> w.Arrived:
    """Returns what the frames of a message say.

    `payload` is a `Payload` (or None), `rows` a buffer of whole int64 numbers (or None); both are
    views of the frames.

    Raises:
        WireError: they are no message, or break its bounds.
    """
    if not 1 <= len(frames) <= _MOST_FRAMES:
        raise WireError(f"a message has 1 to {_MOST_FRAMES} frames, got {len(frames)}")
    first = memoryview(frames[0])
    if first.nbytes != _HEADER.size and not (
        len(frames) == 1 and _HEADER.size < first.nbytes <= _HEADER.size + SMALL
    ):
        raise WireError(f"a message's header has {_HEADER.size} bytes, got {first.nbytes}")
    (magic, version, number, flags, run, rank, role, codec, generation, key, index, count,
     priority, _, size, lane, ticket) = _HEADER.unpack_from(first)  # fmt: skip
    if magic != _MAGIC or version != _VERSION:
        raise WireError(
            f"a message begins with {_MAGIC!r} and version {_VERSION}, got {bytes(magic)!r} and "
            f"{version}: is this process of another version of hybridnet?"
        )
    if number >= len(_FORMS) or role >= len(_ROLES):
        raise WireError(f"a message of an unknown kind {number} or role {role}")
    form = _FORMS[number]
    allowed = form.flags | (_JSON if form.json else 0)
    if flags & ~allowed or bool(flags & _JSON) != form.json:
        raise WireError(f"a {form.kind.__name__} has no flags {flags:#x}")
    rest = [memoryview(one) for one in frames[1:]]
    if len(frames) == 1 and (first.nbytes > _HEADER.size or flags & _PAYLOAD):
        # Without what fills it up to where the next one would begin.
        fills = 0 <= first.nbytes - _HEADER.size - size < _ALIGNED
        rest.append(first[_HEADER.size : _HEADER.size + size if fills else None])
    text = _take(rest, "JSON") if form.json else memoryview(b"")
    if text.nbytes > _longest(form.kind):
        raise WireError(f"a {form.kind.__name__} may have {_longest(form.kind)} bytes of JSON, "
                        f"got {text.nbytes}")  # fmt: skip
    rows = _take(rest, "rows") if flags & _ROWS else None
    if rows is not None and rows.nbytes % 8:
        raise WireError(f"row numbers have 8 bytes each, got {rows.nbytes} bytes")
    payload = _payload(form, flags, rest, size, codec, lane)
    if form.json:
        message: Any = read_word(form.kind, text)
        if form.flags & _ROWS:
            message = replace(message, payload=payload, rows=rows)
        elif payload is not None:
            message = replace(message, payload=payload)
    else:
        message = _BUILD[number](ticket, (key, index), count, priority, flags, payload, rows)
    peer = w.Peer(_ROLES[role], -1 if rank == _NO_RANK else rank)
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

"""Messages become bytes and come back; nothing that is no message does any harm."""

import contextlib
import random
import struct
import types
import typing
from dataclasses import fields

import pytest
from helpers import thorough
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridnet.kvstore.protocol import words as w
from hybridnet.kvstore.transport import wire
from hybridnet.kvstore.transport.json_words import check_depth, read_word, write_word
from hybridnet.kvstore.transport.wire import Payload, WireError, decode, encode

MESSAGES = typing.get_args(w.Message)
#: Fields that are in the header, and so have fewer bits or no sign.
SMALL = {
    "ticket": st.integers(0, 2**32 - 1),
    "number": st.integers(0, 2**62),
    "high": st.integers(0, 2**62),
    "least": st.integers(0, 2**62),
    "priority": st.integers(-(2**31), 2**31 - 1),
    "round": st.integers(0, 2**62),
    "updates": st.integers(0, 2**62),
}
KEYS = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))


def values(kind):
    """Values of a type of the protocol."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return st.integers(args[1].least, args[1].most)
    if kind is int:
        return st.integers(-(2**63), 2**64 - 1)
    if kind is str:
        return st.text(max_size=20)
    if kind is bool:
        return st.booleans()
    if kind is type(None):
        return st.none()
    if origin is typing.Literal:
        return st.sampled_from(args)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values, args))
    if origin is tuple and args[-1] is Ellipsis:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, args))
    if kind is w.Peer:
        return st.builds(w.Peer, values(w.Role), st.integers(-1, 65534))
    return words(kind)


def words(kind):
    """Instances of a dataclass of the protocol, without payload and rows."""
    hints = typing.get_type_hints(kind, include_extras=True)
    in_json = kind not in wire._SAID
    made = {}
    for one in fields(kind):
        if hints[one.name] is typing.Any:
            made[one.name] = st.none()
        elif in_json:
            made[one.name] = values(hints[one.name])
        elif one.name == "part":
            made[one.name] = KEYS
        else:
            made[one.name] = SMALL[one.name] if one.name in SMALL else values(hints[one.name])
    return st.builds(kind, **made)


ANY = st.one_of(*map(words, MESSAGES))
#: What every push and pull is made of: what they say is in the header.
HOT = st.one_of(*map(words, wire._SAID))


def test_every_message_has_a_form():
    assert {form.kind for form in wire._FORMS} == set(MESSAGES)
    assert len(wire._FORMS) == len(MESSAGES)
    in_header = {form.kind for form in wire._FORMS if not form.json}
    assert in_header == set(wire._SAID) == set(wire._MADE)


def with_data(message, draw):
    """Payload and rows that a message of this kind may have: none, small, or too large for one
    frame."""
    flags = wire._FORMS[wire._NUMBERS[type(message)]].flags
    payload = rows = None
    if flags & wire._PAYLOAD:
        sizes = st.sampled_from([None, 0, 3, 8, wire.SMALL, wire.SMALL + 1])
        size = draw(sizes)
        if size is not None:
            codec, lane = draw(st.integers(0, 1)), draw(st.sampled_from([0, 7, 2**32 - 1]))
            payload = Payload(
                (bytes(range(256)) * (size // 256) + b"x" * (size % 256),), codec, lane
            )
    if flags & wire._ROWS and draw(st.booleans()):
        rows = struct.pack("<2q", 3, -1)
    return payload, rows


def assert_came_back(found, message, payload, rows):
    for one in fields(message):
        got = getattr(found, one.name)
        if one.name == "payload" and payload is not None:
            assert bytes(got.frames[0]) == payload.frames[0]
            assert (got.codec, got.lane, got.size) == (payload.codec, payload.lane, payload.size)
        elif one.name == "rows" and rows is not None:
            assert bytes(got) == rows
        else:
            assert got == getattr(message, one.name)


@given(ANY, st.integers(-1, 65534), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), st.data())
@settings(max_examples=thorough(20_000, 300))
def test_a_message_comes_back(message, rank, generation, run, data):
    sender = w.Peer("worker", rank)
    payload, rows = with_data(message, data.draw)
    frames = encode(message, sender, generation, run, payload=payload, rows=rows)
    (found,) = decode([bytes(one) for one in frames])
    assert (found.source, found.generation, found.run) == (sender, generation, run)
    assert_came_back(found.message, message, payload, rows)


@given(st.lists(HOT, min_size=1, max_size=8), st.data())
@settings(max_examples=thorough(5_000, 100))
def test_messages_of_one_frame_come_back(messages, data):
    """Those of one frame each may be put into a frame together, in any order."""
    sender, sent, frames = w.Peer("server", 1), [], []
    for message in messages:
        payload, rows = with_data(message, data.draw)
        made = encode(message, sender, 1, 2, payload=payload, rows=rows)
        if len(made) == 1:
            sent.append((message, payload, rows))
            frames.append(bytes(made[0]))
    if frames:
        found = decode([b"".join(frames)])
        for one, (message, payload, rows) in zip(found, sent, strict=True):
            assert_came_back(one.message, message, payload, rows)


def examples(count):
    """Real messages as bytes."""
    found = []

    @given(ANY, st.binary(max_size=64))
    @settings(max_examples=count, database=None)
    def collect(message, data):
        flags = wire._FORMS[wire._NUMBERS[type(message)]].flags
        payload = Payload((data,)) if flags & wire._PAYLOAD else None
        found.append([bytes(one) for one in encode(message, w.SCHEDULER, 1, 2, payload=payload)])

    collect()
    return found


def mutated(generator, frames):
    """Real frames with a few bytes changed, cut, doubled, or put elsewhere."""
    frames = [bytearray(one) for one in frames]
    for _ in range(generator.randrange(1, 4)):
        one = generator.choice(frames)
        kind = generator.randrange(6)
        if kind == 0 and one:
            one[generator.randrange(len(one))] = generator.randrange(256)
        elif kind == 1 and one:
            del one[generator.randrange(len(one)) :]
        elif kind == 2:
            one += generator.randbytes(generator.randrange(9))
        elif kind == 3 and len(frames) > 1:
            frames.remove(one)
        elif kind == 4:
            frames.insert(generator.randrange(len(frames) + 1), bytearray(generator.randbytes(8)))
        elif one:
            at = generator.randrange(len(one))
            one[at:at] = one[: generator.randrange(16)]
    return [bytes(one) for one in frames]


def test_whatever_comes_is_a_message_or_refused():
    """Half of it are real messages that were changed, half is noise."""
    generator, real = random.Random(1), examples(100)
    short = [one for one in real if len(one) == 1]
    taken = 0
    for turn in range(thorough(1_000_000, 20_000)):
        if turn % 2:
            frames = mutated(generator, generator.choice(real))
        else:
            count = generator.randrange(0, 4)
            sizes = [generator.choice((0, 8, 63, 64, 65)) for _ in range(count)]
            frames = [generator.randbytes(size) for size in sizes]
        if turn % 4 == 3:  # several in one frame
            frames = [b"".join([*generator.choice(short), *frames])]
        with contextlib.suppress(WireError):
            taken += len(decode(frames))
    assert taken  # some changes leave a message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "requires JSON"),
        (b"[" * 100_000, "nested 8 deep"),
        (b'{"name":1,"count":1}', "requires str here, got '1'"),
        (b'{"name":"a","count":true}', "requires a number from 0 to .* here, got 'True'"),
        (b'{"name":"a","count":1e400}', "requires a number from 0 to"),
        (b'{"name":"a","count":99999999999999999999}', "a number from 0 to .*'99999"),
        (b'{"name":"a"}', "a Barrier requires name, count, got"),
        (b'{"name":"a","count":1,"more":2}', "a Barrier requires name, count, got"),
        (b"[1,2]", "a Barrier requires name, count, got"),
        (b"\xff", "requires JSON"),
    ],
)
def test_json_that_does_not_fit_is_refused(text, message):
    with pytest.raises(WireError, match=message):
        read_word(w.Barrier, text)


def test_brackets_in_text_are_no_nesting():
    word = w.Barrier("[" * 50 + '\\"{', 1)
    assert read_word(w.Barrier, write_word(word)) == word
    check_depth(b'["' + b"[" * 99 + b'"]')


def test_bounds_are_checked():
    me = w.Peer("worker", 0)
    with pytest.raises(WireError, match="may have 65536 bytes of JSON"):
        encode(w.Barrier("x" * 70_000, 1), me, 1, 1)
    good = [bytes(one) for one in encode(w.Barrier("x", 1), me, 1, 1)]
    with pytest.raises(WireError, match="may have 65536 bytes of JSON"):
        decode([good[0], b" " * 70_000])
    with pytest.raises(WireError, match="1 to 4096 frames"):
        decode([b""] * 4097)
    with pytest.raises(WireError, match="of another version"):
        decode([b"HNKV\2" + good[0][5:], good[1]])
    push = encode(w.PushPart(1, (0, 0), 1, None), me, 1, 1, payload=Payload((b"1234",)))
    with pytest.raises(WireError, match="a payload of 4 bytes is announced, got 3"):
        decode([bytes(push[0])[:64], b"123"])
    with pytest.raises(WireError, match="a payload of 4 bytes is announced, got 3"):
        decode([bytes(push[0])[:67]])


def test_small_messages_follow_one_another_in_a_frame():
    me = w.Peer("worker", 0)
    pushes = [
        encode(w.PushPart(n, (0, 0), 1, None), me, 1, 1, payload=Payload((b"x" * n,)))
        for n in range(20)
    ]
    messages = [*pushes, encode(w.Join(7, 0), me, 1, 1)]
    assert all(len(one) == 1 for one in messages)
    found = [one.message for one in decode([b"".join(bytes(one[0]) for one in messages)])]
    assert [one.ticket for one in found] == [*range(20), 7]
    assert [bytes(one.payload.frames[0]) for one in found[:-1]] == [b"x" * n for n in range(20)]
    with pytest.raises(WireError, match="a message begins with"):
        decode([bytes(pushes[0][0]) + bytes(65)])
    with pytest.raises(WireError, match="256 messages may come together"):
        decode([bytes(pushes[0][0]) * 300])
    with pytest.raises(WireError, match="is announced, got"):
        decode([bytes(pushes[9][0])[:-8]])
    with pytest.raises(WireError, match="header has 64 bytes, got 63"):
        decode([bytes(pushes[0][0]) + bytes(pushes[0][0])[:63]])
    with pytest.raises(WireError, match="a Barrier has frames of its own"):
        decode([bytes(encode(w.Barrier("x", 1), me, 1, 1)[0])])

"""Messages between tasks: what is written is read again, and anything else refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridnet.base.errors import FormatError
from hybridnet.clusters.packets import Packet, pack, read_message, unpack, write_message
from hybridnet.runtime.executor.rendezvous import Key
from hybridnet.runtime.executor.task_messages import (
    Cancel,
    Have,
    Made,
    Tensors,
    TravellingTensor,
)

KEY = Key("/job:a/replica:0/task:0/device:cpu:0", "b", "x:0", "loop", 3)


@pytest.mark.parametrize(
    "message",
    [
        Have(7, 1, (), True),
        Have(7, 1, (3, 5), False),
        Cancel(7, "no memory"),
        Tensors(7, 1, (Made(KEY, True, None), Made(KEY._replace(iteration=4), False, None))),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_a_rendezvous_says_is_read_again(message):
    (packet,) = unpack(pack(write_message(message)))
    assert read_message(packet) == message


@given(st.lists(st.integers(0, 40_000), max_size=6), st.integers(1, 4))
def test_messages_may_follow_one_another_and_frames_end_anywhere(sizes, pieces):
    tensors = [TravellingTensor.of(np.arange(size, dtype=np.uint8)) for size in sizes]
    packets = [Packet({"kind": "run", "n": number}, tensors[number:]) for number in range(2)]
    data = b"".join(bytes(frame) for packet in packets for frame in pack(packet))
    cuts = sorted({0, len(data), *(len(data) * n // pieces for n in range(pieces))})
    found = unpack([data[a:b] for a, b in itertools.pairwise(cuts)])
    assert [one.words["n"] for one in found] == [0, 1]
    for one, sent in zip(found, packets, strict=True):
        for got, wanted in zip(one.tensors, sent.tensors, strict=True):
            np.testing.assert_array_equal(got.array(), wanted.array())


def test_what_is_short_goes_in_one_frame():
    tensors = [TravellingTensor.of(np.zeros(size, np.float32)) for size in (1, 100, 10)]
    assert len(pack(Packet({"kind": "run"}, tensors))) == 1


@pytest.mark.parametrize("size", [0, 3, 5 << 20])
def test_tensors_are_read_again(size):
    array = np.arange(size, dtype=np.float32)
    answer = Tensors(7, 1, (Made(KEY, False, TravellingTensor.of(array)),))
    frames = pack(write_message(answer))
    assert max(map(len, frames)) <= 16 << 20
    (packet,) = unpack(frames)
    (found,) = read_message(packet).made
    np.testing.assert_array_equal(found.tensor.array(), array)


@pytest.mark.parametrize(
    "words",
    [
        {"kind": "tensors", "keys": [[*KEY, False, True]]},
        {"kind": "tensors", "keys": [[*KEY, False]]},
        {"kind": "tensors", "keys": [["a", "b", "c", "d", "e", False, False]]},
        {"kind": "tensors", "keys": 3},
        {"kind": "tensors", "number": -1, "keys": []},
        {"kind": "have", "beyond": ["x"]},
        {"kind": "have"},
    ],
    ids=str,
)
def test_messages_that_are_none_are_refused(words):
    with pytest.raises(FormatError):
        read_message(Packet({"step": 7, **words}))


@given(st.lists(st.binary(max_size=40), max_size=4))
def test_any_other_bytes_are_refused(frames):
    with pytest.raises(FormatError):
        unpack(frames)


@given(st.data())
def test_a_changed_message_is_read_or_refused(data):
    tensor = TravellingTensor.of(np.ones(3, np.float32))
    frames = [bytearray(one) for one in pack(Packet({"kind": "run"}, [tensor]))]
    frame = frames[data.draw(st.integers(0, len(frames) - 1))]
    frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        for packet in unpack(frames):
            for one in packet.tensors:
                one.array()
    except FormatError:
        pass

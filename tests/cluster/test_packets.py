"""Messages between tasks: what is written is read again, and anything else refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridnet.base.errors import FormatError
from hybridnet.cluster.packets import Packet, pack, read_message, unpack, write_message
from hybridnet.runtime.executor.rendezvous import Key
from hybridnet.runtime.executor.task_messages import Answer, Ask, Cancel, Got, TravellingTensor

KEY = Key("/job:a/replica:0/task:0/device:cpu:0", "b", "x:0", "loop", 3)


@pytest.mark.parametrize(
    "message",
    [Ask(7, 1, KEY), Got(7, 1), Cancel(7, "no memory"), Answer(7, 1, True, None)],
    ids=lambda one: type(one).__name__,
)
def test_what_a_rendezvous_says_is_read_again(message):
    assert read_message(unpack(pack(write_message(message)))) == message


@pytest.mark.parametrize("size", [0, 3, 5 << 20])
def test_tensors_are_read_again(size):
    array = np.arange(size, dtype=np.float32)
    answer = Answer(7, 1, False, TravellingTensor.of(array))
    frames = pack(write_message(answer))
    assert max(map(len, frames)) <= 16 << 20
    found = read_message(unpack(frames))
    np.testing.assert_array_equal(found.tensor.array(), array)


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
        for one in unpack(frames).tensors:
            one.array()
    except FormatError:
        pass

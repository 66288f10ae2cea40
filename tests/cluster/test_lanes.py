"""Tensors in memory that processes of one host share: read as they were, or not at all."""

import os
import subprocess
import sys

import numpy as np
import pytest

from hybridnet.base.errors import FormatError
from hybridnet.clusters.lanes import InLanes, OutLanes
from hybridnet.clusters.packets import Packet, pack, unpack
from hybridnet.runtime.executor.task_messages import TravellingTensor

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="Linux has these files")


def payload(size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def held(buffer):
    return np.frombuffer(buffer, np.uint8)


@pytest.mark.parametrize("size", [1, 1 << 16, (1 << 16) + 1, 300_000])
def test_what_is_lent_is_read_again(size):
    out, into = OutLanes(), InLanes()
    for seed in range(3):
        data = payload(size, seed)
        lent, place = out.lend(data.data)
        got = held(into.read(place))
        np.testing.assert_array_equal(got, data)
        out.take_back(lent)
        np.testing.assert_array_equal(got, data)  # a copy


def test_memory_is_lent_again():
    out = OutLanes()
    one, _ = out.lend(payload(70_000).data)
    two, _ = out.lend(payload(70_000).data)
    assert one is not two
    out.take_back(one)
    assert out.lend(payload(100_000).data)[0] is one


def test_another_process_reads_it():
    out = OutLanes()
    data = payload(100_000)
    _, place = out.lend(data.data)
    code = f"""
import numpy as np
from hybridnet.clusters.lanes import InLanes, LentAt
print(int(np.frombuffer(InLanes().read(LentAt{tuple(place)}), np.uint8).sum()))
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(made.stdout) == int(data.sum())


def test_what_comes_too_late_is_refused():
    out, into = OutLanes(), InLanes()
    lent, place = out.lend(payload(70_000).data)
    out.take_back(lent)
    with pytest.raises(FormatError, match="came too late"):
        into.read(place)
    _, again = out.lend(payload(70_000, 1).data)
    with pytest.raises(FormatError, match="came too late"):
        into.read(place)
    np.testing.assert_array_equal(held(into.read(again)), payload(70_000, 1))


def test_nothing_else_is_read(tmp_path):
    out = OutLanes()
    _, place = out.lend(payload(70_000).data)
    with (tmp_path / "secret").open("wb+") as file:
        for wrong in (
            place._replace(handle=file.fileno()),
            place._replace(file=place.file + 1),
            place._replace(size=place.size * 4),
            place._replace(size=-1),
            place._replace(stamp=0),
            place._replace(handle=1 << 20),
        ):
            with pytest.raises(FormatError):
                InLanes().read(wrong)


def test_a_message_says_where_its_tensors_are():
    out = OutLanes()
    tensors = [TravellingTensor.of(payload(size)) for size in (10, 70_000, 20)]
    _, place = out.lend(tensors[1].payload)
    frames = pack(Packet({"kind": "tensors"}, tensors, {1: place}))
    (found,) = unpack(frames)
    assert sum(map(len, frames)) < 1000 and found.places == {1: place}
    np.testing.assert_array_equal(found.tensors[2].array(), payload(20))
    with pytest.raises(FormatError):
        unpack(pack(Packet({"kind": "tensors"}, tensors, {1: place[:4]})))

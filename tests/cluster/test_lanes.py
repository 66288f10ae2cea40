"""Tensors in memory that processes of one host share: read as they were, or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hybridnet as hn
from hybridnet.base.errors import FormatError
from hybridnet.clusters.lanes import GoneError, InLanes, OutLanes
from hybridnet.clusters.packets import Packet, pack, unpack
from hybridnet.runtime.executor.task_messages import TravellingTensor
from hybridnet.runtime.platform.jax_devices import put_on_device

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
        assert not got.flags.writeable
        out.take_back(lent)


def test_what_a_reader_has_is_not_written_to():
    out, into = OutLanes(), InLanes()
    data = payload(70_000)
    lent, place = out.lend(data.data)
    got = held(into.read(place))
    array = put_on_device(hn.cpu(0), got.view(np.uint16))
    out.take_back(lent)
    other, _ = out.lend(payload(70_000, 1).data)
    assert other is not lent
    np.testing.assert_array_equal(got, data)
    del got, into
    np.testing.assert_array_equal(np.asarray(array), data.view(np.uint16))


def test_memory_is_lent_again_when_its_reader_has_let_go():
    out, into = OutLanes(), InLanes()
    one, place = out.lend(payload(70_000).data)
    two, _ = out.lend(payload(70_000).data)
    assert one is not two
    view = held(into.read(place))[5:]
    out.take_back(one)
    out.take_back(two)  # which nobody has read: it may still come to its reader
    three, _ = out.lend(payload(70_000).data)
    assert three is not one
    assert three is not two
    del view
    assert out.lend(payload(100_000).data)[0] is one


def test_memory_that_its_sender_drops_is_not_kept_by_its_reader(monkeypatch):
    monkeypatch.setattr("hybridnet.clusters.lanes._KEPT_BYTES", 200_000)
    out, back = OutLanes(), InLanes()
    for seed in range(3):  # each larger than what is kept
        lent, place = out.lend(payload(300_000, seed))
        got = back.read(place)
        np.testing.assert_array_equal(held(got), payload(300_000, seed))
        out.take_back(lent)
        del got, lent
        assert f" {place.file} " not in Path("/proc/self/maps").read_text(encoding="utf-8")


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


def test_a_forked_child_does_not_give_back_what_its_parent_has():
    code = """
import os
from hybridnet.clusters.lanes import InLanes, OutLanes
lent, place = OutLanes().lend(bytes(70_000))
got = InLanes().read(place)
child = os.fork()
if child == 0:
    del got
    os._exit(0)
os.waitpid(child, 0)
print(lent.is_returned)
del got
print(lent.is_returned)
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["False", "True"]


def test_what_comes_too_late_is_refused():
    out, into = OutLanes(), InLanes()
    lent, place = out.lend(payload(70_000).data)
    into.read(place)
    out.take_back(lent)
    other, again = out.lend(payload(70_000, 1).data)
    with pytest.raises(GoneError, match="came too late"):
        into.read(place)
    np.testing.assert_array_equal(held(into.read(again)), payload(70_000, 1))
    del lent, other
    out = OutLanes()
    with pytest.raises(GoneError):
        InLanes().read(again)


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

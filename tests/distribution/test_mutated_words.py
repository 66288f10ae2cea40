"""Words with whatever numbers, at scheduler and server: refused or taken, and never an end.

The machines run with their real drivers; only the network between them is a list. Before, a number
that no header holds ended the scheduler by `struct.error`.
"""

from __future__ import annotations

import json
import random
import struct
import types
import typing
from dataclasses import fields

import numpy as np
import pytest
from helpers import thorough

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.plans import plan_of
from hybridnet.kvstore.drivers.scheduler_driver import SchedulerDriver
from hybridnet.kvstore.drivers.server_driver import ServerDriver
from hybridnet.kvstore.protocol import words as w
from hybridnet.kvstore.transport import wire
from hybridnet.kvstore.transport.interface import Disconnected, Heard, Transport
from hybridnet.kvstore.transport.json_words import write_word
from hybridnet.kvstore.transport.wire import Payload, decode, encode

MESSAGES = typing.get_args(w.Message)
NUMBERS = [0, 0, 0, 1, 1, 2, 3, 4, 7, -1, -2, 8, 16, 64, 255, 65535, 65536, *(
    sign * 2**bits + more for bits in (31, 32, 62, 63) for sign in (1, -1) for more in (-1, 0, 1)
), 2**64 - 1, 2**64, 10**30]  # fmt: skip
TEXTS = [
    "",
    "w",
    "w",
    "tcp://127.0.0.1:1|m",
    "float32",
    "int64",
    "sum",
    "{",
    "a" * 300,
    "\ud800",
    '{"name": "sum"}',
    '{"name": 3, "parameters": []}',
    "[" * 50,
    "snapshot",
    "/none/x",
]
PEERS = [
    w.Peer("worker", 0),
    w.Peer("worker", 1),
    w.Peer("server", 0),
    w.Peer("supervisor", 0),
    w.SCHEDULER,
    w.Peer("worker", -1),
    w.Peer("server", 1),
    w.Peer("worker", 900),
]


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Servers write snapshots where they were started."""
    monkeypatch.chdir(tmp_path)


class Lists(Transport):
    """What is sent goes nowhere, but must be what others could read."""

    address = "tcp://127.0.0.1:1"

    def __init__(self):
        self.reports, self.sent = [], 0

    def connect(self, peer, address, near=None):
        pass

    def disconnect(self, peer):
        pass

    def bind(self, peer, route):
        pass

    def send(self, to, frames, *, route=b"", copy=False, **how):
        decode([bytes(one) for one in frames])
        self.sent += 1
        return True

    def send_now(self, to, frame):
        return False

    def flush(self):
        pass

    def receive(self, timeout):
        reports, self.reports = self.reports, []
        return reports

    def wake(self):
        pass

    def close(self, linger=0.0):
        pass


class Maker:
    """Makes messages of which most are nearly right."""

    def __init__(self, seed, run):
        self.random, self.run = random.Random(seed), run

    def number(self):
        if self.random.random() < 0.6:
            return self.random.choice((0, 0, 1, 1, 2, 4))
        return self.random.choice(NUMBERS)

    def value(self, kind):
        origin, args = typing.get_origin(kind), typing.get_args(kind)
        choice = self.random.choice
        if kind is int:
            return self.number()
        if kind is str:
            return choice(TEXTS)
        if kind is bool:
            return choice((True, False))
        if kind in (type(None), typing.Any):
            return None
        if origin is typing.Literal:
            return choice(args)
        if origin in (typing.Union, types.UnionType):
            return self.value(choice(args))
        if origin is tuple and args[-1] is Ellipsis:
            return tuple(self.value(args[0]) for _ in range(choice((0, 1, 2, 3))))
        if origin is tuple:
            return tuple(map(self.value, args))
        if kind is w.Peer and self.random.random() < 0.8:
            return choice(PEERS)
        if kind is w.KeySpec and self.random.random() < 0.6:
            return w.KeySpec(4, shape=(4,))
        if kind is w.Part and self.random.random() < 0.6:
            return w.Part(choice((0, 1)), 0, 0, 0, 4)
        hints = typing.get_type_hints(kind)
        names = kind._fields if issubclass(kind, tuple) else [one.name for one in fields(kind)]
        return kind(**{name: self.value(hints[name]) for name in names})

    def frames(self):
        """A message of any kind as frames, often damaged further."""
        message = self.value(self.random.choice(MESSAGES))
        flags = wire._FORMS[wire._NUMBERS[type(message)]].flags
        payload = rows = None
        if flags & wire._PAYLOAD and self.random.random() < 0.7:
            data = np.ones(self.random.choice((4, 4, 1, 8)), np.float32).tobytes()
            payload = Payload((data,), lane=self.random.choice((0, 0, 0, 1)))
        if flags & wire._ROWS and self.random.random() < 0.3:
            numbers = self.random.choice((0, 3, -1)), self.random.choice((1, 2**62))
            rows = struct.pack("<2q", *numbers)
        sender = self.random.choice(PEERS)
        generation = self.random.choice((1, 1, 1, 2, 0, 2**32 - 1))
        try:
            found = encode(message, sender, generation, self.run, payload=payload, rows=rows)
        except struct.error:  # its header cannot say this
            return self.frames()
        found = [bytes(one) for one in found]
        if self.random.random() < 0.2:
            place = self.random.randrange(len(found))
            damaged = bytearray(found[place])
            if damaged:
                at = self.random.randrange(len(damaged))
                damaged[at] = self.random.choice((0, 255, 0x2D, 0x39, damaged[at] ^ 1))
            found[place] = bytes(damaged)
        return found


def cluster(role):
    return Cluster(role=role, rank=0, port=1, workers=2, servers=1, mapped=False)


def introduced(driver, run):
    """Feeds what a run begins with, so that there is something to be disturbed."""
    peers = [w.Peer("worker", 0), w.Peer("worker", 1), w.Peer("server", 0)]
    states = tuple(w.PeerState(one, 1, "tcp://127.0.0.1:1|m", "h", "up") for one in peers)
    view = w.View(
        2**32 + 1, states, (w.ShardPlace(0),), (w.StoreSettings(1), w.StoreSettings(2, store=1))
    )
    part, spec = w.Part(0, 0, 0, 0, 4), w.KeySpec(4, shape=(4,))
    value = Payload((bytes(16),))
    said = [(one, w.Hello(str(one), one, 1, "tcp://127.0.0.1:1|m", "h"), None) for one in peers]
    if isinstance(driver, ServerDriver):
        name = driver._machine.me.name
        said = [(w.SCHEDULER, w.Welcome(name, peers[2], view), None)]
        said += [(peers[0], w.Join(1, 0), None), (peers[0], w.InitPart(2, part, "w", spec), value)]
    for source, message, payload in said:
        frames = encode(message, source, 1, run, payload=payload)
        driver._transport.reports.append(Heard(bytes(source.role, "ascii"), frames, None))
    driver.turn(0.0)


DRIVERS = {
    "scheduler": lambda: SchedulerDriver(cluster("scheduler"), Lists()),
    "server": lambda: ServerDriver(cluster("server"), Lists(), None, ()),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("role", DRIVERS)
def test_no_word_ends_a_process(role, seed):
    run = plan_of(cluster(role)).run
    maker, driver, refused, done = Maker(seed, run), None, 0, 0
    while done < thorough(50_000, 2500):
        if driver is None or done % 500 == 0 or driver.finished is not None:
            refused += 0 if driver is None else driver.refused
            driver = DRIVERS[role]()
            driver.start()
            introduced(driver, run)
        frames = maker.frames()
        peer = maker.random.choice((None, *PEERS))
        driver._transport.reports.append(Heard(b"way", frames, peer))
        if maker.random.random() < 0.01:
            driver._transport.reports.append(Disconnected(maker.random.choice(PEERS[:3])))
        driver.turn(0.0)
        done += 1
    assert 0 < refused < done


def test_a_word_with_a_number_out_of_range_is_refused():
    text = json.loads(write_word(w.Configure(0, 1, w.StoreSettings(1))))
    for number in (-1, 2**63, 2**64, 1.5, "1", None):
        text["number"] = number
        with pytest.raises(wire.WireError):
            wire.read_word(w.Configure, json.dumps(text).encode())

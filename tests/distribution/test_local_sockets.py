"""Short messages of one host: what goes through the local socket, and what does not."""

import os
import socket

import numpy as np
import pytest
from dist_run import started

from hybridnet.kvstore.protocol.words import Peer
from hybridnet.kvstore.transport.interface import Connected, Disconnected, Heard
from hybridnet.kvstore.transport.local_sockets import PACKET, SOCKET
from hybridnet.kvstore.transport.zmq_transport import ZmqTransport

SERVER = Peer("server", 0)


def await_connection(asks, listens):
    """Waits until one is connected to the other, which lets it in meanwhile."""
    while not any(isinstance(one, Connected) for one in asks.receive(0.01)):
        listens.receive(0.01)


@pytest.fixture
def pair(tmp_path):
    """A transport that listens at a local socket, too, and one connected to it by both."""
    listens, asks = ZmqTransport(host="127.0.0.1"), ZmqTransport()
    listens.listen_locally(tmp_path)
    asks.connect(SERVER, listens.address, tmp_path)
    await_connection(asks, listens)
    yield asks, listens
    asks.close()
    listens.close()


def heard(transport, count):
    found = []
    while len(found) < count:
        found += [one for one in transport.receive(1.0) if isinstance(one, Heard)]
    return found


def test_frames_come_as_they_were_sent_and_answers_go_back(pair):
    asks, listens = pair
    frames = [os.urandom(size) for size in (1, 64, 4096, 16384)]
    for one in frames:
        asks.send(SERVER, [one])
    asks.flush()
    (found,) = heard(listens, 1)
    assert [bytes(one) for one in found.frames] == [b"".join(frames)]
    listens.send(Peer("worker", 3), [b"answer"], route=found.route)
    listens.flush()
    (answer,) = heard(asks, 1)
    assert (bytes(answer.frames[0]), answer.peer) == (b"answer", SERVER)


def test_what_one_packet_does_not_hold_comes_in_several(pair):
    asks, listens = pair
    frames = [os.urandom(10_000) for _ in range(12)]
    for one in frames:
        asks.send(SERVER, [one])
    found = []
    while sum(map(len, found)) < 120_000:
        asks.flush()
        found += [one.frames[0] for one in heard(listens, 1)]
    assert all(len(one) <= PACKET for one in found)
    assert b"".join(map(bytes, found)) == b"".join(frames)


def test_a_full_socket_leaves_the_rest_to_zeromq(pair):
    asks, listens = pair
    sent = [bytes([turn]) * 16_000 for turn in range(200)]
    for one in sent:  # 3.2 MB that nobody reads
        asks.send(SERVER, [one])
        asks.flush()
    found = []
    while sum(map(len, found)) < 200 * 16_000:
        asks.receive(0.0)
        found += [one.frames[0] for one in heard(listens, 1)]
    assert sorted(map(bytes, found)) == sorted(sent)


def test_both_ways_are_one_route(pair):
    asks, listens = pair
    asks.send(SERVER, [b"short"])
    asks.send(SERVER, [b"of", b"two frames"])  # a packet does not hold these
    first, second = heard(listens, 2)
    assert first.route == second.route
    listens.bind(Peer("worker", 1), first.route)
    asks.send(SERVER, [b"again"])
    asks.flush()
    assert heard(listens, 1)[0].peer == Peer("worker", 1)
    asks.close()
    reports = []
    while not any(isinstance(one, Disconnected) for one in reports):
        reports = listens.receive(1.0)
    assert reports == [Disconnected(Peer("worker", 1))]
    assert not listens.send(Peer("worker", 1), [b"nobody"])


def test_a_successor_takes_the_socket_over(pair, tmp_path):
    asks, listens = pair
    other = ZmqTransport(host="127.0.0.1")
    other.listen_locally(tmp_path)
    try:
        asks.connect(SERVER, other.address, tmp_path)
        await_connection(asks, other)
        asks.send(SERVER, [b"for the new one"])
        asks.flush()
        assert bytes(heard(other, 1)[0].frames[0]) == b"for the new one"
    finally:
        other.close()
    listens.close()
    assert (tmp_path / SOCKET).is_socket()


def test_the_loss_of_a_peer_is_told_that_was_only_heard_by_the_local_socket(pair):
    asks, listens = pair
    asks.send(SERVER, [b"all that it says"])
    asks.flush()
    (found,) = heard(listens, 1)
    listens.bind(Peer("worker", 3), found.route)
    asks.close()
    reports = []
    while not reports:
        reports = listens.receive(5.0)
        assert not [one for one in reports if isinstance(one, Heard)]
    assert reports == [Disconnected(Peer("worker", 3))]


def test_noise_at_the_socket_disturbs_nobody():
    with started(1, 1) as run:
        (store,) = run.workers()
        path = run.cluster.state_folder / "server-0" / SOCKET
        assert path.is_socket()
        assert path.parent.stat().st_mode & 0o077 == 0  # for its user only
        for noise in ([], [b"\1" * 9, b"no message"], [b"x" * 300], [b"\1" * 9, os.urandom(64)]):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
                stranger.connect(str(path))
                for one in noise:
                    stranger.send(one)
        value = np.zeros(4, np.float32)
        store.configure("sum", {})
        store.init("w", value)
        store.push("w", np.ones(4, np.float32))
        store.pull("w", value)
        assert value.tolist() == [1] * 4
